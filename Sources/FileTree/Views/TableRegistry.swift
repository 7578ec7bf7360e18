// The tables that a mount has met, in that order. Append-only, so an ordinal (and with it an inode number) never
// comes to mean another table.

import RealmJSON
import RealmNames
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

  private struct State {
    var known: [Identity: Registered] = [:]
    /// By ordinal.
    var all: [Registered] = []
  }

  private let state = Mutex(State())
  private let nodes: NodeTable

  /// A registry that gives each table a directory in `nodes`.
  init(_ nodes: NodeTable) { self.nodes = nodes }

  /// What outlives the versions of a table.
  final class Registered: Sendable {
    let ordinal: TableOrdinal
    /// The number of the table's directory.
    let inode: InodeNumber
    /// The escaped name.
    let name: [UInt8]
    /// False for a table of the SDK's own.
    let isClass: Bool
    /// Grows whenever the kernel asks for an object of the table by name or inode, so that directory streams know that
    /// their reader wants attributes.
    let interest = Atomic<UInt64>(0)

    init(_ ordinal: TableOrdinal, _ inode: InodeNumber, _ table: Table) {
      self.ordinal = ordinal
      self.inode = inode
      isClass = table.className != nil
      let name = OutputBuffer()
      NameEscaping.append(directoryOf: table.className ?? table.name, to: name)
      self.name = name.bytes
    }
  }

  /// The registration of `table`, new if it was not met before; nil once 262,143 tables have been met.
  func register(_ table: Table) -> Registered? {
    state.withLock { state in
      let identity = Identity(key: table.key, name: table.name)
      if let registered = state.known[identity] { return registered }
      guard state.all.count <= Int(InodeNumber.maximumOrdinal) else { return nil }
      let ordinal = TableOrdinal(state.all.count)
      let inode = nodes.inode(of: NodeIdentity(ClassNode.self, UInt64(ordinal))) {
        ClassNode(inode: $0, ordinal: ordinal)
      }
      let registered = Registered(ordinal, inode, table)
      state.known[identity] = registered
      state.all.append(registered)
      return registered
    }
  }

  /// The number of a table's directory; nil if no table has this ordinal.
  func inode(_ ordinal: TableOrdinal) -> InodeNumber? { registered(ordinal)?.inode }

  /// True if a table is a class, or if no table has this ordinal.
  func isClass(_ ordinal: TableOrdinal) -> Bool { registered(ordinal)?.isClass ?? true }

  /// The escaped name of a table, also of one that is gone.
  func name(_ ordinal: TableOrdinal) -> [UInt8]? { registered(ordinal)?.name }

  private func registered(_ ordinal: TableOrdinal) -> Registered? {
    state.withLock { $0.all.indices.contains(Int(ordinal)) ? $0.all[Int(ordinal)] : nil }
  }
}
