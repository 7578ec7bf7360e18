// Reads XML as spreadsheet programs write it: elements, attributes and text in UTF-8. Document types are refused, so
// there are no entities to expand. Memory is bounded: names, tags, texts and depth have limits.

import RealmJSON

/// Reads a document, event by event.
struct XMLReader {
  enum Event {
    /// An element begins; `name` and `attribute` describe it.
    case start
    /// The element `name` ends.
    case end
    /// Text; `text` has it.
    case text
  }

  private let stream: ZipStream
  /// The name of the part, for messages.
  private let part: String
  private var buffer: [UInt8] = []
  private var index = 0
  private var isAtStart = true
  private var open: [[UInt8]] = []
  private var endsNext = false
  private var tag: [UInt8] = []
  /// The local name of the element that begins or ends.
  private(set) var name = ""
  /// The text, with references replaced.
  private(set) var text: [UInt8] = []

  private static let maxTag = 1 << 16
  private static let maxText = 1 << 20
  private static let maxDepth = 64

  init(_ archive: ZipArchive, _ entry: ZipArchive.Entry) throws {
    stream = try ZipStream(archive, entry)
    part = "\(archive.name): \(entry.name.printable)"
  }

  private func error(_ problem: String) -> TransferError { .unsuitable("\(part): not XML: \(problem)") }

  /// Reads more bytes; returns false at the end.
  private mutating func fill() throws -> Bool {
    guard let more = try stream.next() else { return false }
    buffer = index < buffer.count ? Array(buffer[index...]) + more : more
    index = 0
    if isAtStart, buffer.count >= 3 || buffer.count == 2 {
      isAtStart = false
      if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
      if buffer.starts(with: [0xFF, 0xFE]) || buffer.starts(with: [0xFE, 0xFF]) { throw error("UTF-16 text") }
    }
    return true
  }

  private mutating func next() throws -> UInt8? {
    while index == buffer.count { if try !fill() { return nil } }
    defer { index += 1 }
    return buffer[index]
  }

  /// Returns the next event; nil at the end.
  mutating func event() throws -> Event? {
    if endsNext {
      endsNext = false
      return .end
    }
    text.removeAll(keepingCapacity: true)
    while true {
      while index < buffer.count, buffer[index] != UInt8(ascii: "<") {
        let end = buffer[index...].firstIndex(of: UInt8(ascii: "<")) ?? buffer.count
        text += buffer[index..<end]
        index = end
        if text.count > Self.maxText { throw error("a text is longer than 1 MiB") }
      }
      if index == buffer.count {
        if try fill() { continue }
        if !open.isEmpty { throw error("it ends inside of an element") }
        return nil
      }
      if !text.isEmpty {
        if open.isEmpty {
          text.removeAll()
          continue
        }
        text = try resolved(Self.withLineFeeds(text)[...])
        return .text
      }
      if let event = try readTag() { return event }
    }
  }

  /// Reads a tag; returns nil for a comment or an instruction.
  private mutating func readTag() throws -> Event? {
    index += 1
    tag.removeAll(keepingCapacity: true)
    var quote: UInt8 = 0
    while true {
      guard let byte = try next() else { throw error("a tag has no end") }
      if quote != 0 {
        if byte == quote { quote = 0 }
      } else if byte == UInt8(ascii: ">") {
        if !tag.starts(with: "!--".utf8) || tag.count >= 5 && tag.suffix(2).elementsEqual("--".utf8) { break }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'"), tag.first != UInt8(ascii: "!") {
        quote = byte
      }
      tag.append(byte)
      if tag.elementsEqual("![CDATA[".utf8) { return try readCharacterData() }
      if tag.count > Self.maxTag {
        // A comment can be long.
        if !tag.starts(with: "!--".utf8) { throw error("a tag is longer than 64 KiB") }
        tag.removeSubrange(5..<tag.count - 2)
      }
    }
    switch tag.first {
    case UInt8(ascii: "?"): return nil
    case UInt8(ascii: "!"):
      if tag.starts(with: "!--".utf8) { return nil }
      throw error("a document type")
    case UInt8(ascii: "/"):
      let ended = tag.dropFirst().prefix { !Self.isSpace($0) }
      guard let last = open.popLast(), ended.elementsEqual(last) else { throw error("an end tag without its start") }
      name = Self.local(last[...])
      return .end
    default:
      let full = tag.prefix { !Self.isSpace($0) && $0 != UInt8(ascii: "/") }
      if full.isEmpty { throw error("a tag without a name") }
      name = Self.local(full)
      if tag.last == UInt8(ascii: "/") {
        tag.removeLast()
        endsNext = true
      } else {
        if open.count >= Self.maxDepth { throw error("elements are nested too deeply") }
        open.append(Array(full))
      }
      return .start
    }
  }

  private mutating func readCharacterData() throws -> Event {
    var data: [UInt8] = []
    while !data.suffix(3).elementsEqual("]]>".utf8) {
      guard let byte = try next() else { throw error("character data has no end") }
      data.append(byte)
      if data.count > Self.maxText { throw error("a text is longer than 1 MiB") }
    }
    if open.isEmpty { throw error("text outside of an element") }
    text = Self.withLineFeeds(Array(data.dropLast(3)))
    return .text
  }

  /// Returns an attribute of the element that begins, by its local name; nil if it is absent.
  func attribute(_ wanted: String) throws -> String? {
    var rest = tag.drop { !Self.isSpace($0) }
    while true {
      rest = rest.drop(while: Self.isSpace)
      if rest.isEmpty { return nil }
      let name = rest.prefix { $0 != UInt8(ascii: "=") && !Self.isSpace($0) }
      rest = rest.dropFirst(name.count).drop(while: Self.isSpace)
      guard rest.first == UInt8(ascii: "=") else { throw error("an attribute without a value") }
      rest = rest.dropFirst().drop(while: Self.isSpace)
      guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
        let end = rest.dropFirst().firstIndex(of: quote)
      else { throw error("an attribute without quotes") }
      if Self.local(name) == wanted {
        return String(decoding: try resolved(rest[(rest.startIndex + 1)..<end]), as: UTF8.self)
      }
      rest = rest[(end + 1)...]
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  /// Returns a name without its prefix.
  private static func local(_ name: ArraySlice<UInt8>) -> String {
    let start = name.lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? name.startIndex
    return String(decoding: name[start...], as: UTF8.self)
  }

  /// Returns text in which each line ends with a line feed alone: https://www.w3.org/TR/xml/ 2.11.
  private static func withLineFeeds(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(0x0D) else { return text }
    var out: [UInt8] = [], last: UInt8 = 0
    for byte in text {
      if byte == 0x0D { out.append(0x0A) } else if byte != 0x0A || last != 0x0D { out.append(byte) }
      last = byte
    }
    return out
  }

  /// Returns text with its references replaced.
  private func resolved(_ text: ArraySlice<UInt8>) throws -> [UInt8] {
    guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
    var out: [UInt8] = [], rest = text
    while let mark = rest.firstIndex(of: UInt8(ascii: "&")) {
      out += rest[..<mark]
      guard let end = rest[mark...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
        throw error("a reference has no end")
      }
      out += try character(String(decoding: rest[(mark + 1)..<end], as: UTF8.self))
      rest = rest[(end + 1)...]
    }
    return out + rest
  }

  private func character(_ name: String) throws -> [UInt8] {
    switch name {
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "amp": return [UInt8(ascii: "&")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default:
      let isHex = name.hasPrefix("#x")
      guard name.hasPrefix("#"), let code = UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10),
        let scalar = Unicode.Scalar(code)
      else { throw error("the reference &\(name.printable); is unknown") }
      return Array(String(Character(scalar)).utf8)
    }
  }
}
