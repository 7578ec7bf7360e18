// The tree: finds the node of a request and forwards the request. The nodes' operations are in `Nodes/`.

public import RealmPages

/// A realm as a tree of directories and files. All operations are thread-safe.
public final class FileTree: Sendable {
  let tree: TreeContext

  /// Creates a read-only tree of `realm`. Reads the schema, but no objects.
  ///
  /// - Throws: `noSuchClass` if the options name a class that does not exist; `damaged`, `unavailable`, `busy`.
  public convenience init(_ realm: Realm, options: TreeOptions) throws(FileTreeError) {
    try self.init(realm, nil, options: options)
  }

  /// Creates a writable tree of the realm of `writer`.
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
      do { hold = try realm.hold() } catch { throw .unavailable(error) }
    }
    let parts = TreeParts(
      realm,
      writer,
      options,
      listingBudget: listingBudget ?? (options.isFrozen ? DirectoryStream.frozenBudget : DirectoryStream.usualBudget),
      texts: texts,
      showing: hold
    )
    tree = TreeContext(parts)
    try tree.read { view throws(FileTreeError) in
      let available = view.directories.compactMap { $0.table.kind == .embedded ? nil : $0.table.className }
      for name in options.classes ?? [] where !available.contains(name) {
        throw .noSuchClass(name, available: available)
      }
      for name in options.queries.keys {
        let directory = view.directories.first { $0.shownName == name && $0.place == .root }
        guard let directory else { throw .noSuchClass(name, available: available) }
        _ = try tree.selections.selection(of: directory.ordinal).query(directory.table, view.snapshot, name)
      }
    }
  }

  /// The user's options.
  public var options: TreeOptions { tree.options }
  /// True if files can be created, written and removed.
  public var isWritable: Bool { tree.drafts.saver != nil }
  /// True if the tree shows one version permanently. Files may then be read without being opened, and nothing ever
  /// changes.
  public var isFrozen: Bool { tree.options.isFrozen }
  /// Names that the kernel must look up again.
  public var dentryInvalidations: DentryInvalidations { tree.namespace.dentryInvalidations }

  /// Sets the function called when a new version is first seen. It runs on any thread; `namesStay` is true if the
  /// version has the same classes and objects as the previous one.
  public func observeVersions(_ body: @escaping @Sendable (_ namesStay: Bool) -> Void) { tree.views.observer.set(body) }

  /// True if the kernel may know names that depend on texts, or names in transactions.
  public var hasChangingNames: Bool { tree.namespace.nodes.hasNamesByText || !tree.subtrees.transactions.all.isEmpty }

  /// Checks for a new version.
  public func refresh() throws(FileTreeError) { try tree.read { _ in } }

  /// Saves the unsaved data of open handles. Call it before the tree is destroyed.
  public func finish() { tree.drafts.finish() }

  // MARK: nodes

  /// Returns the attributes of the node called `name` in a directory. Counts as one kernel lookup of its inode, which
  /// `forget` releases.
  ///
  /// Renders the object unless its text is cached, because its size is that of the text. A size that requires a pass
  /// over all objects is computed only by `attributes`.
  ///
  /// The name `.` refers to any inode itself, and `..` to the parent of a directory: the kernel looks them up when a
  /// program opens a file handle (open_by_handle_at(2), NFS) of an inode that the kernel has forgotten.
  ///
  /// - Throws: `notFound`, `notADirectory`, `stale`, `nameTooLong`, and the errors of `open` for the directory itself.
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
    let found = try inDirectory(place) { directory throws(FileTreeError) in
      try place.tree.namespace.lookUp(name, in: directory)
    }
    let shown = place.tree.namespace.withOwnSize(place.tree.handles.withOpenSizes(found), for: user)
    return lasting(place.known(shown, tree))
  }

  /// The parent of a directory.
  ///
  /// - Throws: `stale` if only the path determines the parent.
  private func directory(above inode: InodeNumber) throws(FileTreeError) -> InodeNumber {
    switch try tree.namespace.node(inode) {
    case is RootNode, is ClassNode, is ControlDirectoryNode: return .root
    case let node as any ShortDirectoryNode where node.parent(tree) != inode: return node.parent(tree)
    default: throw .stale
    }
  }

  /// The attributes of an inode that the kernel knew before; counts as a new lookup.
  private func lookupAgain(_ inode: InodeNumber) throws(FileTreeError) -> FileAttributes {
    var attributes = try attributes(inode)
    attributes.inode = inode
    if inode.isHashed {
      guard let (ordinal, key) = tree.namespace.objectInodes.object(inode) else { throw .stale }
      _ = tree.namespace.objectInodes.retain(ordinal, key)
    } else if inode.packedObject == nil {
      tree.namespace.nodes.retain(inode)
    }
    return attributes
  }

  /// Releases `lookups` references of the kernel to an inode: one for each lookup and each listed entry with
  /// attributes.
  public func forget(_ inode: InodeNumber, lookups: UInt64) { tree.namespace.forget(inode, lookups: lookups) }

  /// Returns the attributes of an inode for a requesting thread.
  ///
  /// The size is that of the contents read through the handle `file`. Without a handle, it is that of the contents read
  /// through the process's last opened handle, or else that of the stored text.
  ///
  /// - Throws: `stale` if the object or class was deleted and no handle on it is open.
  public func attributes(
    _ inode: InodeNumber,
    with file: OpenFile? = nil,
    for thread: Int32 = 0,
    user: UInt32? = nil
  ) throws(FileTreeError) -> FileAttributes {
    do {
      var attributes = lasting(try attributes(place(inode), for: thread, user: user))
      // The kernel uses this size for the file from now on, so this exact size must be kept.
      if let size = file?.reportedSize { (attributes.size, attributes.keptSize) = (size, nil) }
      return attributes
    } catch {
      // A stat of the file that ended a transaction still succeeds.
      guard let node = tree.namespace.nodes.node(inode) as? SubtreeNode, node.isCommand else { throw error }
      return try node.attributes(tree)
    }
  }

  /// The attributes; always cacheable in a frozen tree.
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
    tree.handles.openFiles.awaitReleases(of: inode)
    let shown = tree.handles.withOpenSizes(try tree.namespace.node(inode).attributes(tree), for: thread)
    let attributes = tree.namespace.withOwnSize(shown, for: user)
    return place.shown(
      attributes.inode == inode ? attributes : tree.handles.withOpenSizes(attributes, for: thread, of: inode)
    )
  }

  /// Changes attributes and returns the new ones. `file` is the handle used for a truncation, if any.
  public func change(
    _ inode: InodeNumber,
    _ file: OpenFile?,
    _ change: MetadataChange,
    by caller: Caller
  ) throws(FileTreeError) -> FileAttributes {
    guard isWritable else { throw .readOnly }
    let request = Request()
    let place = try place(inode, request), tree = place.tree, node = try tree.namespace.node(place.inode)
    var draft = file?.draft
    if file == nil, change.size == 0 {
      draft = try tree.drafts.beginning(of: place.inode, by: caller)
      // `open` has just looked, and this changes its draft alone.
      if draft != nil { request.skipPathCheck() }
    }
    try tree.drafts.refusals.noting("change", try node.shownPath(tree)) { () throws(FileTreeError) in
      try node.change(change, tree)
    }
    if let size = change.size {
      if size < 0 { throw .refused(.invalid, "a negative size") }
      if let draft, draft.target?.form != .command {
        draft.memory.truncate(to: size)
      } else {
        try tree.drafts.refusals.noting("change", try node.shownPath(tree)) { () throws(FileTreeError) in
          try node.resize(to: size, by: caller, tree)
        }
        // Truncation executed the command, so later writes are ignored.
        if let draft, (draft.target as? any CommandTarget)?.obeysTruncation ?? false { draft.memory.noteRun() }
      }
    }
    if let modified = change.modified {
      let time = modified.timestamp
      try node.setTime(time, tree)
      // Otherwise the time would be replaced when the unsaved text is committed.
      let number = (node as? ObjectNode)?.number(tree) ?? place.inode
      for draft in tree.handles.openFiles.drafts(of: number) {
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
    let tree = tree.serving(Request())
    return try tree.namespace.node(inode).openDirectory(tree)
  }

  /// Adds entries after `position` (0: the start) to `sink` until it is full. No entries means the end.
  ///
  /// With `attributes`, entries include attributes and count as one lookup of their inode each, within the stream's
  /// budget and except for damaged objects. An error is thrown only if no entry precedes it.
  ///
  /// - Throws: `damaged` if the names of objects cannot be read; `stale` if the class was deleted.
  public func readDirectory<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink
  ) throws(FileTreeError) {
    try stream.node.list(stream, from: position, attributes: attributes, into: &sink, tree.serving(Request()))
  }

  /// Creates a file and opens it. It becomes an object when saved, if its name is valid for an object.
  ///
  /// - Throws: `refused(.exists)` if the file exists and `isExclusive`; `readOnly`, `forbidden`, `nameTooLong`.
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
      try home.tree.drafts.refusals.noting("create", home.tree.namespace.shownPath(of: place)) {
        () throws(FileTreeError) in
        try home.tree.namespace.create(place, permissions: permissions, access, isExclusive: isExclusive, by: caller)
      }
    }
    let attributes = home.known(created.attributes, tree)
    return CreatedFile(attributes: attributes, file: home.owning(created.file, shownAs: attributes.inode))
  }

  /// Creates a file without opening it.
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

  /// Returns and records the error for creating an unsupported kind of file, such as a pipe or a hard link.
  public func refuse(_ kind: UnsupportedKind, _ parent: InodeNumber, _ name: [UInt8]) -> FileTreeError {
    do throws(FileTreeError) {
      guard isWritable else { throw .readOnly }
      let home = try place(parent)
      let shown = home.tree.namespace.shownPath(of: Overlay.Place(directory: home.inode, name: name))
      let error = FileTreeError.refused(.forbidden, "\(kind.rawValue) cannot be created: a class holds only files")
      // Emacs tries to create a symbolic link as a lock for each edited file, and works without it.
      if ScratchNames.contains(name) { return error }
      return try home.tree.drafts.refusals.noting(kind.operation, shown) { () throws(FileTreeError) in throw error }
    } catch { return error }
  }

  /// Removes a file in memory, or an object with its embedded objects. If a text that the caller wrote to the object
  /// was refused, the first removal fails.
  public func unlink(
    _ parent: InodeNumber,
    _ name: [UInt8],
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) {
    let home = try place(parent)
    try home.tree.namespace.unlink(Overlay.Place(directory: home.inode, name: name), by: caller)
  }

  /// Renames a file. A file in memory that is renamed to the name of an object is saved as that object. An object that
  /// is renamed keeps its own name, which is hidden while the new one exists.
  public func rename(
    _ parent: InodeNumber,
    _ name: [UInt8],
    to newParent: InodeNumber,
    _ newName: [UInt8],
    _ rule: RenameRule,
    by caller: Caller
  ) throws(FileTreeError) {
    let request = Request()
    let source = try place(parent, request), goal = try place(newParent, request)
    guard source.tree.parts === goal.tree.parts else {
      throw .refused(.otherTree, "a file cannot be moved into or out of a transaction: copy it and remove it")
    }
    let tree = source.tree
    let former = Overlay.Place(directory: source.inode, name: name)
    let new = Overlay.Place(directory: goal.inode, name: newName)
    // The name of a scratch file has no meaning to the user.
    let shown = tree.namespace.overlay.file(at: former) == nil ? former : new
    try tree.drafts.refusals.noting("rename", tree.namespace.shownPath(of: shown)) { () throws(FileTreeError) in
      try tree.namespace.rename(former, to: new, rule, by: caller)
    }
  }

  /// Adds a class, a snapshot or a transaction. A transaction belongs to the caller and has the permission bits `mode`.
  public func makeDirectory(
    _ parent: InodeNumber,
    _ name: [UInt8],
    permissions: UInt32 = 0o777,
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) -> FileAttributes {
    guard isWritable else { throw .readOnly }
    let home = try place(parent), tree = home.tree
    let shown = tree.namespace.shownPath(of: Overlay.Place(directory: home.inode, name: name))
    try inDirectory(home) { directory throws(FileTreeError) in
      try tree.drafts.refusals.noting("mkdir", shown) { () throws(FileTreeError) in
        try directory.makeDirectory(name, mode: permissions, by: caller, tree)
      }
    }
    return try lookup(parent, name)
  }

  /// Removes an empty class, a snapshot or a transaction.
  public func removeDirectory(
    _ parent: InodeNumber,
    _ name: [UInt8],
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) {
    guard isWritable else { throw .readOnly }
    let home = try place(parent), tree = home.tree
    let shown = tree.namespace.shownPath(of: Overlay.Place(directory: home.inode, name: name))
    try tree.drafts.refusals.noting("rmdir", shown) { () throws(FileTreeError) in
      try tree.namespace.node(home.inode).removeDirectory(name, by: caller, tree)
    }
  }

  // MARK: files and links

  /// Opens a file; `release` closes it.
  ///
  /// - Throws: `isADirectory`; `stale` if the object was deleted; `damaged` if it cannot be read, regardless of other
  ///   objects; for writing also `readOnly` and `forbidden`.
  public func open(
    _ inode: InodeNumber,
    _ access: OpenAccess = OpenAccess(),
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) -> OpenFile {
    let home = try place(inode), tree = home.tree, node = try tree.namespace.node(home.inode)
    tree.handles.openFiles.awaitReleases(of: home.inode)
    let file = try tree.drafts.refusals.noting("open", try node.shownPath(tree)) { () throws(FileTreeError) in
      try node.open(access, by: caller, tree)
    }
    return home.owning(file, shownAs: inode)
  }

  /// Returns the destination of a symbolic link.
  public func destination(_ inode: InodeNumber) throws(FileTreeError) -> [UInt8] {
    let home = try place(inode)
    return try home.tree.namespace.node(home.inode).destination(home.tree)
  }

  /// Runs `body` on a directory. A removed class behaves like any removed directory, unless its name now refers to
  /// another class: in that case, `stale` makes the kernel look the name up again.
  private func inDirectory<T>(
    _ place: TreePlace,
    _ body: (any Node) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let directory = try place.tree.namespace.node(place.inode)
    do { return try body(directory) } catch {
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

  /// The requested operation.
  fileprivate var operation: String {
    switch self {
    case .hardLink: "link"
    case .symbolicLink: "symlink"
    case .special: "mknod"
    }
  }
}
