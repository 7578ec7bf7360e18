// What became of a transaction over several files: the extended attribute of its directory by which `realmfs tx` learns
// of the commit. Only this value proves a commit: a missing or silent directory does not.

/// What became of a transaction.
package enum TransactionOutcome: Sendable, Equatable, CustomStringConvertible {
  /// Nothing yet.
  case open
  /// Its changes are on disk, in this version; without changes, the version that it was based on.
  case committed(UInt64)
  /// Nothing of it was committed, and nothing will be. This user dropped it; nil if the mount did, at its end.
  case dropped(by: UInt32?)

  /// The extended attribute of a transaction's directory that holds its outcome. A descriptor of the directory reads it
  /// after the end, too.
  ///
  /// In this namespace the kernel does not ask for the mode of the directory, which an ended transaction does not have.
  package static let attribute = "system.realmfs.transaction"

  /// The value of the attribute.
  package var description: String {
    switch self {
    case .open: "open"
    case .committed(let version): "committed \(version)"
    case .dropped(let user): user.map { "dropped \($0)" } ?? "dropped"
    }
  }

  /// Reads the value of the attribute; nil if it is something else.
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
