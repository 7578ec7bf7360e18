// Trees below the tree of a mount: snapshots, former versions and transactions.

/// The snapshots and transactions of a tree.
final class Subtrees: Sendable {
  /// The named snapshots.
  let snapshots = SnapshotTable()
  /// The former versions.
  let versions = FormerVersionTable()
  /// The transactions over several files.
  let transactions: TransactionTable
  /// The transaction that the tree itself belongs to; nil for the tree of the realm.
  let staged: StagedTransaction?

  /// Creates an empty collection for the tree of `staged` or, if it is nil, for the tree of the realm. Transactions may
  /// use up to `memory` bytes for their changes.
  init(below staged: StagedTransaction?, memory: Int) {
    self.staged = staged
    transactions = TransactionTable(memory: memory)
  }
}

/// The kinds of trees below the tree of a mount.
enum SubtreeKind: UInt8, Sendable {
  case transaction, snapshot, version
}

/// A tree below the tree of a mount. Its nodes have different inode numbers in the mount: see `SubtreeNode`.
protocol Subtree: AnyObject, Sendable {
  static var kind: SubtreeKind { get }
  /// Unique among all subtrees of this kind, including former ones with the same name.
  var number: UInt64 { get }
  /// True if it accepts changes and records its own refusals; `FileTree` then forwards requests to its tree. Otherwise
  /// its nodes are read-only, and their files are opened in the tree of the mount.
  var isWritable: Bool { get }
  /// The tree.
  ///
  /// - Throws: `stale` after its end.
  func context() throws(FileTreeError) -> TreeContext
  /// The path of its root.
  func shownPath(_ main: TreeContext) -> String
  /// Returns the attributes of its nodes as the mount shows them.
  func shown(_ attributes: FileAttributes) -> FileAttributes
  /// The attributes of an entry of its root that belongs to the tree of the mount; nil if there is none. Counts as a
  /// kernel lookup.
  func ownEntry(_ name: [UInt8], _ main: TreeContext) throws(FileTreeError) -> FileAttributes?
  /// The attributes of a node after the end of the tree; nil if it has none.
  func attributesAfterEnd(_ node: SubtreeNode, _ main: TreeContext) throws(FileTreeError) -> FileAttributes?
}

extension Subtree {
  var isWritable: Bool { false }
  func ownEntry(_ name: [UInt8], _ main: TreeContext) throws(FileTreeError) -> FileAttributes? { nil }
  func attributesAfterEnd(_ node: SubtreeNode, _ main: TreeContext) throws(FileTreeError) -> FileAttributes? { nil }
}
