// Chooses SQL names for tables and columns: the names of the classes and properties where SQL can distinguish them.
// Only this file quotes names.

/// A set of distinct names of one kind.
package struct SQLNames {
  private var used: Set<String> = []
  private let isCaseSensitive: Bool
  /// The maximum length of a name in UTF-8 bytes.
  private let limit: Int
  /// The prefix that the database reserves for its own names.
  private let reservedPrefix: String?

  /// Returns a set for SQLite, which treats `A` and `a` as equal.
  package static func sqlite(reserved: [String]) -> SQLNames {
    SQLNames(reserved: reserved, isCaseSensitive: false, limit: .max, prefix: "sqlite_")
  }

  /// Returns a set for PostgreSQL, whose names have at most 63 bytes.
  package static func postgres(reserved: [String]) -> SQLNames {
    SQLNames(reserved: reserved, isCaseSensitive: true, limit: 63, prefix: nil)
  }

  private init(reserved: [String], isCaseSensitive: Bool, limit: Int, prefix: String?) {
    (self.isCaseSensitive, self.limit, reservedPrefix) = (isCaseSensitive, limit, prefix)
    for name in reserved { used.insert(folded(name)) }
  }

  private func folded(_ name: String) -> String { isCaseSensitive ? name : name.lowercased() }

  /// Returns the name itself, or the name with a number appended if it is in use. A NUL would end the SQL text, so it
  /// is escaped as in file names.
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

  /// Returns the longest prefix of at most `count` bytes.
  private func cut(_ name: String, to count: Int) -> String {
    var name = name
    while name.utf8.count > count { name.unicodeScalars.removeLast() }
    return name
  }
}

extension String {
  /// The name in SQL, in double quotes.
  package var quotedForSQL: String { "\"" + doubling("\"") + "\"" }

  /// Returns the text with each `mark` doubled. Compares scalars: a quotation mark followed by a combining mark is one
  /// character in Swift, but a plain quotation mark to every database and shell.
  package func doubling(_ mark: Unicode.Scalar) -> String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == mark { text.append(mark) }
      text.append(scalar)
    }
    return String(text)
  }
}
