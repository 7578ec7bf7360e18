// Rows of values in the form that the user wants. A row is begun, gets its cells as JSON, and is ended; the forms that
// are no JSON take the text out of it. What was read from a version that another program overtook is dropped again.
import CLinux
import Glibc
import RealmJSON
import RealmTransfer

/// What rows are printed as.
enum RowFormat: String, CaseIterable, Sendable {
  case jsonl, json, table, csv, tsv

  /// Whether cells are texts, not JSON.
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
  /// Which columns are numbers, and stand on the right.
  private let areNumbers: [Bool]
  private let output: StandardOutput
  /// The width that lines of a table are cut to; nil where nothing is cut.
  private let lineWidth: Int?

  /// What a dropped batch is undone to.
  private struct State {
    /// Rows of a table that wait until its widths are known.
    var sample: [[String]] = []
    var sampleSize = 0
    var widths: [Int]?
    /// True if rows stand one below the other, a line for each column.
    var isVertical = false
    /// Rows of such a table that were printed.
    var shown = 0
    var rowCount = 0
  }
  private var state = State()
  private var kept = State()

  /// The widths of a table are those of so many rows, or of so many bytes of them.
  private static let sampleRows = 400, sampleBytes = 1 << 18

  /// `cuts` tells whether a table is cut to the width of a terminal.
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
    lineWidth = isatty(STDOUT_FILENO) == 0 || !cuts ? nil : Self.terminalWidth
  }

  private static var terminalWidth: Int {
    let columns = Int(clinux_terminal_columns(STDOUT_FILENO))
    return columns > 0 ? columns : 80
  }

  // MARK: rows

  /// Adds an object as it is, in the forms of JSON.
  func add(object body: (OutputBuffer) throws(RenderError) -> Void) throws(RenderError) {
    let start = output.buffer.count
    if format == .json { output.print(state.rowCount == 0 ? "[\n" : ",\n") }
    do throws(RenderError) { try body(output.buffer) } catch {
      output.buffer.truncate(to: start)
      throw error
    }
    // Rendering ends with a line break.
    if format == .json { output.buffer.truncate(to: output.buffer.count - 1) }
    state.rowCount += 1
  }

  /// Adds a row with a cell for each column. A table also takes rows that end before; their last cell has the rest of
  /// the line.
  func add(_ cells: [RowCell]) {
    switch format {
    case .jsonl, .json: addJSON(cells)
    case .csv: addLine(cells, separator: UInt8(ascii: ","))
    case .tsv: addLine(cells, separator: 0x09)
    case .table: addTable(cells)
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
    let row = cells.map { cell in
      switch cell {
      case .null: ""
      case .text(let bytes): bytes.isEmpty ? "\"\"" : shown(bytes)
      case .json(let bytes): shown(bytes)
      }
    }
    if let widths = state.widths { return printRow(row, widths) }
    state.sample.append(row)
    state.sampleSize += row.reduce(0) { $0 + $1.utf8.count }
    if state.sample.count >= Self.sampleRows || state.sampleSize >= Self.sampleBytes { printSample() }
  }

  /// As it shows in one line; no more of it than a line can hold.
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

  /// Prints a row as a record: a line for each column, below a line with the number of the row.
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

  /// Widths that fit a line: the widest columns lose first, and columns that find no room at all are left out.
  static func fitted(_ widths: [Int], to lineWidth: Int) -> [Int] {
    let least = 4
    var widths = widths
    while widths.count > 1, widths.reduce(0, { $0 + min($1, least) }) + 2 * (widths.count - 1) > lineWidth {
      widths.removeLast()
    }
    let room = max(1, lineWidth - 2 * (widths.count - 1))
    if widths.reduce(0, +) <= room { return widths }
    // The greatest width to cut to with which all fit.
    var limit = 1
    while widths.reduce(0, { $0 + min($1, limit + 1) }) <= room { limit += 1 }
    var rest = room - widths.reduce(0) { $0 + min($1, limit) }
    return widths.map { width in
      if width <= limit { return width }
      defer { rest -= rest > 0 ? 1 : 0 }
      return limit + (rest > 0 ? 1 : 0)
    }
  }

  /// The names of columns of a table that found no room.
  var leftOut: [String] { state.widths.map { Array(names.dropFirst($0.count)) } ?? [] }

  // MARK: batches

  /// Whether rows are lines that stand by themselves, so that they can be ordered after they were added.
  var takesAnyOrder: Bool { format == .jsonl || (format == .csv || format == .tsv) && state.rowCount > 0 }

  /// Where the next row begins, for rows that can be ordered.
  var place: Int { output.buffer.count }

  /// Puts the rows that were added since `start` into another order: `places` is where they stand.
  func reorder(from start: Int, _ places: [Range<Int>]) {
    let rows = OutputBuffer()
    rows.append(output.buffer, in: start..<output.buffer.count)
    output.buffer.truncate(to: start)
    for place in places { output.buffer.append(rows, in: place.lowerBound - start..<place.upperBound - start) }
  }

  /// Forgets the last `count` rows, which begin at `start`.
  func drop(from start: Int, count: Int) {
    output.buffer.truncate(to: start)
    state.rowCount -= count
  }

  /// Whether what was added is enough for one look at the realm.
  var isBatchFull: Bool { output.isFull || state.sample.count - kept.sample.count >= Self.sampleRows }

  /// Whether something was printed that cannot be taken back.
  var hasKept: Bool { kept.rowCount > 0 }

  /// Makes what was added last.
  func keep() throws(CommandFailure) {
    kept = state
    try output.flush()
  }

  /// Forgets what was added since.
  func drop() {
    state = kept
    output.buffer.reset()
  }

  /// Prints what waits, and the end.
  func finish() throws(CommandFailure) {
    switch format {
    case .json: output.print(state.rowCount == 0 ? "[]\n" : "\n]\n")
    case .table: if state.widths == nil { printSample() }
    case .csv: if state.rowCount == 0 { addNames(UInt8(ascii: ",")) }
    case .tsv: if state.rowCount == 0 { addNames(0x09) }
    case .jsonl: break
    }
    try keep()
    if !leftOut.isEmpty {
      Log.notice("no room for \(leftOut.joined(separator: ", ")); choose with --columns, or use --format jsonl")
    }
  }
}
