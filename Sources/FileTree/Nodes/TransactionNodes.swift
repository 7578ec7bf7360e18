// `.realm/tx`: transactions over several files. `.realm/tx/NAME` is the root of another tree, in which everything is
// read and saved as in the main tree; see StagedTransaction. FileTree passes what concerns it on to that tree, so a
// node here has only what listings need. Besides the classes its root has the files that end the transaction or tell
// about it.

import RealmJSON
import RealmPages

/// The directory `.realm/tx`.
struct TransactionsDirectoryNode: ShortDirectoryNode {
  let inode: InodeNumber

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/tx" }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let count = tree.transactions.all.count
    // Every user who can write here can begin a transaction, but each user ends only their own.
    return try tree.readable { view in
      view.rules.directory(inode, subdirectories: count, view.modified, isSticky: true).uncached
    }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let transaction = tree.transactions.find(name) else { throw .notFound }
    let attributes = try RootNode().attributes(try transaction.context())
    return StagedNode.enter(attributes, transaction, tree)
  }

  func parent(_ tree: TreeContext) -> InodeNumber { tree.control.inode }

  func entries(_ tree: TreeContext) -> [ListedEntry] {
    tree.transactions.all.map { transaction in
      let number = tree.nodes.number(of: StagedNode.identity(transaction, .root))
      return ListedEntry(name: transaction.name, inode: number, kind: .directory, index: Int(transaction.number))
    }
  }

  /// Begins a transaction.
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    try TreeContext.checkLength(name)
    try tree.transactions.begin(name, of: caller, permissions: mode, in: tree)
  }

  /// Drops a transaction, with all that was changed in it.
  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard let transaction = tree.transactions.find(name) else { throw .notFound }
    try transaction.drop(by: caller)
  }
}

/// A node of the tree of a transaction, under the number that the kernel knows.
struct StagedNode: DirectoryNode {
  let inode: InodeNumber
  let transaction: StagedTransaction
  /// What it is there.
  let inner: InodeNumber
  /// Whether it ends the transaction: who did that by it may look at it once more.
  let isCommand: Bool

  static func identity(_ transaction: StagedTransaction, _ inner: InodeNumber) -> NodeIdentity {
    NodeIdentity(StagedNode.self, transaction.number, Array(String(inner.value).utf8))
  }

  /// The attributes of a node of a transaction, which the kernel then knows. Everything there changes unannounced.
  ///
  /// The kernel's lookups are counted here. The one that the tree inside counts lasts as long as the transaction does.
  static func enter(
    _ attributes: FileAttributes,
    _ transaction: StagedTransaction,
    _ tree: TreeContext
  ) -> FileAttributes {
    let inner = attributes.inode
    var attributes = attributes.uncached
    attributes.inode = tree.nodes.enter(identity(transaction, inner)) {
      // It has just been looked up there.
      let node = (try? transaction.context())?.nodes.node(inner)
      return StagedNode(
        inode: $0,
        transaction: transaction,
        inner: inner,
        isCommand: node is TransactionCommandNode
      )
    }
    return attributes
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if isCommand, transaction.hasEnded {
      let attributes = try tree.readable { view in view.rules.file(inode, size: 0, view.modified).uncached }
      return attributes.owned(by: transaction.owner, permissions: TransactionCommandNode.permissions)
    }
    let inside = try transaction.context()
    var attributes = try inside.node(inner).attributes(inside).uncached
    attributes.inode = inode
    return attributes
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let inside = try transaction.context()
    return Self.enter(try inside.lookUp(name, in: try inside.node(inner)), transaction, tree)
  }

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    let inside = try transaction.context()
    return DirectoryStream(self, found: try inside.node(inner).openDirectory(inside).found)
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let inside = try transaction.context()
    var renumbering = RenumberingSink(sink) { tree.nodes.number(of: Self.identity(transaction, $0)) }
    defer { sink = renumbering.sink }
    try inside.node(inner).list(stream, from: position, attributes: false, into: &renumbering, inside)
  }
}

// MARK: the files that belong to a transaction

/// The files in the root of a transaction's tree. No class has a name that begins with a dot.
enum TransactionFiles {
  private static let entries: [(name: StaticString, make: @Sendable (InodeNumber) -> any Node)] = [
    (".commit", { TransactionCommandNode(inode: $0, action: .commit) }),
    (".test", { TransactionCommandNode(inode: $0, action: .test) }),
    (".abort", { TransactionCommandNode(inode: $0, action: .abort) }),
    (".log", { TransactionLogNode(inode: $0) }),
    (".diff", { TransactionDifferenceNode(inode: $0) }),
  ]

  /// The file called `name`; nil if there is none.
  static func node(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any Node)? {
    guard tree.staged != nil, let entry = entries.first(where: { $0.name.description.utf8.elementsEqual(name) }) else {
      return nil
    }
    let identity = NodeIdentity(TransactionCommandNode.self, 0, name)
    return try tree.node(tree.nodes.inode(of: identity, entry.make))
  }

  /// Adds the files to a listing, behind all others.
  static func list<Sink: DirectorySink>(
    _ tree: TreeContext,
    into listing: inout ShortListing<Sink>,
    _ sink: inout Sink
  ) {
    guard tree.staged != nil, tree.options.showControl else { return }
    for (index, entry) in entries.enumerated() {
      let name = Array(entry.name.description.utf8)
      let number = tree.nodes.inode(of: NodeIdentity(TransactionCommandNode.self, 0, name), entry.make)
      listing.addLast(name, number, .file, index: index, to: &sink)
    }
  }
}

/// A file that does something when it is touched or emptied, or something is written to it.
struct TransactionCommandNode: FileNode {
  let inode: InodeNumber
  let action: StagedTransaction.Action

  /// Whoever began a transaction ends it.
  static let permissions: UInt32 = 0o600

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let attributes = try tree.readable { view in view.rules.file(inode, size: 0, view.modified) }
    return tree.staged.map { attributes.owned(by: $0.owner, permissions: Self.permissions) } ?? attributes
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".\(action.rawValue)" }

  /// The kernel lets only the owner of the file and root do that.
  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError) {
    try tree.perform(action, by: tree.staged?.owner)
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if !access.truncates { return try tree.openComputed(self, access, by: caller) { _ in [] } }
    guard let done = tree.overlay.detachedFile(inode, [], [], .of(caller), form: .data) else { throw .memoryIsShort }
    // At once, because shells do not look at what `close` returns. What is written to it then says no more.
    try tree.perform(action, by: caller)
    let decision = tree.openFiles.open(inode, Draft(done), for: caller.process)
    return OpenFile(inode, Draft(done), access, decision, isWatched: false)
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { TransactionTarget(action: action) }

  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    throw .refused(.forbidden, "it is a control file and cannot be renamed")
  }

  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    try tree.perform(action, by: caller)
  }
}

/// `.log`: what keeps the transaction from being committed.
struct TransactionLogNode: FileNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let size = tree.staged?.log.count ?? 0
    return try tree.readable { view in view.rules.file(inode, size: size, view.modified).readOnly }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .refused(.forbidden, ".log is computed") }
    let text = tree.staged?.log ?? []
    return OpenFile(inode, tree.openFiles.open(inode, text, .live, for: caller.process), text: text)
  }
}

/// `.diff`: what the transaction changes, a line for each object. It is made while it is read, so its size is 0.
struct TransactionDifferenceNode: FileNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in view.rules.file(inode, size: 0, view.modified).readOnly }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .refused(.forbidden, ".diff is computed") }
    guard let transaction = tree.staged else { throw .stale }
    return try tree.openDifference(inode, ".diff", since: transaction.content().base, of: "the transaction")
  }
}

/// What is done with a transaction when something is written to one of its files.
struct TransactionTarget: CommandTarget {
  let action: StagedTransaction.Action

  var operation: String { action.rawValue }
  var obeysTruncation: Bool { true }

  func perform(_ text: DraftText, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) {
    try tree.perform(action, by: text.caller)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { ShownPlace(path: ".\(action.rawValue)", rejected: nil) }
}

extension TreeContext {
  /// Does something with the transaction whose tree this is.
  fileprivate func perform(_ action: StagedTransaction.Action, by caller: Caller?) throws(FileTreeError) {
    guard let staged else { throw .stale }
    try staged.perform(action, by: caller ?? staged.owner)
  }
}
