// Trees below the tree of a mount: snapshots and transactions.

/// The trees below a tree.
final class Subtrees: Sendable {
  /// The named snapshots.
  let snapshots = SnapshotTable()
  /// The transactions over several files.
  let transactions: TransactionTable
  /// The transaction that the tree itself belongs to; nil for the tree of the realm.
  let staged: StagedTransaction?

  /// No trees, below that of `staged` or that of the realm. Transactions may use `memory` bytes for changes.
  init(below staged: StagedTransaction?, memory: Int) {
    self.staged = staged
    transactions = TransactionTable(memory: memory)
  }
}
