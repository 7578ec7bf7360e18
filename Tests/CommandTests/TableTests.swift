// Tables: the width of texts, cutting them, and the widths of columns.

import Testing

@testable import realmfs

@Suite("Tables")
struct TableTests {
  @Test(
    "the display width of a text",
    arguments: [
      ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("犬", 2), ("😀", 2), ("ｱ", 1), ("Ａ", 2),
      ("a\u{200B}b", 2),
    ]
  )
  func width(text: String, columns: Int) { #expect(text.displayWidth == columns) }

  @Test(
    "a text is truncated at character boundaries",
    arguments: [
      ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("犬犬犬", 6, "犬犬犬"),
      ("犬犬犬", 5, "犬犬…"), ("犬犬犬", 4, "犬…"),
      ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("ab", 1, "…"), ("ab", 0, ""),
    ]
  )
  func cutting(text: String, width: Int, expected: String) {
    #expect(text.fitted(to: width) == expected)
    #expect(text.fitted(to: width).displayWidth <= width)
  }

  @Test("columns fit a line, and narrow ones keep their width", arguments: 4...120)
  func fitting(line: Int) {
    let natural = [3, 40, 7, 200, 1, 12]
    let widths = RowPrinter.fitted(natural, to: line)
    #expect(!widths.isEmpty && widths.reduce(0, +) + 2 * (widths.count - 1) <= line)
    for (width, wanted) in zip(widths, natural) { #expect(width >= min(wanted, 1) && width <= wanted) }
    if line >= 60 { #expect(widths.count == 6 && widths[0] == 3 && widths[2] == 7 && widths[4] == 1) }
    // Nothing is left over while a column is cut.
    if widths.count == 6, zip(widths, natural).contains(where: { $0 < $1 }) {
      #expect(widths.reduce(0, +) + 10 == line)
    }
  }
}
