// Changes that a transfer makes to a realm file: programs that mistake the file for text change bytes or insert others.
// All offsets are then wrong, but most or all of the changes can be undone.
import Glibc
import RealmPages

/// A change to the bytes of a realm that can be undone.
enum Transfer: Equatable {
  /// Git with core.autocrlf, FTP in ASCII mode or a similar program inserted a carriage return before every line feed.
  case lineEndings
  /// The realm begins at an offset, as in a disk image, in a container or after a byte order mark. It ends at `end`.
  case offset(Int, end: Int)
  /// Each byte was read as a Latin-1 character and written as UTF-8.
  case latin1
  /// PowerShell read the output of a command as lines of text in a code page and wrote them as UTF-16.
  case utf16(CodePage)

  /// A description of the change and its cause.
  var description: String {
    switch self {
    case .lineEndings:
      "a carriage return is before every line feed, as git (core.autocrlf) and FTP put them into texts"
    case .offset(3, _): "a byte order mark is before the realm, as editors put it into texts"
    case .offset(let offset, _): "the realm begins at byte \(offset) of the file"
    case .latin1: "each byte was read as a Latin-1 character and written as UTF-8"
    case .utf16: "the realm was written as UTF-16 text, as '>' in PowerShell does"
    }
  }

  /// True if the unchanged file may also be a realm: the change is assumed only if undoing it makes the realm valid.
  private var isDoubtful: Bool {
    switch self {
    case .lineEndings, .latin1: true
    case .offset, .utf16: false
    }
  }

  // MARK: detecting

  /// Returns the change found in a file; nil if there is none. Reads no more than necessary. `known` is the result of
  /// `realms(in:)`, if it was called.
  static func of(_ path: String, realms known: [Range<Int>]? = nil) -> Transfer? {
    // A file that cannot be read has no detectable change.
    let head = Array(((try? System.bytes(ofFile: path, limit: FileKind.headSize)) ?? []).prefix(FileKind.headSize))
    if head.starts(with: [0xFF, 0xFE]),
      utf16Signature.contains(where: { head.dropFirst($0).starts(with: wideSignature) })
    {
      return .utf16(codePage(path))
    }
    if isLatin1(path) { return .latin1 }
    if areLineEndingsConverted(path) { return .lineEndings }
    let family = FileKind(head, size: head.count).family
    if family == .realm || family == .encrypted { return nil }
    let realms = known ?? Self.realms(in: path)
    return realms.count == 1 ? realms.first.map { .offset($0.lowerBound, end: $0.upperBound) } : nil
  }

  /// Returns the code page from which a file was converted to UTF-16.
  private static func codePage(_ path: String) -> CodePage {
    var units: Set<UInt16> = [], low: UInt8?
    // After a read error, only the bytes read before it are used.
    try? System.eachBlock(ofFile: path) { bytes in
      for byte in bytes {
        if let first = low { units.insert(UInt16(byte) << 8 | UInt16(first)) }
        low = low == nil ? byte : nil
      }
      return true
    }
    units.remove(Self.byteOrderMark)
    return .best(for: units)
  }

  fileprivate static let byteOrderMark: UInt16 = 0xFEFF
  private static let wideSignature: [UInt8] = [0x54, 0, 0x2D, 0, 0x44, 0, 0x42, 0]
  /// The possible offsets of the signature, which depend on the number of carriage returns before it.
  private static let utf16Signature = stride(from: 34, through: 66, by: 2)

  /// The number of line feeds needed for a conclusion: by chance, one in 256 follows a carriage return.
  private static let significantCount = 8

  private static func areLineEndingsConverted(_ path: String) -> Bool {
    var count = 0, last: UInt8 = 0, isConverted = true
    // After a read error, only the bytes read before it are used.
    try? System.eachBlock(ofFile: path) { bytes in
      for byte in bytes {
        if byte == UInt8(ascii: "\n") {
          count += 1
          isConverted = last == UInt8(ascii: "\r")
          if !isConverted { return false }
        }
        last = byte
      }
      return true
    }
    return isConverted && count >= significantCount
  }

  /// True if the file is UTF-8 of characters below 256, some of them above 127.
  private static func isLatin1(_ path: String) -> Bool {
    var decoder = Latin1Decoder(), count = 0
    // After a read error, only the bytes read before it are used.
    try? System.eachBlock(ofFile: path) { bytes in
      for byte in bytes {
        if decoder.next(byte) == nil, !decoder.isInside { return false }
        if decoder.isInside { count += 1 }
      }
      return true
    }
    return !decoder.isBroken && !decoder.isInside && count >= significantCount
  }

  /// Returns the ranges of the realms in a file, found by their signature; none for a file that begins with one.
  static func realms(in path: String) -> [Range<Int>] {
    var starts: [Int] = [], size = 0
    var window: [UInt8] = []
    // After a read error, only the bytes read before it are used.
    try? System.eachBlock(ofFile: path) { bytes in
      let base = size - window.count
      window += bytes
      size += bytes.count
      var at = 0
      while let found = window[at...].firstIndex(of: UInt8(ascii: "T")) {
        if found + 8 > window.count { break }
        at = found + 1
        guard found >= 16, isHeader(window[found - 16..<found + 8]), !starts.contains(base + found - 16) else {
          continue
        }
        starts.append(base + found - 16)
      }
      window = Array(window.suffix(23))
      return starts.first != 0 && starts.count < 1000
    }
    if starts.first == 0 { return [] }
    return starts.indices.map { starts[$0]..<($0 + 1 < starts.count ? starts[$0 + 1] : size) }
  }

  /// True if 24 bytes may be the header of a realm.
  private static func isHeader(_ bytes: ArraySlice<UInt8>) -> Bool {
    let header = Array(bytes)
    guard header[16..<20].elementsEqual("T-DB".utf8), header[22] == 0, header[23] <= 1 else { return false }
    let slot = Int(header[23])
    let ref = header[8 * slot..<8 * slot + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard Realm.readableFormats.contains(Int(header[20 + slot])) else { return false }
    return ref == .max && slot == 0 || ref > 0 && ref % 8 == 0 && ref >> 48 == 0
  }

  // MARK: undoing

  /// Calls `body` with the realm, or with a temporary copy beside `target` in which the change is undone. `offset` is
  /// the start of the realm, if the user specifies it; `realms` is the result of `realms(in:)`.
  static func undoing<R>(
    _ configuration: Configuration,
    offset: Int? = nil,
    realms: [Range<Int>]? = nil,
    for target: String,
    _ body: (_ source: Configuration, _ transfer: Transfer?) throws -> R
  ) throws -> R {
    let path = configuration.path
    let found =
      try offset.map { offset in try Transfer(path, offset: offset) }
      ?? of(path, realms: realms)
    guard let transfer = found, !transfer.isDoubtful || !isSound(configuration) else {
      return try body(configuration, nil)
    }
    let staging = try Staging(for: target)
    defer { _ = staging.path }
    var restored = configuration
    restored.path = staging.anchoredPath
    try transfer.undo(path, to: restored.path, for: target)
    if transfer.isDoubtful, !isSound(restored) { return try body(configuration, nil) }
    return try body(restored, transfer)
  }

  private init(_ path: String, offset: Int) throws {
    guard case .success(let status) = System.status(path), offset < status.st_size else {
      throw CommandFailure(.failure, "\(path): the file ends before byte \(offset)")
    }
    let next = Self.realms(in: path).map(\.lowerBound).first { $0 > offset }
    self = .offset(offset, end: next ?? Int(status.st_size))
  }

  private static func isSound(_ configuration: Configuration) -> Bool {
    var file = configuration
    file.mode = .immutable
    // A file that cannot be opened is not valid.
    guard let snapshot = try? Realm(file).latest() else { return false }
    return Verifier(snapshot).run { _ in }.isSound
  }

  private func undo(_ path: String, to copy: String, for target: String) throws {
    let output = unsafe open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if output < 0 { throw CommandFailure(.failure, "cannot create \(target): \(System.message(errno))") }
    defer { close(output) }
    var code: Int32 = 0, decoder = Decoder(self)
    do {
      try System.eachBlock(ofFile: path) { bytes in
        code = StandardOutput.write(decoder.decode(bytes), to: output)
        return code == 0
      }
    } catch { throw CommandFailure(.unreadable, "\(path): \(System.message(error.code))") }
    if code == 0 { code = StandardOutput.write(decoder.rest(), to: output) }
    if code != 0 { throw CommandFailure(.failure, "cannot create \(target): \(System.message(code))") }
  }
}

/// Undoes a change, block by block.
private struct Decoder {
  private let transfer: Transfer
  private var position = 0
  private var latin1 = Latin1Decoder()
  private var lineEnds = LineEndDecoder()
  private var low: UInt8?
  private var marks = 0

  private let upperBytes: [UInt16: UInt8]

  init(_ transfer: Transfer) {
    self.transfer = transfer
    upperBytes = if case .utf16(let page) = transfer { page.upperBytes } else { [:] }
  }

  mutating func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    defer { position += bytes.count }
    switch transfer {
    case .offset(let start, let end):
      let first = max(0, start - position), last = min(bytes.count, end - position)
      return first < last ? Array(bytes[bytes.startIndex + first..<bytes.startIndex + last]) : []
    case .latin1: return bytes.compactMap { latin1.next($0) }
    case .lineEndings: return lineEnds.decode(bytes)
    case .utf16:
      let upper = upperBytes
      var plain: [UInt8] = []
      plain.reserveCapacity(bytes.count / 2)
      for byte in bytes {
        guard let first = low else {
          low = byte
          continue
        }
        low = nil
        let unit = UInt16(byte) << 8 | UInt16(first)
        if unit == Transfer.byteOrderMark { continue }
        plain.append(unit < 128 ? UInt8(unit) : upper[unit] ?? UInt8(ascii: "?"))
      }
      return lineEnds.decode(plain[...]).map { restoringCarriageReturn($0) }
    }
  }

  /// Restores a lone carriage return that the transfer turned into a line feed: a line feed cannot follow `AAAA` at the
  /// start of a node.
  private mutating func restoringCarriageReturn(_ byte: UInt8) -> UInt8 {
    defer { marks = byte == UInt8(ascii: "A") ? marks + 1 : 0 }
    return marks >= 4 && byte == UInt8(ascii: "\n") ? UInt8(ascii: "\r") : byte
  }

  mutating func rest() -> [UInt8] { lineEnds.rest() }
}

/// Removes the carriage return before each line feed.
private struct LineEndDecoder {
  private var last: UInt8 = 0

  mutating func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    // A carriage return at the end of a block may belong to a line feed at the start of the next one.
    var kept: [UInt8] = []
    kept.reserveCapacity(bytes.count + 1)
    for byte in bytes {
      if last == UInt8(ascii: "\r"), byte != UInt8(ascii: "\n") { kept.append(last) }
      if byte != UInt8(ascii: "\r") { kept.append(byte) }
      last = byte
    }
    return kept
  }

  func rest() -> [UInt8] { last == UInt8(ascii: "\r") ? [last] : [] }
}

/// Decodes UTF-8 of characters below 256.
private struct Latin1Decoder {
  private var lead: UInt8?
  /// True if other input was found.
  private(set) var isBroken = false

  /// True if the next byte belongs to a character that has already begun.
  var isInside: Bool { lead != nil }

  /// Returns the character that a byte completes; nil if the byte begins a character or is invalid.
  mutating func next(_ byte: UInt8) -> UInt8? {
    if let first = lead {
      lead = nil
      if byte & 0xC0 == 0x80 { return first << 6 | byte & 0x3F }
    } else if byte < 0x80 {
      return byte
    } else if byte == 0xC2 || byte == 0xC3 {
      lead = byte
      return nil
    }
    isBroken = true
    return nil
  }
}

/// The code pages that consoles use. Bytes below 128 are ASCII.
enum CodePage: CaseIterable {
  /// The default in the United States.
  case ibm437
  /// The default in western Europe.
  case ibm850
  /// That of the graphical console.
  case windows1252

  private static let uppers: [CodePage: String] = [
    .ibm437:
      "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒ"
      + "áíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐"
      + "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
      + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}",
    .ibm850:
      "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒ"
      + "áíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐"
      + "└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀"
      + "ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}",
    .windows1252:
      "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ"
      + "\u{A0}¡¢£¤¥¦§¨©ª«¬\u{AD}®¯°±²³´µ¶·¸¹º»¼½¾¿"
      + "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß"
      + "àáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ",
  ]

  private static let bytes: [CodePage: [UInt16: UInt8]] = uppers.mapValues { upper in
    Dictionary(upper.utf16.enumerated().map { ($0.element, UInt8($0.offset + 128)) }) { first, _ in first }
  }

  /// The bytes of characters above 127, by UTF-16 unit.
  fileprivate var upperBytes: [UInt16: UInt8] { Self.bytes[self] ?? [:] }

  /// Returns the code page that contains the most of some UTF-16 units; the first one of equals.
  fileprivate static func best(for units: some Collection<UInt16>) -> CodePage {
    func missing(_ page: CodePage) -> Int { units.count { $0 >= 128 && page.upperBytes[$0] == nil } }
    let counts = allCases.map { (page: $0, missing: missing($0)) }
    return counts.min { $0.missing < $1.missing }?.page ?? .ibm437
  }
}
