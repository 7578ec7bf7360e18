// The outcome of a transaction over several files. `realmfs tx` reads it as an extended attribute of the transaction's
// directory. Only this value proves a commit; a directory that is missing or does not respond does not.

/// The state or final result of a transaction.
package enum TransactionOutcome: Sendable, Equatable, CustomStringConvertible {
  /// Neither committed nor dropped.
  case open
  /// The changes are on disk in this version; if there were none, this is the base version.
  case committed(UInt64)
  /// Nothing was committed, and nothing will be. The value is the user who dropped it; nil if it was dropped because
  /// the mount ended.
  case dropped(by: UInt32?)

  /// The extended attribute of a transaction's directory that contains its outcome. It can be read through an open
  /// descriptor of the directory even after the end.
  ///
  /// In the namespace `system`, the kernel does not first request the directory's attributes, which an ended
  /// transaction does not have.
  package static let attribute = "system.realmfs.transaction"

  /// The value of the attribute.
  package var description: String {
    switch self {
    case .open: "open"
    case .committed(let version): "committed \(version)"
    case .dropped(let user): user.map { "dropped \($0)" } ?? "dropped"
    }
  }

  /// Parses the value of the attribute; nil if it is invalid.
  package init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    switch (words.first, words.count) {
    case ("open", 1): self = .open
    case ("committed", 2):
      guard let version = UInt64(words[1]) else { return nil }
      self = .committed(version)
    case ("dropped", 1): self = .dropped(by: nil)
    case ("dropped", 2):
      guard let user = UInt32(words[1]) else { return nil }
      self = .dropped(by: user)
    default: return nil
    }
  }
}
