// `.realm/tx`: transactions over several files. `.realm/tx/NAME` is the root of a separate tree, which reads and saves
// like the main tree; see `StagedTransaction`. In addition to the classes, the root contains files that end the
// transaction or report on it.

import RealmJSON
import RealmPages

/// The directory `.realm/tx`.
struct TransactionsDirectoryNode: ShortDirectoryNode {
  let inode: InodeNumber

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/tx" }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let count = tree.subtrees.transactions.all.count
    // Every user with write access can begin a transaction, but can end only their own.
    return try tree.readable { view in
      view.rules.directory(inode, subdirectories: count, view.modified, isSticky: true).uncached
    }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let transaction = tree.subtrees.transactions.find(name) else { throw .notFound }
    let attributes = try RootNode().attributes(try transaction.context())
    return SubtreeNode.enter(attributes, transaction, tree)
  }

  func parent(_ tree: TreeContext) -> InodeNumber { tree.namespace.control.inode }

  func entries(_ tree: TreeContext) -> [ListedEntry] {
    tree.subtrees.transactions.all.map { transaction in
      let number = tree.namespace.nodes.number(of: SubtreeNode.identity(transaction, .root))
      return ListedEntry(name: transaction.name, inode: number, kind: .directory, index: Int(transaction.number))
    }
  }

  /// Begins a transaction.
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    try Namespace.checkLength(name)
    try tree.subtrees.transactions.begin(name, of: caller, permissions: mode, in: tree)
  }

  /// Drops a transaction and all its changes.
  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard let transaction = tree.subtrees.transactions.find(name) else { throw .notFound }
    try transaction.drop(by: caller)
  }
}

// MARK: files of a transaction

/// The files in the root of a transaction's tree. No class name begins with a dot.
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
    guard tree.subtrees.staged != nil,
      let entry = entries.first(where: { $0.name.description.utf8.elementsEqual(name) })
    else {
      return nil
    }
    let identity = NodeIdentity(TransactionCommandNode.self, 0, name)
    return try tree.namespace.node(tree.namespace.nodes.inode(of: identity, entry.make))
  }

  /// Adds the files to a listing, after all other entries.
  static func list<Sink: DirectorySink>(
    _ tree: TreeContext,
    into listing: inout ShortListing<Sink>,
    _ sink: inout Sink
  ) {
    guard tree.subtrees.staged != nil, tree.options.showControl else { return }
    for (index, entry) in entries.enumerated() {
      let name = Array(entry.name.description.utf8)
      let number = tree.namespace.nodes.inode(of: NodeIdentity(TransactionCommandNode.self, 0, name), entry.make)
      listing.addLast(name, number, .file, index: index, to: &sink)
    }
  }
}

/// A command file: the command runs when the file is touched, truncated or written.
struct TransactionCommandNode: FileNode {
  let inode: InodeNumber
  let action: StagedTransaction.Action

  /// Only the user who began a transaction can end it.
  static let permissions: UInt32 = 0o600

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let attributes = try tree.readable { view in view.rules.file(inode, size: 0, view.modified) }
    return tree.subtrees.staged.map { attributes.owned(by: $0.owner, permissions: Self.permissions) } ?? attributes
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".\(action.rawValue)" }

  /// The kernel allows this only for the owner of the file and root.
  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError) {
    try tree.subtrees.perform(action, by: tree.subtrees.staged?.owner)
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if !access.truncates { return try openComputed(access, by: caller, tree) { _ in [] } }
    guard let done = tree.namespace.overlay.detachedFile(inode, [], [], .of(caller), form: .data) else {
      throw .memoryIsShort
    }
    // Act now, because shells ignore errors from `close`. Later writes are ignored.
    try tree.subtrees.perform(action, by: caller)
    let decision = tree.handles.openFiles.open(inode, Draft(done), for: caller.process)
    return OpenFile(inode, Draft(done), access, decision, isWatched: false)
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { TransactionTarget(action: action) }

  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    throw .refused(.forbidden, "it is a control file and cannot be renamed")
  }

  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    try tree.subtrees.perform(action, by: caller)
  }
}

/// `.log`: the reasons why the transaction cannot be committed.
struct TransactionLogNode: FileNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let size = tree.subtrees.staged?.log.count ?? 0
    return try tree.readable { view in view.rules.file(inode, size: size, view.modified).readOnly }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .refused(.forbidden, ".log is computed") }
    let text = tree.subtrees.staged?.log ?? []
    return OpenFile(inode, tree.handles.openFiles.open(inode, text, .live, for: caller.process), text: text)
  }
}

/// `.diff`: the changes of the transaction, one line per object. It is generated while it is read, so its size is 0.
struct TransactionDifferenceNode: FileNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in view.rules.file(inode, size: 0, view.modified).readOnly }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .refused(.forbidden, ".diff is computed") }
    guard let transaction = tree.subtrees.staged else { throw .stale }
    return try openDifference(".diff", since: transaction.content().base, of: "the transaction", tree)
  }
}

/// The command target that performs an action on a transaction.
struct TransactionTarget: CommandTarget {
  let action: StagedTransaction.Action

  var operation: String { action.rawValue }
  var obeysTruncation: Bool { true }

  func perform(_ text: DraftText, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) {
    try tree.subtrees.perform(action, by: text.caller)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { ShownPlace(path: ".\(action.rawValue)", rejected: nil) }
}

extension Subtrees {
  /// Performs `action` on the transaction that this tree belongs to.
  fileprivate func perform(_ action: StagedTransaction.Action, by caller: Caller?) throws(FileTreeError) {
    guard let staged else { throw .stale }
    try staged.perform(action, by: caller ?? staged.owner)
  }
}
