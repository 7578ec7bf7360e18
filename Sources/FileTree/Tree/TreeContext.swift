// What all nodes of a mount share: the versions that they read, the numbers that they have, the files in memory over
// them, and the way to save. Nodes get it with each call.

import Glibc
import RealmJSON
import RealmPages

/// The state of a mounted tree.
final class TreeContext: Sendable {
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
  /// What files in memory may take, those of all trees of the mount together.
  let memory: MemoryBudget
  let statistics = StatisticsMemory()
  /// Nil for a tree that only shows.
  let saver: Saver?
  let refusals = RefusalLog()
  /// Objects and properties that programs removed and may replace.
  let removals = RemovalRecords()
  /// The properties of which it was reported that new objects have their defaults.
  let defaultedProperties = DefaultedProperties()
  /// Properties that were removed and have their defaults, because they cannot be null.
  let removedFields = RemovedFields()
  /// Objects whose files were emptied and closed, and not opened for writing since.
  let emptiedFiles = EmptiedFiles()
  /// What was written to files of other names than their objects'.
  let aliasTexts = AliasTexts()
  /// The texts that objects had.
  let trash = Trash()
  /// The versions that are held under a name.
  let snapshots = SnapshotTable()
  /// Files that are read without handles, in a frozen tree.
  let frozenFiles = FrozenFiles()
  /// The pipes behind `.realm/changes`.
  let changePipes = ChangePipes()
  /// The transactions over several files.
  let transactions: TransactionTable
  /// The transaction whose tree this is; nil for the realm's.
  let staged: StagedTransaction?
  /// Names that the kernel must look up again.
  let dentryInvalidations = DentryInvalidations()
  let damageLog: DamageLog
  /// `.realm`.
  let control: ControlDirectoryNode
  /// How many entries a directory stream lists with attributes unasked.
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
    // The numbers of a transaction's tree are not those that the kernel knows.
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

  /// The state of a tree that shows one version for good and changes nothing.
  convenience init(_ realm: Realm, showing hold: VersionHold, _ options: TreeOptions) {
    self.init(
      realm,
      nil,
      options,
      listingBudget: 0,
      texts: .small,
      showing: hold
    )
  }

  /// The state of the tree of a transaction in `main`.
  convenience init(_ main: TreeContext, over writer: RealmWriter, _ options: TreeOptions, staged: StagedTransaction) {
    self.init(
      writer.realm,
      writer,
      options,
      listingBudget: 0,
      texts: TextCache(),
      staged: staged,
      budget: main.memory
    )
  }

  /// Runs `body` on the newest view: see `Views.read`.
  @inline(__always)
  func read<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T { try views.read(body) }

  /// Runs `body` on the newest view, or the last one that there was: see `Views.readable`.
  func readable<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    try views.readable(body)
  }

  /// What a link to an object that does not exist is. In a transaction, files may come in any order.
  var missingLinks: MissingLinks { staged == nil ? .refuse : .expect }

  // MARK: nodes

  /// What an inode stands for; `stale` if nothing.
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

  /// The number of an object, without counting a reference.
  func number(_ directory: TableDirectory, _ key: ObjKey) -> InodeNumber {
    views.number(directory.ordinal, key)
  }

  /// Takes back references that the kernel held on an inode.
  func forget(_ inode: InodeNumber, lookups: UInt64) {
    if inode.isHashed {
      objectInodes.forget(inode, lookups: lookups)
    } else if inode.packedObject == nil {
      nodes.forget(inode, lookups: lookups)
    }
  }

  /// Whether a directory has an entry with this name.
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

  /// The attributes of the entry called `name`: a file in memory, or what the directory itself has.
  func lookUp(_ name: [UInt8], in directory: any Node) throws(FileTreeError) -> FileAttributes {
    try Self.checkLength(name)
    if let file = overlay.file(at: Overlay.Place(directory: directory.inode, name: name)) {
      nodes.retain(file.inode)
      return try readable { view in view.rules.file(file) }
    }
    return try directory.lookUp(name, self)
  }

  /// Attributes with the size that the open handles of an inode give a file, told to a thread that asks; 0 for nobody
  /// in particular. Where handles read different texts the kernel must ask each time.
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

  /// Refuses names that no directory can have.
  static func checkLength(_ name: [UInt8]) throws(FileTreeError) {
    if name.count > NAME_MAX { throw .refused(.nameTooLong, "a name has at most 255 bytes") }
  }

  // MARK: texts of objects

  /// Renders an object; `stale` if it does not exist, `damaged` if it cannot be read.
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
