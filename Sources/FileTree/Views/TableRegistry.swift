// The tables that a mount has met, in that order. Append-only, so an ordinal (and with it an inode number) never
// comes to mean another table.

import RealmPages
import Synchronization

/// Gives each table an ordinal for the life of the mount.
final class TableRegistry: Sendable {
  /// A table as the registry knows it. The name is part of it because a file that is replaced by another one can
  /// give the same key to another table.
  private struct Identity: Hashable {
    let key: TableKey
    let name: String
  }

  private let known = Mutex<[Identity: Registered]>([:])
  private let nodes: NodeTable

  /// A registry that gives each table a directory in `nodes`.
  init(_ nodes: NodeTable) { self.nodes = nodes }

  /// What outlives the versions of a table.
  final class Registered: Sendable {
    let ordinal: TableOrdinal
    /// The number of the table's directory.
    let inode: InodeNumber
    /// Grows whenever the kernel asks for an object of the table by name or inode, so that directory streams know that
    /// their reader wants attributes.
    let interest = Atomic<UInt64>(0)

    init(_ ordinal: TableOrdinal, _ inode: InodeNumber) {
      self.ordinal = ordinal
      self.inode = inode
    }
  }

  /// The registration of `table`, new if it was not met before; nil once 262,143 tables have been met.
  func register(_ table: Table) -> Registered? {
    known.withLock { known in
      let identity = Identity(key: table.key, name: table.name)
      if let registered = known[identity] { return registered }
      guard known.count <= Int(InodeNumber.maximumOrdinal) else { return nil }
      let ordinal = TableOrdinal(known.count)
      let inode = nodes.inode(of: NodeIdentity(ClassNode.self, UInt64(ordinal))) {
        ClassNode(inode: $0, ordinal: ordinal)
      }
      let registered = Registered(ordinal, inode)
      known[identity] = registered
      return registered
    }
  }
}
