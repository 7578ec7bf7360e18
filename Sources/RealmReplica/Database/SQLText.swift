// Names and literals in statements.
import RealmTransfer

extension String {
  /// The first characters that have at most so many bytes.
  func cut(to count: Int) -> String {
    var text = self
    while text.utf8.count > count { text.unicodeScalars.removeLast() }
    return text
  }

  /// A literal in SQL.
  var quotedForSQLText: String {
    let text = doubling("'")
    return (unicodeScalars.contains("\\") ? " E'" + text.doubling("\\") : "'" + text) + "'"
  }
}
