// Converts a CSV record to the JSON of an object. Fields have the same meaning as in `CSVSink`; the notations of
// spreadsheets are also accepted: TRUE, decimal commas, days. An error states the field, the expected value and the
// actual one.

import RealmJSON
import RealmPages

/// The meaning of the fields below a header, for one class.
struct CSVForm {
  private let header: CSVHeader
  private let targets: [Target]
  /// True if a record without values is an object, which has null as its primary key.
  let takesBlanks: Bool

  /// The property that the fields at one position belong to.
  private final class Target: Sendable {
    /// The name as JSON, with the colon.
    let name: [UInt8]
    /// Nil for the object key, and for a field without a name.
    let column: Column?
    let isPrimaryKey: Bool
    /// The type whose plain text the field contains; nil for JSON.
    let type: ValueType?

    init(name: [UInt8], column: Column?, isPrimaryKey: Bool, type: ValueType?) {
      (self.name, self.column, self.isPrimaryKey, self.type) = (name, column, isPrimaryKey, type)
    }
  }

  /// Looks up the names of a header. `keyType` returns the type of a class's primary key.
  init(
    _ header: CSVHeader,
    of className: String,
    _ columns: [Column],
    primaryKey: Column?,
    keyType: (TableKey) -> ValueType?
  ) throws(InputError) {
    self.header = header
    var targets: [Target] = [], seen: Set<ExactName> = [], given: Set<ColKey> = []
    for (index, name) in header.names.enumerated() {
      let column = columns.first(named: name, \.name), isNew = column.map { given.insert($0.key).inserted } ?? true
      if !name.isEmpty, !seen.insert(ExactName(name)).inserted || !isNew {
        throw InputError(header.name(of: index), "the header has this name twice; rename one of the columns")
      }
      let out = OutputBuffer()
      out.append(quoted: column?.name ?? name)
      out.append(":")
      if column == nil, !name.isEmpty, name != Member.key {
        let hint = KnownNames(columns.map(\.name)).hint(for: name)
        throw InputError(header.name(of: index), "\(className) has no property of this name; \(hint)")
      }
      let isKey = column != nil && column?.key == primaryKey?.key
      targets.append(
        Target(name: out.bytes, column: column, isPrimaryKey: isKey, type: Self.type(name, column, keyType))
      )
    }
    self.targets = targets
    takesBlanks = primaryKey.map { $0.isNullable && given.contains($0.key) } ?? false
  }

  private static func type(_ name: String, _ column: Column?, _ keyType: (TableKey) -> ValueType?) -> ValueType? {
    guard let column else { return .int }
    if column.collection != nil || column.type == .mixed { return nil }
    return column.type == .link ? column.targetTable.flatMap(keyType) ?? .int : column.type
  }

  // MARK: one record

  /// Returns the record as the JSON of an object.
  func json(_ record: CSVRecord) throws(InputError) -> [UInt8] {
    if record.fields.count != targets.count {
      throw InputError("\(counted(record.fields.count, "field")), but the header has \(targets.count)")
    }
    let out = OutputBuffer()
    out.append("{")
    for index in targets.indices {
      let target = targets[index], field = record.fields[index]
      let start = out.count
      if start > 1 { out.append(",") }
      append(raw: target.name, out)
      if unsafe appendPlain(record.text.span.bytes, field.range, target, out) { continue }
      if try !append(record.bytes(field), field.isQuoted, target, index, out) { out.truncate(to: start) }
    }
    out.append("}")
    return out.bytes
  }

  /// A fast path: appends the value of a field in the most common notation. Returns false and appends nothing for all
  /// others.
  private func appendPlain(_ text: RawSpan, _ range: Range<Int>, _ target: Target, _ out: OutputBuffer) -> Bool {
    guard let type = target.type, !range.isEmpty else { return false }
    func byte(_ index: Int) -> UInt8 { unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self) }
    switch type {
    case .int, .float, .double:
      if target.column == nil { return false }
      let digits = byte(range.lowerBound) == UInt8(ascii: "-") ? range.dropFirst() : range
      guard let first = digits.first, let last = digits.last, Self.isDigit(byte(last)), digits.count < 18 else {
        return false
      }
      var points = 0
      for index in digits where !Self.isDigit(byte(index)) {
        if byte(index) != UInt8(ascii: ".") { return false }
        points += 1
      }
      let isWhole = points == 0
      if !isWhole, points > 1 || type == .int || header.dialect.decimalMark != .point { return false }
      // JSON requires a digit before the point and allows no leading zeros.
      let second = digits.count == 1 ? UInt8(ascii: ".") : byte(first + 1)
      if !Self.isDigit(byte(first)) || byte(first) == UInt8(ascii: "0") && second != UInt8(ascii: ".") { return false }
      out.append(text, in: range)
      return true
    case .string, .data, .objectID, .uuid:
      let first = byte(range.lowerBound)
      if first == UInt8(ascii: "{") || first == UInt8(ascii: "\"") { return false }
      return out.append(quoted: text.extracting(range))
    case .date:
      guard range.count >= 20, byte(range.lowerBound + 10) == UInt8(ascii: "T"),
        byte(range.upperBound - 1) == UInt8(ascii: "Z")
      else { return false }
      return out.append(quoted: text.extracting(range))
    case .bool, .decimal128, .mixed, .link: return false
    }
  }

  /// Appends the value of a field. Returns false for an empty field whose property keeps its value.
  private func append(
    _ bytes: [UInt8],
    _ isQuoted: Bool,
    _ target: Target,
    _ index: Int,
    _ out: OutputBuffer
  ) throws(InputError) -> Bool {
    guard let column = target.column else {
      if bytes.isEmpty { return false }
      if header.names[index].isEmpty {
        let problem = "a value, but the header has no name for this column; name it, or empty the column"
        throw InputError(header.name(of: index), problem)
      }
      append(raw: try integer(bytes, index), out)
      return true
    }
    if bytes.isEmpty { return try appendEmpty(isQuoted, index, column, target, out) }
    guard let type = target.type else {
      try checkJSON(bytes, index)
      append(raw: bytes, out)
      return true
    }
    // The field of a type without plain text is JSON. A string or the key of a link is JSON only in the notations that
    // `CSVRenderer` writes.
    let isJSON =
      if type != .string {
        bytes[0] == UInt8(ascii: "{") || bytes[0] == UInt8(ascii: "\"")
      } else if column.type == .link { unsafe OutputBuffer.isExtendedJSON(bytes.span.bytes) } else {
        bytes.starts(with: OutputBuffer.invalidString)
      }
    if isJSON {
      try checkJSON(bytes, index)
      append(raw: bytes, out)
      return true
    }
    switch type {
    case .bool: out.append(try bool(bytes, index) ? "true" : "false")
    case .int: append(raw: try integer(bytes, index), out)
    case .float, .double:
      let text = Self.isWord(bytes) ? bytes : try number(bytes, index)
      if Self.isJSONNumber(text) {
        append(raw: text, out)
      } else {
        // The wrapper accepts more than JSON numbers: NaN, 007, .5
        out.append("{\"$numberDouble\":")
        out.append(string: text)
        out.append("}")
      }
    case .decimal128: out.append(string: Self.isWord(bytes) ? bytes : try number(bytes, index))
    case .date:
      let date = try date(bytes, index)
      out.append("\"")
      if !out.append(date: date) { throw mismatch(bytes, index) }
      out.append("\"")
    default: out.append(string: bytes)
    }
    return true
  }

  /// Appends the value of an empty field: null if the property is nullable, otherwise the empty string or binary.
  /// Returns false if the type has no empty value.
  private func appendEmpty(
    _ isQuoted: Bool,
    _ index: Int,
    _ column: Column,
    _ target: Target,
    _ out: OutputBuffer
  ) throws(InputError) -> Bool {
    let canBeEmpty = column.collection == nil && (target.type == .string || target.type == .data)
    if target.isPrimaryKey, !column.isNullable, !(canBeEmpty && isQuoted) {
      throw InputError(header.name(of: index), "the primary key is empty")
    }
    if canBeEmpty, isQuoted || !column.isNullable {
      out.append("\"\"")
    } else if column.isNullable && column.collection == nil {
      out.append("null")
    } else {
      return false
    }
    return true
  }

  // MARK: values

  /// True for words such as NaN and Infinity.
  private static func isWord(_ bytes: [UInt8]) -> Bool {
    bytes.first { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }.map { $0 > UInt8(ascii: "9") } ?? false
  }

  /// True if a number is also a valid JSON number.
  private static func isJSONNumber(_ bytes: [UInt8]) -> Bool {
    let digits = bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]
    guard let first = digits.first, let last = digits.last, isDigit(first), isDigit(last) else { return false }
    if first == UInt8(ascii: "0"), let second = digits.dropFirst().first, isDigit(second) { return false }
    // JSON requires digits before and after the point.
    return !zip(digits, digits.dropFirst()).contains { $0 == UInt8(ascii: ".") && !isDigit($1) }
  }

  private func bool(_ bytes: [UInt8], _ index: Int) throws(InputError) -> Bool {
    let text = trimmed(bytes)
    func isWord(_ word: String) -> Bool { text.elementsEqual(word.utf8) { $0 | 0x20 == $1 } }
    if isWord("true") || text.elementsEqual("1".utf8) { return true }
    if isWord("false") || text.elementsEqual("0".utf8) { return false }
    throw mismatch(bytes, index)
  }

  /// Returns the digits of a whole number. Rejects exponents, because a spreadsheet that writes 1.23E+15 may have
  /// rounded the number. Also rejects grouped digits such as 1,000 and 1.000 for any decimal mark: read as a fraction,
  /// they would be 1.
  private func integer(_ bytes: [UInt8], _ index: Int) throws(InputError) -> [UInt8] {
    let text = trimmed(bytes)
    if !text.isEmpty, text.allSatisfy(Self.isDigit), text.first != UInt8(ascii: "0") { return Array(text) }
    let isNegative = text.first == UInt8(ascii: "-")
    var digits = isNegative ? text.dropFirst() : text
    if digits.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }), NumberText(try number(bytes, index)[...]) != nil {
      throw InputError(
        header.name(of: index),
        "\(Self.shown(bytes)) is not a whole number in digits; the spreadsheet may have rounded it: format its column "
          + "as a number and save again"
      )
    }
    if let mark = digits.first(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ".") }),
      let groups = Self.groups(digits, mark)
    {
      let whole = String(decoding: text.filter { $0 != mark }, as: UTF8.self)
      let part = String(decoding: text.prefix { $0 != mark }, as: UTF8.self)
      let hint =
        groups == 2 ? ", which can be \(whole) or \(part): write it in digits alone" : "; write it in digits alone"
      throw mismatch(bytes, index, hint)
    }
    // Accept 5.0 as a whole number.
    if let mark = digits.firstIndex(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ".") }),
      digits[(mark + 1)...].allSatisfy({ $0 == UInt8(ascii: "0") })
    {
      _ = try number(bytes, index)
      digits = digits[..<mark]
    }
    guard !digits.isEmpty, digits.allSatisfy(Self.isDigit) else { throw mismatch(bytes, index) }
    // JSON allows no leading zeros.
    let value = digits.drop { $0 == UInt8(ascii: "0") }
    return (isNegative ? [UInt8(ascii: "-")] : []) + (value.isEmpty ? [UInt8(ascii: "0")] : Array(value))
  }

  private func date(_ bytes: [UInt8], _ index: Int) throws(InputError) -> Timestamp {
    let text = trimmed(bytes)
    if let date = Timestamp(lenient: text) { return date }
    switch SpreadsheetDate(text) {
    case .date(let date): return date
    case .ambiguous(let first, let second):
      throw mismatch(bytes, index, ", which can be \(first) or \(second): write it like one of them")
    case .dayNumber: throw mismatch(bytes, index, ", perhaps the number of a day: format its column as a date")
    case .unknown: throw mismatch(bytes, index, "; write days as 2024-05-01")
    }
  }

  /// Returns a number with a decimal point, regardless of its decimal mark.
  private func number(_ bytes: [UInt8], _ index: Int) throws(InputError) -> [UInt8] {
    let text = Array(trimmed(bytes))
    let comma = UInt8(ascii: ","), point = UInt8(ascii: ".")
    let marks = text.filter { $0 == comma || $0 == point }
    if marks.isEmpty { return try checked(text, bytes, index) }
    if marks.count > 1 {
      let isGrouped = Set(marks).count > 1 || Self.groups(text[...], marks[0]) != nil
      throw mismatch(bytes, index, isGrouped ? "; write it without thousands separators" : "")
    }
    let isComma = marks[0] == comma
    switch header.dialect.decimalMark {
    case .point:
      if isComma {
        let isGrouped = Self.groups(text[...], comma) != nil
        let hint = isGrouped ? "; write it without thousands separators, or" : ";"
        throw mismatch(bytes, index, hint + " if the comma is its decimal mark, add --decimal comma")
      }
    case .comma: if !isComma { throw mismatch(bytes, index, "; with --decimal comma it has a comma") }
    case nil:
      // With the comma as decimal mark, files usually have semicolons as separators.
      let isUsual = isComma && header.dialect.delimiter == UInt8(ascii: ";")
      if !isUsual, Self.groups(text[...], marks[0]) != nil {
        throw mismatch(bytes, index, ", which can be read in two ways: add --decimal point or --decimal comma")
      }
    }
    return try checked(text.map { $0 == comma ? point : $0 }, bytes, index)
  }

  private func checked(_ number: [UInt8], _ bytes: [UInt8], _ index: Int) throws(InputError) -> [UInt8] {
    if NumberText(number[...]) == nil { throw mismatch(bytes, index) }
    return number
  }

  /// Returns the number of digit groups in a whole number that is written in groups of three, such as 1.234; nil for
  /// any other number.
  private static func groups(_ text: ArraySlice<UInt8>, _ mark: UInt8) -> Int? {
    let parts = text.drop { $0 == UInt8(ascii: "-") }.split(separator: mark, omittingEmptySubsequences: false)
    guard parts.count > 1, let first = parts.first, (1...3).contains(first.count), first.first != UInt8(ascii: "0"),
      parts.dropFirst().allSatisfy({ $0.count == 3 }), parts.allSatisfy({ $0.allSatisfy(isDigit) })
    else { return nil }
    return parts.count
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  /// Returns the text without leading and trailing white space.
  private func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let start = bytes.drop { $0 == 0x20 || $0 == 0x09 }
    let end = start.lastIndex { $0 != 0x20 && $0 != 0x09 }
    return start[..<(end.map { $0 + 1 } ?? start.startIndex)]
  }

  /// Throws if a field is not a single JSON value: text after the value could set other properties.
  private func checkJSON(_ bytes: [UInt8], _ index: Int) throws(InputError) {
    do { _ = try JSONText(bytes) } catch {
      throw InputError(header.name(of: index), "expected JSON, found \(Self.shown(bytes)): \(error.problem)")
    }
  }

  // MARK: errors

  private func mismatch(_ bytes: [UInt8], _ index: Int, _ hint: String = "") -> InputError {
    let expected = targets[index].type.map { JSONText.example(of: $0) } ?? "JSON"
    return InputError(header.name(of: index), "expected \(expected), found \(Self.shown(bytes))\(hint)")
  }

  /// Returns the problem with a record whose JSON was rejected, in terms of the CSV file.
  func problem(_ error: InputError, in record: CSVRecord) -> InputError {
    let found = header.names.indices.filter { index in
      let name = header.names[index]
      return error.path == name || error.path.hasPrefix(name + "[") || error.path.hasPrefix(name + ".")
    }.max { header.names[$0].utf8.count < header.names[$1].utf8.count }
    guard let index = found, index < record.fields.count else { return InputError(error.path, error.problem) }
    let rest = error.path.dropFirst(header.names[index].count)
    if case .wrongType = error.kind, rest.isEmpty, targets[index].type != nil {
      return mismatch(record.bytes(record.fields[index]), index)
    }
    return InputError(header.name(of: index) + (rest.isEmpty ? "" : ", \(rest)"), error.problem)
  }

  private static func shown(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    return text.count > 60 ? "\"\(text.prefix(60))...\"" : "\"\(text)\""
  }

  private func append(raw bytes: [UInt8], _ out: OutputBuffer) {
    out.append(bytes)
  }
}
