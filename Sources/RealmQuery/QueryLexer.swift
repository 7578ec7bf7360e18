// The tokens of a query, each with its column. Source: the published grammar of Realm Query Language.

import RealmPages

extension InputError {
  init(column: Int, problem: String) { self.init(.query, column: column, problem) }

  func adding(hint: String) -> InputError { InputError(column: column, problem: problem + hint) }

  func of(condition: Int) -> InputError {
    var error = self
    error.condition = condition
    return error
  }
}

/// One token of a query.
struct QueryToken {
  enum Kind: Equatable {
    /// A symbol such as `(`, `==` or `&&`.
    case symbol(String)
    /// A name or a keyword.
    case word(String)
    /// An operation such as `@count`.
    case operation(String)
    /// Digits with an optional sign, including `0x` numbers.
    case integer(String)
    case real(String)
    case string([UInt8])
    case value(Value)
    /// An object, given by the keys of its table and of itself.
    case object(TableKey, ObjKey)
    /// An argument without a type.
    case argument(String)
    /// A name in backquotes, which is never a keyword.
    case quotedName(String)
    /// An argument such as `$K0`: a path of names separated by periods.
    case keyPath([String])
    /// `[c]`, `[d]` or `[cd]`
    case textOptions(TextOptions)
    case end
  }

  let kind: Kind
  let column: Int
}

/// Splits a query into tokens.
struct QueryLexer {
  private let text: [UInt8]
  /// The values of `$0`, `$1` and so on.
  private let arguments: [QueryArgument]
  private var index = 0
  private var tokens: [QueryToken] = []
  /// A position at or before the current token, and its column.
  private var known = (offset: 0, column: 1)

  /// Returns the tokens of `text`; the last one is `.end`.
  static func tokens(_ text: String, _ arguments: [QueryArgument] = []) throws(InputError) -> [QueryToken] {
    var lexer = QueryLexer(text, arguments)
    return try lexer.run()
  }

  private init(_ text: String, _ arguments: [QueryArgument]) {
    (self.text, self.arguments) = (Array(text.utf8), arguments)
  }

  private func error(_ offset: Int, _ problem: String) -> InputError {
    InputError(column: column(offset), problem: problem)
  }

  private func column(_ offset: Int) -> Int {
    known.column + text[known.offset..<max(offset, known.offset)].count { $0 & 0xC0 != 0x80 }
  }

  private func peek(_ distance: Int = 0) -> UInt8 { index + distance < text.count ? text[index + distance] : 0 }

  private func isNext(_ literal: StaticString) -> Bool {
    let part = literal.description.utf8
    return index + part.count <= text.count && text[index..<index + part.count].elementsEqual(part)
  }

  private mutating func run() throws(InputError) -> [QueryToken] {
    while true {
      while [0x20, 0x09, 0x0A, 0x0D].contains(peek()), index < text.count { index += 1 }
      known = (index, column(index))
      let place = known.column
      guard index < text.count else {
        tokens.append(QueryToken(kind: .end, column: place))
        return tokens
      }
      tokens.append(QueryToken(kind: try next(), column: place))
    }
  }

  private mutating func next() throws(InputError) -> QueryToken.Kind {
    for symbol: StaticString in ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||"] where isNext(symbol) {
      index += symbol.utf8CodeUnitCount
      return .symbol(symbol.description)
    }
    if peek() == UInt8(ascii: "["), let options = takeTextOptions() { return .textOptions(options) }
    let byte = peek()
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string(byte))
    case UInt8(ascii: "@"):
      index += 1
      return .operation("@" + takeName())
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: ".") where isDigit(peek(1)): return try number()
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "("),
      UInt8(ascii: ")"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
      UInt8(ascii: "."), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "="), UInt8(ascii: "!"):
      index += 1
      return .symbol(String(decoding: [byte], as: UTF8.self))
    default: return try word()
    }
  }

  private mutating func takeTextOptions() -> TextOptions? {
    let known: [(StaticString, TextOptions)] = [
      ("[c]", .ignoresCase), ("[d]", .ignoresDiacritics), ("[cd]", [.ignoresCase, .ignoresDiacritics]),
      ("[dc]", [.ignoresCase, .ignoresDiacritics]),
    ]
    guard let (text, options) = known.first(where: { isNext($0.0) }) else { return nil }
    index += text.utf8CodeUnitCount
    return options
  }

  private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private func isNameByte(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "$") || byte == UInt8(ascii: "-") || byte >= 0x80
  }

  private mutating func takeName() -> String {
    let start = index
    while isNameByte(peek()) { index += 1 }
    return String(decoding: text[start..<index], as: UTF8.self)
  }

  // MARK: names

  private mutating func word() throws(InputError) -> QueryToken.Kind {
    let start = index
    if isNext("uuid(") {
      return .value(try identifier("uuid(", "a UUID") { UniqueID(text: $0).map { .uuid($0) } })
    }
    if isNext("oid(") {
      return .value(try identifier("oid(", "24 hexadecimal digits") { ObjectID(text: $0).map { .objectID($0) } })
    }
    if peek() == UInt8(ascii: "B"), isNext("B64\"") {
      index += 3
      let content = try string(UInt8(ascii: "\""))
      guard let bytes = Self.base64(content) else { throw error(start, "not base64") }
      return .string(bytes)
    }
    if peek() == UInt8(ascii: "T"), let date = storedDate() { return .value(date) }
    if peek() == UInt8(ascii: "L"), let object = storedLink() { return object }
    if peek() == UInt8(ascii: "`") { return .quotedName(try quotedName()) }
    var name: [UInt8] = []
    while true {
      if isNameByte(peek()) {
        name.append(peek())
        index += 1
      } else if peek() == UInt8(ascii: "\\"),
        [UInt8(ascii: " "), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t")]
          .contains(peek(1)), !name.isEmpty
      {
        // An escaped white-space character in a name.
        let blanks: [UInt8: UInt8] = [UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09]
        name.append(blanks[peek(1)] ?? 0x20)
        index += 2
      } else {
        break
      }
    }
    guard let first = name.first, !isDigit(first), first != UInt8(ascii: "-") else {
      throw error(start, "unexpected character '\(String(decoding: text[start...].prefix(1), as: UTF8.self))'")
    }
    if first == UInt8(ascii: "$"), name.count > 1, name.dropFirst().allSatisfy(isDigit) {
      switch try argument(String(decoding: name.dropFirst(), as: UTF8.self), at: start) {
      case .value(let value): return .value(value)
      case .text(let text): return .argument(text)
      }
    }
    if name.starts(with: "$K".utf8), name.count > 2, name.dropFirst(2).allSatisfy(isDigit), !arguments.isEmpty {
      let path: String
      switch try argument(String(decoding: name.dropFirst(2), as: UTF8.self), at: start) {
      case .value(.string(let bytes)): path = String(decoding: bytes, as: UTF8.self)
      case .text(let text): path = text
      case .value: throw error(start, "\(String(decoding: name, as: UTF8.self)) needs a string that is a path")
      }
      return .keyPath(path.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    }
    return .word(String(decoding: name, as: UTF8.self))
  }

  /// Returns the argument with the given number.
  private func argument(_ digits: String, at start: Int) throws(InputError) -> QueryArgument {
    if let number = Int(digits), arguments.indices.contains(number) { return arguments[number] }
    let given = arguments.isEmpty ? "" : " (\(arguments.count) given)"
    throw error(start, "argument $\(digits) has no value here\(given); write the value")
  }

  /// Reads a name in backquotes, which may contain any characters. A backquote in the name is written twice.
  private mutating func quotedName() throws(InputError) -> String {
    let start = index
    var name: [UInt8] = []
    index += 1
    while index < text.count {
      if peek() == UInt8(ascii: "`") {
        index += 1
        if peek() != UInt8(ascii: "`") {
          if name.isEmpty { throw error(start, "a name between backquotes is empty") }
          return String(decoding: name, as: UTF8.self)
        }
      }
      name.append(peek())
      index += 1
    }
    throw error(start, "the name has no closing backquote")
  }

  /// Reads `L3:7`: the object with key 7 in the table with key 3.
  private mutating func storedLink() -> QueryToken.Kind? {
    let table = text[(index + 1)...].prefix(while: isDigit)
    guard !table.isEmpty, table.endIndex < text.count, text[table.endIndex] == UInt8(ascii: ":") else { return nil }
    let object = text[(table.endIndex + 1)...].prefix(while: isDigit)
    guard let key = UInt32(String(decoding: table, as: UTF8.self)),
      let objectKey = Int64(String(decoding: object, as: UTF8.self))
    else { return nil }
    index = object.endIndex
    return .object(TableKey(key), ObjKey(objectKey))
  }

  /// Parses the text between `opening` and the next closing parenthesis.
  private mutating func identifier(
    _ opening: String,
    _ wanted: String,
    _ parse: (ArraySlice<UInt8>) -> Value?
  ) throws(InputError) -> Value {
    let content = text[(index + opening.utf8.count)...].prefix { $0 != UInt8(ascii: ")") }
    guard content.endIndex < text.endIndex, let value = parse(content) else {
      throw error(index, "\(opening)..) needs \(wanted)")
    }
    index = content.endIndex + 1
    return value
  }

  // MARK: numbers and dates

  private mutating func number() throws(InputError) -> QueryToken.Kind {
    let start = index
    if let date = try date() { return .value(date) }
    if peek() == UInt8(ascii: "0"), peek(1) | 0x20 == UInt8(ascii: "x") {
      index += 2
      while isNameByte(peek()) { index += 1 }
      return .integer(String(decoding: text[start..<index], as: UTF8.self))
    }
    var isReal = false
    while isDigit(peek()) { index += 1 }
    if peek() == UInt8(ascii: ".") {
      isReal = true
      index += 1
      while isDigit(peek()) { index += 1 }
    }
    if peek() | 0x20 == UInt8(ascii: "e") {
      let sign = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-") ? 1 : 0
      if isDigit(peek(1 + sign)) {
        isReal = true
        index += 1 + sign
        while isDigit(peek()) { index += 1 }
      }
    }
    if peek() == UInt8(ascii: "f") {
      isReal = true
      index += 1
    }
    if isNameByte(peek()), peek() != UInt8(ascii: "-") {
      throw error(start, "a name cannot begin with a digit")
    }
    let text = String(decoding: self.text[start..<index], as: UTF8.self)
    return isReal ? .real(text) : .integer(text)
  }

  /// Reads a date such as `2024-05-01@10:00:00`, also with T instead of @, with optional nanoseconds after another
  /// colon; or a date as shown in objects, `2024-05-01T10:00:00.5Z`.
  private mutating func date() throws(InputError) -> Value? {
    var position = index
    func number() -> Int64? {
      let start = position
      while position < text.count, isDigit(text[position]) { position += 1 }
      return Int64(String(decoding: text[start..<position], as: UTF8.self))
    }
    func skip(_ bytes: [UInt8]) -> Bool {
      guard position < text.count, bytes.contains(text[position]) else { return false }
      position += 1
      return true
    }
    let minus = [UInt8(ascii: "-")], colon = [UInt8(ascii: ":")]
    guard let year = number(), skip(minus), let month = number(), skip(minus), let day = number(),
      skip([UInt8(ascii: "@"), UInt8(ascii: "T")]), let hour = number(), skip(colon), let minute = number(),
      skip(colon), let second = number()
    else { return nil }
    var nanoseconds: Int64 = 0
    if position + 1 < text.count, text[position] == UInt8(ascii: ":"), isDigit(text[position + 1]) {
      position += 1
      nanoseconds = number() ?? .max
    }
    if let end = endOfShownDate(from: position) {
      guard let date = Timestamp(lenient: text[index..<end]) else {
        throw error(index, "not a date in the years 1 to 9999")
      }
      index = end
      return .date(date)
    }
    guard (1900...9999).contains(year), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
      second < 61, nanoseconds < 1_000_000_000
    else { throw error(index, "not a date in the years 1900 to 9999") }
    index = position
    let seconds = Timestamp.daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    return .date(Timestamp(seconds: seconds, nanoseconds: Int32(seconds < 0 ? -nanoseconds : nanoseconds)))
  }

  /// Returns the end of a date whose seconds end at `position`, if a fraction or a time zone follows: `.5`, `Z`,
  /// `+02:00`.
  private func endOfShownDate(from position: Int) -> Int? {
    func byte(_ offset: Int) -> UInt8 { offset < text.count ? text[offset] : 0 }
    var end = position
    if byte(end) == UInt8(ascii: "."), isDigit(byte(end + 1)) {
      end += 1
      while isDigit(byte(end)) { end += 1 }
    }
    switch byte(end) {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): return end + 1
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      let colon = byte(end + 3) == UInt8(ascii: ":") ? 1 : 0
      let digits = [1, 2, 3 + colon, 4 + colon].allSatisfy { isDigit(byte(end + $0)) }
      return digits ? end + 5 + colon : end > position ? end : nil
    default: return end > position ? end : nil
    }
  }

  /// Reads `T1714557600:0`: seconds and nanoseconds.
  private mutating func storedDate() -> Value? {
    var position = index + 1
    func number() -> Int64? {
      let start = position
      if position < text.count, text[position] == UInt8(ascii: "-") || text[position] == UInt8(ascii: "+") {
        position += 1
      }
      while position < text.count, isDigit(text[position]) { position += 1 }
      return Int64(String(decoding: text[start..<position], as: UTF8.self))
    }
    guard let seconds = number(), position < text.count, text[position] == UInt8(ascii: ":") else { return nil }
    position += 1
    guard let nanoseconds = number(), nanoseconds.magnitude < 1_000_000_000,
      seconds == 0 || nanoseconds == 0 || (seconds < 0) == (nanoseconds < 0)
    else { return nil }
    index = position
    return .date(Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)))
  }

  // MARK: strings

  private mutating func string(_ quote: UInt8) throws(InputError) -> [UInt8] {
    let start = index
    index += 1
    var content: [UInt8] = []
    while true {
      guard index < text.count else { throw error(start, "unterminated string") }
      let byte = peek()
      index += 1
      if byte == quote { return content }
      guard byte == UInt8(ascii: "\\") else {
        content.append(byte)
        continue
      }
      let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13,
        UInt8(ascii: "t"): 9, UInt8(ascii: "0"): 0,
      ]
      let escaped = peek()
      index += 1
      if escaped == UInt8(ascii: "u") {
        let digits = text[min(index, text.count)...].prefix(4)
        guard digits.count == 4, let number = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
          let scalar = Unicode.Scalar(number)
        else { throw error(index - 2, "\\u needs four hexadecimal digits of a character") }
        index += 4
        content += Array(String(scalar).utf8)
      } else {
        content.append(escapes[escaped] ?? escaped)
      }
    }
  }

  static func base64(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = [], bits: UInt32 = 0, count = 0
    for byte in text where byte != UInt8(ascii: "=") {
      guard let digit = base64Digit(byte) else { return nil }
      bits = bits << 6 | UInt32(digit)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }
}
