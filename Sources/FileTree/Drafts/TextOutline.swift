// Decides when a text that is written in pieces is checked: as early as possible, because shells ignore errors of
// `close`, but only once it is complete, because a part of a valid text may be invalid.

import RealmJSON

/// The kind of content that a file accepts.
enum TextForm: Sendable {
  /// A JSON object.
  case object
  /// A JSON value of any kind.
  case value
  /// UTF-8.
  case string
  /// Any bytes.
  case data
  /// JSON Lines, each a separate text.
  case lines
  /// A command. The write itself runs it.
  case command

  /// True if the content is text, so that bytes that were allocated but not written are not part of it.
  var isText: Bool {
    switch self {
    case .object, .value, .lines, .command: true
    case .string, .data: false
    }
  }
}

/// Tracks how much of a text has been written, and whether it is complete.
struct TextOutline: Sendable {
  let form: TextForm
  private var json: JSONOutline
  /// For a string, the first bytes of an incomplete character.
  private var split: [UInt8] = []
  private var byteVerdict = JSONOutline.Verdict.blank

  /// Creates the outline of an empty text.
  init(_ form: TextForm) {
    self.form = form
    json = JSONOutline(form == .value ? .value : .object)
  }

  /// The state of the bytes read.
  var verdict: JSONOutline.Verdict {
    switch form {
    case .object, .value: json.verdict
    case .string, .data, .lines, .command: byteVerdict
    }
  }

  /// The number of texts that had to be checked. After the first complete text of a string or of data, another is
  /// counted only when it is not UTF-8 or exceeds the maximum size of a property.
  private(set) var decisions = 0

  /// Reads the next bytes. Cost: O(n).
  mutating func read(_ bytes: [UInt8]) {
    switch form {
    case .object, .value:
      unsafe json.read(bytes.span.bytes)
      decisions = json.decisions
    case .string:
      readText(bytes)
      noteSize(bytes.count)
    case .data:
      decide(.complete)
      noteSize(bytes.count)
    case .lines, .command: break
    }
  }

  /// Counts every text that is too large for a property, so that it is checked, and then refused.
  private mutating func noteSize(_ more: Int) {
    count += more
    if count > Self.largestValue { decisions += 1 }
  }

  private static let largestValue = 16_777_199
  private var count = 0

  private mutating func decide(_ verdict: JSONOutline.Verdict) {
    if byteVerdict == verdict { return }
    if verdict == .invalid || decisions == 0 { decisions += 1 }
    byteVerdict = verdict
  }

  private mutating func readText(_ bytes: [UInt8]) {
    if byteVerdict == .invalid { return }
    let text = split.isEmpty ? bytes : split + bytes
    let end = Self.endOfWholeCharacters(text)
    split = Array(text[end...])
    if String(validating: text[..<end], as: UTF8.self) == nil { return decide(.invalid) }
    if split.isEmpty { decide(.complete) } else { byteVerdict = .open }
  }

  /// Returns the offset of an incomplete character at the end of a text; the end of the text if there is none.
  private static func endOfWholeCharacters(_ text: [UInt8]) -> Int {
    for length in 1...3 where length <= text.count {
      let byte = text[text.count - length]
      // A continuation byte: the first byte of the character is before it.
      if byte & 0xC0 == 0x80 { continue }
      let needed =
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        // An ASCII character, or an invalid first byte.
        default: 1
        }
      return needed > length ? text.count - length : text.count
    }
    return text.count
  }
}
