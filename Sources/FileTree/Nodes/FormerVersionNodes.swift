// `.realm/versions/N`: the whole tree at a former version that the file still holds. It is a separate, read-only tree,
// opened when it is first used and released when it is not used for a while.

import Glibc
import RealmPages
import Synchronization
import Threads

/// A former version of the realm, and the tree that shows it while it is in use.
final class FormerVersionTree: Subtree {
  static let kind = SubtreeKind.version

  let version: UInt64
  /// The file that the version belongs to, from `FileLocation.generation`.
  let file: Int
  /// Differs between the versions of a file, and between versions with the same number in different files.
  var number: UInt64 { version &+ UInt64(truncatingIfNeeded: file) &* 0x9E37_79B9_7F4A_7C15 }
  /// The tree of the realm.
  private unowned let parts: TreeParts
  private let state = Mutex(State())

  private struct State {
    var content: Content?
    var lastUse = MonotonicTime.coarse
  }

  private struct Content {
    let realm: Realm
    let hold: VersionHold
    let tree: TreeContext
  }

  init(version: UInt64, file: Int, in parts: TreeParts) {
    (self.version, self.file, self.parts) = (version, file, parts)
  }

  /// The tree. Reopens the version if it was released, and starts a new tree if the reader replaced its snapshot to
  /// release memory.
  ///
  /// - Throws: `stale` if the file no longer holds the version in full.
  func context() throws(FileTreeError) -> TreeContext {
    let (tree, isNew) = try state.withLock { state throws(FileTreeError) in
      state.lastUse = .coarse
      if let content = state.content {
        let latest = try? content.realm.latest()  // a version that can no longer be read is opened again
        if latest === content.hold.snapshot { return (content.tree, false) }
        state.content = nil
        if latest != nil {
          let content = try show(content.realm)
          state.content = content
          return (content.tree, false)
        }
      }
      let content = try show(open())
      state.content = content
      return (content.tree, true)
    }
    if isNew { parts.subtrees.versions.noteOpened(self) }
    return tree
  }

  private func open() throws(FileTreeError) -> Realm {
    let main = TreeContext(parts)
    return try main.withVersions { timeline throws(FileTreeError) in
      guard main.realm.location.generation == file, let found = timeline.version(version),
        timeline.state(of: found) == .whole
      else { throw .stale }
      do throws(EngineError) { return try timeline.realm(asOf: found) } catch { throw .unavailable(error) }
    }
  }

  /// Holds the version that `realm` shows.
  private func show(_ realm: Realm) throws(FileTreeError) -> Content {
    do {
      let hold = try realm.hold()
      return Content(realm: realm, hold: hold, tree: TreeContext(realm, showing: hold, TreeContext(parts).options))
    } catch { throw .unavailable(error) }
  }

  /// True if the version is held, so that nothing of it can have been overwritten.
  var isHeld: Bool {
    state.withLock { $0.content.map { $0.realm.isCurrent($0.hold.snapshot) } ?? false }
  }

  /// The time of the last use; nil if the version is not held.
  var lastUse: MonotonicTime? { state.withLock { $0.content == nil ? nil : $0.lastUse } }

  /// Lets writers overwrite the version. Open handles keep their texts.
  func release() { state.withLock { $0.content = nil } }

  func shownPath(_ main: TreeContext) -> String { ".realm/versions/\(version)" }

  func shown(_ attributes: FileAttributes) -> FileAttributes { attributes.readOnly }
}

/// The former versions that were looked up in a mount, while they are held or the kernel knows one of their nodes.
final class FormerVersionTable: Sendable {
  private struct State {
    var trees: [FormerVersionTree] = []
    /// The whole versions before version `newest` of the file with the generation `file` (`FileLocation.generation`).
    var listed: (file: Int, newest: UInt64, versions: [UInt64])?
    /// True while a thread releases versions.
    var isWatched = false

    /// Drops the trees that hold no version and that no node refers to: the kernel has forgotten their nodes.
    mutating func dropUnused() {
      for index in trees.indices.reversed()
      where isKnownUniquelyReferenced(&trees[index]) && trees[index].lastUse == nil {
        trees.remove(at: index)
      }
    }
  }

  private let state = Mutex(State())

  /// The number of versions that are held at once. Each pins the newest version of the time when it was opened.
  private static let maxHeld = 8
  /// The time without use after which a version is released.
  private static let idleTime = Duration.seconds(60)

  /// The numbers of the former versions that can be read, in ascending order: those that the file holds in full, and
  /// those that are held since it did.
  ///
  /// Cost: a scan of the file and a check of each version, once for each newest version.
  func versions(_ main: TreeContext) throws(FileTreeError) -> [UInt64] {
    let newest: UInt64
    do { newest = try main.realm.latest().version } catch { throw .unavailable(error) }
    let file = main.realm.location.generation, held = heldVersions(of: file)
    if let known = state.withLock({ $0.listed }), known.file == file, known.newest == newest {
      return held.union(known.versions).sorted()
    }
    let whole = try main.withVersions { timeline throws(FileTreeError) in timeline.wholeVersions().map(\.version) }
    state.withLock { $0.listed = (file, whole.first ?? newest, Array(whole.dropFirst())) }
    return held.union(whole.dropFirst()).sorted()
  }

  /// The number of versions that are held or of which the kernel knows a node.
  var count: Int {
    state.withLock { state in
      state.dropUnused()
      return state.trees.count
    }
  }

  private func heldVersions(of file: Int) -> Set<UInt64> {
    Set(state.withLock { $0.trees }.filter { $0.file == file && $0.isHeld }.map(\.version))
  }

  /// True if a version can be read. Cost: that of `versions` unless it is held.
  fileprivate func has(_ version: UInt64, _ main: TreeContext) throws(FileTreeError) -> Bool {
    let file = main.realm.location.generation
    let known = state.withLock { state in state.trees.first { $0.version == version && $0.file == file } }
    if known?.isHeld ?? false { return true }
    return try versions(main).contains(version)
  }

  /// The tree of a version, which need not exist.
  func tree(of version: UInt64, _ main: TreeContext) -> FormerVersionTree {
    let file = main.realm.location.generation
    return state.withLock { state in
      if let known = state.trees.first(where: { $0.version == version && $0.file == file }) { return known }
      state.dropUnused()
      let tree = FormerVersionTree(version: version, file: file, in: main.parts)
      state.trees.append(tree)
      return tree
    }
  }

  /// Releases the versions that were not used for the longest time, if too many are held, and others once they are not
  /// used for a while.
  fileprivate func noteOpened(_ tree: FormerVersionTree) {
    let held = heldTrees()
    for old in held.dropLast(Self.maxHeld) where old !== tree { old.release() }
    let starts = state.withLock { state in
      defer { state.isWatched = true }
      return !state.isWatched
    }
    // Without a thread, the number of held versions is still bounded.
    if starts { Thread { [weak self] in while self?.releaseUnused() ?? false { sleep(1) } }?.detach() }
  }

  /// The trees that hold a version, in the order of their last use.
  private func heldTrees() -> [FormerVersionTree] {
    let trees = state.withLock { $0.trees }
    return trees.compactMap { tree in tree.lastUse.map { (tree, $0) } }.sorted { $0.1 < $1.1 }.map(\.0)
  }

  /// Releases what is not used any more. Returns false, once, if nothing is held.
  private func releaseUnused() -> Bool {
    let now = MonotonicTime.now
    for tree in heldTrees() where tree.lastUse.map({ $0.advanced(by: Self.idleTime) < now }) ?? false { tree.release() }
    return state.withLock { state in
      state.isWatched = state.trees.contains { $0.lastUse != nil }
      return state.isWatched
    }
  }
}

/// The directory `.realm/versions`.
struct FormerVersionsNode: ShortDirectoryNode {
  let inode: InodeNumber

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/versions" }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let count = try tree.subtrees.versions.versions(tree).count
    return try tree.readable { view in view.rules.directory(inode, subdirectories: count, view.modified).uncached }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let text = String(decoding: name, as: UTF8.self)
    guard let version = UInt64(text), "\(version)" == text,
      try tree.subtrees.versions.has(version, tree)
    else { throw .notFound }
    let former = tree.subtrees.versions.tree(of: version, tree)
    return SubtreeNode.enter(try RootNode().attributes(try former.context()), former, tree)
  }

  func parent(_ tree: TreeContext) -> InodeNumber { tree.namespace.control.inode }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try tree.subtrees.versions.versions(tree).map { version in
      let former = tree.subtrees.versions.tree(of: version, tree)
      let number = tree.namespace.nodes.number(of: SubtreeNode.identity(former, .root))
      return ListedEntry(name: Array("\(version)".utf8), inode: number, kind: .directory, index: Int(clamping: version))
    }
  }
}

extension TreeContext {
  /// Runs `body` with the versions of the file while no program can commit: see `withWriterLock`.
  fileprivate func withVersions<R>(
    _ body: (VersionTimeline) throws(FileTreeError) -> R
  ) throws(FileTreeError) -> R {
    try withWriterLock { (newest, realm) throws(FileTreeError) in
      let timeline: VersionTimeline
      do throws(EngineError) { timeline = try VersionTimeline(newest, of: realm) } catch { throw .unavailable(error) }
      return try body(timeline)
    }
  }
}
