// Finds the cached names and attributes in the kernel that a new version makes stale.

import Synchronization

/// The changes between two versions, for a cache of names and attributes.
public struct TreeChange: Sendable {
  /// The directories in the root whose entries or their attributes may have changed, including removed directories.
  public internal(set) var directories: [(name: [UInt8], inode: InodeNumber)] = []
  /// Inodes whose attributes may have changed: open files, the root itself and, if `namesStay`, the changed objects.
  public internal(set) var inodes: [InodeNumber] = []
  /// True if every name still refers to the same inode.
  public internal(set) var namesStay = false
}

/// The last version that a cache was notified of. Used by one thread at a time.
public final class ChangeReader: Sendable {
  fileprivate struct Seen {
    let name: [UInt8]
    let inode: InodeNumber
    let generation: UInt64
  }

  fileprivate struct State {
    var generation: UInt64
    var directories: [TableOrdinal: Seen]
  }

  fileprivate let state: Mutex<State>

  fileprivate init(_ state: State) { self.state = Mutex(state) }
}

extension FileTree {
  /// Returns a reader of all changes after this call.
  public func changeReader() throws(FileTreeError) -> ChangeReader {
    let seen = try tree.read { view in Self.seen(view) }
    _ = tree.views.takeChanges()
    return ChangeReader(seen)
  }

  /// Returns the changes since the last call; nil if there are none.
  public func nextChange(_ reader: ChangeReader) throws(FileTreeError) -> TreeChange? {
    for tree in [tree] + tree.subtrees.transactions.all.compactMap({ try? $0.context() }) {  // ended ones have none
      tree.drafts.removals.forgetEnded()
    }
    let new = try tree.read { view in Self.seen(view) }
    let old = reader.state.withLock { state in
      let old = state
      state = new
      return old
    }
    if old.generation == new.generation { return nil }
    var change = TreeChange()
    let control = tree.namespace.control
    change.directories.append((control.name, control.inode))
    for ordinal in Set(old.directories.keys).union(new.directories.keys).sorted() {
      let before = old.directories[ordinal], after = new.directories[ordinal]
      if let before, let after, before.generation == after.generation { continue }
      guard let directory = after ?? before else { continue }
      change.directories.append((directory.name, directory.inode))
    }
    let news = tree.views.takeChanges(), open = tree.handles.openFiles.inodes
    // The names of queries, of properties and in transactions depend on more than the set of objects, and a file that
    // became an object keeps its own inode number.
    change.namesStay = news.namesStay && !hasChangingNames
    change.inodes = [.root] + open
    if change.namesStay { change.inodes += news.inodes.subtracting(open).sorted { $0.value < $1.value } }
    return change
  }

  private static func seen(_ view: VersionView) -> ChangeReader.State {
    let shown = view.directories.filter { $0.place == .root }
    return ChangeReader.State(
      generation: view.generation,
      directories: Dictionary(
        shown.map { ($0.ordinal, ChangeReader.Seen(name: $0.name, inode: $0.inode, generation: $0.stamp.generation)) },
        uniquingKeysWith: { first, _ in first }
      )
    )
  }
}
