// Tracks the completeness of a JSON text that arrives piece by piece. It scans only strings and brackets, each byte
// once, so a text can be checked while it is being written. JSONText validates the content of the brackets.

/// The state of a text that must be a JSON object, or a JSON value of any kind.
public struct JSONOutline: Sendable {
  /// The kind of value that the text must be.
  public enum Kind: Sendable {
    /// An object.
    case object
    /// Any value.
    case value
  }

  /// The state of the bytes read.
  public enum Verdict: Sendable, Hashable {
    /// Only white space.
    case blank
    /// The beginning of a value.
    case open
    /// A complete value, possibly followed by white space. More digits may still follow a number.
    case complete
    /// Not a value, regardless of the following bytes.
    case invalid
  }

  /// The state of the bytes read.
  public private(set) var verdict = Verdict.blank { didSet { if verdict != oldValue, isDecided { decisions += 1 } } }
  /// The number of texts that were complete or invalid. A growing number counts again with each digit; a long one
  /// counts again only when its length has doubled or it ends, so that checking each text costs O(n) in total.
  public private(set) var decisions = 0
  private let kind: Kind
  /// The first bytes, the last byte and the length of the number or word (such as `true`) being read; nil outside of
  /// one.
  private var word: (start: [UInt8], last: UInt8, length: Int)?
  /// The length of the word when it was last counted as a text.
  private var decidedLength = 0
  /// The number of open brackets.
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  /// The number of bytes of a byte order mark read.
  private var markCount = 0

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Creates the state of an empty text.
  public init(_ kind: Kind = .object) { self.kind = kind }

  private var isDecided: Bool { verdict == .complete || verdict == .invalid }

  /// Scans the next bytes. Cost: O(n).
  public mutating func read(_ bytes: RawSpan) {
    var index = 0
    while index < bytes.byteCount {
      if verdict == .invalid { return }
      if word != nil {
        index = readWord(bytes, from: index)
        continue
      }
      if verdict == .open { index = readInside(bytes, from: index) } else { readOutside(bytes[index]) }
      // The first byte of a bracket, string or word is scanned again by its own function.
      if verdict != .open && word == nil { index += 1 }
    }
  }

  private mutating func readOutside(_ byte: UInt8) {
    let isStart = verdict == .blank && (markCount == 0 || markCount == Self.mark.count)
    switch byte {
    case _ where Self.isSpace(byte):
      // A truncated byte order mark is not white space.
      if markCount > 0 && markCount < Self.mark.count { verdict = .invalid }
      if markCount == 0 { markCount = Self.mark.count }
    case UInt8(ascii: "{") where isStart: verdict = .open
    case _ where isStart && kind == .value && [UInt8(ascii: "["), UInt8(ascii: "\"")].contains(byte): verdict = .open
    case _ where verdict == .blank && markCount < Self.mark.count && byte == Self.mark[markCount]: markCount += 1
    case _ where isStart && kind == .value: word = ([], 0, 0)
    default: verdict = .invalid
    }
  }

  /// Continues inside a number or a word. Returns the index after it, or the end of the bytes.
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

  /// Up to this length, each further digit makes a number a new text.
  private static let shortNumber = 64

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  private static let words = ["true", "false", "null"]
  private static let longestWord = 6

  /// Continues inside brackets or quotes. Returns the index of the byte that closes them, or the end of the bytes.
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
  /// The byte at `index`, bounds-checked.
  fileprivate subscript(index: Int) -> UInt8 {
    unsafe unsafeLoad(fromByteOffset: index, as: UInt8.self)
  }
}
