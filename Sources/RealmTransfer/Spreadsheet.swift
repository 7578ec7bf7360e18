// The few calls of libxlsxwriter that an export needs. Rows are written in their order, and memory does not grow with
// their number: the library keeps the sheets in files without names beside the result until it is complete.

import CXLSXWriter
import Glibc
import RealmPages

/// A cell of a spreadsheet.
enum SpreadsheetCell {
  case blank
  case number(Double)
  case bool(Bool)
  /// Days since 1899-12-30.
  case date(Double)
  /// UTF-8 without NUL.
  case text([UInt8])
}

/// A new spreadsheet.
@safe final class Spreadsheet {
  // Safe: owns the workbook, to which sheet and format belong; none is used after the workbook is freed.
  /// Rows of a sheet, and columns.
  static let mostRows = Int(LXW_ROW_MAX)
  static let mostColumns = Int(LXW_COL_MAX)
  /// The UTF-16 units that a cell holds.
  static let mostUnits = 32_767

  private let path: String
  private var workbook: UnsafeMutablePointer<lxw_workbook>?
  private var sheet: UnsafeMutablePointer<lxw_worksheet>?
  private var dateFormat: UnsafeMutablePointer<lxw_format>?
  private var row: lxw_row_t = 0

  /// Makes a file that does not exist yet.
  init(path: String) throws(TransferError) {
    self.path = path
    let folder = unsafe strdup(path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".")
    defer { unsafe free(folder) }
    var options = unsafe lxw_workbook_options()
    unsafe options.constant_memory = UInt8(LXW_TRUE.rawValue)
    unsafe options.tmpdir = folder
    unsafe workbook = workbook_new_opt(path, &options)
    guard unsafe workbook != nil else { throw .file(path, ENOMEM) }
    unsafe dateFormat = workbook_add_format(workbook)
    unsafe format_set_num_format(dateFormat, "yyyy-mm-dd hh:mm:ss.000")
  }

  deinit { if unsafe workbook != nil { unsafe lxw_workbook_free(workbook) } }

  /// Begins a sheet; its name is one that spreadsheets take.
  func beginSheet(_ name: String) throws(TransferError) {
    unsafe sheet = workbook_add_worksheet(workbook, name)
    guard unsafe sheet != nil else { throw .unsuitable("\(path): the sheet \(name) cannot be made") }
    unsafe worksheet_freeze_panes(sheet, 1, 0)
    row = 0
  }

  /// Appends a row to the sheet.
  func append(_ cells: [SpreadsheetCell]) throws(TransferError) {
    for (index, cell) in cells.enumerated() {
      let column = lxw_col_t(index)
      let error =
        switch cell {
        case .blank: LXW_NO_ERROR
        case .number(let value): unsafe worksheet_write_number(sheet, row, column, value, nil)
        case .bool(let value): unsafe worksheet_write_boolean(sheet, row, column, value ? 1 : 0, nil)
        case .date(let value): unsafe worksheet_write_number(sheet, row, column, value, dateFormat)
        case .text(let bytes): write(bytes, column)
        }
      if error != LXW_NO_ERROR { throw failure(error) }
    }
    row += 1
  }

  private func write(_ text: [UInt8], _ column: lxw_col_t) -> lxw_error {
    unsafe (text + [0]).withUnsafeBytes { bytes in
      unsafe worksheet_write_string(sheet, row, column, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), nil)
    }
  }

  /// Completes the file.
  func finish() throws(TransferError) {
    guard let workbook = unsafe workbook else { return }
    // The library frees the workbook, also after an error.
    unsafe self.workbook = nil
    errno = 0
    let error = unsafe workbook_close(workbook), code = errno
    if error == LXW_NO_ERROR { return }
    if [ENOSPC, EDQUOT, EFBIG, EACCES, EIO].contains(code) { throw .file(path, code) }
    throw failure(error)
  }

  private func failure(_ error: lxw_error) -> TransferError {
    .unsuitable(
      unsafe "\(path): \(lxw_strerror(error).map { unsafe String(cString: $0) } ?? "error \(error.rawValue)")"
    )
  }
}
