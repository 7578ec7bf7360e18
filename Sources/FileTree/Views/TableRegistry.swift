// The tables that a mount has seen, in the order in which they were first seen. Invariant: append-only, so an ordinal,
// and with it an inode number, never refers to another table.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// Assigns each table an ordinal for the lifetime of the mount.
final class TableRegistry: Sendable {
  /// The key of a table in the registry. It includes the name because in a file that replaces another, the same table
  /// key can denote another table.
  private struct Identity: Hashable {
    let key: TableKey
    let name: String
  }

  private struct State {
    var known: [Identity: Registered] = [:]
    /// The tables, by ordinal.
    var all: [Registered] = []
  }

  private let state = Mutex(State())
  private let nodes: NodeTable

  /// Creates a registry that adds a directory to `nodes` for each table.
  init(_ nodes: NodeTable) { self.nodes = nodes }

  /// The attributes of a table that are the same in all versions.
  final class Registered: Sendable {
    let ordinal: TableOrdinal
    /// The inode number of the table's directory.
    let inode: InodeNumber
    /// The escaped name.
    let name: [UInt8]
    /// False for an internal table of the SDK.
    let isClass: Bool
    /// Incremented whenever the kernel requests an object of the table by name or inode, so that directory streams
    /// detect that their reader wants attributes.
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

  /// Returns the registration of `table`, creating it if needed; nil once the limit of 262,143 tables is reached.
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

  /// The inode number of a table's directory; nil if no table has this ordinal.
  func inode(_ ordinal: TableOrdinal) -> InodeNumber? { registered(ordinal)?.inode }

  /// True if a table is a class, or if no table has this ordinal.
  func isClass(_ ordinal: TableOrdinal) -> Bool { registered(ordinal)?.isClass ?? true }

  /// The escaped name of a table, even if the table was deleted.
  func name(_ ordinal: TableOrdinal) -> [UInt8]? { registered(ordinal)?.name }

  private func registered(_ ordinal: TableOrdinal) -> Registered? {
    state.withLock { $0.all.indices.contains(Int(ordinal)) ? $0.all[Int(ordinal)] : nil }
  }
}
