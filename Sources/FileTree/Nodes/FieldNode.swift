// A property of an object as a file: the bytes of a string or of binary data as they are, of all others JSON and a line
// end. Saving it sets that property and no other.

import RealmJSON
import RealmNames
import RealmPages

/// The file of a property.
struct FieldNode: FileNode {
  let inode: InodeNumber
  let place: FieldPlace
  let form: TextForm

  private func size(_ view: VersionView) throws(FileTreeError) -> Int {
    let rawSize: Int? = try place.read(view) { directory, cursor, _ throws(FileTreeError) in
      switch try place.value(directory, cursor).1 {
      case .string(let bytes) where form == .string, .data(let bytes) where form == .data: bytes.count
      default: nil
      }
    }
    if let rawSize { return rawSize }
    return try place.text(form, view).count
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(place.ordinal)
      let time = view.modified(tree.number(directory, place.key), in: directory)
      return view.rules.file(inode, size: try size(view), time).uncached
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    FieldTarget(place: place, form: form).shownPlace(tree)?.path
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    try tree.saveEmptied(inode)
    return try tree.openComputed(self, access, by: caller) { view throws(FileTreeError) in try place.text(form, view) }
  }

  func saveTarget(_ tree: TreeContext) throws(FileTreeError) -> any SaveTarget {
    try tree.read { view throws(FileTreeError) in try view.existing(place.ordinal).checkIsWritable() }
    return FieldTarget(place: place, form: form)
  }
}

/// A property of an object that exists.
struct FieldTarget: SaveTarget {
  let place: FieldPlace
  let form: TextForm

  var takesNothing: Bool { form == .string || form == .data }

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    let bytes = try request.bytes
    let (table, column, isKnown) = try tree.read { view throws(FileTreeError) in
      let (table, column) = try facts(view)
      // What cannot be read is written anew.
      return (table, column, form != .value && (try? place.text(form, view)) == bytes)
    }
    if isKnown {
      tree.removedFields.forget(place)
      return .computed(self, hasChanged: false)
    }
    let hasChanged = try tree.saveKeepingTexts(saver) { transaction throws(FileTreeError) in
      try set(bytes, table, column, tree.missingLinks, transaction)
    }
    tree.removedFields.forget(place)
    return .computed(self, hasChanged: hasChanged)
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let (table, column) = try facts(view)
    _ = try set(bytes, table, column, tree.missingLinks, transaction)
  }

  /// Gives the property the value that it had, unless it has another one by now than its removal left; whether it has
  /// it again.
  func restore(_ text: [UInt8], _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> Bool {
    var isBack = false
    try saver.save { transaction throws(FileTreeError) in
      let (table, column, isRemoved) = try tree.read { view throws(FileTreeError) in
        let (table, column) = try facts(view)
        let isRemoved = try place.read(view) { directory, cursor, _ throws(FileTreeError) in
          try place.value(directory, cursor).1.isNoValue
        }
        return (table, column, isRemoved ? true : try tree.removedFields.isRemoved(place, form, view))
      }
      isBack = isRemoved
      return isRemoved ? try set(text, table, column, tree.missingLinks, transaction) : .none
    }
    tree.removedFields.forget(place)
    return isBack
  }

  /// Empties a collection.
  func clear(
    _ table: TableKey,
    _ column: Column,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    let text = OutputBuffer()
    text.append("{")
    text.append(string: Array(column.name.utf8))
    text.append(":null}")
    do throws(JSONInputError) {
      let outcome = try ObjectPatcher().apply(JSONText(text.bytes), to: .object(place.key), of: table, in: transaction)
      return outcome.hasChanged ? .changed(ObjectReference(table: table, key: place.key)) : .none
    } catch { throw FileTreeError(error) }
  }

  private func facts(_ view: VersionView) throws(FileTreeError) -> (Table, Column) {
    let directory = try view.existing(place.ordinal)
    try directory.checkIsWritable()
    guard let column = directory.table.columns.first(where: { $0.key == place.property }) else { throw .stale }
    return (directory.table, column)
  }

  private func set(
    _ bytes: [UInt8],
    _ table: Table,
    _ column: Column,
    _ links: MissingLinks,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    let object = ObjectReference(table: table.key, key: place.key)
    if form != .value {
      let isText = form == .string
      if isText, String(validating: bytes, as: UTF8.self) == nil {
        throw .refused(.invalid, "\(column.name) is a string, and this is not UTF-8")
      }
      do throws(EngineError) {
        try transaction.set(table.key, place.key, column.key, isText ? .string(bytes) : .data(bytes))
      } catch {
        if error.reason == .notFound { throw .stale }
        throw FileTreeError(error)
      }
      return .changed(object)
    }
    if bytes.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
      throw .refused(.invalid, "\(column.name): the text is empty; write a JSON value")
    }
    // Refuses bytes that are not one JSON value.
    do throws(JSONInputError) { _ = try JSONText(bytes) } catch { throw FileTreeError(error) }
    // The text of an object that has this property alone, with the place of errors within the property.
    let name = OutputBuffer()
    name.append("{")
    name.append(string: Array(column.name.utf8))
    name.append(":\n")
    do throws(JSONInputError) {
      let outcome = try ObjectPatcher(mode: .patch, missingLinks: links)
        .apply(
          JSONText(name.bytes + bytes + [0x7D], firstLine: 0),
          to: .object(place.key),
          of: table.key,
          in: transaction
        )
      return outcome.hasChanged ? .changed(object) : .none
    } catch { throw FileTreeError(error, links) }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    // What cannot be named was deleted or is damaged, or its class is gone.
    let names = try? tree.readable { view throws(FileTreeError) in
      let (_, column) = try facts(view), directory = try view.existing(place.ordinal)
      let object = try tree.name(of: place.key, in: directory).dropLast(NameEscaping.suffix.utf8.count)
      return (Array(object), Array(NameEscaping.directory(of: column.name).utf8), directory.shownName)
    }
    guard let (object, property, directory) = names else { return nil }
    let path = ([Array(directory.utf8), Array(".fields".utf8), object, property]).joined(separator: [0x2F])
    return ShownPlace(
      path: String(decoding: Array(path), as: UTF8.self),
      rejected: RejectedText(
        ordinal: place.ordinal,
        name: Array((object + [0x2E] + property).prefix(NameEscaping.longestName))
      )
    )
  }
}

extension FileTreeError {
  /// The primary key of an object is neither set nor removed.
  static func primaryKeyStays(_ column: Column) -> FileTreeError {
    .refused(.forbidden, "\(column.name) is the primary key, which never changes")
  }
}
