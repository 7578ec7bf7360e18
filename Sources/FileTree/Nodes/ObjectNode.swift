// An object as a file: its text is the object as JSON, and saving it applies a patch. The inode number of an object
// encodes its table and key, so nodes are created for each call and occupy no memory.

import RealmNames
import RealmPages
import Threads

/// The file of an object.
struct ObjectNode: FileNode {
  /// The object's own inode number, or that of the file in memory that became the object.
  let inode: InodeNumber
  private let key: ObjKey
  private let ordinal: TableOrdinal

  /// The time for which a text counts as live after a change to its table. Longer than the kernel caches attributes.
  private static let liveTime = Duration.seconds(30)

  init(_ inode: InodeNumber, _ ordinal: TableOrdinal, _ key: ObjKey) {
    self.inode = inode
    self.ordinal = ordinal
    self.key = key
  }

  /// The object's own inode number, even if this node has another.
  func number(_ tree: TreeContext) -> InodeNumber { tree.views.number(ordinal, key) }

  // MARK: attributes

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    do {
      return try presentAttributes(tree)
    } catch .stale {
      // Behave like a file unlinked while open.
      guard tree.handles.openFiles.isOpen(inode) else { throw .stale }
      return try tree.read { view in view.rules.file(inode, size: 0, view.modified, links: 0) }
    }
  }

  private func presentAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    var (attributes, newTexts) = try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      directory.noteInterest()
      return try ObjectNode.attributes(of: key, in: directory, view, tree)
    }
    tree.views.texts.insert(newTexts)
    if attributes.inode != inode { attributes.isCacheable = false }
    return attributes
  }

  /// The attributes of an object in a view, and texts to cache if the view proves valid.
  static func attributes(
    of key: ObjKey,
    in directory: TableDirectory,
    _ view: VersionView,
    _ tree: TreeContext
  ) throws(FileTreeError) -> (FileAttributes, [TextCache.Item]) {
    let inode = tree.views.number(directory, key), generation = directory.stamp.generation
    if let size = tree.views.texts.size(of: inode, generation) {
      return (view.attributes(of: inode, in: directory, size: size), [])
    }
    do {
      let text = try view.text(of: key, directory)
      let item = TextCache.Item(inode: inode, generation: generation, text: text)
      return (view.attributes(of: inode, in: directory, size: text.count), [item])
    } catch .damaged where !tree.options.isFrozen {
      // `open` reports the damage. A frozen tree may skip `open`, so it throws here.
      return (view.attributes(of: inode, in: directory, size: 0), [])
    }
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      let exists: Bool
      do throws(EngineError) { exists = try directory.table.contains(key) } catch {
        throw .damaged(directory.shownName, error)
      }
      guard exists else { throw .stale }
      return [
        directory.classAttribute, ExtendedAttribute(name: "user.realm.key", value: String(key.value)),
        view.versionAttribute,
      ]
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    ObjectTarget(ordinal, key).shownPlace(tree)?.path
  }

  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError) {
    let present = try attributes(tree)
    try tree.views.keep(change, of: present.inode, now: present)
  }

  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError) {
    let (number, version) = try tree.read { view throws(FileTreeError) in
      (tree.views.number(try view.existing(ordinal), key), view.snapshot.version)
    }
    tree.views.objectTimes.set(time, of: [number], version: version)
  }

  // MARK: opening

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    guard access.writes || access.truncates else {
      do {
        return try openForReading(tree, caller)
      } catch {
        tree.views.damageLog.note(error)
        throw error
      }
    }
    guard tree.drafts.saver != nil else { throw .readOnly }
    // A file that became an object has another inode number.
    let (shared, name) = try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      try directory.checkIsWritable()
      return (tree.views.number(directory, key), try tree.namespace.name(of: key, in: directory))
    }
    let target = ObjectTarget(ordinal, key)
    return try tree.drafts.openDraft(of: shared, name, target, access, by: caller) { () throws(FileTreeError) in
      let file = try open(OpenAccess(), by: caller, tree)
      if file.maySeedPageCache { tree.handles.openFiles.seeded(file) }
      defer { tree.drafts.release(file) }
      guard case .text(let text) = file.content else { return [] }
      return text
    }
  }

  private func openForReading(_ tree: TreeContext, _ caller: Caller) throws(FileTreeError) -> OpenFile {
    let (inode, text, stamp, isNew) = try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      directory.noteInterest()
      let stamp = directory.stamp
      let inode = tree.views.number(directory, key)
      if let text = tree.views.texts.find(inode, stamp.generation)?.text { return (inode, text, stamp, false) }
      return (inode, try view.text(of: key, directory), stamp, true)
    }
    if isNew { tree.views.texts.insert([TextCache.Item(inode: inode, generation: stamp.generation, text: text)]) }
    let decision = tree.handles.openFiles.open(inode, text, Self.volatility(stamp), for: caller.process)
    return OpenFile(inode, decision, text: text)
  }

  private static func volatility(_ stamp: ChangeStamp) -> PageCachePolicy.Volatility {
    guard let noticed = stamp.noticed else { return .unchanged }
    return MonotonicTime.now < noticed.advanced(by: liveTime) ? .live : .quiet
  }

  /// Saves the text that remains at the new size, if it is valid. Size 0 changes nothing, as with O_TRUNC.
  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    var access = OpenAccess()
    access.writes = true
    try tree.drafts.resize(try open(access, by: caller, tree), to: size, by: caller)
  }
}
