// A tree: its collaborators, and the request that they work for. It is passed to each call of a node, which uses the
// collaborators that it needs.

import RealmPages

/// The state of a mounted tree, grouped by collaborator.
final class TreeParts: Sendable {
  let options: TreeOptions
  let realm: Realm
  let namespace: Namespace.State
  let drafts: Drafts.State
  let views: Views
  let handles: Handles
  let subtrees: Subtrees
  /// The memory budget for files in memory, shared by all trees of the mount.
  let memory: MemoryBudget

  init(
    _ realm: Realm,
    _ writer: RealmWriter?,
    _ options: TreeOptions,
    listingBudget: Int,
    texts: TextCache,
    showing hold: VersionHold? = nil,
    staged: StagedTransaction? = nil,
    budget: MemoryBudget? = nil
  ) {
    self.realm = realm
    self.options = options
    memory = budget ?? MemoryBudget(options.memoryLimit)
    let refusals = RefusalLog(options.log)
    namespace = Namespace.State(memory, listingBudget: listingBudget)
    views = Views(realm, writer, options, namespace, texts: texts, showing: hold) { [weak staged] text in
      // Programs may still be in the directory of a transaction that has ended. The realm itself is not affected.
      if staged?.hasEnded == true { return }
      options.log?(text)
      refusals.report(text)
    }
    drafts = Drafts.State(writer.map { [views] in Saver($0, options, views.ownChanges) }, refusals)
    // The inode numbers in a transaction's tree are not those that the kernel knows.
    handles = Handles(seedsPageCache: staged == nil && !options.isFrozen)
    subtrees = Subtrees(below: staged, memory: options.memoryLimit)
  }
}

/// A mounted tree and the request that it is used for.
struct TreeContext: Sendable {
  let parts: TreeParts
  /// Nil outside of requests, where each read checks which file the path of the realm refers to.
  let request: Request?

  /// A tree outside of requests.
  init(_ parts: TreeParts) { (self.parts, request) = (parts, nil) }

  private init(_ parts: TreeParts, _ request: Request) { (self.parts, self.request) = (parts, request) }

  /// Returns the tree for a request.
  func serving(_ request: Request) -> TreeContext { TreeContext(parts, request) }

  /// The tree outside of requests, for use beyond the current request.
  var lasting: TreeContext { TreeContext(parts) }

  /// Creates a read-only tree of one version.
  init(_ realm: Realm, showing hold: VersionHold, _ options: TreeOptions) {
    self.init(TreeParts(realm, nil, options, listingBudget: 0, texts: .small, showing: hold))
  }

  /// Creates the tree of a transaction in `main`.
  init(_ main: TreeParts, over writer: RealmWriter, _ options: TreeOptions, staged: StagedTransaction) {
    self.init(
      TreeParts(
        writer.realm,
        writer,
        options,
        listingBudget: 0,
        texts: TextCache(),
        staged: staged,
        budget: main.memory
      )
    )
  }

  var options: TreeOptions { parts.options }
  var realm: Realm { parts.realm }
  /// Maps names to nodes; creates, renames and removes files.
  var namespace: Namespace { Namespace(tree: self) }
  /// The drafts of programs, from open to release.
  var drafts: Drafts { Drafts(tree: self) }
  /// For drafts: checks and saves of texts.
  var saves: Saves { Saves(tree: self) }
  /// For drafts: deletes objects and restores them.
  var removal: ObjectRemoval { ObjectRemoval(tree: self) }
  /// Versions as trees.
  var views: Views { parts.views }
  /// For views: the objects that directories list.
  var selections: Selections { Selections(tree: self) }
  /// Open files.
  var handles: Handles { parts.handles }
  /// Snapshots and transactions.
  var subtrees: Subtrees { parts.subtrees }

  /// Runs `body` on the newest view: see `Views.read`.
  @inline(__always)
  func read<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    try views.read(request, body)
  }

  /// Runs `body` on the newest view, or on the last known one: see `Views.readable`.
  func readable<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    try views.readable(request, body)
  }
}

extension TreeContext {
  /// Runs `body` on the newest version while no program can commit, with the realm that pins it.
  ///
  /// - Throws: `refused(.inUse)` if programs that cannot be made to wait have the realm open.
  func withWriterLock<R>(
    _ body: (Snapshot, Realm) throws(FileTreeError) -> R
  ) throws(FileTreeError) -> R {
    if let saver = drafts.saver { return try saver.withWriterLock(body) }
    let outcome: Result<R, FileTreeError>
    do {
      outcome = try realm.withWriterLock(timeout: options.lockTimeout) { newest, realm in
        Result { () throws(FileTreeError) in try body(newest, realm) }
      }
    } catch {
      throw error.reason == .inUse ? .refused(.inUse, error.description) : FileTreeError(error)
    }
    return try outcome.get()
  }
}

/// A collaborator of a tree, for one request.
protocol TreePart: Sendable {
  var tree: TreeContext { get }
}

extension TreePart {
  var options: TreeOptions { tree.options }
  var realm: Realm { tree.realm }
  var views: Views { tree.views }
  var request: Request? { tree.request }

  @inline(__always)
  func read<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T { try tree.read(body) }

  func readable<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    try tree.readable(body)
  }
}
