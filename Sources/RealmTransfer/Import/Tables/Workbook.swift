// Spreadsheets as a source of an import.

import RealmJSON

/// A spreadsheet.
final class Workbook: TableSource {
  let isCSV = true
  init(_ path: String) throws(TransferError) { throw .unsuitable("\(path): save the sheets of the spreadsheet as CSV") }
  func use(_ schema: SchemaDescription, className: String?) throws(TransferError) {}
  var tables: [(name: String, className: String?)] { [] }
  func text(_ index: Int) throws(TransferError) -> InputFile { throw .unsuitable("") }
  var newClasses: [ClassDescription] { [] }
  var mapping: [String] { [] }
  var notes: [String] { [] }
}
