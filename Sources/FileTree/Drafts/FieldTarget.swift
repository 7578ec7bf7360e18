// Drafts of properties. See FieldNode.

import RealmJSON
import RealmNames
import RealmPages

/// A property of an existing object.
struct FieldTarget: TextTarget {
  let place: FieldPlace
  let form: TextForm

  var takesNothing: Bool { form == .string || form == .data }

  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs? {
    _ = try facts(view)
    if form == .value { return nil }
    var bytes = try text.bytes
    if form == .string, bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
    // A value that cannot be read is overwritten.
    return (try? place.text(form, view)) == bytes ? SavedAs(place: .computed(self), hasChanged: false) : nil
  }

  func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied {
    let (table, column) = try facts(save.view)
    return Applied(
      effect: try set(save.text.bytes, table, column, save.tree.saves.missingLinks, transaction),
      place: .computed(self)
    )
  }

  func noteSaved(_ applied: Applied, _ text: DraftText, _ tree: TreeContext) throws(FileTreeError) {
    tree.drafts.removedFields.forget(place)
  }

  /// Restores the previous value of a property, unless the value has changed since the removal. Returns true if it was
  /// restored.
  func restore(_ text: [UInt8], _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> Bool {
    var isBack = false
    try saver.save { transaction throws(FileTreeError) in
      let (table, column, isRemoved) = try tree.read { view throws(FileTreeError) in
        let (table, column) = try facts(view)
        let isRemoved = try place.read(view) { directory, cursor, _ throws(FileTreeError) in
          try place.value(directory, cursor).1.isNoValue
        }
        return (table, column, isRemoved ? true : try tree.drafts.removedFields.isRemoved(place, form, view))
      }
      isBack = isRemoved
      return isRemoved ? try set(text, table, column, tree.saves.missingLinks, transaction) : .none
    }
    tree.drafts.removedFields.forget(place)
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
    do {
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
      let content = isText && bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
      do {
        try transaction.set(table.key, place.key, column.key, isText ? .string(Array(content)) : .data(Array(content)))
      } catch {
        if error.reason == .notFound { throw .stale }
        throw FileTreeError(error)
      }
      return .changed(object)
    }
    if bytes.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
      throw .refused(.invalid, "\(column.name): the text is empty; write a JSON value")
    }
    // Throws if the bytes are not exactly one JSON value.
    do { _ = try JSONText(bytes) } catch { throw FileTreeError(error) }
    // An object text with this property only. The line numbers of errors are those within the property's text.
    let name = OutputBuffer()
    name.append("{")
    name.append(string: Array(column.name.utf8))
    name.append(":\n")
    do {
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
    // An object without a name was deleted or is damaged, or its class was deleted.
    let names = try? tree.readable { view throws(FileTreeError) in
      let (_, column) = try facts(view), directory = try view.existing(place.ordinal)
      let object = try tree.namespace.name(of: place.key, in: directory).dropLast(NameEscaping.suffix.utf8.count)
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
  /// A primary key can be neither set nor removed.
  static func primaryKeyStays(_ column: Column) -> FileTreeError {
    .refused(.forbidden, "\(column.name) is the primary key, which cannot change")
  }
}
