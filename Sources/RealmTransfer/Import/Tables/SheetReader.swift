// Converts a sheet of a spreadsheet to CSV: the first row with a value is the header. An error names the cell.

import Glibc
import RealmJSON
import RealmPages

/// Reads the cells of a sheet.
struct SheetReader {
  private var reader: XMLReader
  private let name: String
  private let strings: SharedStrings
  private let styles: CellStyles
  private let usesYear1904: Bool
  /// The properties that keep numbers as decimal digits.
  private let decimals: [String]

  /// A cell of the current row.
  private struct Cell {
    let column: Int
    let bytes: [UInt8]
    let isText: Bool
  }

  private var cells: [Cell] = []
  private var row = 0
  private var column = 0
  private var kind = ""
  private var style = 0
  private var value: [UInt8] = []
  private var rich = RichText()
  private var isValue = false
  private var isInCell = false
  private var hasFormula = false
  /// The number of columns of the header; nil before it.
  private var width: Int?
  /// The columns whose numbers are kept as decimal digits.
  private var decimalColumns: Set<Int> = []
  private var rowsBefore = 0
  /// The number of the last row in the output.
  private var written = 0
  private let output: TemporaryText

  private static let maxRow = 1_048_576
  private static let maxColumn = 16_384
  private static let maxBytes = 1 << 32

  init(
    _ archive: ZipArchive,
    _ entry: ZipArchive.Entry,
    name: String,
    _ strings: SharedStrings,
    _ styles: CellStyles,
    usesYear1904: Bool,
    decimals: [String]
  ) throws {
    self.decimals = decimals
    (self.name, self.strings, self.styles, self.usesYear1904) = (name, strings, styles, usesYear1904)
    reader = try XMLReader(archive, entry)
    output = try TemporaryText(limit: Self.maxBytes)
  }

  /// Returns the sheet as CSV, with an empty line for each empty row.
  mutating func convert() throws -> InputFile {
    while let event = try reader.event() {
      switch (event, reader.name) {
      case (.start, "row"): try beginRow()
      case (.end, "row"): try endRow()
      case (.start, "c"): try beginCell()
      case (.end, "c"): try endCell()
      case (.start, "f"): hasFormula = true
      case (.start, "v"): isValue = isInCell
      case (.end, "v"): isValue = false
      case (.text, _) where isValue:
        value += reader.text
        if value.count > 1 << 20 { throw error("a text is longer than 1 MiB") }
      default: if isInCell, kind == "inlineStr" { try rich.add(event, reader, at: place) }
      }
    }
    return try output.input(name: name, rowsBefore: rowsBefore)
  }

  /// The current cell, for messages.
  private var place: String { "\(name), cell \(Self.letters(column))\(row)" }

  private func error(_ problem: String) -> TransferError { .unsuitable("\(place): \(problem)") }

  static func letters(_ column: Int) -> String {
    var rest = column, text = ""
    while rest > 0 {
      text = String(UnicodeScalar(UInt8(0x41 + (rest - 1) % 26))) + text
      rest = (rest - 1) / 26
    }
    return text
  }

  // MARK: rows and cells

  private mutating func beginRow() throws {
    let number = try reader.attribute("r")
    let next = number == nil ? row + 1 : number.flatMap { Int($0) } ?? 0
    guard next > row, next <= Self.maxRow else {
      throw TransferError.unsuitable(
        "\(name): row \(row + 1): the number of the row is \((number ?? "missing").printable)"
      )
    }
    (row, column, cells) = (next, 0, [])
  }

  private mutating func beginCell() throws {
    if isInCell { throw error("a cell in a cell") }
    let reference = try reader.attribute("r")
    let next = try reference.map { text in try column(of: text) } ?? column + 1
    guard next > column, next <= Self.maxColumn, row > 0 else {
      throw TransferError.unsuitable(
        "\(name), cell \((reference ?? "").printable): the cell is out of order or beyond the last column"
      )
    }
    (column, isInCell, hasFormula, value, rich) = (next, true, false, [], RichText())
    kind = try reader.attribute("t") ?? "n"
    style = try reader.attribute("s").flatMap { Int($0) } ?? 0
  }

  /// Returns the number of the column in a reference such as `AB12`, which must be in the current row.
  private func column(of reference: String) throws -> Int {
    var number = 0, rest = reference.utf8[...]
    while let letter = rest.first, (0x41...0x5A).contains(letter & 0xDF), number <= Self.maxColumn {
      number = number * 26 + Int(letter & 0xDF) - 0x40
      rest = rest.dropFirst()
    }
    guard number > 0, Int(String(decoding: rest, as: UTF8.self)) == row else {
      throw TransferError.unsuitable("\(name): row \(row): \"\(reference.printable)\" is not a cell of this row")
    }
    return number
  }

  private mutating func endCell() throws {
    isInCell = false
    var content = value[...], isText = false
    switch kind {
    case "s":
      guard let index = Int(trimmed(value)), let text = try strings.text(index) else {
        throw error("the number of its text is \(trimmed(value).printable)")
      }
      (content, isText) = (text[...], true)
    case "inlineStr": (content, isText) = (rich.content[...], true)
    case "str": (content, isText) = (RichText.unescaped(value)[...], true)
    case "b":
      switch trimmed(value) {
      case "1", "true": content = Array("true".utf8)[...]
      case "0", "false": content = Array("false".utf8)[...]
      case "": break
      default: throw error("expected 0 or 1, found \(trimmed(value).printable)")
      }
    case "e": throw error("its formula has the error \(trimmed(value).printable)")
    case "d": content = Array(trimmed(value).utf8)[...]
    case "n":
      content = Array(try number(trimmed(value)).utf8)[...]
      if content.isEmpty, hasFormula {
        throw error("its formula has no stored value; open the file in a spreadsheet program and save it")
      }
    default: throw error("the type \(kind.printable) is unknown")
    }
    if content.isEmpty, !isText { return }
    if isText, XLSXSink.isLeftOut(Array(content)) {
      throw error("the export left out this text; remove the column or the row")
    }
    if unsafe !UTF8Sequence.isValid(Array(content).span.bytes) { throw error("the text is not UTF-8") }
    cells.append(Cell(column: column, bytes: Array(content), isText: isText))
  }

  private func trimmed(_ bytes: [UInt8]) -> String {
    let start = bytes.drop { $0 <= 0x20 }
    return String(decoding: start[..<((start.lastIndex { $0 > 0x20 } ?? start.startIndex - 1) + 1)], as: UTF8.self)
  }

  /// Returns a number as CSV: a date, if its style is that of dates, otherwise its digits.
  private func number(_ text: String) throws -> String {
    if text.isEmpty { return text }
    guard let number = Double(text), number.isFinite, text.utf8.allSatisfy({ "0123456789.+-eE".utf8.contains($0) })
    else {
      throw error("expected a number, found \(text.printable)")
    }
    if styles.isDate(style), let date = try date(number) { return date }
    // Large whole numbers are stored with an exponent.
    if text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }), let whole = Int64(exactly: number),
      whole.magnitude <= 1 << 53
    {
      return String(whole)
    }
    return decimalColumns.contains(column) ? decimal(text, number) : text
  }

  /// Returns a number with at most 15 digits, as spreadsheets show it: they store 1.1 as 1.1000000000000001.
  private func decimal(_ text: String, _ number: Double) -> String {
    let digits = text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
    if digits.count <= 15 || !text.contains(".") { return text }
    var short = [CChar](repeating: 0, count: 40)
    let count = unsafe withVaList([number]) { unsafe vsnprintf(&short, short.count, "%.15G", $0) }
    return String(decoding: short.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns the date of a number of days; nil for a time without a date.
  private func date(_ number: Double) throws -> String? {
    if number < 1, !usesYear1904 { return nil }
    var days = usesYear1904 ? number + 1462 : number
    if !usesYear1904 {
      // Spreadsheets have a 29th of February 1900, for compatibility with Lotus 1-2-3.
      if days < 60 { days += 1 } else if days < 61 { throw error("the day 1900-02-29 does not exist") }
    }
    guard (0..<2_958_466).contains(days) else { throw error("\(number) is not a date") }
    let milliseconds = Int64(((days - 25_569) * 86_400_000).rounded())
    let seconds = milliseconds / 1000, rest = milliseconds % 1000
    let out = OutputBuffer()
    guard out.append(date: Timestamp(seconds: seconds, nanoseconds: Int32(rest * 1_000_000))) else {
      throw error("\(number) is not a date")
    }
    return out.string
  }

  // MARK: output

  private mutating func endRow() throws {
    let out = output.buffer
    guard cells.contains(where: { !$0.bytes.isEmpty || $0.isText }) else { return }
    var next = 0
    if let width {
      while written < row - 1 {
        out.append("\n")
        written += 1
      }
      for index in 1...width {
        if index > 1 { out.append(",") }
        guard next < cells.count, cells[next].column == index else { continue }
        append(cells[next].bytes, isQuoted: cells[next].isText && cells[next].bytes.allSatisfy { $0 <= 0x20 })
        next += 1
      }
      if let extra = cells[next...].first(where: { !$0.bytes.isEmpty }) {
        column = extra.column
        throw error("a value, but the first row has no name for this column")
      }
    } else {
      guard let last = cells.last(where: { !$0.bytes.isEmpty })?.column else { return }
      (width, rowsBefore) = (last, row - 1)
      for index in 1...last {
        if index > 1 { out.append(",") }
        let cell = next < cells.count && cells[next].column == index ? cells[next] : nil
        if cell != nil { next += 1 }
        let name = trimmed(cell?.bytes ?? [])
        if decimals.contains(where: { $0.isExactly(name) }) { decimalColumns.insert(index) }
        append(Array(name.utf8), isQuoted: true)
      }
    }
    out.append("\n")
    written = row
    try output.flush()
    if output.isOverLimit { throw error("the texts of the sheet are longer than 4 GiB") }
  }

  private func append(_ bytes: [UInt8], isQuoted: Bool) {
    let out = output.buffer
    if !isQuoted, !bytes.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) { return out.append(bytes) }
    out.append("\"")
    for byte in bytes {
      if byte == 0x22 { out.append("\"") }
      out.append(byte)
    }
    out.append("\"")
  }
}
