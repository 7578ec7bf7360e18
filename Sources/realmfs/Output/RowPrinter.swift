// Prints rows of values in the format that the user chose. Cells are JSON or plain text; the formats other than JSON
// print plain text. Rows read from a version that another program has overwritten are dropped.
import CLinux
import Glibc
import RealmJSON
import RealmTransfer

/// The output formats of rows.
enum RowFormat: String, CaseIterable, Sendable {
  case jsonl, json, table, record, csv, tsv

  /// True if cells are plain text rather than JSON.
  var wantsTexts: Bool { self != .jsonl && self != .json }
}

/// One value of a row.
enum RowCell {
  case null
  /// Text in UTF-8.
  case text([UInt8])
  case json([UInt8])
}

/// Prints rows.
final class RowPrinter {
  let format: RowFormat
  private let names: [String]
  /// For each column, true if it contains numbers, which are right-aligned.
  private let areNumbers: [Bool]
  private let output: StandardOutput
  /// The width to which lines of a table are truncated; nil if they are not truncated.
  private let lineWidth: Int?

  /// The state that dropping a batch restores.
  private struct State {
    /// Rows of a table that wait until its column widths are known.
    var sample: [[String]] = []
    var sampleSize = 0
    var widths: [Int]?
    /// True if each row is printed as a record, with a line for each column.
    var isVertical = false
    /// The number of records printed.
    var shown = 0
    var rowCount = 0
  }
  private var state = State()
  private var kept = State()

  /// The widths of a table are computed from this many rows, or this many bytes of rows.
  private static let sampleRows = 400, sampleBytes = 1 << 18

  /// `cuts` is true if a table is truncated to the width of the terminal.
  init(
    _ format: RowFormat,
    _ columns: [(name: String, isNumber: Bool)],
    _ output: StandardOutput,
    cuts: Bool = true
  ) {
    self.format = format
    names = columns.map(\.name)
    areNumbers = columns.map(\.isNumber)
    self.output = output
    lineWidth = isatty(STDOUT_FILENO) == 0 || !cuts || format == .record ? nil : Self.terminalWidth
  }

  private static var terminalWidth: Int {
    let columns = Int(clinux_terminal_columns(STDOUT_FILENO))
    return columns > 0 ? columns : 80
  }

  // MARK: rows

  /// Adds a complete object, in the JSON formats.
  func add(object body: (OutputBuffer) throws(RenderError) -> Void) throws(RenderError) {
    let start = output.buffer.count
    if format == .json { output.print(state.rowCount == 0 ? "[\n" : ",\n") }
    do { try body(output.buffer) } catch {
      output.buffer.truncate(to: start)
      throw error
    }
    // Rendering ends with a line break.
    if format == .json { output.buffer.truncate(to: output.buffer.count - 1) }
    state.rowCount += 1
  }

  /// Adds a row with a cell for each column. A table also accepts shorter rows, whose last cell fills the line.
  func add(_ cells: [RowCell]) {
    switch format {
    case .jsonl, .json: addJSON(cells)
    case .csv: addLine(cells, separator: UInt8(ascii: ","))
    case .tsv: addLine(cells, separator: 0x09)
    case .table: addTable(cells)
    case .record: printRecord(texts(cells))
    }
    state.rowCount += 1
  }

  private func addJSON(_ cells: [RowCell]) {
    let out = output.buffer
    if format == .json { output.print(state.rowCount == 0 ? "[\n" : ",\n") }
    out.append("{")
    for (index, cell) in cells.enumerated() {
      if index > 0 { out.append(",") }
      out.append(quoted: names[index])
      out.append(":")
      switch cell {
      case .null: out.append("null")
      case .text(let bytes): out.append(string: bytes)
      case .json(let bytes): out.append(bytes)
      }
    }
    out.append("}")
    if format == .jsonl { out.append("\n") }
  }

  // MARK: lines of fields

  private func addLine(_ cells: [RowCell], separator: UInt8) {
    if state.rowCount == 0 { addNames(separator) }
    for (index, cell) in cells.enumerated() {
      if index > 0 { output.buffer.append(separator) }
      switch cell {
      case .null: break
      case .text(let bytes): unsafe output.buffer.append(textField: bytes.span.bytes, separator: separator)
      case .json(let bytes): unsafe output.buffer.append(field: bytes.span.bytes, separator: separator)
      }
    }
    output.buffer.append("\n")
  }

  private func addNames(_ separator: UInt8) {
    for (index, name) in names.enumerated() {
      if index > 0 { output.buffer.append(separator) }
      output.buffer.append(columnName: name, separator: separator)
    }
    output.buffer.append("\n")
  }

  // MARK: tables

  private func addTable(_ cells: [RowCell]) {
    let row = texts(cells)
    if let widths = state.widths { return printRow(row, widths) }
    state.sample.append(row)
    state.sampleSize += row.reduce(0) { $0 + $1.utf8.count }
    if state.sample.count >= Self.sampleRows || state.sampleSize >= Self.sampleBytes { printSample() }
  }

  /// Returns the cells as they are shown in a table or a record.
  private func texts(_ cells: [RowCell]) -> [String] {
    cells.map { cell in
      switch cell {
      case .null: ""
      case .text(let bytes): bytes.isEmpty ? "\"\"" : shown(bytes)
      case .json(let bytes): shown(bytes)
      }
    }
  }

  /// Returns text as it is shown on one line, truncated to the width of a line.
  private func shown(_ bytes: [UInt8]) -> String {
    guard let lineWidth, bytes.count > 8 * lineWidth else { return String(decoding: bytes, as: UTF8.self).printable }
    return String(decoding: bytes.prefix(8 * lineWidth), as: UTF8.self).printable.fitted(to: lineWidth)
  }

  private func printSample() {
    var widths = names.map { $0.printable.displayWidth }
    for row in state.sample {
      for (index, cell) in row.enumerated() where index < row.count - 1 || row.count == names.count {
        widths[index] = max(widths[index], cell.displayWidth)
      }
    }
    if let lineWidth {
      let natural = widths
      widths = Self.fitted(natural, to: lineWidth)
      if 2 * widths.count < natural.count {
        (state.widths, state.isVertical) = (natural, true)
        for row in state.sample { printRow(row, natural) }
        state.sample = []
        return
      }
    }
    state.widths = widths
    printRow(names.map(\.printable), widths)
    printRow(widths.map { String(repeating: "-", count: $0) }, widths)
    for row in state.sample { printRow(row, widths) }
    state.sample = []
  }

  private func printRow(_ row: [String], _ widths: [Int]) {
    if state.isVertical { return printRecord(row) }
    var line = ""
    for (index, width) in widths.enumerated() where index < row.count {
      let cell = lineWidth == nil ? row[index] : row[index].fitted(to: width)
      let padding = String(repeating: " ", count: max(0, width - cell.displayWidth))
      if index > 0 { line += "  " }
      line += areNumbers[index] ? padding + cell : cell + padding
    }
    while line.last == " " { line.removeLast() }
    output.print(line + "\n")
  }

  /// Prints a row as a record: a line with the number of the row, then a line for each column.
  private func printRecord(_ row: [String]) {
    state.shown += 1
    let names = names.map(\.printable), lineWidth = lineWidth ?? .max
    let nameWidth = min(names.map(\.displayWidth).max() ?? 0, max(4, lineWidth / 2))
    let head = "-[ \(state.shown) ]"
    output.print(head + String(repeating: "-", count: max(0, nameWidth + 3 - head.count)) + "\n")
    for (name, value) in zip(names, row) {
      let name = name.fitted(to: nameWidth)
      let padding = String(repeating: " ", count: max(0, nameWidth - name.displayWidth))
      let line = name + padding + "  " + value.fitted(to: max(1, lineWidth - nameWidth - 2))
      output.print((value.isEmpty ? name : line) + "\n")
    }
  }

  /// Returns column widths that fit in a line: the widest columns shrink first, then the last columns are omitted.
  static func fitted(_ widths: [Int], to lineWidth: Int) -> [Int] {
    let least = 4
    var widths = widths
    while widths.count > 1, widths.reduce(0, { $0 + min($1, least) }) + 2 * (widths.count - 1) > lineWidth {
      widths.removeLast()
    }
    let room = max(1, lineWidth - 2 * (widths.count - 1))
    if widths.reduce(0, +) <= room { return widths }
    // Find the greatest limit with which all columns fit.
    var limit = 1
    while widths.reduce(0, { $0 + min($1, limit + 1) }) <= room { limit += 1 }
    var rest = room - widths.reduce(0) { $0 + min($1, limit) }
    return widths.map { width in
      if width <= limit { return width }
      defer { rest -= rest > 0 ? 1 : 0 }
      return limit + (rest > 0 ? 1 : 0)
    }
  }

  /// The names of the columns that were omitted from a table for lack of room.
  var leftOut: [String] { state.widths.map { Array(names.dropFirst($0.count)) } ?? [] }

  // MARK: batches

  /// True if rows are independent lines, so that they can be reordered after they were added.
  var takesAnyOrder: Bool { format == .jsonl || (format == .csv || format == .tsv) && state.rowCount > 0 }

  /// The offset of the next row, for rows that can be reordered.
  var place: Int { output.buffer.count }

  /// Reorders the rows added since `start`; `places` are their ranges in the new order.
  func reorder(from start: Int, _ places: [Range<Int>]) {
    let rows = OutputBuffer()
    rows.append(output.buffer, in: start..<output.buffer.count)
    output.buffer.truncate(to: start)
    for place in places { output.buffer.append(rows, in: place.lowerBound - start..<place.upperBound - start) }
  }

  /// Removes the last `count` rows, which begin at `start`.
  func drop(from start: Int, count: Int) {
    output.buffer.truncate(to: start)
    state.rowCount -= count
  }

  /// True if the rows added make a full batch.
  var isBatchFull: Bool { output.isFull || state.sample.count - kept.sample.count >= Self.sampleRows }

  /// True if rows were printed, which cannot be undone.
  var hasKept: Bool { kept.rowCount > 0 }

  /// Keeps the rows added since the last `keep()`, and writes them.
  func keep() throws {
    kept = state
    try output.flush()
  }

  /// Drops the rows added since the last `keep()`.
  func drop() {
    state = kept
    output.buffer.reset()
  }

  /// Prints the rows that are still held, and the end of the output.
  func finish() throws {
    switch format {
    case .json: output.print(state.rowCount == 0 ? "[]\n" : "\n]\n")
    case .table: if state.widths == nil { printSample() }
    case .csv: if state.rowCount == 0 { addNames(UInt8(ascii: ",")) }
    case .tsv: if state.rowCount == 0 { addNames(0x09) }
    case .jsonl, .record: break
    }
    try keep()
    if !leftOut.isEmpty {
      Log.notice("no room for \(leftOut.joined(separator: ", ")); choose with --columns, or use --format jsonl")
    }
  }
}
