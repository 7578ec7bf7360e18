// The tree: finds the node that a request is for, and passes the request on. What nodes do is in `Nodes/`.

public import RealmPages

/// A realm as a tree of directories and files. All operations may be called from any number of threads.
public final class FileTree: Sendable {
  let tree: TreeContext

  /// Shows `realm` as a tree. Reads the schema, and no objects.
  ///
  /// - Throws: `noSuchClass` if the options ask for a class that is not there; `damaged`, `unavailable`, `busy`.
  public convenience init(_ realm: Realm, options: TreeOptions) throws(FileTreeError) {
    try self.init(realm, nil, options: options)
  }

  /// Shows the realm of `writer` as a tree that can be changed.
  public convenience init(_ writer: RealmWriter, options: TreeOptions) throws(FileTreeError) {
    try self.init(writer.realm, writer, options: options)
  }

  init(
    _ realm: Realm,
    _ writer: RealmWriter?,
    options: TreeOptions,
    listingBudget: Int? = nil,
    texts: TextCache = TextCache()
  ) throws(FileTreeError) {
    var hold: VersionHold?
    if options.isFrozen {
      do throws(EngineError) { hold = try realm.hold() } catch { throw .unavailable(error) }
    }
    tree = TreeContext(
      realm,
      writer,
      options,
      listingBudget: listingBudget ?? (options.isFrozen ? DirectoryStream.frozenBudget : DirectoryStream.usualBudget),
      texts: texts,
      showing: hold
    )
    try tree.read { view throws(FileTreeError) in
      let available = view.directories.compactMap { $0.table.kind == .embedded ? nil : $0.table.className }
      for name in options.classes ?? [] where !available.contains(name) {
        throw .noSuchClass(name, available: available)
      }
      for name in options.queries.keys {
        let directory = view.directories.first { $0.shownName == name && $0.place == .root }
        guard let directory else { throw .noSuchClass(name, available: available) }
        _ = try tree.selection(of: directory.ordinal).query(directory.table, view.snapshot, name)
      }
    }
  }

  /// What the user chose.
  public var options: TreeOptions { tree.options }
  /// Whether files can be made, written and removed.
  public var isWritable: Bool { tree.saver != nil }
  /// Whether one version is shown for good. Then files may be read without being opened, and nothing ever changes.
  public var isFrozen: Bool { tree.options.isFrozen }
  /// Names that the kernel must look up again.
  public var dentryInvalidations: DentryInvalidations { tree.dentryInvalidations }

  /// Sets what is called, on whichever thread, when a version is seen that was not seen before; with whether it has the
  /// same classes and objects as the one before.
  public func observeVersions(_ body: @escaping @Sendable (_ namesStay: Bool) -> Void) { tree.views.observer.set(body) }

  /// Whether the kernel may know names that depend on texts, or names in transactions.
  public var hasChangingNames: Bool { tree.nodes.hasNamesByText || !tree.transactions.all.isEmpty }

  /// Looks whether there is a new version.
  public func refresh() throws(FileTreeError) { try tree.read { _ in } }

  /// Saves what handles have written and could not be closed, before the tree goes away.
  public func finish() { tree.finish() }

  // MARK: nodes

  /// The attributes of the node called `name` in a directory. The kernel then knows its inode: `forget` takes that
  /// back.
  ///
  /// Renders the object, unless its text is cached, because its size is that of the text. A size that takes a pass over
  /// all objects is left to `attributes`.
  ///
  /// The name `.` is that of any inode itself, and `..` that of the directory of a directory: the kernel asks for them
  /// when a program opens a file handle (open_by_handle_at(2), NFS) of an inode that it has forgotten.
  ///
  /// - Throws: `notFound`, `notADirectory`, `stale`, `nameTooLong`, and what `open` throws for the directory itself.
  public func lookup(
    _ parent: InodeNumber,
    _ name: [UInt8],
    user: UInt32? = nil
  ) throws(FileTreeError) -> FileAttributes {
    if name.first == UInt8(ascii: ".") {
      if name.count == 1 { return try lookupAgain(parent) }
      if name.count == 2, name[1] == name[0] { return try lookupAgain(directory(above: parent)) }
    }
    let place = try place(parent)
    let found = try inDirectory(place) { directory throws(FileTreeError) in try place.tree.lookUp(name, in: directory) }
    let shown = place.tree.withOwnSize(place.tree.withOpenSizes(found), for: user)
    return lasting(place.known(shown, tree))
  }

  /// The directory that a directory is in; `stale` where only the path says that.
  private func directory(above inode: InodeNumber) throws(FileTreeError) -> InodeNumber {
    switch try tree.node(inode) {
    case is RootNode, is ClassNode, is ControlDirectoryNode: return .root
    case let node as any ShortDirectoryNode where node.parent(tree) != inode: return node.parent(tree)
    default: throw .stale
    }
  }

  /// The attributes of an inode that the kernel knew once, which it then knows again.
  private func lookupAgain(_ inode: InodeNumber) throws(FileTreeError) -> FileAttributes {
    var attributes = try attributes(inode)
    attributes.inode = inode
    if inode.isHashed {
      guard let (ordinal, key) = tree.objectInodes.object(inode) else { throw .stale }
      _ = tree.objectInodes.retain(ordinal, key)
    } else if inode.packedObject == nil {
      tree.nodes.retain(inode)
    }
    return attributes
  }

  /// Takes back `lookups` references that the kernel held on an inode: one for each lookup and each entry of a listing
  /// with attributes.
  public func forget(_ inode: InodeNumber, lookups: UInt64) { tree.forget(inode, lookups: lookups) }

  /// The attributes of an inode, told to a thread that asks.
  ///
  /// The size is that of what `file` reads, the handle that is asked with. Without one it is the size of what the
  /// process reads by the handle that it opened last, or else the stored text's.
  ///
  /// - Throws: `stale` if the object or class is gone and no handle on it is open.
  public func attributes(
    _ inode: InodeNumber,
    with file: OpenFile? = nil,
    for thread: Int32 = 0,
    user: UInt32? = nil
  ) throws(FileTreeError) -> FileAttributes {
    do throws(FileTreeError) {
      var attributes = lasting(try attributes(place(inode), for: thread, user: user))
      // The kernel goes by the size of the file after that, so it is to keep this one.
      if let size = file?.toldSize { (attributes.size, attributes.keptSize) = (size, nil) }
      return attributes
    } catch {
      // Who ended a transaction by one of its files may look at that once more.
      guard let node = tree.nodes.node(inode) as? StagedNode, node.isCommand else { throw error }
      return try node.attributes(tree)
    }
  }

  /// The attributes, which the kernel may remember for good in a frozen tree.
  private func lasting(_ attributes: FileAttributes) -> FileAttributes {
    var attributes = attributes
    if isFrozen { attributes.isCacheable = true }
    return attributes
  }

  private func attributes(
    _ place: TreePlace,
    for thread: Int32 = 0,
    user: UInt32? = nil
  ) throws(FileTreeError) -> FileAttributes {
    let tree = place.tree, inode = place.inode
    tree.openFiles.awaitReleases(of: inode)
    let shown = tree.withOpenSizes(try tree.node(inode).attributes(tree), for: thread)
    let attributes = tree.withOwnSize(shown, for: user)
    return place.shown(
      attributes.inode == inode ? attributes : tree.withOpenSizes(attributes, for: thread, of: inode)
    )
  }

  /// Changes attributes and returns what they are then. `file` is the handle that a truncation came by, if any.
  public func change(
    _ inode: InodeNumber,
    _ file: OpenFile?,
    _ change: MetadataChange,
    by caller: Caller
  ) throws(FileTreeError) -> FileAttributes {
    guard isWritable else { throw .readOnly }
    let place = try place(inode), tree = place.tree
    let node = try tree.node(place.inode)
    try tree.noting("change", try node.shownPath(tree)) { () throws(FileTreeError) in try node.change(change, tree) }
    if let size = change.size {
      if size < 0 { throw .refused(.invalid, "a negative size") }
      var draft = file?.draft
      if file == nil, size == 0 { draft = try tree.beginning(of: place.inode, by: caller) }
      if let draft, draft.target?.form != .command {
        draft.memory.truncate(to: size)
      } else {
        try tree.noting("change", try node.shownPath(tree)) { () throws(FileTreeError) in
          try node.resize(to: size, by: caller, tree)
        }
        // Truncation carried out the command, so later writes are ignored.
        if let draft, (draft.target as? any CommandTarget)?.obeysTruncation ?? false { draft.memory.noteObeyed() }
      }
    }
    if let modified = change.modified {
      let time = modified.timestamp
      try node.setTime(time, tree)
      // What is not saved yet would have the time of its commit.
      let number = (node as? ObjectNode)?.number(tree) ?? place.inode
      for draft in tree.openFiles.drafts(of: number) {
        if case .dirty = draft.memory.draft { draft.memory.set(time) }
      }
    }
    return try attributes(place)
  }

  // MARK: directories

  /// Opens a directory for listing.
  ///
  /// - Throws: `notADirectory`, `stale`.
  public func openDirectory(_ inode: InodeNumber) throws(FileTreeError) -> DirectoryStream {
    try tree.node(inode).openDirectory(tree)
  }

  /// Gives entries from `position` (0: the start) on to `sink` until it is full; none means the end.
  ///
  /// With `attributes` each entry comes with them, and counts as one lookup of its inode, as far as the stream's budget
  /// goes and the object is not damaged. An error is thrown only when no entry came before it.
  ///
  /// - Throws: `damaged` where the names of objects cannot be read; `stale` when the class is gone.
  public func readDirectory<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink
  ) throws(FileTreeError) {
    try stream.node.list(stream, from: position, attributes: attributes, into: &sink, tree)
  }

  /// Makes a file and opens it. It becomes an object when it is saved, if its name is one of an object.
  ///
  /// - Throws: `refused(.exists)` if there is one and `isExclusive`; `readOnly`, `forbidden`, `nameTooLong`.
  public func create(
    _ parent: InodeNumber,
    _ name: [UInt8],
    permissions: UInt32,
    _ access: OpenAccess,
    isExclusive: Bool,
    by caller: Caller
  ) throws(FileTreeError) -> CreatedFile {
    let home = try place(parent), place = Overlay.Place(directory: home.inode, name: name)
    let created = try inDirectory(home) { _ throws(FileTreeError) in
      try home.tree.noting("create", home.tree.shownPath(of: place)) { () throws(FileTreeError) in
        try home.tree.create(place, permissions: permissions, access, isExclusive: isExclusive, by: caller)
      }
    }
    let attributes = home.known(created.attributes, tree)
    return CreatedFile(attributes: attributes, file: home.owning(created.file, shownAs: attributes.inode))
  }

  /// Makes a file without opening it.
  public func makeNode(
    _ parent: InodeNumber,
    _ name: [UInt8],
    permissions: UInt32,
    by caller: Caller
  ) throws(FileTreeError) -> FileAttributes {
    let created = try create(parent, name, permissions: permissions, OpenAccess(), isExclusive: true, by: caller)
    release(created.file)
    return created.attributes
  }

  /// Refuses to make what files here cannot be, such as a pipe or a hard link, and notes why.
  public func refuse(_ kind: UnsupportedKind, _ parent: InodeNumber, _ name: [UInt8]) -> FileTreeError {
    do throws(FileTreeError) {
      guard isWritable else { throw .readOnly }
      let home = try place(parent)
      let shown = home.tree.shownPath(of: Overlay.Place(directory: home.inode, name: name))
      let error = FileTreeError.refused(.forbidden, "\(kind.rawValue) cannot be created: a class holds only files")
      // Emacs makes a symbolic link for each file that is edited, and does without it.
      if ScratchNames.contains(name) { return error }
      return try home.tree.noting(kind.operation, shown) { () throws(FileTreeError) in throw error }
    } catch { return error }
  }

  /// Removes a name: a file in memory, or an object with all that hangs from it. After a text
  /// of the caller's was refused for an object, the first removal fails.
  public func unlink(
    _ parent: InodeNumber,
    _ name: [UInt8],
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) {
    let home = try place(parent)
    try home.tree.unlink(Overlay.Place(directory: home.inode, name: name), by: caller)
  }

  /// Gives a file another name. A file in memory that gets an object's name is saved as that object. An object that
  /// gets another name keeps its own, which is hidden as long as the other one stays.
  public func rename(
    _ parent: InodeNumber,
    _ name: [UInt8],
    to newParent: InodeNumber,
    _ newName: [UInt8],
    _ rule: RenameRule,
    by caller: Caller
  ) throws(FileTreeError) {
    let source = try place(parent), goal = try place(newParent)
    guard source.tree === goal.tree else {
      throw .refused(.otherTree, "a file cannot be moved into or out of a transaction: copy it and remove it")
    }
    let tree = source.tree
    let former = Overlay.Place(directory: source.inode, name: name)
    let new = Overlay.Place(directory: goal.inode, name: newName)
    // A scratch file says nothing of itself.
    let shown = tree.overlay.file(at: former) == nil ? former : new
    try tree.noting("rename", tree.shownPath(of: shown)) { () throws(FileTreeError) in
      try tree.rename(former, to: new, rule, by: caller)
    }
  }

  /// Adds a class, a snapshot or a transaction. A transaction belongs to the caller and has these permission bits.
  public func makeDirectory(
    _ parent: InodeNumber,
    _ name: [UInt8],
    permissions: UInt32 = 0o777,
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) -> FileAttributes {
    guard isWritable else { throw .readOnly }
    let home = try place(parent), tree = home.tree
    let shown = tree.shownPath(of: Overlay.Place(directory: home.inode, name: name))
    try inDirectory(home) { directory throws(FileTreeError) in
      try tree.noting("mkdir", shown) { () throws(FileTreeError) in
        try directory.makeDirectory(name, mode: permissions, by: caller, tree)
      }
    }
    return try lookup(parent, name)
  }

  /// Removes a class that has no objects, a snapshot or a transaction.
  public func removeDirectory(
    _ parent: InodeNumber,
    _ name: [UInt8],
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) {
    guard isWritable else { throw .readOnly }
    let home = try place(parent), tree = home.tree
    let shown = tree.shownPath(of: Overlay.Place(directory: home.inode, name: name))
    try tree.noting("rmdir", shown) { () throws(FileTreeError) in
      try tree.node(home.inode).removeDirectory(name, by: caller, tree)
    }
  }

  // MARK: files and links

  /// Opens a file in any way; `release` ends it.
  ///
  /// - Throws: `isADirectory`; `stale` if the object is gone; `damaged` if it cannot be read, whatever its neighbours;
  ///   for writing also `readOnly` and `forbidden`.
  public func open(
    _ inode: InodeNumber,
    _ access: OpenAccess = OpenAccess(),
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) -> OpenFile {
    let home = try place(inode), tree = home.tree, node = try tree.node(home.inode)
    tree.openFiles.awaitReleases(of: home.inode)
    let file = try tree.noting("open", try node.shownPath(tree)) { () throws(FileTreeError) in
      try node.open(access, by: caller, tree)
    }
    return home.owning(file, shownAs: inode)
  }

  /// Where a symbolic link leads.
  public func destination(_ inode: InodeNumber) throws(FileTreeError) -> [UInt8] {
    let home = try place(inode)
    return try home.tree.node(home.inode).destination(home.tree)
  }

  /// Does something in a directory. A class that was removed is as any directory that was removed, unless its name
  /// leads to another one by now: then `stale` lets the kernel look the name up again.
  private func inDirectory<T>(
    _ place: TreePlace,
    _ body: (any Node) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let directory = try place.tree.node(place.inode)
    do throws(FileTreeError) { return try body(directory) } catch {
      guard case .stale = error, let home = directory as? ClassNode, try home.isRemoved(place.tree) else { throw error }
      throw .notFound
    }
  }
}

/// Kinds of files that a mount does not support.
public enum UnsupportedKind: String, Sendable {
  case hardLink = "a hard link"
  case symbolicLink = "a symbolic link"
  case special = "a pipe, socket or device"

  /// What a program asked for.
  fileprivate var operation: String {
    switch self {
    case .hardLink: "link"
    case .symbolicLink: "symlink"
    case .special: "mknod"
    }
  }
}
