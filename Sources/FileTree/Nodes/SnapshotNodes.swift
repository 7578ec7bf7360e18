// `.realm/snapshots/NAME`: the complete tree of the version that was the newest when the directory was created. It is a
// separate, read-only tree of that version.

import RealmPages
import Synchronization

/// A held version with the tree that shows it, until `release`. Snapshots of the same version share both.
final class HeldTree: Subtree {
  static let kind = SubtreeKind.snapshot

  /// A held version and the tree that shows it.
  struct Content: Sendable {
    let hold: VersionHold
    let tree: TreeContext
    /// The file that the version belongs to, from `FileLocation.generation`.
    let file: Int
  }

  /// Unique in the mount, even among snapshots of the same name.
  let number: UInt64
  let version: UInt64
  private let held: Mutex<Content?>

  init(_ number: UInt64, _ content: Content) {
    (self.number, version) = (number, content.hold.snapshot.version)
    held = Mutex(content)
  }

  /// The version and its tree.
  ///
  /// - Throws: `stale` after `release`.
  func content() throws(FileTreeError) -> Content {
    guard let held = held.withLock({ $0 }) else { throw .stale }
    return held
  }

  func context() throws(FileTreeError) -> TreeContext { try content().tree }

  func shownPath(_ main: TreeContext) -> String {
    ".realm/snapshots/" + String(decoding: main.subtrees.snapshots.name(of: self) ?? [], as: UTF8.self)
  }

  func shown(_ attributes: FileAttributes) -> FileAttributes { attributes.readOnly }

  func ownEntry(_ name: [UInt8], _ main: TreeContext) throws(FileTreeError) -> FileAttributes? {
    try SnapshotFiles.lookUp(name, self, main)
  }

  /// Releases the version. Open handles keep their texts.
  func release() { held.withLock { $0 = nil } }
}

/// The snapshots of a mount, by name.
final class SnapshotTable: Sendable {
  private struct State {
    var held: [(name: [UInt8], tree: HeldTree)] = []
    var last: UInt64 = 0
  }

  private let state = Mutex(State())
  /// Each snapshot pins a version and holds a tree that may occupy a few hundred kilobytes.
  private static let maxSnapshots = 1000

  /// The snapshots in order of creation.
  var all: [(name: [UInt8], tree: HeldTree)] { state.withLock { $0.held } }

  /// The snapshot called `name`.
  func find(_ name: [UInt8]) -> HeldTree? { state.withLock { $0.held.first { $0.name == name }?.tree } }

  /// The name of a snapshot; nil if it was released.
  func name(of tree: HeldTree) -> [UInt8]? { state.withLock { $0.held.first { $0.tree === tree }?.name } }

  /// Adds a snapshot with the content that `make` returns; `make` receives the contents of all snapshots.
  ///
  /// - Throws: `refused(.exists)` if the name is in use.
  func add(
    _ name: [UInt8],
    _ make: ([HeldTree.Content]) throws(FileTreeError) -> HeldTree.Content
  ) throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      if state.held.contains(where: { $0.name == name }) { throw .refused(.exists, "already exists") }
      if state.held.count >= Self.maxSnapshots {
        throw .refused(.noSpace, "more than \(Self.maxSnapshots) snapshots; remove some with rmdir")
      }
      // Released snapshots have no content.
      let content = try make(state.held.compactMap { try? $0.tree.content() })
      state.last += 1
      state.held.append((name, HeldTree(state.last, content)))
    }
  }

  /// Renames a snapshot.
  func rename(_ name: [UInt8], to newName: [UInt8], _ rule: RenameRule) throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      guard let index = state.held.firstIndex(where: { $0.name == name }) else { throw .notFound }
      let other = state.held.firstIndex { $0.name == newName }
      switch (rule, other) {
      case (_, index): return
      case (.exchange, let other?): state.held[other].name = name
      case (.exchange, nil): throw .notFound
      case (.keep, _?): throw .refused(.exists, "already exists")
      // As with any non-empty directory.
      case (.replace, _?): throw .refused(.notEmpty, "a snapshot with this name exists; remove it with rmdir")
      case (_, nil): break
      }
      state.held[index].name = newName
    }
  }

  /// Releases all snapshots.
  func removeAll() {
    let all = state.withLock { state in
      defer { state.held = [] }
      return state.held
    }
    for (_, tree) in all { tree.release() }
  }

  /// Removes a snapshot and releases its version. Returns false if there is no snapshot of this name.
  func remove(_ name: [UInt8]) -> Bool {
    let tree = state.withLock { state in
      state.held.firstIndex { $0.name == name }.map { state.held.remove(at: $0).tree }
    }
    tree?.release()
    return tree != nil
  }
}

/// The directory `.realm/snapshots`.
struct SnapshotsDirectoryNode: ShortDirectoryNode {
  let inode: InodeNumber

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/snapshots" }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let count = tree.subtrees.snapshots.all.count
    return try tree.readable { view in view.rules.directory(inode, subdirectories: count, view.modified).uncached }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let held = tree.subtrees.snapshots.find(name) else { throw .notFound }
    return SubtreeNode.enter(try RootNode().attributes(try held.context()), held, tree)
  }

  func parent(_ tree: TreeContext) -> InodeNumber { tree.namespace.control.inode }

  func entries(_ tree: TreeContext) -> [ListedEntry] {
    tree.subtrees.snapshots.all.map { name, held in
      let number = tree.namespace.nodes.number(of: SubtreeNode.identity(held, .root))
      return ListedEntry(name: name, inode: number, kind: .directory, index: Int(held.number))
    }
  }

  /// Adds a snapshot of the newest version. Cost: that of reading the schema.
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    try Namespace.checkLength(name)
    try tree.subtrees.snapshots.add(name) { others throws(FileTreeError) in
      let hold = try tree.selections.holdNewest(), file = tree.realm.location.generation
      let same = others.last { $0.file == file && $0.hold.snapshot.version == hold.snapshot.version }
      if let same, tree.realm.isCurrent(same.hold.snapshot) { return same }
      return HeldTree.Content(hold: hold, tree: TreeContext(tree.realm, showing: hold, tree.options), file: file)
    }
  }

  func renameDirectory(
    _ name: [UInt8],
    to goal: Overlay.Place,
    _ rule: RenameRule,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Bool {
    try Namespace.checkLength(goal.name)
    if goal.directory != inode { throw .refused(.forbidden, "a snapshot cannot be moved out of .realm/snapshots") }
    try tree.subtrees.snapshots.rename(name, to: goal.name, rule)
    return true
  }

  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if !tree.subtrees.snapshots.remove(name) { throw .notFound }
  }
}
