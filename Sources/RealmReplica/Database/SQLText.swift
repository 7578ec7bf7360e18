// Formats names and literals for SQL statements.
import RealmTransfer

extension String {
  /// Returns the longest prefix of at most `count` bytes.
  func cut(to count: Int) -> String {
    var text = self
    while text.utf8.count > count { text.unicodeScalars.removeLast() }
    return text
  }

  /// The text as an SQL literal.
  var quotedForSQLText: String {
    let text = doubling("'")
    return (unicodeScalars.contains("\\") ? " E'" + text.doubling("\\") : "'" + text) + "'"
  }
}
