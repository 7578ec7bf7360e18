// How far a JSON text has come that arrives piece by piece: only strings and brackets are looked at, once each, so a
// text can be watched while it is written. What is in the brackets is for JSONText to check.

/// The state of a text that must be a JSON object, or a JSON value of any kind.
public struct JSONOutline: Sendable {
  /// What the text must be.
  public enum Kind: Sendable {
    /// An object.
    case object
    /// Any value.
    case value
  }

  /// What the bytes so far are.
  public enum Verdict: Sendable, Hashable {
    /// Nothing but white space.
    case blank
    /// The beginning of one.
    case open
    /// One, and white space. A number may go on all the same.
    case complete
    /// None, whatever follows.
    case hopeless
  }

  /// What the bytes so far are.
  public private(set) var verdict = Verdict.blank { didSet { if verdict != oldValue, isDecided { decisions += 1 } } }
  /// Counts the texts that were complete or hopeless: a number that goes on is another text. One of many digits counts
  /// again when it is twice as long or ends, so that checking each text costs as much as reading them once.
  public private(set) var decisions = 0
  private let kind: Kind
  /// The first bytes of a number or of a word such as `true`, the last byte, and the number of bytes; nil outside of
  /// one.
  private var word: (start: [UInt8], last: UInt8, length: Int)?
  /// The bytes of the word when it last counted as a text.
  private var decidedLength = 0
  /// The brackets that are open.
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  /// The bytes of a byte order mark so far.
  private var markCount = 0

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// An empty text.
  public init(_ kind: Kind = .object) { self.kind = kind }

  private var isDecided: Bool { verdict == .complete || verdict == .hopeless }

  /// Looks at the bytes that follow. Cost: O(n).
  public mutating func read(_ bytes: RawSpan) {
    var index = 0
    while index < bytes.byteCount {
      if verdict == .hopeless { return }
      if word != nil {
        index = readWord(bytes, from: index)
        continue
      }
      if verdict == .open { index = readInside(bytes, from: index) } else { readOutside(bytes[index]) }
      // Within brackets, quotes or a word the byte is looked at again.
      if verdict != .open && word == nil { index += 1 }
    }
  }

  private mutating func readOutside(_ byte: UInt8) {
    let isStart = verdict == .blank && (markCount == 0 || markCount == Self.mark.count)
    switch byte {
    case _ where Self.isSpace(byte):
      // A mark that is cut short is no white space.
      if markCount > 0 && markCount < Self.mark.count { verdict = .hopeless }
      if markCount == 0 { markCount = Self.mark.count }
    case UInt8(ascii: "{") where isStart: verdict = .open
    case _ where isStart && kind == .value && [UInt8(ascii: "["), UInt8(ascii: "\"")].contains(byte): verdict = .open
    case _ where verdict == .blank && markCount < Self.mark.count && byte == Self.mark[markCount]: markCount += 1
    case _ where isStart && kind == .value: word = ([], 0, 0)
    default: verdict = .hopeless
    }
  }

  /// Reads on within a number or a word. Returns the index behind it, or the end of the bytes.
  private mutating func readWord(_ bytes: RawSpan, from start: Int) -> Int {
    guard var (first, last, length) = word else { return start }
    for index in start..<bytes.byteCount {
      let byte = bytes[index]
      if Self.isSpace(byte) {
        word = nil
        if verdict == .complete, length > decidedLength { decisions += 1 }
        verdict = .complete
        return index
      }
      if first.count < Self.longestWord { first.append(byte) }
      last = byte
      length += 1
    }
    word = (first, last, length)
    let isPart =
      Self.words.contains { first.count < $0.utf8.count && $0.utf8.starts(with: first) }
      || first.first.map { "-0123456789".utf8.contains($0) } ?? false && "+-.eE".utf8.contains(last)
    if isPart {
      verdict = .open
    } else if verdict != .complete {
      verdict = .complete
      decidedLength = length
    } else if length <= Self.shortNumber || length >= 2 * decidedLength {
      decisions += 1
      decidedLength = length
    }
    return bytes.byteCount
  }

  /// Up to this length, a number counts as another text with each digit.
  private static let shortNumber = 64

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  private static let words = ["true", "false", "null"]
  private static let longestWord = 6

  /// Reads on within brackets or quotes. Returns the index of what ends them, or the end of the bytes.
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
          if depth == 0 {
            verdict = .complete
            return index
          }
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
