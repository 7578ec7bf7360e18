// Parses JSON from bytes into nodes, strictly by RFC 8259. It is independent of values and Realm.
//
// Open containers are kept on an explicit stack, so nesting cannot overflow the thread's stack; depth and size are
// bounded.

import RealmPages

/// Parses the bytes of one text into nodes.
struct JSONReader {
  /// The maximum nesting of brackets. A value with 200 levels can have three times as many, because wrappers that name
  /// a type are also counted.
  private static let depthLimit = 1000
  /// Objects with at most this many members are checked for duplicates by comparing all pairs.
  private static let fewMembers = 8

  private(set) var nodes: [JSONText.Node] = []
  private(set) var decoded: [UInt8] = []
  private let bytes: [UInt8]
  private let firstLine: Int
  private var index = 0
  private var open: [Int] = []

  init(_ bytes: [UInt8], firstLine: Int) {
    self.bytes = bytes
    self.firstLine = firstLine
  }

  /// Reads the complete text.
  mutating func read() throws(InputError) {
    if bytes.count > JSONText.sizeLimit {
      throw InputError(.overLimit, "a text of \(bytes.count) bytes: \(JSONText.sizeLimit) is the limit")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      throw error(at: 0, "the text is UTF-16; save it as UTF-8")
    }
    skipSpace()
    if index == bytes.count { throw error(at: index, "the text is empty; write a JSON object") }
    try value()
    while let container = open.last { try step(in: container) }
    skipSpace()
    if index < bytes.count {
      if bytes[index...].allSatisfy({ $0 == 0 }) { throw error(at: index, "zero bytes after the value; remove them") }
      if bytes[index] == UInt8(ascii: ":") { throw error(at: 0, "an object begins with {") }
      throw error(at: index, "unexpected text after the value; remove it")
    }
  }

  private func error(at offset: Int, _ problem: String) -> InputError {
    let (line, column) = JSONText.place(of: offset, in: bytes, firstLine: firstLine)
    return InputError(.syntax, line: line, column: column, problem)
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while index < bytes.count {
      switch bytes[index] {
      case 0x20, 0x0A, 0x0D, 0x09: index += 1
      default: return
      }
    }
  }

  // MARK: containers

  private mutating func begin(_ kind: JSONText.Kind) throws(InputError) {
    if open.count == Self.depthLimit {
      let (line, column) = JSONText.place(of: index, in: bytes, firstLine: firstLine)
      throw InputError(.overLimit, line: line, column: column, "more than \(Self.depthLimit) levels of brackets")
    }
    open.append(nodes.count)
    nodes.append(JSONText.Node(kind: kind, start: UInt32(index), end: 0))
    index += 1
  }

  /// Reads either the next element or member of the innermost container, or the closing bracket of the container.
  private mutating func step(in container: Int) throws(InputError) {
    let isObject = nodes[container].kind == .object, count = nodes[container].length
    let close = UInt8(ascii: isObject ? "}" : "]")
    skipSpace()
    guard let byte = current else { throw unclosed(container) }
    if byte == close {
      index += 1
      nodes[container].end = UInt32(nodes.count)
      open.removeLast()
      if isObject { try checkNames(of: container) }
      return
    }
    if count > 0 {
      if byte != UInt8(ascii: ",") {
        throw error(at: index, "expected a comma or \(isObject ? "}" : "]"), found \(found())")
      }
      index += 1
      skipSpace()
      if current == close { throw error(at: index, "a comma with nothing after it; remove the comma") }
    }
    if isObject { try name() }
    if index == bytes.count { throw unclosed(container) }
    try value()
    nodes[container].length += 1
  }

  private func unclosed(_ container: Int) -> InputError {
    let (line, column) = JSONText.place(of: Int(nodes[container].start), in: bytes, firstLine: firstLine)
    let name = nodes[container].kind == .object ? "object" : "array"
    return error(at: bytes.count, "the text ends inside the \(name) that begins in line \(line), column \(column)")
  }

  private mutating func name() throws(InputError) {
    if index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\"") else {
        throw error(at: index, "expected a name in double quotes, found \(found())")
      }
      try string()
      skipSpace()
    }
    if index < bytes.count {
      guard bytes[index] == UInt8(ascii: ":") else { throw error(at: index, "expected a colon, found \(found())") }
      index += 1
      skipSpace()
    }
  }

  private func checkNames(of container: Int) throws(InputError) {
    var twice: Int?
    if nodes[container].length <= Self.fewMembers {
      var name = container + 1
      while name < nodes.count {
        var other = container + 1
        while other < name {
          if nodes[other].length == nodes[name].length, content(other) == content(name) { twice = twice ?? name }
          other = Int(nodes[other + 1].end)
        }
        name = Int(nodes[name + 1].end)
      }
    } else {
      var names: [Int] = []
      var next = container + 1
      while next < nodes.count {
        names.append(next)
        next = Int(nodes[next + 1].end)
      }
      names.sort { (a, b) in
        let order = compare(content(a), content(b))
        return order == 0 ? a < b : order < 0
      }
      for (a, b) in zip(names, names.dropFirst()) where content(a) == content(b) { twice = min(twice ?? b, b) }
    }
    if let twice {
      let name = String(decoding: content(twice).prefix(80), as: UTF8.self)
      throw error(at: Int(nodes[twice].start), "\"\(name)\" appears twice; remove one of them")
    }
  }

  private func content(_ node: Int) -> ArraySlice<UInt8> {
    let start = Int(nodes[node].content), range = start..<start + Int(nodes[node].length)
    return nodes[node].kind == .decodedString ? decoded[range] : bytes[range]
  }

  // MARK: values

  private mutating func value() throws(InputError) {
    switch bytes[index] {
    case UInt8(ascii: "{"): try begin(.object)
    case UInt8(ascii: "["): try begin(.array)
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    case UInt8(ascii: "t") where isWord("true"): word(.true, 4)
    case UInt8(ascii: "f") where isWord("false"): word(.false, 5)
    case UInt8(ascii: "n") where isWord("null"): word(.null, 4)
    default: throw error(at: index, "expected a value, found \(found())\(hint())")
    }
  }

  private func isWord(_ word: StaticString) -> Bool {
    let end = index + word.utf8CodeUnitCount
    guard end <= bytes.count, bytes[index..<end].elementsEqual(word.description.utf8) else { return false }
    return end == bytes.count || !Self.isWordByte(bytes[end])
  }

  private mutating func word(_ kind: JSONText.Kind, _ length: Int) {
    nodes.append(JSONText.Node(kind: kind, start: UInt32(index), end: UInt32(nodes.count + 1)))
    index += length
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// A description of the input at `index`, for an error message.
  private func found() -> String {
    guard let byte = current else { return "the end of the text" }
    if Self.isWordByte(byte) {
      return String(decoding: bytes[index...].prefix(24).prefix(while: Self.isWordByte), as: UTF8.self)
    }
    switch byte {
    case 0: return "a NUL byte"
    case 0x01...0x1F, 0x7F: return "a control character"
    case UInt8(ascii: "\""): return "a string"
    case 0x21...0x7E: return String(UnicodeScalar(byte))
    default:
      let length = unsafe UTF8Sequence.length(in: bytes.span.bytes, at: index)
      return length == 0 ? "a byte that is not UTF-8" : String(decoding: bytes[index..<index + length], as: UTF8.self)
    }
  }

  private func hint() -> String {
    switch found() {
    case "NaN", "Infinity", "-Infinity", "nan", "inf": "; write {\"$numberDouble\":\"NaN\"} or the like"
    case "True", "False", "None", "TRUE", "FALSE", "NULL", "Null": "; JSON knows true, false and null"
    case "'": "; strings must be in double quotes"
    case "/", "#": "; JSON has no comments"
    case ",", "]", "}": "; it is missing"
    default: ""
    }
  }

  // MARK: numbers

  private mutating func number() throws(InputError) {
    let start = index
    if current == UInt8(ascii: "-") { index += 1 }
    let whole = index
    skipDigits()
    if index == whole { throw error(at: start, "\(tail(start)) is not a number\(hintAfterMinus(whole))") }
    if index - whole > 1 && bytes[whole] == UInt8(ascii: "0") {
      throw error(at: start, "a number with a zero before it; write it without")
    }
    if current == UInt8(ascii: ".") {
      index += 1
      let fraction = index
      skipDigits()
      if index == fraction { throw error(at: start, "\(tail(start)): digits are missing after the point") }
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      index += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
      let exponent = index
      skipDigits()
      if index == exponent { throw error(at: start, "\(tail(start)): digits are missing in the exponent") }
    }
    if let byte = current, Self.isWordByte(byte) {
      throw error(at: start, "\(tail(start)) is not a number\(hintAfterDigits(start))")
    }
    nodes.append(
      JSONText.Node(
        kind: .number,
        start: UInt32(start),
        content: UInt32(start),
        length: UInt32(index - start),
        end: UInt32(nodes.count + 1)
      )
    )
  }

  /// The hint to append to the error if the number is the beginning of a date such as `2024-05-01`.
  private func hintAfterDigits(_ start: Int) -> String {
    let text = bytes[start...].prefix(10), hyphen = UInt8(ascii: "-"), digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let isDay =
      text.count == 10
      && text.enumerated().allSatisfy { place, byte in
        place == 4 || place == 7 ? byte == hyphen : digits.contains(byte)
      }
    return isDay ? "; dates need quotes" : ""
  }

  private mutating func skipDigits() {
    while let byte = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
  }

  private func tail(_ start: Int) -> String {
    String(decoding: bytes[start...].prefix(40).prefix(while: Self.isWordByte), as: UTF8.self)
  }

  private func hintAfterMinus(_ index: Int) -> String {
    bytes[index...].starts(with: "Inf".utf8) ? "; write {\"$numberDouble\":\"-Infinity\"}" : ""
  }

  // MARK: strings

  private mutating func string() throws(InputError) {
    let start = index
    index += 1
    var runStart = index
    var decodedStart: Int?
    while true {
      skipPlain()
      guard let byte = current else { throw error(at: start, "the text ends inside the string that begins here") }
      switch byte {
      case UInt8(ascii: "\""):
        let node: JSONText.Node
        if let decodedStart {
          decoded.append(contentsOf: bytes[runStart..<index])
          node = JSONText.Node(
            kind: .decodedString,
            start: UInt32(start),
            content: UInt32(decodedStart),
            length: UInt32(decoded.count - decodedStart),
            end: UInt32(nodes.count + 1)
          )
        } else {
          node = JSONText.Node(
            kind: .plainString,
            start: UInt32(start),
            content: UInt32(runStart),
            length: UInt32(index - runStart),
            end: UInt32(nodes.count + 1)
          )
        }
        nodes.append(node)
        index += 1
        return
      case UInt8(ascii: "\\"):
        if decodedStart == nil { decodedStart = decoded.count }
        decoded.append(contentsOf: bytes[runStart..<index])
        try escape()
        runStart = index
      case 0x0A, 0x0D: throw error(at: index, "a line break inside a string; write \\n, or close the string")
      case 0..<0x20:
        let digits = hexadecimal(UInt64(byte), digits: 4)
        throw error(at: index, "a control character inside a string; write it as \\u\(digits)")
      default:
        let length = unsafe UTF8Sequence.length(in: bytes.span.bytes, at: index)
        if length == 0 { throw error(at: index, "a byte that is not UTF-8; save the text as UTF-8") }
        index += length
      }
    }
  }

  private mutating func skipPlain() {
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
      index += 1
    }
  }

  private mutating func escape() throws(InputError) {
    let start = index
    index += 1
    guard let byte = current else { throw error(at: start, "the text ends inside a string") }
    index += 1
    if let simple = simpleEscape(byte) { return decoded.append(simple) }
    switch byte {
    case UInt8(ascii: "u"):
      var code = try fourDigits(start)
      if (0xD800..<0xDC00).contains(code), bytes[index...].starts(with: "\\u".utf8) {
        index += 2
        let low = try fourDigits(start)
        guard (0xDC00..<0xE000).contains(low) else { throw loneSurrogate(start) }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = UnicodeScalar(code) else { throw loneSurrogate(start) }
      decoded.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
    default: throw error(at: start, "an escape that JSON does not know; a backslash itself is written \\\\")
    }
  }

  private func loneSurrogate(_ start: Int) -> InputError {
    error(at: start, "half of a surrogate pair is not a character; write the whole pair or another character")
  }

  private mutating func fourDigits(_ start: Int) throws(InputError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = current.flatMap(hexadecimalDigit) else {
        throw error(at: start, "\\u needs four hexadecimal digits")
      }
      code = code << 4 | UInt32(digit)
      index += 1
    }
    return code
  }

}

/// Returns a negative number, zero or a positive number if `a` is ordered before, equal to or after `b`: by unsigned
/// bytes, with a prefix first.
func compare(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Int {
  var first = a.makeIterator(), second = b.makeIterator()
  while true {
    switch (first.next(), second.next()) {
    case (nil, nil): return 0
    case (nil, _): return -1
    case (_, nil): return 1
    case (let x?, let y?): if x != y { return x < y ? -1 : 1 }
    }
  }
}

/// Returns the character that a backslash and `byte` represent in JSON; nil for `u` and for invalid escapes.
func simpleEscape(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
  case UInt8(ascii: "n"): 0x0A
  case UInt8(ascii: "r"): 0x0D
  case UInt8(ascii: "t"): 0x09
  case UInt8(ascii: "b"): 0x08
  case UInt8(ascii: "f"): 0x0C
  default: nil
  }
}
