// How far the text of an object has come that arrives piece by piece: only strings and brackets are looked at, once
// each, so a text can be watched while it is written. What is in the brackets is for JSONText to check.

/// The state of a text that must be a JSON object.
public struct JSONOutline: Sendable {
  /// What the bytes so far are.
  public enum Verdict: Sendable, Hashable {
    /// Nothing but white space.
    case blank
    /// The beginning of an object.
    case open
    /// One object, and white space.
    case complete
    /// No object, whatever follows.
    case hopeless
  }

  /// What the bytes so far are.
  public private(set) var verdict = Verdict.blank
  /// The brackets that are open.
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  /// The bytes of a byte order mark so far.
  private var markCount = 0

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// An empty text.
  public init() {}

  /// Looks at the bytes that follow. Cost: O(n).
  public mutating func read(_ bytes: RawSpan) {
    var index = 0
    while index < bytes.byteCount {
      if verdict == .hopeless { return }
      if verdict == .open { index = readInside(bytes, from: index) } else { readOutside(bytes[index]) }
      if verdict != .open { index += 1 }
    }
  }

  private mutating func readOutside(_ byte: UInt8) {
    switch byte {
    case 0x20, 0x0A, 0x0D, 0x09:
      // A mark that is cut short is no white space.
      if markCount > 0 && markCount < Self.mark.count { verdict = .hopeless }
      if markCount == 0 { markCount = Self.mark.count }
    case UInt8(ascii: "{") where verdict == .blank && (markCount == 0 || markCount == Self.mark.count):
      verdict = .open
      depth = 0
    case _ where verdict == .blank && markCount < Self.mark.count && byte == Self.mark[markCount]: markCount += 1
    default: verdict = .hopeless
    }
  }

  /// Reads on within the object. Returns the index of the bracket that ends it, or the end of the bytes.
  private mutating func readInside(_ bytes: RawSpan, from start: Int) -> Int {
    var depth = depth, isInString = isInString, isEscaped = isEscaped
    defer { (self.depth, self.isInString, self.isEscaped) = (depth, isInString, isEscaped) }
    for index in start..<bytes.byteCount {
      let byte = bytes[index]
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 {
          verdict = .complete
          return index
        }
      default: break
      }
    }
    return bytes.byteCount
  }
}

extension RawSpan {
  /// The byte at `index`, which is checked.
  fileprivate subscript(index: Int) -> UInt8 {
    unsafe unsafeLoad(fromByteOffset: index, as: UInt8.self)
  }
}
