// Trees within the tree, of snapshots and transactions, whose nodes have different numbers outside.

import RealmPages

/// Passes on the entries of a tree within the tree with the numbers that the kernel knows, without attributes: the
/// kernel requests attributes by the outside numbers.
struct RenumberingSink<Sink: DirectorySink>: DirectorySink {
  private(set) var sink: Sink
  private let number: (InodeNumber) -> InodeNumber

  /// Passes entries on to `sink`. `number` converts an inside number to the outside one.
  init(_ sink: Sink, number: @escaping (InodeNumber) -> InodeNumber) {
    self.sink = sink
    self.number = number
  }

  mutating func add(
    _ name: RawSpan,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64
  ) -> Bool {
    sink.add(name, number(inode), kind, nil, next: next)
  }

  mutating func reset() { sink.reset() }
}
