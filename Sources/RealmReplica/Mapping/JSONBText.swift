// Rewrites JSON text in the format in which PostgreSQL prints jsonb: members sorted by length and bytes, a space after
// colons and commas, numbers without exponents. The server returns such text byte for byte, so it can be hashed on both
// sides.

import RealmJSON
import RealmPages

/// Rewrites one JSON text.
///
/// The input comes from our own renderer: it is valid, its nesting is bounded, and no object has duplicate names.
@safe struct JSONBText {
  // Safe: created only by `append`, and does not outlive the bytes.
  private let input: UnsafeRawBufferPointer
  private let out: FieldBuffer
  private var index = 0
  private(set) var fit = Fit.whole

  /// Appends the text; if it does not fit, the buffer is unchanged.
  static func append(_ json: UnsafeRawBufferPointer, to out: FieldBuffer) -> Fit {
    let start = unsafe out.count
    var text = unsafe JSONBText(json, out)
    text.value()
    if case .unfit = text.fit { out.truncate(to: start) }
    return text.fit
  }

  private init(_ input: UnsafeRawBufferPointer, _ out: FieldBuffer) {
    unsafe (self.input, self.out) = (input, out)
  }

  private var current: UInt8 { unsafe index < input.count ? input[index] : 0 }

  private mutating func skipSpace() { while [0x20, 0x0A, 0x0D, 0x09].contains(current) { index += 1 } }

  private mutating func value() {
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): object()
    case UInt8(ascii: "["): array()
    case UInt8(ascii: "\""): string()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): number()
    default:
      // true, false, null
      while (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(current) { copy() }
    }
    skipSpace()
  }

  private mutating func copy() {
    out.append(byte: current)
    index += 1
  }

  private mutating func array() {
    copy()
    skipSpace()
    while unsafe index < input.count, current != UInt8(ascii: "]") {
      value()
      guard current == UInt8(ascii: ",") else { continue }
      copy()
      out.append(byte: 0x20)
    }
    copy()
  }

  private mutating func object() {
    copy()
    skipSpace()
    let start = unsafe out.count
    var members: [(range: Range<Int>, name: [UInt8])] = []
    while unsafe index < input.count, current != UInt8(ascii: "}") {
      let begin = unsafe out.count
      let name = string()
      skipSpace()
      copy()
      out.append(byte: 0x20)
      value()
      unsafe members.append((begin..<out.count, name))
      if current == UInt8(ascii: ",") { index += 1 }
      skipSpace()
    }
    let isSorted = zip(members, members.dropFirst()).allSatisfy { Self.precedes($0.name, $1.name) }
    if !isSorted { members.sort { Self.precedes($0.name, $1.name) } }
    // The separators are still missing.
    let texts = members.map { out.copy($0.range) }
    out.truncate(to: start)
    for (index, text) in texts.enumerated() {
      if index > 0 {
        out.append(byte: UInt8(ascii: ","))
        out.append(byte: 0x20)
      }
      out.append(text)
    }
    copy()
  }

  /// The order of names in jsonb.
  private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count ? a.lexicographicallyPrecedes(b) : a.count < b.count
  }

  // MARK: strings

  /// Rewrites a string, and returns its unescaped bytes.
  @discardableResult
  private mutating func string() -> [UInt8] {
    var text: [UInt8] = []
    index += 1
    while unsafe index < input.count, current != UInt8(ascii: "\"") {
      if current != UInt8(ascii: "\\") {
        text.append(current)
        index += 1
        continue
      }
      index += 1
      let escape = current
      index += 1
      switch escape {
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "u"): unicode(&text)
      default: text.append(escape)
      }
    }
    index += 1
    out.append(byte: UInt8(ascii: "\""))
    for byte in text { escape(byte) }
    out.append(byte: UInt8(ascii: "\""))
    return text
  }

  private mutating func unicode(_ text: inout [UInt8]) {
    var scalar = hexadecimal()
    if scalar & 0xFC00 == 0xD800, unsafe index + 6 <= input.count, current == UInt8(ascii: "\\") {
      index += 2
      scalar = 0x10000 + (scalar & 0x3FF) << 10 + (hexadecimal() & 0x3FF)
    }
    if scalar == 0 { fit = .unfit }
    text += Array(String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
  }

  private mutating func hexadecimal() -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 where unsafe index < input.count {
      let byte = current
      value = value << 4 | UInt32(byte & 15) + (byte >= 0x41 ? 9 : 0)
      index += 1
    }
    return value
  }

  private func escape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      out.append(byte: UInt8(ascii: "\\"))
      out.append(byte: byte)
    case 0x0A: out.append(Array("\\n".utf8))
    case 0x09: out.append(Array("\\t".utf8))
    case 0x0D: out.append(Array("\\r".utf8))
    case 0x08: out.append(Array("\\b".utf8))
    case 0x0C: out.append(Array("\\f".utf8))
    case 0..<0x20:
      out.append(Array("\\u00".utf8))
      out.append(byte: FieldBuffer.digit(byte >> 4))
      out.append(byte: FieldBuffer.digit(byte & 15))
    default: out.append(byte: byte)
    }
  }

  // MARK: numbers

  private mutating func number() {
    let isNegative = current == UInt8(ascii: "-")
    if isNegative { index += 1 }
    var digits: [UInt8] = [], point: Int?, exponent = 0
    while unsafe index < input.count {
      let byte = current
      if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
        digits.append(byte)
      } else if byte == UInt8(ascii: ".") {
        point = digits.count
      } else if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
        index += 1
        exponent = self.exponent()
        break
      } else {
        break
      }
      index += 1
    }
    let isZero = digits.allSatisfy { $0 == UInt8(ascii: "0") }
    // PostgreSQL's numeric has no negative zero.
    if isZero && isNegative { fit = .worse(fit, .rounded) }
    if isNegative && !isZero { out.append(byte: UInt8(ascii: "-")) }
    let scale = max(0, digits.count - (point ?? digits.count) - exponent)
    var place = (point ?? digits.count) + exponent
    while place > digits.count { digits.append(UInt8(ascii: "0")) }
    if place <= 0 {
      digits = [UInt8](repeating: UInt8(ascii: "0"), count: 1 - place) + digits
      place = 1
    }
    let whole = digits[..<place].drop { $0 == UInt8(ascii: "0") }
    out.append(whole.isEmpty ? [UInt8(ascii: "0")] : Array(whole))
    if scale == 0 { return }
    out.append(byte: UInt8(ascii: "."))
    out.append(Array(digits[place...].prefix(scale)))
  }

  private mutating func exponent() -> Int {
    let isNegative = current == UInt8(ascii: "-")
    if isNegative || current == UInt8(ascii: "+") { index += 1 }
    var value = 0
    while unsafe index < input.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) {
      value = min(value * 10 + Int(current - UInt8(ascii: "0")), 10_000)
      index += 1
    }
    return isNegative ? -value : value
  }
}

extension Fit {
  static func worse(_ a: Fit, _ b: Fit) -> Fit {
    switch (a, b) {
    case (.unfit, _), (_, .unfit): .unfit
    case (.rounded, _), (_, .rounded): .rounded
    case (.whole, .whole): .whole
    }
  }
}
