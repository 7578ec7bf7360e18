// The names of a tree and the nodes that they refer to: lookups, paths for messages, names of objects.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// The namespace of a tree, for one request.
struct Namespace: TreePart {
  /// The state of a tree's namespace.
  final class State: Sendable {
    /// The inodes of everything except objects.
    let nodes = NodeTable()
    /// The inodes of objects whose keys are too large to be packed into a number.
    let objectInodes = InodeTable()
    let overlay: Overlay
    /// Names that the kernel must look up again.
    let dentryInvalidations = DentryInvalidations()
    /// Texts written to files whose names are not those of their objects.
    let aliasTexts = AliasTexts()
    /// `.realm`.
    let control: ControlDirectoryNode
    /// The number of entries that a directory stream lists with attributes before the kernel looks up any of them.
    let listingBudget: Int

    init(_ budget: MemoryBudget, listingBudget: Int) {
      overlay = Overlay(budget, nodes)
      self.listingBudget = listingBudget
      nodes.insert(RootNode())
      control = ControlDirectoryNode(
        inode: nodes.inode(of: NodeIdentity(ControlDirectoryNode.self)) { ControlDirectoryNode(inode: $0) }
      )
    }
  }

  let tree: TreeContext

  private var state: State { tree.parts.namespace }
  var nodes: NodeTable { state.nodes }
  var objectInodes: InodeTable { state.objectInodes }
  var overlay: Overlay { state.overlay }
  var dentryInvalidations: DentryInvalidations { state.dentryInvalidations }
  var aliasTexts: AliasTexts { state.aliasTexts }
  var control: ControlDirectoryNode { state.control }
  var listingBudget: Int { state.listingBudget }

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
    if tree.drafts.trash.isWaiting, node is KeptTextsOfClassNode || node is KeptTextsNode {
      try tree.drafts.trash.unpack(tree)
    }
    return node
  }

  /// Releases references of the kernel to an inode.
  func forget(_ inode: InodeNumber, lookups: UInt64) {
    if inode.isHashed {
      objectInodes.forget(inode, lookups: lookups)
    } else if inode.packedObject == nil {
      nodes.forget(inode, lookups: lookups)
    }
  }

  /// The attributes of the entry called `name`: a file in memory, or an entry of the directory node.
  func lookUp(_ name: [UInt8], in directory: any Node) throws(FileTreeError) -> FileAttributes {
    try Self.checkLength(name)
    if let file = overlay.file(at: Overlay.Place(directory: directory.inode, name: name)) {
      nodes.retain(file.inode)
      return try readable { view in view.rules.file(file) }
    }
    return try directory.lookUp(name, tree)
  }

  /// The attributes of the object that `find` returns; counts as a kernel lookup of its inode.
  ///
  /// - Throws: `notFound` if `find` returns nil.
  func lookUpObject(
    _ ordinal: TableOrdinal,
    _ find: (VersionView, TableDirectory) throws(FileTreeError) -> ObjKey?
  ) throws(FileTreeError) -> FileAttributes {
    var (attributes, newTexts, key) = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      directory.noteInterest()
      guard let key = try find(view, directory) else { throw .notFound }
      let (attributes, newTexts) = try ObjectNode.attributes(of: key, in: directory, view, tree)
      return (attributes, newTexts, key)
    }
    views.texts.insert(newTexts)
    if attributes.inode.isHashed { attributes.inode = objectInodes.retain(ordinal, key) }
    return attributes
  }

  /// The attributes of a node that the kernel looks up by name. The node exists until the kernel forgets it.
  func enter(
    _ identity: NodeIdentity,
    isNamedByText: Bool = true,
    _ make: (InodeNumber) -> any Node
  ) throws(FileTreeError) -> FileAttributes {
    let inode = nodes.enter(identity, isNamedByText: isNamedByText, make)
    do { return try node(inode).entryAttributes(tree).uncached } catch {
      nodes.forget(inode, lookups: 1)
      throw error
    }
  }

  /// True if a directory has an entry with this name.
  func hasEntry(_ name: [UInt8], _ directory: any Node) throws(FileTreeError) -> Bool {
    do {
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

  /// The attributes with the size of the file as `user` sees it.
  func withOwnSize(_ attributes: FileAttributes, for user: UInt32?) -> FileAttributes {
    guard let user, tree.drafts.refusals.isPersonal(for: user), nodes.node(attributes.inode) is ErrorsNode else {
      return attributes
    }
    var attributes = attributes
    attributes.size = tree.drafts.refusals.text(for: user).count
    return attributes
  }

  /// Throws `refused(.nameTooLong)` for names that no directory can hold.
  static func checkLength(_ name: [UInt8]) throws(FileTreeError) {
    if name.count > NAME_MAX { throw .refused(.nameTooLong, "a name has at most 255 bytes") }
  }

  // MARK: names of objects

  /// Returns the target of a file at a place; nil for a scratch file.
  func draftTarget(of place: Overlay.Place) throws(FileTreeError) -> (any DraftTarget)? {
    guard tree.drafts.saver != nil else { throw .readOnly }
    return try node(place.directory).draftTarget(of: place.name, tree)
  }

  /// Returns the object that a file name refers to: the name under which it is listed, or the one under which it was
  /// created.
  func object(named name: [UInt8], in directory: TableDirectory) throws(FileTreeError) -> ObjKey? {
    do {
      if let key = try directory.objectKey(named: name) { return key }
      guard let key = overlay.alias(name, in: directory.inode) else { return nil }
      if try directory.table.contains(key) { return key }
      overlay.removeAlias(name, in: directory.inode)
      return nil
    } catch {
      throw .damaged(directory.shownName, error)
    }
  }

  /// Returns the file name of an object.
  func name(of key: ObjKey, in directory: TableDirectory) throws(FileTreeError) -> [UInt8] {
    let cursor = ObjectCursor(directory.table), name = OutputBuffer()
    do {
      let exists = try cursor.seek(key)
      if exists { try directory.name(of: cursor, into: name) }
      if exists { return name.bytes }
    } catch {
      throw .damaged(directory.shownName, error)
    }
    throw .stale
  }

  /// Adds `name` as a name of an object, if the object is not listed under it.
  func nameAlias(_ name: [UInt8], of key: ObjKey, in directory: ClassNode) throws(FileTreeError) {
    let type = try read { view throws(FileTreeError) in
      try view.existing(directory.ordinal).table.primaryKey?.type
    }
    if NameEscaping.parse(file: name, primaryKey: type) == nil {
      overlay.addAlias(name, of: key, in: directory.inode)
    }
  }

  // MARK: paths

  /// Returns the path of a place as users see it.
  func shownPath(of place: Overlay.Place) -> String {
    let name = String(decoding: place.name, as: UTF8.self)
    // If the directory no longer exists, only the name is known.
    guard let directory = nodes.node(place.directory), let path = try? directory.shownPath(tree) else { return name }
    return path + "/" + name
  }

  /// Returns the path of a table's directory.
  func shownPath(of ordinal: TableOrdinal) -> String {
    (views.registry.isClass(ordinal) ? "" : ".realm/tables/") + shownName(of: ordinal)
  }

  /// Returns the path of a selection's directory.
  func shownPath(of selection: ObjectSelection) -> String {
    shownPath(of: selection.ordinal) + String(decoding: selection.path, as: UTF8.self)
  }

  /// Returns the name of a class as users see it, even if the class was deleted.
  func shownName(of ordinal: TableOrdinal) -> String {
    String(decoding: views.registry.name(ordinal) ?? [], as: UTF8.self)
  }

  /// The path of an object's file, relative to a directory `up` levels below the root.
  func relativePath(
    _ table: TableKey,
    _ key: ObjKey,
    up: Int,
    _ view: VersionView
  ) throws(FileTreeError) -> [UInt8] {
    guard let directory = view.directory(of: table) else { throw .stale }
    let name = try name(of: key, in: directory)
    return Array(String(repeating: "../", count: up).utf8) + directory.name + [0x2F] + name
  }
}
