// A spreadsheet of the format .xlsx: a sheet for each class, a row for each object.
//
// The format keeps less than a realm does: numbers are doubles, which the library writes with 16 digits, dates have
// milliseconds, a cell has 32767 characters. A value that would be changed is written as the text that CSV has for it;
// a text that does not fit is named, and counted as left out.

import Glibc
import RealmJSON
import RealmPages

/// Writes a spreadsheet.
final class XLSXSink: ExportSink {
  private let target: ExportTarget
  private var spreadsheet: Spreadsheet?
  private var sheets: [TableKey: String] = [:]
  private var table: Table?
  /// The rows of the batch.
  private var rows: [[SpreadsheetCell]] = []
  private var bytes = 0
  /// The rows that were kept of the class.
  private var count = 0
  private let scratch = OutputBuffer()

  /// What there is to say about the cells.
  private struct Tally {
    var notes: [String] = []
    var emptyTexts = 0
    var leftOut = 0
  }
  private var tally = Tally()
  /// That of the rows that were kept.
  private var kept = Tally()

  init(_ target: ExportTarget) { self.target = target }

  // MARK: classes

  func begin(_ tables: [Table], of snapshot: Snapshot) throws(TransferError) {
    if case .stream = target { throw .unsuitable("a spreadsheet needs a file to go to") }
    try CSVRenderer.check(tables)
    var names: Set<String> = []
    sheets = [:]
    for table in tables {
      let name = table.className ?? table.name
      if table.columns.count >= Spreadsheet.mostColumns {
        throw .unsuitable("\(name): \(table.columns.count) properties; a sheet has \(Spreadsheet.mostColumns) columns")
      }
      sheets[table.key] = Self.sheetName(name, &names)
    }
  }

  func check(counts tables: [Table]) throws(TransferError) {
    for table in tables where table.objectCount >= Spreadsheet.mostRows { throw Self.tooManyRows(table) }
  }

  private static func tooManyRows(_ table: Table) -> TransferError {
    .unsuitable(
      "\(table.className ?? table.name): a sheet has \(Spreadsheet.mostRows) rows, the first one for names, and "
        + "the class has \(table.objectCount) objects: choose some with --where, or export CSV"
    )
  }

  func beginClass(_ table: Table) throws(TransferError) {
    try makeFile()
    let name = table.className ?? table.name, sheet = sheets[table.key] ?? name
    if sheet != name { tally.notes.append("the sheet of class \(name) is called \(sheet)") }
    kept = tally
    try spreadsheet?.beginSheet(sheet)
    let names = (table.primaryKey == nil ? ["$key"] : []) + table.columns.map(\.name)
    try spreadsheet?.append(names.map { .text(Self.escaped(Array($0.utf8))) })
    self.table = table
    count = 1
  }

  /// A name of 31 UTF-16 units at most, without what spreadsheets do not take, that no other sheet has.
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

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws(TransferError) {
    guard let table else { return }
    var cells: [SpreadsheetCell] = []
    cells.reserveCapacity(table.columns.count + 1)
    if table.primaryKey == nil { cells.append(Self.cell(cursor.key.value)) }
    for (index, column) in table.columns.enumerated() { cells.append(try cell(index, column, cursor, renderer)) }
    rows.append(cells)
  }

  private func cell(
    _ index: Int,
    _ column: Column,
    _ cursor: ObjectCursor,
    _ renderer: ObjectRenderer
  ) throws(TransferError) -> SpreadsheetCell {
    if column.collection == nil {
      let value = try renderer.sparing { () throws(RenderError) in try renderer.read(index, of: cursor) }
      switch value {
      case .null: return .blank
      case _ where column.type == .mixed: break
      case .int(let value): return Self.cell(value)
      case .bool(let value): return .bool(value)
      case .double(let value): if Self.isKept(value) { return .number(value) }
      case .float(let value):
        if let number = Self.written(Double(value)), Float(number) == value { return .number(number) }
      case .date(let value): if let days = Self.days(value) { return .date(days) }
      case .string(let value):
        let text = value.bytes
        if text.isEmpty, column.isNullable { tally.emptyTexts += 1 }
        if String(validating: text, as: UTF8.self) != nil { return fitted(text, column, cursor) }
      default: break
      }
    }
    scratch.reset()
    try renderer.sparing { () throws(RenderError) in
      try renderer.render(property: index, of: cursor, into: scratch)
    }
    var text = scratch.bytes
    if text.elementsEqual("null".utf8) { return .blank }
    if column.collection == nil, column.type == .link, let key = Int64(String(decoding: text, as: UTF8.self)) {
      return Self.cell(key)
    }
    // A text is shown without its quotes.
    if column.collection == nil, column.type != .mixed, let plain = JSONValue(report: text)?.string {
      text = Array(plain.utf8)
    }
    return fitted(text, column, cursor)
  }

  private static func cell(_ value: Int64) -> SpreadsheetCell {
    // Beyond this, a double is another number.
    value.magnitude <= 1 << 53 ? .number(Double(value)) : .text(Array(String(value).utf8))
  }

  /// The number that a double is in the file; nil if it is none.
  private static func written(_ value: Double) -> Double? {
    guard value.isFinite else { return nil }
    var text = [CChar](repeating: 0, count: 40)
    _ = unsafe withVaList([value]) { unsafe vsnprintf(&text, text.count, "%.16G", $0) }
    return unsafe strtod(text, nil)
  }

  private static func isKept(_ value: Double) -> Bool {
    written(value)?.bitPattern == value.bitPattern && value.bitPattern != (-0.0).bitPattern
  }

  /// A date as days since 1899-12-30, if it is one that spreadsheets show and nothing of it is lost.
  private static func days(_ time: Timestamp) -> Double? {
    guard time.nanoseconds % 1_000_000 == 0 else { return nil }
    // From 1900-03-01: before, spreadsheets disagree on the days. To the end of 9999.
    guard (-2_203_891_200..<253_402_300_800).contains(time.seconds) else { return nil }
    let milliseconds = time.seconds * 1000 + Int64(time.nanoseconds / 1_000_000)
    let days = Double(milliseconds) / 86_400_000 + 25_569
    guard let written = written(days), Int64(((written - 25_569) * 86_400_000).rounded()) == milliseconds else {
      return nil
    }
    return days
  }

  /// A text as a cell, if it fits one.
  private func fitted(_ text: [UInt8], _ column: Column, _ cursor: ObjectCursor) -> SpreadsheetCell {
    if text.isEmpty { return .blank }
    let escaped = Self.escaped(text)
    // A unit takes one byte at least.
    let units = escaped.count <= Spreadsheet.mostUnits ? 0 : String(decoding: escaped, as: UTF8.self).utf16.count
    if units <= Spreadsheet.mostUnits {
      bytes += escaped.count
      return .text(escaped)
    }
    tally.leftOut += 1
    tally.notes.append(
      "\(cursor.table.className ?? "") object \(cursor.key.value): \(column.name) has \(units) characters, a cell "
        + "\(Spreadsheet.mostUnits) at most; it was left out"
    )
    return .text(Array("[left out: \(units) characters]".utf8))
  }

  /// A text as the format writes it: what XML cannot hold is `_xHHHH_`, and so is the beginning of what would be read
  /// as that.
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

  /// Whether a text begins with `_xHHHH_`.
  private static func isEscape(_ text: ArraySlice<UInt8>) -> Bool {
    let found = Array(text.prefix(7))
    return found.count == 7 && found[1] == UInt8(ascii: "x") && found[6] == 0x5F
      && found[2..<6].allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
  }

  // MARK: batches

  var isBatchFull: Bool { rows.count >= 1000 || bytes >= 1 << 20 }

  func keepBatch() throws(TransferError) {
    if let table, count + rows.count > Spreadsheet.mostRows { throw Self.tooManyRows(table) }
    for row in rows { try spreadsheet?.append(row) }
    count += rows.count
    kept = tally
    (rows, bytes) = ([], 0)
  }

  func dropBatch() {
    tally = kept
    (rows, bytes) = ([], 0)
  }

  private func makeFile() throws(TransferError) {
    switch target {
    case .path(let path), .file(let path): if spreadsheet == nil { spreadsheet = try Spreadsheet(path: path) }
    case .stream: break
    }
  }

  func finish() throws(TransferError) {
    // Without classes there is an empty sheet.
    try makeFile()
    try spreadsheet?.finish()
    spreadsheet = nil
    if tally.emptyTexts > 0 {
      let texts = tally.emptyTexts
      let one = "1 empty string is an empty cell, as null is"
      tally.notes.append(texts == 1 ? one : "\(texts) empty strings are empty cells, as null is")
    }
  }

  var remarks: [String] { tally.notes }

  var leftOut: Int { tally.leftOut }
}
