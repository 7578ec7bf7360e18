// A fast path for imports: parses CSV records directly into the columns of a batch. It accepts a subset of what
// `CSVForm` accepts, with the same meaning; unusual and invalid records are left to `CSVForm`.

import RealmJSON
import RealmPages

/// Parses records below one header into batches.
struct CSVRowReader {
  private let rows: RowReader
  private let dialect: CSVDialect
  /// For each field of a record, the index of the corresponding field in the form.
  private let fields: [Int]

  /// The form of the batches.
  var form: RowForm { rows.form }

  /// Creates a reader for records below `header`; nil if not all fields are properties.
  init?(_ header: CSVHeader, _ form: RowForm) {
    rows = RowReader(form)
    dialect = header.dialect
    var fields: [Int] = []
    for name in header.names {
      guard let field = form.fields.firstIndex(where: { $0.name.elementsEqual(name.utf8) }) else { return nil }
      fields.append(field)
    }
    self.fields = fields
  }

  /// Adds the object of a record. Returns false and adds nothing if the record is unusual or invalid.
  func append(_ record: [UInt8], to batch: inout RowBatch) -> Bool {
    if appendFields(record, &batch), rows.hasKey(batch) {
      batch.endRow()
      return true
    }
    batch.dropRow()
    return false
  }

  private func appendFields(_ record: [UInt8], _ batch: inout RowBatch) -> Bool {
    let end = record.last == 0x0D ? record.count - 1 : record.count
    var index = 0, isBlank = true
    for (position, field) in fields.enumerated() {
      guard index <= end else { return false }
      let isQuoted = index < end && record[index] == UInt8(ascii: "\"")
      let start = isQuoted ? index + 1 : index, last = isQuoted ? UInt8(ascii: "\"") : dialect.delimiter
      index = start
      while index < end, record[index] != last {
        // A control character: not text, or needs an escape in JSON.
        if record[index] < 0x20, record[index] != 0x09 { return false }
        index += 1
      }
      let range = start..<index
      if isQuoted {
        // The closing quote. If it is doubled, the check of the next byte fails.
        guard index < end else { return false }
        index += 1
      }
      if position + 1 < fields.count {
        guard index < end, record[index] == dialect.delimiter else { return false }
        index += 1
      } else if index != end {
        return false
      }
      if isQuoted || !range.isEmpty { isBlank = false }
      if batch.has(field) || !append(record, range, isQuoted, field, &batch) { return false }
    }
    return !isBlank
  }

  private func append(
    _ record: [UInt8],
    _ range: Range<Int>,
    _ isQuoted: Bool,
    _ field: Int,
    _ batch: inout RowBatch
  ) -> Bool {
    let known = rows.form.fields[field]
    if range.isEmpty { return appendEmpty(isQuoted, field, &batch) }
    guard case .null = known.kind else {
      if case .collection = known.kind { return false }
      let first = record[range.lowerBound]
      switch known.type {
      case .int, .float, .double:
        guard isNumber(record, range, known.type) else { return false }
        return rows.append(number: record, range, field, &batch)
      case .string, .objectID, .uuid, .data:
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "\"") { return false }
      case .date:
        guard range.count >= 20, record[range.lowerBound + 10] == UInt8(ascii: "T"),
          record[range.upperBound - 1] == UInt8(ascii: "Z")
        else { return false }
      case .bool:
        let text = record[range]
        guard text.elementsEqual("true".utf8) || text.elementsEqual("false".utf8) else { return false }
        batch.append(bits: first == UInt8(ascii: "t") ? 1 : 0, field)
        return true
      case .decimal128, .mixed, .link: return false
      }
      guard unsafe UTF8Sequence.isValid(record.span.bytes.extracting(range)) else { return false }
      return rows.append(text: record[range], field, &batch)
    }
    return false
  }

  /// Sets a field to the value of an empty CSV field, as `CSVForm` does.
  private func appendEmpty(_ isQuoted: Bool, _ field: Int, _ batch: inout RowBatch) -> Bool {
    let known = rows.form.fields[field]
    if field == rows.form.primaryKey { return false }
    switch known.kind {
    case .null, .collection: return true
    case .link:
      // An empty field is the text of the target's key if quoted, otherwise null.
      return !isQuoted && rows.appendNull(field, &batch)
    case .value: break
    }
    if known.type == .string || known.type == .data, isQuoted || !known.isNullable {
      batch.append(text: [], field)
      return true
    }
    // The property keeps its default value.
    return !known.isNullable || rows.appendNull(field, &batch)
  }

  /// True if a field is a valid JSON number without an exponent.
  private func isNumber(_ record: [UInt8], _ range: Range<Int>, _ type: ValueType) -> Bool {
    let digits = record[range.lowerBound] == UInt8(ascii: "-") ? range.dropFirst() : range
    guard let first = digits.first, let last = digits.last, Self.isDigit(record[first]), Self.isDigit(record[last]),
      digits.count < 18
    else { return false }
    var points = 0
    for index in digits where !Self.isDigit(record[index]) {
      if record[index] != UInt8(ascii: ".") { return false }
      points += 1
    }
    if points > 0, points > 1 || type == .int || dialect.decimalMark != .point { return false }
    return digits.count == 1 || record[first] != UInt8(ascii: "0") || !Self.isDigit(record[first + 1])
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }
}
