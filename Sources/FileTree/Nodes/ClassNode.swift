// A table as a directory: a class in the root, or an internal table of the SDK in `.realm/tables`. Listings stream:
// each call continues after the position it is passed and reads the newest version. A listing of any length therefore
// contains every object that exists from its start to its end, even if other programs commit meanwhile.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// The directory of a table.
struct ClassNode: DirectoryNode {
  let inode: InodeNumber
  let ordinal: TableOrdinal

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in view.attributes(of: try view.existing(ordinal)) }
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try tree.read { view throws(FileTreeError) in
      [try view.existing(ordinal).classAttribute, view.versionAttribute]
    }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if let entry = try DotNames.lookUp(name, tree.selections.selection(of: ordinal), tree) { return entry }
    return try tree.namespace.lookUpObject(ordinal) { view, directory throws(FileTreeError) in
      guard let key = try tree.namespace.object(named: name, in: directory) else { return nil }
      return tree.namespace.overlay.isAside(key, in: inode) ? nil : key
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { tree.namespace.shownPath(of: ordinal) }

  /// True if the table was deleted and no other table has its name.
  func isRemoved(_ tree: TreeContext) throws(FileTreeError) -> Bool {
    guard let name = tree.views.registry.name(ordinal) else { return false }
    return try tree.read { view in
      view.directory(ordinal) == nil && view.rootDirectory(name) == nil && view.internalDirectory(name) == nil
    }
  }

  // MARK: changes

  private func dotNamed(_ name: [UInt8], _ tree: TreeContext) -> (any Node)? {
    DotNames.node(name, tree.selections.selection(of: ordinal), tree)
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    if let entry = dotNamed(name, tree) { return try entry.replacementTarget(tree) }
    let isObjectName = try tree.readable { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      try directory.checkIsWritable()
      return directory.isObjectName(name)
    }
    return isObjectName ? NamedObjectTarget(self, name) : nil
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if dotNamed(name, tree) != nil { throw .refused(.forbidden, "it is computed and cannot be removed") }
    _ = try draftTarget(of: name, tree)
    guard let key = try visibleObject(name, tree) else { throw .notFound }
    try tree.removal.delete(key, name, self, by: caller)
  }

  /// Puts the object's text at `goal` as a file in memory. The object keeps its own name, which is hidden while that
  /// file exists.
  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    if dotNamed(name, tree) != nil { throw .refused(.forbidden, "it is computed and cannot be renamed") }
    guard let key = try visibleObject(name, tree) else { throw .notFound }
    if try tree.namespace.draftTarget(of: goal) != nil {
      throw .refused(
        .forbidden,
        "an object is named by its key, which cannot change; copy the text to a new name and remove this one"
      )
    }
    let (text, rules, modified) = try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      let modified = view.modified(tree.views.number(directory, key), in: directory)
      return (try view.text(of: key, directory), view.rules, modified)
    }
    let metadata = MemoryFile.Metadata(
      permissions: rules.filePermissions,
      owner: rules.owner,
      group: rules.group,
      modified: modified
    )
    guard tree.namespace.overlay.setAside(key, in: inode, to: goal, text, metadata) else { throw .memoryIsShort }
    tree.namespace.dentryInvalidations.add(goal)
  }

  /// Saves the text of the file as the object, and puts the object's previous text into the file.
  func exchange(_ name: [UInt8], with file: MemoryFile, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if dotNamed(name, tree) != nil { throw .refused(.forbidden, "it is computed and cannot be renamed") }
    guard let key = try visibleObject(name, tree) else { throw .notFound }
    let former = try tree.read { view throws(FileTreeError) in
      try view.text(of: key, try view.existing(ordinal))
    }
    try file.exclusively { () throws(FileTreeError) in
      try file.withContents { contents throws(FileTreeError) in
        _ = try tree.saves.save(DraftText(contents, by: caller, name: name), as: ObjectTarget(ordinal, key))
      }
      try file.replace(former)
    }
  }

  func restoreRemoved(_ removal: Removal, _ name: [UInt8], _ tree: TreeContext) {
    tree.removal.restoreRemoved(removal, name, self)
  }

  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if try tree.namespace.hasEntry(name, self) { throw .refused(.exists, "already exists") }
    throw .refused(.forbidden, "a class contains objects, not directories")
  }

  /// The object called `name`; nil if there is none or its name is set aside.
  private func visibleObject(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> ObjKey? {
    try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      guard let key = try tree.namespace.object(named: name, in: directory) else { return nil }
      return tree.namespace.overlay.isAside(key, in: inode) ? nil : key
    }
  }

  // MARK: listing

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    let interest = try tree.read { view throws(FileTreeError) in try view.existing(ordinal).interest }
    let selection = tree.selections.selection(of: ordinal)
    if selection.isWhole { return DirectoryStream(self, budget: tree.namespace.listingBudget, interest: interest) }
    do {
      let found = DirectoryStream.Found.objects(try selection.keys(tree).sorted())
      return DirectoryStream(self, budget: tree.namespace.listingBudget, interest: interest, found: found)
    } catch {
      selection.note(error, tree)
      throw error
    }
  }

  /// The results of one call, some of which take effect only if the call succeeds.
  private struct Batch {
    var newTexts: [TextCache.Item] = []
    /// The total size of `newTexts` in bytes.
    var textBytes = 0
    /// References to inodes in the table of large keys; released if the batch is discarded.
    var references: [InodeNumber] = []
    var count = 0
    var withAttributes = 0
    var lastKey = ObjKey.none
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    var state = stream.state.withLock { $0 }
    var batch = Batch()
    do {
      try tree.read { view throws(FileTreeError) in
        undo(&batch, tree)
        let directory = try view.existing(ordinal)
        if state.interest != directory.interest {
          state.interest = directory.interest
          state.budget = tree.namespace.listingBudget
        }
        var lister = Lister(
          tree: tree,
          view: view,
          directory: directory,
          budget: attributes ? state.budget : 0,
          stream.found
        )
        let parent = directory.place == .tables ? TablesDirectoryNode.inode(tree) : InodeNumber.root
        var listing = ShortListing(of: inode, in: parent, from: position, into: &sink)
        if listing.isFull { return }
        if DirectoryStream.Position.memory(position) == nil {
          let key = DirectoryStream.Position.key(position, state)
          guard try lister.list(after: key, into: &sink, &batch) else { return }
        }
        listing.addFiles(tree.namespace.overlay, to: &sink)
        DotNames.list(tree.selections.selection(of: ordinal), tree, into: &listing, &sink)
      }
    } catch {
      undo(&batch, tree)
      sink.reset()
      tree.views.damageLog.note(error)
      throw error
    }
    tree.views.texts.insert(batch.newTexts)
    state.budget -= batch.withAttributes
    if batch.lastKey > DirectoryStream.Position.lastSpelledKey { state.lastKey = batch.lastKey }
    state.lastListed = batch.lastKey
    state.ahead = position == 0 ? 0 : batch.withAttributes
    stream.state.withLock { [state] in $0 = state }
  }

  private func undo(_ batch: inout Batch, _ tree: TreeContext) {
    for inode in batch.references { tree.namespace.forget(inode, lookups: 1) }
    batch = Batch()
  }

  /// The loop over the objects of one table.
  private struct Lister {
    let tree: TreeContext
    let view: VersionView
    let directory: TableDirectory
    var budget: Int
    /// Objects whose own names are hidden.
    private let aside: Set<ObjKey>
    /// The objects shown, in key order; nil for all objects.
    private let shown: [ObjKey]?

    init(
      tree: TreeContext,
      view: VersionView,
      directory: TableDirectory,
      budget: Int,
      _ found: DirectoryStream.Found
    ) {
      shown = if case .objects(let keys) = found { keys } else { nil }
      self.tree = tree
      self.view = view
      self.directory = directory
      self.budget = budget
      aside = tree.namespace.overlay.aside(in: directory.inode)
    }

    /// Lists objects after `key`. Returns true if it reached the end of the table.
    mutating func list<Sink: DirectorySink>(
      after key: ObjKey,
      into sink: inout Sink,
      _ batch: inout Batch
    ) throws(FileTreeError) -> Bool {
      do {
        return try view.contexts.lend { context throws(EngineError) in
          let cursor = ObjectCursor(directory.table)
          if let shown {
            for key in shown[shown.firstIndex(after: key)...] where !aside.contains(key) {
              // Objects deleted since the query ran have no name.
              guard try cursor.seek(key) else { continue }
              guard try add(cursor, context, to: &sink, &batch) else { return false }
            }
            return true
          }
          var exists = try cursor.seek(after: key)
          while exists {
            if aside.isEmpty || !aside.contains(cursor.key) {
              guard try add(cursor, context, to: &sink, &batch) else { return false }
            }
            exists = try cursor.next()
          }
          return true
        }
      } catch {
        // Entries listed before the damage are valid; the next call starts at the damaged object and throws.
        if batch.count == 0 { throw .damaged(directory.shownName, error) }
        return false
      }
    }

    /// Adds the object at `cursor`. Returns false if the entry does not fit or the call has rendered its limit of text.
    @inline(__always)
    private mutating func add<Sink: DirectorySink>(
      _ cursor: ObjectCursor,
      _ context: RenderContext,
      to sink: inout Sink,
      _ batch: inout Batch
    ) throws(EngineError) -> Bool {
      if batch.textBytes >= TextCache.maxAtOnce { return false }
      try directory.name(of: cursor, into: context.name)
      context.name.append(0)
      let key = cursor.key
      var inode = tree.views.number(directory, key)
      var attributes: FileAttributes?
      if budget > 0, let size = size(of: inode, cursor, context, &batch) {
        attributes = tree.handles.withOpenSizes(view.attributes(of: inode, in: directory, size: size))
        if inode.isHashed {
          inode = tree.namespace.objectInodes.retain(directory.ordinal, key)
          attributes?.inode = inode
          batch.references.append(inode)
        }
      }
      let bytes = unsafe context.name.unsafeBytes, name = unsafe bytes.bytes
      let fits = sink.add(
        name.extracting(droppingLast: 1),
        inode,
        .file,
        attributes,
        next: DirectoryStream.Position.after(key)
      )
      guard fits else {
        if attributes != nil, inode.isHashed, let reference = batch.references.popLast() {
          tree.namespace.forget(reference, lookups: 1)
        }
        return false
      }
      batch.count += 1
      batch.lastKey = key
      if attributes != nil {
        budget -= 1
        batch.withAttributes += 1
      }
      return true
    }

    /// The size of the text; nil if the object is damaged. The text is cached even if its entry does not fit, because
    /// that entry is then the first of the next batch.
    @inline(__always)
    private func size(
      of inode: InodeNumber,
      _ cursor: ObjectCursor,
      _ context: RenderContext,
      _ batch: inout Batch
    ) -> Int? {
      let generation = directory.stamp.generation
      if let size = tree.views.texts.size(of: inode, generation) { return size }
      do {
        let text = try context.render(cursor)
        batch.newTexts.append(TextCache.Item(inode: inode, generation: generation, text: text))
        batch.textBytes += text.count
        return text.count
      } catch {
        return nil  // `open` reports the reason.
      }
    }
  }
}

extension [ObjKey] {
  /// The index of the first key greater than `key`. Requires ascending keys.
  fileprivate func firstIndex(after key: ObjKey) -> Int {
    var low = 0, high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle] <= key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension TableDirectory {
  /// The extended attribute with the class name.
  var classAttribute: ExtendedAttribute {
    ExtendedAttribute(name: "user.realm.class", value: table.className ?? table.name)
  }

  /// True if objects of the table can be changed through files.
  var isChangeable: Bool { place == .root && table.kind == .topLevel }

  /// Throws `refused` if objects of the table cannot be changed through files.
  func checkIsWritable() throws(FileTreeError) {
    if isChangeable { return }
    if place != .root { throw .refused(.forbidden, "\(shownName): internal tables of the SDK cannot be changed") }
    if table.kind != .topLevel {
      throw .refused(.forbidden, "\(shownName): objects of an asymmetric class cannot be changed")
    }
  }

  /// True if a file of this name becomes an object when saved.
  func isObjectName(_ name: [UInt8]) -> Bool {
    if NameEscaping.parse(file: name, primaryKey: table.primaryKey?.type) != nil { return true }
    // Without a primary key any name will do, except the names of editors' own files.
    return table.primaryKey == nil && NameEscaping.isPlainJSON(name)
  }
}

extension VersionView {
  /// The extended attribute with the version shown.
  var versionAttribute: ExtendedAttribute {
    ExtendedAttribute(name: "user.realm.version", value: String(snapshot.version))
  }

  /// The attributes of a table's directory.
  func attributes(of directory: TableDirectory) -> FileAttributes {
    rules.directory(directory.inode, subdirectories: 0, directory.stamp.touched)
  }
}

extension NameEscaping {
  /// True if a name ends in `.json` and is not the name of an editor's own file.
  static func isPlainJSON(_ name: [UInt8]) -> Bool {
    let suffix = Array(suffix.utf8)
    guard let first = name.first, name.count > suffix.count, name.suffix(suffix.count) == suffix[...] else {
      return false
    }
    return first != UInt8(ascii: ".") && first != UInt8(ascii: "#")
  }
}
