// A wrapper for the few functions of libxlsxwriter that an export needs. Rows are written in order, and memory does not
// grow with their number: the library keeps the sheets in unnamed temporary files next to the output until it is
// complete.

import CXLSXWriter
import Glibc
import RealmPages

/// A cell of a spreadsheet.
enum SpreadsheetCell {
  case blank
  case number(Double)
  case bool(Bool)
  /// Days since 1899-12-30, and the display format.
  case date(Double, SpreadsheetDateForm)
  /// UTF-8 without NUL.
  case text([UInt8])
}

/// The display format of the dates in a column.
enum SpreadsheetDateForm: String, CaseIterable {
  case days = "yyyy-mm-dd"
  case seconds = "yyyy-mm-dd hh:mm:ss"
  case milliseconds = "yyyy-mm-dd hh:mm:ss.000"
}

/// A new spreadsheet.
@safe final class Spreadsheet {
  // Safe: owns the workbook, which owns the sheets and formats; none is used after the workbook is freed.
  /// The maximum number of rows and columns in a sheet.
  static let maxRows = Int(LXW_ROW_MAX)
  static let maxColumns = Int(LXW_COL_MAX)
  /// The maximum number of UTF-16 units in a cell.
  static let maxUnits = 32_767

  private let path: String
  /// The directory of the output and of the library's temporary files.
  private let folder: String
  private var workbook: UnsafeMutablePointer<lxw_workbook>?
  private var sheet: UnsafeMutablePointer<lxw_worksheet>?
  private var dateFormats: [SpreadsheetDateForm: UnsafeMutablePointer<lxw_format>] = unsafe [:]
  private var headerFormat: UnsafeMutablePointer<lxw_format>?
  private var row: lxw_row_t = 0
  private var sheets: [UnsafeMutablePointer<lxw_worksheet>] = unsafe []

  /// Creates a file that does not exist yet.
  init(path: String) throws {
    if let reason = unsafe cxlsxwriter_load() {
      throw TransferError.unsuitable(unsafe "spreadsheets need libxlsxwriter: \(String(cString: reason))")
    }
    self.path = path
    folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let tmpdir = unsafe strdup(folder)
    defer { unsafe free(tmpdir) }
    var options = unsafe lxw_workbook_options()
    unsafe options.constant_memory = UInt8(LXW_TRUE.rawValue)
    unsafe options.tmpdir = tmpdir
    unsafe workbook = workbook_new_opt(path, &options)
    guard unsafe workbook != nil else { throw TransferError.file(path, ENOMEM) }
    for form in SpreadsheetDateForm.allCases {
      let format = unsafe workbook_add_format(workbook)
      unsafe format_set_num_format(format, form.rawValue)
      unsafe dateFormats[form] = format
    }
    unsafe headerFormat = workbook_add_format(workbook)
    unsafe format_set_bold(headerFormat)
  }

  deinit { if unsafe workbook != nil { unsafe lxw_workbook_free(workbook) } }

  /// Begins a sheet; `name` must be valid for spreadsheets.
  func beginSheet(_ name: String) throws {
    unsafe sheet = workbook_add_worksheet(workbook, name)
    guard let sheet = unsafe sheet else { throw TransferError.unsuitable("\(path): cannot create the sheet \(name)") }
    unsafe sheets.append(sheet)
    unsafe worksheet_freeze_panes(sheet, 1, 0)
    row = 0
  }

  /// Ends a sheet: sets the column widths, in characters, and an auto-filter in the first row.
  func endSheet(widths: [Int]) throws {
    for (index, width) in widths.enumerated() {
      let column = lxw_col_t(index)
      let error = unsafe worksheet_set_column(sheet, column, column, Double(width), nil)
      if error != LXW_NO_ERROR { throw failure(error) }
    }
    if widths.isEmpty || row == 0 { return }
    let error = unsafe worksheet_autofilter(sheet, 0, 0, row - 1, lxw_col_t(widths.count - 1))
    if error != LXW_NO_ERROR { throw failure(error) }
  }

  /// Appends a row to the sheet; `isHeader` for the row of names.
  func append(_ cells: [SpreadsheetCell], isHeader: Bool = false) throws {
    let format = unsafe isHeader ? headerFormat : nil
    errno = 0
    for (index, cell) in cells.enumerated() {
      let column = lxw_col_t(index)
      let error =
        switch cell {
        case .blank: LXW_NO_ERROR
        case .number(let value): unsafe worksheet_write_number(sheet, row, column, value, nil)
        case .bool(let value): unsafe worksheet_write_boolean(sheet, row, column, value ? 1 : 0, nil)
        case .date(let value, let form): unsafe worksheet_write_number(sheet, row, column, value, dateFormats[form])
        case .text(let bytes): unsafe write(bytes, column, format)
        }
      if error != LXW_NO_ERROR { throw failure(error) }
    }
    try checkWrites(errno)
    row += 1
  }

  /// The library ignores errors of writes to its temporary files; `errno` still contains them.
  private func checkWrites(_ code: Int32) throws {
    if [ENOSPC, EDQUOT, EFBIG, EIO].contains(code) { throw TransferError.file(path, code) }
  }

  private func write(
    _ text: [UInt8],
    _ column: lxw_col_t,
    _ format: UnsafeMutablePointer<lxw_format>?
  ) -> lxw_error {
    unsafe (text + [0]).withUnsafeBytes { bytes in
      unsafe worksheet_write_string(sheet, row, column, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), format)
    }
  }

  /// Completes the file.
  func finish() throws {
    guard let workbook = unsafe workbook else { return }
    try checkRoom()
    // The library frees the workbook even after an error.
    unsafe self.workbook = nil
    errno = 0
    let error = unsafe workbook_close(workbook), code = errno
    try checkWrites(code)
    if error == LXW_NO_ERROR { return }
    if code == EACCES { throw TransferError.file(path, code) }
    throw failure(error)
  }

  /// The library copies each sheet once more before packing it, and does not detect a full disk while doing so.
  private func checkRoom() throws {
    var largest = 0, all = 0
    for index in unsafe sheets.indices {
      guard let file = unsafe sheets[index].pointee.optimize_tmpfile else { continue }
      if unsafe fflush(file) != 0 { throw TransferError.file(path, errno) }
      let size = unsafe ftell(file)
      (largest, all) = (max(largest, size), all + size)
    }
    var status = statvfs()
    guard unsafe statvfs(folder.isEmpty ? "/" : folder, &status) == 0 else { return }
    let room = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    // Packed data occupies at most a third of the size.
    if !room.overflow, room.partialValue < UInt64(largest + all / 3 + 1 << 20) {
      throw TransferError.file(path, ENOSPC)
    }
  }

  private func failure(_ error: lxw_error) -> TransferError {
    .unsuitable(
      unsafe "\(path): \(lxw_strerror(error).map { unsafe String(cString: $0) } ?? "error \(error.rawValue)")"
    )
  }
}
