// The state that all nodes of a mount share: the versions they read, their inode numbers, the files in memory, and the
// saver. It is passed to each call of a node.

import Glibc
import RealmJSON
import RealmPages

/// The state of a mounted tree.
final class TreeParts: Sendable {
  let options: TreeOptions
  let realm: Realm
  let views: Views
  /// The inodes of everything but objects.
  let nodes = NodeTable()
  /// The inodes of objects whose keys are too large to be packed into a number.
  let objectInodes = InodeTable()
  let texts: TextCache
  let openFiles: OpenFiles
  let overlay: Overlay
  /// The memory budget for files in memory, shared by all trees of the mount.
  let memory: MemoryBudget
  let statistics = StatisticsMemory()
  /// Nil for a read-only tree.
  let saver: Saver?
  let refusals = RefusalLog()
  /// Removed objects and properties that the program may be about to replace.
  let removals = RemovalRecords()
  /// The properties for which it was already reported that new objects get the default value.
  let defaultedProperties = DefaultedProperties()
  /// Removed properties that have their default value because they cannot be null.
  let removedFields = RemovedFields()
  /// Objects whose files were truncated to 0 and closed, and not opened for writing since.
  let emptiedFiles = EmptiedFiles()
  /// Texts written to files whose names are not those of their objects.
  let aliasTexts = AliasTexts()
  /// Former texts of objects.
  let trash = Trash()
  /// The named snapshots.
  let snapshots = SnapshotTable()
  /// Files read without handles in a frozen tree.
  let frozenFiles = FrozenFiles()
  /// The pipes that `.realm/changes` links to.
  let changePipes = ChangePipes()
  /// The transactions over several files.
  let transactions: TransactionTable
  /// The transaction that this tree belongs to; nil for the tree of the realm.
  let staged: StagedTransaction?
  /// Names that the kernel must look up again.
  let dentryInvalidations = DentryInvalidations()
  let damageLog: DamageLog
  /// `.realm`.
  let control: ControlDirectoryNode
  /// The number of entries that a directory stream lists with attributes before the kernel looks up any of them.
  let listingBudget: Int

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
    self.staged = staged
    let budget = budget ?? MemoryBudget(options.memoryLimit)
    memory = budget
    transactions = TransactionTable(memory: options.memoryLimit)
    // The inode numbers of a transaction's tree are not the ones that the kernel knows.
    openFiles = OpenFiles(seedsPageCache: staged == nil && !options.isFrozen)
    self.options = options
    self.listingBudget = listingBudget
    self.texts = texts
    let condition = RealmCondition(realm.configuration.path) { [refusals] text in
      options.log?(text)
      refusals.report(text)
    }
    views = Views(realm, writer, options, objectInodes, nodes, condition, showing: hold)
    overlay = Overlay(budget, nodes)
    saver = writer.map { [views] in Saver($0, options, views.ownChanges) }
    damageLog = DamageLog { [refusals] text in
      options.log?(text)
      refusals.report(text)
    }
    nodes.insert(RootNode())
    control = ControlDirectoryNode(
      inode: nodes.inode(of: NodeIdentity(ControlDirectoryNode.self)) { ControlDirectoryNode(inode: $0) }
    )
  }
}

/// The state of a mounted tree, and the request that it is used for.
struct TreeContext: Sendable {
  let parts: TreeParts
  /// Nil outside of requests: then each read looks where the path of the realm leads.
  let request: Request?

  /// The state of a tree, outside of requests.
  init(_ parts: TreeParts) { (self.parts, request) = (parts, nil) }

  private init(_ parts: TreeParts, _ request: Request) { (self.parts, self.request) = (parts, request) }

  /// Returns the state for a request.
  func serving(_ request: Request) -> TreeContext { TreeContext(parts, request) }

  /// The state outside of requests, for a user that outlives the present one.
  var lasting: TreeContext { TreeContext(parts) }

  /// The state of a read-only tree of one version.
  init(_ realm: Realm, showing hold: VersionHold, _ options: TreeOptions) {
    self.init(TreeParts(realm, nil, options, listingBudget: 0, texts: .small, showing: hold))
  }

  /// The state of the tree of a transaction in `main`.
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
  var views: Views { parts.views }
  var nodes: NodeTable { parts.nodes }
  var objectInodes: InodeTable { parts.objectInodes }
  var texts: TextCache { parts.texts }
  var openFiles: OpenFiles { parts.openFiles }
  var overlay: Overlay { parts.overlay }
  var memory: MemoryBudget { parts.memory }
  var statistics: StatisticsMemory { parts.statistics }
  var saver: Saver? { parts.saver }
  var refusals: RefusalLog { parts.refusals }
  var removals: RemovalRecords { parts.removals }
  var defaultedProperties: DefaultedProperties { parts.defaultedProperties }
  var removedFields: RemovedFields { parts.removedFields }
  var emptiedFiles: EmptiedFiles { parts.emptiedFiles }
  var aliasTexts: AliasTexts { parts.aliasTexts }
  var trash: Trash { parts.trash }
  var snapshots: SnapshotTable { parts.snapshots }
  var frozenFiles: FrozenFiles { parts.frozenFiles }
  var changePipes: ChangePipes { parts.changePipes }
  var transactions: TransactionTable { parts.transactions }
  var staged: StagedTransaction? { parts.staged }
  var dentryInvalidations: DentryInvalidations { parts.dentryInvalidations }
  var damageLog: DamageLog { parts.damageLog }
  var control: ControlDirectoryNode { parts.control }
  var listingBudget: Int { parts.listingBudget }

  /// Runs `body` on the newest view: see `Views.read`.
  @inline(__always)
  func read<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    try views.read(request, body)
  }

  /// Runs `body` on the newest view, or on the last known one: see `Views.readable`.
  func readable<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    try views.readable(request, body)
  }

  /// The handling of links to missing objects. In a transaction, files may arrive in any order.
  var missingLinks: MissingLinks { staged == nil ? .refuse : .expect }

  // MARK: nodes

  /// The node of an inode.
  ///
  /// - Throws: `stale` if there is none.
  func node(_ inode: InodeNumber) throws(FileTreeError) -> any Node {
    if let (ordinal, key) = inode.packedObject { return ObjectNode(inode, ordinal, key) }
    if inode.isHashed {
      guard let (ordinal, key) = objectInodes.object(inode) else { throw .stale }
      return ObjectNode(inode, ordinal, key)
    }
    guard let node = nodes.node(inode) else { throw .stale }
    if trash.isWaiting, node is KeptTextsOfClassNode || node is KeptTextsNode { try trash.unpack(self) }
    return node
  }

  /// The inode number of an object, without counting a reference.
  func number(_ directory: TableDirectory, _ key: ObjKey) -> InodeNumber {
    views.number(directory.ordinal, key)
  }

  /// Releases references of the kernel to an inode.
  func forget(_ inode: InodeNumber, lookups: UInt64) {
    if inode.isHashed {
      objectInodes.forget(inode, lookups: lookups)
    } else if inode.packedObject == nil {
      nodes.forget(inode, lookups: lookups)
    }
  }

  /// True if a directory has an entry with this name.
  func hasEntry(_ name: [UInt8], _ directory: any Node) throws(FileTreeError) -> Bool {
    do throws(FileTreeError) {
      let attributes = try lookUp(name, in: directory)
      forget(attributes.inode, lookups: 1)
      return true
    } catch {
      guard case .notFound = error else { throw error }
      return false
    }
  }

  /// True if a directory has a file in memory with this name.
  func hasFile(_ name: [UInt8], in directory: InodeNumber) -> Bool {
    overlay.file(at: Overlay.Place(directory: directory, name: name)) != nil
  }

  /// The attributes of the entry called `name`: a file in memory, or an entry of the directory node.
  func lookUp(_ name: [UInt8], in directory: any Node) throws(FileTreeError) -> FileAttributes {
    try Self.checkLength(name)
    if let file = overlay.file(at: Overlay.Place(directory: directory.inode, name: name)) {
      nodes.retain(file.inode)
      return try readable { view in view.rules.file(file) }
    }
    return try directory.lookUp(name, self)
  }

  /// The attributes with the file size that a thread sees through the open handles of the inode; 0 for no particular
  /// thread. If handles read different texts, the kernel must not cache the attributes.
  func withOpenSizes(
    _ attributes: FileAttributes,
    for thread: Int32 = 0,
    of inode: InodeNumber? = nil
  ) -> FileAttributes {
    guard attributes.kind == .file,
      let sizes = openFiles.sizes(of: inode ?? attributes.inode, stored: attributes.size, for: thread)
    else { return attributes }
    var attributes = attributes
    attributes.keptSize = max(attributes.kernelSize, sizes.kept)
    attributes.size = sizes.told
    if !sizes.areEqual { attributes.isCacheable = false }
    return attributes
  }

  /// Throws `refused(.nameTooLong)` for names that no directory can hold.
  static func checkLength(_ name: [UInt8]) throws(FileTreeError) {
    if name.count > NAME_MAX { throw .refused(.nameTooLong, "a name has at most 255 bytes") }
  }

  // MARK: texts of objects

  /// Renders an object.
  ///
  /// - Throws: `stale` if it does not exist, `damaged` if it cannot be read.
  func text(of key: ObjKey, _ directory: TableDirectory, _ view: VersionView) throws(FileTreeError) -> [UInt8] {
    let text: [UInt8]?
    do {
      text = try view.contexts.lend { context throws(RenderError) in try context.render(directory.table, key) }
    } catch {
      throw .damaged(place: "\(directory.shownName)/", problem: error.description)
    }
    guard let text else { throw .stale }
    return text
  }
}
