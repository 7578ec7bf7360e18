// Names in SQL: of tables and columns, as the classes and properties are called where SQL can tell them apart, and
// quoted in one place.

/// Names of one kind that a database tells apart.
package struct SQLNames {
  private var used: Set<String> = []
  private let isCaseSensitive: Bool
  /// Bytes of UTF-8 that a name may have.
  private let limit: Int
  /// What no name begins with, because the database has its own that do.
  private let reservedPrefix: String?

  /// Names as SQLite tells them apart: it takes `A` for `a`.
  package static func sqlite(reserved: [String]) -> SQLNames {
    SQLNames(reserved: reserved, isCaseSensitive: false, limit: .max, prefix: "sqlite_")
  }

  /// Names as PostgreSQL tells them apart, of at most 63 bytes.
  package static func postgres(reserved: [String]) -> SQLNames {
    SQLNames(reserved: reserved, isCaseSensitive: true, limit: 63, prefix: nil)
  }

  private init(reserved: [String], isCaseSensitive: Bool, limit: Int, prefix: String?) {
    (self.isCaseSensitive, self.limit, reservedPrefix) = (isCaseSensitive, limit, prefix)
    for name in reserved { used.insert(folded(name)) }
  }

  private func folded(_ name: String) -> String { isCaseSensitive ? name : name.lowercased() }

  /// The name itself, or with a number behind it if it is taken. SQL ends at a NUL, which is written as in the names of
  /// files.
  package mutating func take(_ name: String) -> String {
    let name = name.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "%00")
    let isReserved = reservedPrefix.map { name.lowercased().hasPrefix($0) } ?? false
    let wanted = name.isEmpty || isReserved ? "_" + name : name
    var candidate = cut(wanted, to: limit), number = 1
    while !used.insert(folded(candidate)).inserted {
      number += 1
      let suffix = "_\(number)"
      candidate = (limit == .max ? wanted : cut(wanted, to: limit - suffix.utf8.count)) + suffix
    }
    return candidate
  }

  /// The first characters that have at most so many bytes.
  private func cut(_ name: String, to count: Int) -> String {
    var name = name
    while name.utf8.count > count { name.unicodeScalars.removeLast() }
    return name
  }
}

extension String {
  /// The name in SQL: in double quotes.
  package var quotedForSQL: String { "\"" + doubling("\"") + "\"" }

  /// The text with each `mark` twice. By scalars: a quotation mark with a combining mark behind it is one character,
  /// which is no quotation mark to Swift, and one to every database and shell.
  package func doubling(_ mark: Unicode.Scalar) -> String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == mark { text.append(mark) }
      text.append(scalar)
    }
    return String(text)
  }
}
