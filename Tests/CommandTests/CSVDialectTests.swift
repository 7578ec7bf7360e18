// Detection in CSV files of spreadsheets: separator, encoding, records of several lines, dates.

import RealmPages
import TestSupport
import Testing

@testable import RealmTransfer

@Suite("CSV of spreadsheets")
struct CSVDialectTests {
  private func dialect(_ line: String, _ options: ImportOptions = ImportOptions()) throws -> CSVDialect {
    try CSVDialect(firstLine: Array(line.utf8), options)
  }

  @Test(
    "the separator of the names is detected",
    arguments: [
      ("a,b,c", ","), ("a;b;c", ";"), ("a\tb", "\t"), ("a|b", "|"), ("a", ","), ("", ","), ("a;b;c,d", ";"),
      ("\"a,b\";c", ";"), ("\"a\"\",,,\";b", ";"), ("a b:c,d", ","), ("sep=;", ";"), ("sep=|\r", "|"), ("sep=\t", "\t"),
      ("sep=,", ","), ("sep=^", "^"), ("sep=a,b", ","), ("sep=\"", ","), ("sep=x;y", ";"),
    ]
  )
  func separator(line: String, expected: String) throws {
    #expect(try dialect(line).delimiter == expected.utf8.first)
  }

  @Test(
    "equally frequent separators are an error",
    arguments: ["a;b,c", "a\tb,c", "a|b;c", "a;b;c,d,e"]
  )
  func unclear(line: String) throws {
    #expect(throws: InputError.self) { try dialect(line) }
    var options = ImportOptions()
    options.delimiter = UInt8(ascii: ",")
    #expect(try dialect(line, options).delimiter == UInt8(ascii: ","))
  }

  @Test("the decimal mark is a point in comma-separated files, otherwise point or comma")
  func decimalMark() throws {
    #expect(try dialect("a,b").decimalMark == .point)
    #expect(try dialect("a;b").decimalMark == nil)
    #expect(try dialect("a\tb").decimalMark == nil)
    var options = ImportOptions()
    options.decimalMark = .comma
    #expect(try dialect("a,b", options).decimalMark == .comma)
    #expect(try dialect("a;b", options).decimalMark == .comma)
  }

  @Test("characters that occur in values cannot be separators")
  func delimiters() {
    for byte in ",;|^~:&/_\t".utf8 { #expect(CSVDialect.isDelimiter(byte)) }
    for byte in "\"aZ09 .-+{[\r\n\u{0}\u{7F}é".utf8 { #expect(!CSVDialect.isDelimiter(byte)) }
  }

  @Test(
    "a byte order mark determines the encoding",
    arguments: [
      ([0xEF, 0xBB, 0xBF, 0x61], "UTF-8"), ([0xFF, 0xFE, 0x61, 0], "UTF-16"), ([0xFE, 0xFF, 0, 0x61], "UTF-16"),
      ([0xFF, 0xFE, 0, 0], "UTF-32"), ([0, 0, 0xFE, 0xFF], "UTF-32"), ([0xFF, 0xFE], "UTF-16"), ([0xEF, 0xBB], nil),
      ([], nil), ([0x61, 0x62, 0x63, 0x64], nil),
    ] as [([UInt8], String?)]
  )
  func mark(head: [UInt8], expected: String?) {
    #expect(InputFile.encoding(of: head) == expected)
  }

  @Test("an encoding option that contradicts the byte order mark is refused")
  func encodings() throws {
    let utf8: [UInt8] = [0xEF, 0xBB, 0xBF, 0x61], utf16: [UInt8] = [0xFF, 0xFE, 0x61, 0], none: [UInt8] = [0x61, 0x62]
    func encoding(_ named: String?, _ head: [UInt8]) throws -> String? { try InputFile.encoding(named, head, "x") }
    for named in [nil, "utf-8", "UTF8", "utf_8"] { #expect(try encoding(named, utf8) == nil) }
    for named in [nil, "UTF-16"] { #expect(try encoding(named, utf16) == "UTF-16") }
    #expect(try encoding("utf-16le", utf16) == "utf-16le")
    #expect(try encoding("latin1", none) == "latin1")
    #expect(try encoding(nil, none) == nil)
    #expect(throws: TransferError.self) { try encoding("latin1", utf8) }
    #expect(throws: TransferError.self) { try encoding("windows-1252", utf16) }
    #expect(throws: TransferError.self) { try encoding("UTF-8", utf16) }
  }

  @Test(
    "a record ends at the first line break outside of quotes",
    arguments: [
      ("a,b\nc", 1), ("\"a\nb\",c\nd", 2), ("a\"b\nc\"d", 1), ("\"a\"\"\nb\"\n", 2), ("x,\"\n\n\",y\nz", 3),
      ("\"\",a\nb", 1),
      ("\"a\"b\nc", 1), (" \"a\nb\"", 1), ("a,\"\"\"\n\"", 2),
    ]
  )
  func records(text: String, lines: Int) throws {
    let file = InputFile(text: Array(text.utf8), name: "x")
    let record = try #require(try file.readRecord(UInt8(ascii: ",")))
    #expect(file.line == lines)
    #expect(record.count { $0 == 0x0A } == lines - 1)
  }

  // MARK: dates

  private func shown(_ text: String) -> String {
    switch SpreadsheetDate(Array(text.utf8)[...]) {
    case .date(let date): "\(date.seconds)"
    case .ambiguous(let first, let second): "\(first)|\(second)"
    case .dayNumber: "number"
    case .unknown: "unknown"
    }
  }

  @Test(
    "unambiguous dates",
    arguments: [
      ("31.1.2024", 1_706_659_200), ("1.2.2024", 1_706_745_600), ("31/01/2024", 1_706_659_200),
      ("1/31/2024", 1_706_659_200),
      ("2024/1/31", 1_706_659_200), ("2024.01.31", 1_706_659_200), ("31-1-2024", 1_706_659_200),
      ("2/2/2024", 1_706_832_000),
      ("31.1.2024 9:05", 1_706_691_900), ("31.1.2024 09:05:07", 1_706_691_907), ("1/31/2024 9:05 PM", 1_706_735_100),
      ("1/31/2024 12:00:00 am", 1_706_659_200), ("1/31/2024 12:00 pm", 1_706_702_400), ("29.2.2024", 1_709_164_800),
    ]
  )
  func days(text: String, seconds: Int) {
    #expect(shown(text) == "\(seconds)")
  }

  @Test(
    "ambiguous and invalid dates",
    arguments: [
      ("01/02/2021", "2021-02-01|2021-01-02"), ("1-2-2021 9:05", "2021-02-01|2021-01-02"), ("45413", "number"),
      ("45413.5", "number"), ("45413,5", "number"), ("1.2.24", "unknown"), ("1/2/24", "unknown"),
      ("29.2.2023", "unknown"),
      ("13/13/2024", "unknown"), ("1.13.2024", "unknown"), ("1.2/2024", "unknown"), ("2024-13-01", "unknown"),
      ("31.1.2024 25:00", "unknown"), ("31.1.2024 9", "unknown"), ("31.1.2024 13:00 PM", "unknown"), ("", "unknown"),
      ("31.1.2024 9:5", "unknown"), ("1/2/3/2024", "unknown"), ("//2024", "unknown"), ("May 2024", "unknown"),
      ("1.2.2024 9:05 x", "unknown"), ("99999999999999999999999", "unknown"), ("4541 3", "unknown"),
      ("1.2.02024", "unknown"),
    ]
  )
  func others(text: String, expected: String) {
    #expect(shown(text) == expected)
  }

  @Test("reading a line takes linear time", arguments: ["a,", "\"a\",", "\"\"\"\","])
  func growing(field: String) throws {
    let growth = try growth(from: 50_000) { count in
      _ = try CSVRecord(Array(String(repeating: field, count: count).utf8), UInt8(ascii: ","))
    }
    #expect(growth < largestGrowth)
  }
}
