// `.fields/KEY`: an object as a directory of its properties. A property that is null has no entry: creating the file
// sets it, removing the file sets it to null.

import RealmJSON
import RealmNames
import RealmPages

/// The directory `.fields`: the objects of a class as directories.
struct FieldsNode: DirectoryNode {
  let inode: InodeNumber
  let ordinal: TableOrdinal

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.selections.selection(of: ordinal).directoryAttributes(inode, tree)
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    tree.namespace.shownPath(of: ordinal) + "/.fields"
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let key = try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      guard let key = try tree.namespace.object(named: name + Array(NameEscaping.suffix.utf8), in: directory) else {
        throw .notFound
      }
      return key
    }
    let object = FieldPlace(ordinal, key)
    return try tree.namespace.enter(object.identity(of: ObjectFieldsNode.self)) {
      ObjectFieldsNode(inode: $0, object: object)
    }
  }

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    DirectoryStream(self, found: .objects(try tree.selections.selection(of: ordinal).keys(tree)))
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    try listObjects(stream, ordinal, from: position, into: &sink, tree) { name, _, key in
      name.truncate(to: name.count - NameEscaping.suffix.utf8.count)
      return (tree.namespace.nodes.number(of: FieldPlace(ordinal, key).identity(of: ObjectFieldsNode.self)), .directory)
    }
  }
}

/// Identifies an object or one of its properties for the nodes below `.fields`.
struct FieldPlace: Hashable, Sendable {
  let ordinal: TableOrdinal
  let key: ObjKey
  /// The property; nil for the object itself.
  var property: ColKey?

  init(_ ordinal: TableOrdinal, _ key: ObjKey, _ property: ColKey? = nil) {
    (self.ordinal, self.key, self.property) = (ordinal, key, property)
  }

  /// The identity of a node of type `kind` at this place, with an optional `name` within it.
  func identity(of kind: any Node.Type, _ name: [UInt8] = []) -> NodeIdentity {
    let property = property.map { String($0.value) } ?? ""
    return NodeIdentity(kind, UInt64(ordinal), Array("\(key.value) \(property) ".utf8) + name)
  }

  /// The path of the directory of the object, or of the property in it.
  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String {
    try tree.readable { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      let name = try tree.namespace.name(of: key, in: directory).dropLast(NameEscaping.suffix.utf8.count)
      let path = tree.namespace.shownPath(of: ordinal) + "/.fields/" + String(decoding: name, as: UTF8.self)
      guard let property else { return path }
      guard let column = directory.table.columns.first(where: { $0.key == property }) else { throw .stale }
      return path + "/" + NameEscaping.directory(of: column.name)
    }
  }

  /// Runs `body` with a cursor at the object.
  ///
  /// - Throws: `stale` if the object was deleted.
  func read<T>(
    _ view: VersionView,
    _ body: (TableDirectory, ObjectCursor, RenderContext) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let directory = try view.existing(ordinal)
    return try view.contexts.lend { context throws(FileTreeError) in
      let cursor = ObjectCursor(directory.table)
      let exists: Bool
      do throws(EngineError) { exists = try cursor.seek(key) } catch { throw .damaged(directory.shownName, error) }
      guard exists else { throw .stale }
      return try body(directory, cursor, context)
    }
  }

  /// The text of the property's file in a view.
  ///
  /// - Throws: `stale` if the property is null.
  func text(_ form: TextForm, _ view: VersionView) throws(FileTreeError) -> [UInt8] {
    try read(view) { directory, cursor, context throws(FileTreeError) in
      let (index, value) = try value(directory, cursor)
      switch value {
      case .null: throw .stale
      case .string(let bytes) where form == .string: return bytes.bytes + [0x0A]
      case .data(let bytes) where form == .data: return bytes.bytes
      default: break
      }
      context.name.reset()
      do throws(RenderError) { try context.renderer.render(property: index, of: cursor, into: context.name) } catch {
        throw .damaged(place: directory.shownName, problem: error.description)
      }
      return context.name.bytes + [0x0A]
    }
  }

  /// The index of the property and its value.
  func value(_ directory: TableDirectory, _ cursor: ObjectCursor) throws(FileTreeError) -> (Int, ValueView) {
    guard let index = directory.table.columns.firstIndex(where: { $0.key == property }) else { throw .stale }
    do { return (index, try cursor.value(index)) } catch {
      throw .damaged(directory.shownName, error)
    }
  }
}

/// The form in which a property is shown.
enum FieldForm: Sendable {
  /// A file: the raw bytes of a string or binary data, or JSON for other types.
  case file(TextForm)
  /// A symbolic link to the file of an object.
  case link
  /// A directory of such links.
  case links

  init(_ column: Column, _ view: VersionView) {
    let isLink = column.type == .link && column.targetTable.flatMap { view.directory(of: $0) }?.table.kind == .topLevel
    switch (column.collection, column.type) {
    case (nil, .string): self = .file(.string)
    case (nil, .data): self = .file(.data)
    case (nil, .link) where isLink: self = .link
    case (.list, .link) where isLink, (.set, .link) where isLink: self = .links
    default: self = .file(.value)
    }
  }

  var kind: NodeKind {
    switch self {
    case .file: .file
    case .link: .symbolicLink
    case .links: .directory
    }
  }

  /// The node of a property in this form.
  func node(_ inode: InodeNumber, _ place: FieldPlace) -> any Node {
    switch self {
    case .file(let text): FieldNode(inode: inode, place: place, form: text)
    case .link: FieldLinkNode(inode: inode, place: place, index: nil)
    case .links: FieldLinksNode(inode: inode, place: place)
    }
  }

  var nodeType: any Node.Type {
    switch self {
    case .file: FieldNode.self
    case .link: FieldLinkNode.self
    case .links: FieldLinksNode.self
    }
  }
}

/// The directory of an object.
struct ObjectFieldsNode: DirectoryNode {
  let inode: InodeNumber
  let object: FieldPlace

  private static let backlinks = Array(".backlinks".utf8)

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      try object.read(view) { directory, _, _ in view.attributes(of: inode, ofObject: object, directory, tree) }
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { try object.shownPath(tree) }

  /// The property called `name`.
  private func property(_ name: [UInt8], _ directory: TableDirectory) -> Column? {
    guard let text = NameEscaping.className(ofDirectory: name) else { return nil }
    return directory.table.columns.first { $0.name.isExactly(text) }
  }

  private func field(_ column: Column) -> FieldPlace { FieldPlace(object.ordinal, object.key, column.key) }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if name == Self.backlinks {
      return try tree.namespace.enter(object.identity(of: BacklinksNode.self)) {
        BacklinksNode(inode: $0, object: object)
      }
    }
    let (form, place) = try tree.read { view throws(FileTreeError) in
      try object.read(view) { directory, cursor, _ throws(FileTreeError) -> (FieldForm, FieldPlace) in
        guard let column = property(name, directory) else { throw .notFound }
        let place = field(column)
        guard try !place.value(directory, cursor).1.isNoValue else { throw .notFound }
        let form = FieldForm(column, view)
        if case .file(let text) = form, try tree.drafts.removedFields.isRemoved(place, text, view) { throw .notFound }
        return (form, place)
      }
    }
    return try tree.namespace.enter(place.identity(of: form.nodeType)) { form.node($0, place) }
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    try tree.read { view throws(FileTreeError) in
      try object.read(view) { directory, cursor, _ throws(FileTreeError) in
        var listing = ShortListing(of: inode, in: inode, from: position, into: &sink)
        for (index, column) in directory.table.columns.enumerated() {
          let place = field(column)
          if try place.value(directory, cursor).1.isNoValue { continue }
          let form = FieldForm(column, view)
          if case .file(let text) = form, try tree.drafts.removedFields.isRemoved(place, text, view) { continue }
          let number = tree.namespace.nodes.number(of: place.identity(of: form.nodeType))
          listing.add(NameEscaping.directory(of: column.name).utf8, number, form.kind, index: index, to: &sink)
        }
        listing.addFiles(tree.namespace.overlay, to: &sink)
        if tree.options.showControl {
          let number = tree.namespace.nodes.number(of: object.identity(of: BacklinksNode.self))
          listing.addLast(Self.backlinks, number, .directory, index: 0, to: &sink)
        }
      }
    }
  }

  // MARK: changes

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(object.ordinal)
      try directory.checkIsWritable()
      guard let column = property(name, directory) else {
        if Self.isScratchName(name, directory) || tree.namespace.hasFile(name, in: inode) { return nil }
        let known = KnownNames(directory.table.columns.map(\.name))
        throw .refused(
          .invalid,
          "class \(directory.shownName) has no property \"\(String(decoding: name, as: UTF8.self).printable)\"; "
            + known.hint(for: String(decoding: name, as: UTF8.self))
        )
      }
      switch FieldForm(column, view) {
      case .file(let text): return FieldTarget(place: field(column), form: text)
      case .link, .links:
        throw .refused(.forbidden, "\(column.name) is a link; it is set in the file of the object")
      }
    }
  }

  /// True if a file of this name may be a temporary file that a program renames to a property later.
  private static func isScratchName(_ name: [UInt8], _ directory: TableDirectory) -> Bool {
    if ScratchNames.contains(name) { return true }
    if [".", "tmp", "temp"].contains(where: { name.starts(with: $0.utf8) }) { return true }
    return directory.table.columns.contains { column in
      let property = NameEscaping.directory(of: column.name).utf8
      guard name.starts(with: property) else { return false }
      let rest = name.dropFirst(property.count)
      return [".", "~", "-", "#", "___jb_"].contains { rest.starts(with: $0.utf8) }
    }
  }

  /// Sets the property to null. A property that cannot be null is set to its default value and has no entry until its
  /// file is created or its value changes: many programs replace a file by removing and recreating it.
  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard let saver = tree.drafts.saver else { throw .readOnly }
    let (table, column, form) = try tree.read { view throws(FileTreeError) in
      try object.read(view) { directory, cursor, _ throws(FileTreeError) -> (TableKey, Column, FieldForm) in
        try directory.checkIsWritable()
        guard let column = property(name, directory) else { throw .notFound }
        if column.key == directory.table.primaryKey?.key { throw .primaryKeyStays(column) }
        let form = FieldForm(column, view), place = field(column)
        if try place.value(directory, cursor).1.isNoValue { throw .notFound }
        if case .file(let text) = form, try tree.drafts.removedFields.isRemoved(place, text, view) { throw .notFound }
        return (directory.table.key, column, form)
      }
    }
    if case .links = form {
      throw .refused(.forbidden, "\(column.name) holds links; they are set in the file of the object")
    }
    var text: [UInt8]?
    try tree.saves.saveKeepingTexts(saver) { transaction throws(FileTreeError) in
      // A value that cannot be read cannot be restored later.
      text = try? tree.read { view throws(FileTreeError) in
        guard case .file(let form) = FieldForm(column, view) else { return nil }
        return try field(column).text(form, view)
      }
      if let value = column.defaultValue {
        do throws(EngineError) { try transaction.set(table, object.key, column.key, value) } catch {
          throw FileTreeError(error)
        }
        return .changed(ObjectReference(table: table, key: object.key))
      }
      return try FieldTarget(place: field(column), form: .value).clear(table, column, transaction)
    }
    if case .file(let form) = form, column.defaultValue != .null {
      let left = try tree.read { view throws(FileTreeError) in try field(column).text(form, view) }
      tree.drafts.removedFields.note(field(column), showing: left)
    }
    // Programs that replace a file remove it first; if the new text is refused, the value is restored.
    let removal = Removal(object.key, Removal.Content(text: text, links: []))
    tree.drafts.removals.note(Overlay.Place(directory: inode, name: name), removal, by: caller)
  }

  func restoreRemoved(_ removal: Removal, _ name: [UInt8], _ tree: TreeContext) {
    // If the property was deleted, there is nothing to restore.
    guard let target = try? draftTarget(of: name, tree) as? FieldTarget else { return }
    let place = Overlay.Place(directory: inode, name: name)
    tree.removal.restoreRemoved(removal, at: place, .property, target.shownPlace(tree)) {
      (saver, text) throws(FileTreeError) in
      try target.restore(text, saver, tree)
    }
  }

  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "a property cannot be renamed here; copy its text and remove it")
  }
}

extension ValueView {
  /// True if a property with this value has no entry: null, or a link to an object that does not exist.
  var isNoValue: Bool {
    switch self {
    case .null: true
    case .link(_, let key): key.value < 0
    default: false
    }
  }
}

extension VersionView {
  /// The attributes of a directory that belongs to an object.
  func attributes(
    of inode: InodeNumber,
    ofObject place: FieldPlace,
    _ directory: TableDirectory,
    _ tree: TreeContext
  ) -> FileAttributes {
    rules.directory(inode, subdirectories: 0, modified(tree.views.number(directory, place.key), in: directory)).uncached
  }
}
