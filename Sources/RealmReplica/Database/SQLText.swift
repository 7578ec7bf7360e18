// Names and literals in statements.

extension String {
  /// Whether two names have the same bytes: Swift takes letters with accents for the same however they are written.
  func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// A literal in SQL.
  var quotedForSQLText: String {
    let text = split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    return
      (contains("\\")
      ? " E'" + text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\") : "'" + text)
      + "'"
  }
}
