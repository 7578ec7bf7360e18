// When a text that is written piece by piece can be judged: as early as possible, because shells do not look at what
// `close` returns, but not before it is whole, because a part of a good text may be no text.

import RealmJSON

/// What a file takes.
enum TextForm: Sendable {
  /// A JSON object.
  case object
  /// A JSON value of any kind.
  case value
  /// UTF-8.
  case string
  /// Any bytes.
  case data
  /// Lines, each a text of its own.
  case lines
  /// Whatever the bytes are: the write itself carries out what the file is for.
  case command

  /// True if the bytes are a text, so that bytes which were allocated and not written do not belong to it.
  var isText: Bool {
    switch self {
    case .object, .value, .lines, .command: true
    case .string, .data: false
    }
  }
}

/// How far a text has come.
struct TextOutline: Sendable {
  let form: TextForm
  private var json: JSONOutline
  /// For a string, the bytes at the end that are the beginning of a character.
  private var split: [UInt8] = []
  private var verdictOfBytes = JSONOutline.Verdict.blank

  /// An empty text.
  init(_ form: TextForm) {
    self.form = form
    json = JSONOutline(form == .value ? .value : .object)
  }

  /// What the bytes so far are.
  var verdict: JSONOutline.Verdict {
    switch form {
    case .object, .value: json.verdict
    case .string, .data, .lines, .command: verdictOfBytes
    }
  }

  /// Grows with each text that can be judged. What follows the first whole characters of a string, or the first bytes
  /// of data, has to be judged only if it is no UTF-8.
  private(set) var decisions = 0

  /// Looks at the bytes that follow. Cost: O(n).
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

  /// Beyond what a property takes, each text is judged: all are refused.
  private mutating func noteSize(_ more: Int) {
    count += more
    if count > Self.largestValue { decisions += 1 }
  }

  private static let largestValue = 16_777_199
  private var count = 0

  private mutating func decide(_ verdict: JSONOutline.Verdict) {
    if verdictOfBytes == verdict { return }
    if verdict == .hopeless || decisions == 0 { decisions += 1 }
    verdictOfBytes = verdict
  }

  private mutating func readText(_ bytes: [UInt8]) {
    if verdictOfBytes == .hopeless { return }
    let text = split.isEmpty ? bytes : split + bytes
    let end = Self.endOfWholeCharacters(text)
    split = Array(text[end...])
    if String(validating: text[..<end], as: UTF8.self) == nil { return decide(.hopeless) }
    if split.isEmpty { decide(.complete) } else { verdictOfBytes = .open }
  }

  /// Where the beginning of a character is at the end of a text that lacks the rest of it.
  private static func endOfWholeCharacters(_ text: [UInt8]) -> Int {
    for length in 1...3 where length <= text.count {
      let byte = text[text.count - length]
      // A byte within a character: its first one is before it.
      if byte & 0xC0 == 0x80 { continue }
      let needed =
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        // A character of its own, or the first byte of none.
        default: 1
        }
      return needed > length ? text.count - length : text.count
    }
    return text.count
  }
}
