// Trees within the tree, of snapshots and transactions, whose nodes have other numbers outside.

import RealmPages

/// Gives the entries of a tree within the tree the numbers that the kernel knows, and leaves their attributes out: the
/// kernel asks for these by the numbers outside.
struct RenumberingSink<Sink: DirectorySink>: DirectorySink {
  private(set) var sink: Sink
  private let number: (InodeNumber) -> InodeNumber

  /// Passes entries on to `sink`; `number` has the number outside for one inside.
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
