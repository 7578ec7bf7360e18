// Exports a spreadsheet in the format .xlsx: a sheet for each class, a row for each object.

import RealmJSON
import RealmPages

/// Writes a spreadsheet.
///
/// The format stores less than a realm: numbers are doubles, which the library writes with 16 digits; dates have a
/// precision of milliseconds; a cell has at most 32767 characters. Each column has one type, chosen by `SheetColumn`,
/// so that it can be sorted, filtered and summed. Values that are rounded, and numbers that a sheet cannot represent,
/// are counted and reported. A text that is too long is omitted, reported and counted.
final class XLSXSink: ExportSink {
  private let target: ExportTarget
  private var spreadsheet: Spreadsheet?
  private var sheets: [TableKey: String] = [:]
  private var table: Table?
  /// The columns of the sheet, except the object key.
  private var columns: [SheetColumn] = []
  /// The rows of the batch.
  private var rows: [[SpreadsheetCell]] = []
  private var bytes = 0
  /// The number of rows of the class that were kept.
  private var count = 0
  private let scratch = OutputBuffer()

  /// Statistics and messages about the cells.
  private struct Tally {
    var notes: [String] = []
    var emptyTexts = 0
    var leftOut = 0
    /// The changes by property, in the order of first occurrence.
    var changes: [(table: TableKey, column: ColKey, property: String, kind: CellChange, count: Int)] = []
    /// The length of the longest value of each column, in characters.
    var widths: [Int] = []

    mutating func note(_ kind: CellChange, _ column: Column, _ table: Table) {
      if let index = changes.lastIndex(where: { $0.column == column.key && $0.kind == kind && $0.table == table.key }) {
        changes[index].count += 1
      } else {
        changes.append((table.key, column.key, "\(table.className ?? table.name).\(column.name)", kind, 1))
      }
    }
  }

  /// A loss of precision in a cell.
  private enum CellChange {
    case fineDate, longNumber, notANumber

    func words(_ count: Int) -> String {
      switch self {
      case .fineDate: count == 1 ? "1 date is rounded to milliseconds" : "\(count) dates are rounded to milliseconds"
      case .longNumber: count == 1 ? "1 number is rounded to 16 digits" : "\(count) numbers are rounded to 16 digits"
      case .notANumber:
        count == 1
          ? "1 value is text: NaN, infinite or too large" : "\(count) values are text: NaN, infinite or too large"
      }
    }
  }

  private var tally = Tally()
  /// The tally of the rows that were kept.
  private var kept = Tally()

  init(_ target: ExportTarget) { self.target = target }

  // MARK: classes

  func begin(_ tables: [Table], of snapshot: Snapshot) throws {
    if case .stream = target { throw TransferError.unsuitable("a spreadsheet needs an output file") }
    try CSVRenderer.check(tables)
    var names: Set<String> = []
    sheets = [:]
    for table in tables {
      let name = table.className ?? table.name
      if table.columns.count >= Spreadsheet.maxColumns {
        throw TransferError.unsuitable(
          "\(name): \(table.columns.count) properties; a sheet has \(Spreadsheet.maxColumns) columns"
        )
      }
      sheets[table.key] = Self.sheetName(name, &names)
    }
  }

  func check(counts tables: [Table]) throws {
    for table in tables where table.objectCount >= Spreadsheet.maxRows { throw Self.tooManyRows(table) }
  }

  private static func tooManyRows(_ table: Table) -> TransferError {
    .unsuitable(
      "\(table.className ?? table.name): a sheet has \(Spreadsheet.maxRows) rows, the first one for names, and "
        + "the class has \(table.objectCount) objects: choose some with --where, or export CSV"
    )
  }

  func beginClass(_ table: Table, of snapshot: Snapshot) throws {
    try makeFile()
    try endClass()
    let name = table.className ?? table.name, sheet = sheets[table.key] ?? name
    if sheet != name { tally.notes.append("the sheet of class \(name) is called \(sheet)") }
    columns = SheetColumn.columns(of: table, in: snapshot)
    for column in columns { if let remark = column.remark { tally.notes.append("\(name).\(remark)") } }
    let names = (table.primaryKey == nil ? ["$key"] : []) + table.columns.map(\.name)
    // The filter button occupies room in the header.
    tally.widths = names.map { $0.unicodeScalars.count + 3 }
    kept = tally
    try spreadsheet?.beginSheet(sheet)
    try spreadsheet?.append(names.map { .text(Self.escaped(Array($0.utf8))) }, isHeader: true)
    self.table = table
    count = 1
  }

  private func endClass() throws {
    if table == nil { return }
    try spreadsheet?.endSheet(widths: tally.widths.map { min(max($0 + 1, 8), 60) })
    table = nil
  }

  /// Returns a unique sheet name of at most 31 UTF-16 units, without characters that spreadsheets disallow.
  static func sheetName(_ name: String, _ used: inout Set<String>) -> String {
    let allowed = String(
      String.UnicodeScalarView(
        name.unicodeScalars.map {
          "[]:*?/\\'".unicodeScalars.contains($0) || $0.properties.generalCategory == .control ? "_" : $0
        }
      )
    )
    func cut(_ characters: some Sequence<Character>, to units: Int) -> String {
      var text = ""
      for character in characters where text.utf16.count + String(character).utf16.count <= units {
        text.append(character)
      }
      return text
    }
    var candidate = cut(allowed, to: 31), number = 1
    if candidate.isEmpty || candidate.lowercased() == "history" { candidate += "_" }
    while !used.insert(candidate.lowercased()).inserted {
      number += 1
      candidate = cut(allowed, to: 30 - String(number).count) + "~\(number)"
    }
    return candidate
  }

  // MARK: objects

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws {
    guard let table else { return }
    var cells: [SpreadsheetCell] = []
    cells.reserveCapacity(table.columns.count + 1)
    if table.primaryKey == nil { cells.append(Self.cell(cursor.key.value)) }
    for (index, column) in table.columns.enumerated() {
      cells.append(try cell(index, column, table, cursor, renderer))
    }
    for (index, cell) in cells.enumerated() { tally.widths[index] = max(tally.widths[index], cell.width) }
    rows.append(cells)
  }

  private func cell(
    _ index: Int,
    _ column: Column,
    _ table: Table,
    _ cursor: ObjectCursor,
    _ renderer: ObjectRenderer
  ) throws -> SpreadsheetCell {
    if column.isPlain {
      let value = try renderer.shown(try renderer.read(index, of: cursor))
      switch value {
      case .null: return .blank
      case .int(let value): return columns[index].isText ? .text(Array(String(value).utf8)) : Self.cell(value)
      case .bool(let value): return .bool(value)
      case .double(let value):
        if let written = SheetColumn.written(value) {
          if written != value { tally.note(.longNumber, column, table) }
          return .number(value)
        }
        tally.note(.notANumber, column, table)
      case .float(let value):
        // The shortest text of a float, as a double: 0.1 instead of 0.100000001490116.
        if let number = Double(value.description), value.isFinite { return .number(number) }
        tally.note(.notANumber, column, table)
      case .date(let value):
        if !columns[index].isText, let date = SheetColumn.days(value) {
          if date.isRounded { tally.note(.fineDate, column, table) }
          return .date(date.days, columns[index].dateForm)
        }
      case .string(let text): if text.count == 0, column.isNullable { tally.emptyTexts += 1 }
      default: break
      }
      scratch.reset()
      if scratch.append(plain: value) { return fitted(scratch.bytes, column, cursor) }
    }
    scratch.reset()
    try renderer.render(property: index, of: cursor, into: scratch)
    let text = scratch.bytes
    return text.elementsEqual("null".utf8) ? .blank : fitted(text, column, cursor)
  }

  private static func cell(_ value: Int64) -> SpreadsheetCell {
    SheetColumn.isExact(value) ? .number(Double(value)) : .text(Array(String(value).utf8))
  }

  /// Returns text as a cell; if it is too long, a cell that reports the omission.
  private func fitted(_ text: [UInt8], _ column: Column, _ cursor: ObjectCursor) -> SpreadsheetCell {
    if text.isEmpty { return .blank }
    let escaped = Self.escaped(text)
    // A UTF-16 unit corresponds to at least one byte of UTF-8.
    let units = escaped.count <= Spreadsheet.maxUnits ? 0 : String(decoding: escaped, as: UTF8.self).utf16.count
    if units <= Spreadsheet.maxUnits {
      bytes += escaped.count
      return .text(escaped)
    }
    tally.leftOut += 1
    tally.notes.append(
      "\(cursor.table.className ?? "") object \(cursor.key.value): \(column.name) has \(units) characters, a cell "
        + "\(Spreadsheet.maxUnits) at most; it was left out"
    )
    return .text(Array("\(Self.leftOutStart)\(units)\(Self.leftOutEnd)".utf8))
  }

  private static let leftOutStart = "[left out: ", leftOutEnd = " characters]"

  /// True for the text in place of one that is too long for a cell.
  static func isLeftOut(_ text: [UInt8]) -> Bool {
    guard text.starts(with: leftOutStart.utf8), text.suffix(leftOutEnd.utf8.count).elementsEqual(leftOutEnd.utf8)
    else { return false }
    let number = text.dropFirst(leftOutStart.utf8.count).dropLast(leftOutEnd.utf8.count)
    return !number.isEmpty && number.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Escapes text for the format: characters that XML cannot contain become `_xHHHH_`, as does the first character of
  /// text that would be read as such an escape.
  static func escaped(_ text: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(text.count)
    for (index, byte) in text.enumerated() {
      switch byte {
      case 0x09, 0x0A: out.append(byte)
      case 0..<0x20: out += Array("_x00\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))_".utf8)
      case 0x5F where isEscape(text[index...]): out += Array("_x005F_".utf8)
      case 0xBE...0xBF where index >= 2 && text[index - 2] == 0xEF && text[index - 1] == 0xBF:
        out.removeLast(2)
        out += Array((byte == 0xBE ? "_xFFFE_" : "_xFFFF_").utf8)
      default: out.append(byte)
      }
    }
    return out
  }

  /// True if a text begins with `_xHHHH_`.
  private static func isEscape(_ text: ArraySlice<UInt8>) -> Bool {
    let found = Array(text.prefix(7))
    return found.count == 7 && found[1] == UInt8(ascii: "x") && found[6] == 0x5F
      && found[2..<6].allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
  }

  // MARK: batches

  var isBatchFull: Bool { rows.count >= 1000 || bytes >= 1 << 20 }

  func keepBatch() throws {
    if let table, count + rows.count > Spreadsheet.maxRows { throw Self.tooManyRows(table) }
    for row in rows { try spreadsheet?.append(row) }
    count += rows.count
    kept = tally
    (rows, bytes) = ([], 0)
  }

  func dropBatch() {
    tally = kept
    (rows, bytes) = ([], 0)
  }

  private func makeFile() throws {
    switch target {
    case .path(let path), .file(let path): if spreadsheet == nil { spreadsheet = try Spreadsheet(path: path) }
    case .stream: break
    }
  }

  func finish() throws {
    // Without classes, the file has one empty sheet.
    try makeFile()
    try endClass()
    try spreadsheet?.finish()
    spreadsheet = nil
    if tally.emptyTexts > 0 {
      let texts = tally.emptyTexts
      let one = "1 empty string is an empty cell, as null is"
      tally.notes.append(texts == 1 ? one : "\(texts) empty strings are empty cells, as null is")
    }
  }

  var remarks: [String] { tally.notes + tally.changes.map { "\($0.property): \($0.kind.words($0.count))" } }

  var leftOut: Int { tally.leftOut }
}

extension SpreadsheetCell {
  /// The number of characters in the longest line.
  fileprivate var width: Int {
    switch self {
    case .blank: return 0
    case .bool: return 5
    case .number(let value): return value.description.utf8.count
    case .date(_, let form): return form.rawValue.utf8.count
    case .text(let bytes):
      var longest = 0, width = 0
      for byte in bytes {
        if byte == 0x0A {
          longest = max(longest, width)
          width = 0
        } else if byte & 0xC0 != 0x80 {
          width += 1
        }
      }
      return max(longest, width)
    }
  }
}
