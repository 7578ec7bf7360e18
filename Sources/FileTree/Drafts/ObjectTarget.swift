// Drafts of objects. A text patches the object of that name, or creates one.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// An existing object.
struct ObjectTarget: TextTarget {
  private let ordinal: TableOrdinal
  private let key: ObjKey

  init(_ ordinal: TableOrdinal, _ key: ObjKey) {
    self.ordinal = ordinal
    self.key = key
  }

  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs? {
    let object = ObjectReference(table: try view.existing(ordinal).table.key, key: key)
    let isStored = tree.saves.knownText(of: object, view) == (try text.bytes)
    return isStored ? SavedAs(place: .object(ordinal, key), hasChanged: false) : nil
  }

  func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied {
    let object = ObjectReference(table: try save.view.existing(ordinal).table.key, key: key)
    let effect = try save.tree.saves.patch(save.text.json(), object, transaction)
    return Applied(effect: effect, place: .object(ordinal, key))
  }

  func noteSaved(_ applied: Applied, _ text: DraftText, _ tree: TreeContext) throws(FileTreeError) {
    tree.saves.noteAliasText(text, of: key, in: ordinal)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { shownPlace(tree, known: nil) }

  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace? {
    // An object without a name was deleted or is damaged, or its class was deleted.
    let present = try? tree.readable { view throws(FileTreeError) in
      try tree.namespace.name(of: key, in: try view.existing(ordinal))
    }
    return (present ?? name).map { tree.saves.shownPlace($0, in: ordinal) }
  }
}

/// The object that a file name in a class refers to, or a new one.
struct NamedObjectTarget: TextTarget {
  private let home: ClassNode
  private let name: [UInt8]
  private var ordinal: TableOrdinal { home.ordinal }

  init(_ home: ClassNode, _ name: [UInt8]) {
    self.home = home
    self.name = name
  }

  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs? {
    if text.mustBeNew || text.moved != nil { return nil }
    let directory = try view.existing(ordinal), bytes = try text.bytes
    try directory.checkIsWritable()
    guard let key = try tree.namespace.object(named: name, in: directory),
      // A damaged object can be overwritten.
      (try? view.text(of: key, directory)) == bytes
    else { return nil }
    return SavedAs(place: .object(ordinal, key), hasChanged: false)
  }

  func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied {
    let (text, tree) = (save.text, save.tree)
    let directory = try save.view.existing(ordinal), table = directory.table
    try directory.checkIsWritable()
    if let existing = try tree.namespace.object(named: name, in: directory) {
      // An object whose name is set aside is ignored: the program that renamed it is writing a new text to replace it.
      if text.mustBeNew, !tree.namespace.overlay.isAside(existing, in: home.inode) {
        throw .refused(.exists, "already exists")
      }
      let object = ObjectReference(table: table.key, key: existing)
      let effect = try tree.saves.patch(text.json(), object, transaction)
      return Applied(
        effect: try removingMoved(text, for: object, effect, transaction, tree),
        place: .object(ordinal, existing)
      )
    }
    let outcome = try tree.saves.create(
      text.json(),
      name,
      in: table,
      formerKey: text.removal?.key,
      mode: tree.options.write,
      missingLinks: tree.saves.missingLinks,
      transaction
    )
    let made = ObjectReference(table: table.key, key: outcome.object)
    // Links to a missing object of this key may exist already.
    var origins = try Self.origins(of: made, transaction)
    if let removal = text.removal { origins += try tree.saves.restoreLinks(removal, to: made, transaction) }
    return Applied(
      effect: try removingMoved(text, for: made, Effect(touched: [made] + origins), transaction, tree),
      place: .object(ordinal, made.key),
      isNew: true,
      defaulted: outcome.defaulted.filter { $0.table == table.key }.map(\.column)
    )
  }

  /// Removes the object whose file is renamed onto this one's. Returns the effect of the save and the removal.
  private func removingMoved(
    _ text: DraftText,
    for object: ObjectReference,
    _ effect: Effect,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Effect {
    guard let moved = text.moved else { return effect }
    return effect.joined(with: try tree.saves.remove(moved, for: object, transaction))
  }

  /// Returns the objects that link to `object`.
  private static func origins(
    of object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> [ObjectReference] {
    do { return try transaction.origins(of: object.table, object.key) } catch {
      throw FileTreeError(error)
    }
  }

  func noteSaved(_ applied: Applied, _ text: DraftText, _ tree: TreeContext) throws(FileTreeError) {
    guard case .object(_, let object) = applied.place else { return }
    if applied.isNew { try tree.namespace.nameAlias(name, of: object, in: home) }
    tree.saves.noteAliasText(text, of: object, in: ordinal)
    if !applied.defaulted.isEmpty {
      let path = tree.namespace.shownPath(of: Overlay.Place(directory: home.inode, name: name))
      tree.saves.reportDefaults(applied.defaulted, of: object, in: ordinal, path)
    }
    if let staged = tree.subtrees.staged, applied.isNew,
      let table = try tree.read({ view in view.directory(ordinal)?.table }), table.primaryKey == nil,
      case .objectKey = NameEscaping.parse(file: name, primaryKey: nil)
    {
      staged.noteChosen(ObjectReference(table: table.key, key: object))
    }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { tree.saves.shownPlace(name, in: ordinal) }
}

extension Saves {
  /// Returns the path of an object's file, and the place of its refused text.
  fileprivate func shownPlace(_ name: [UInt8], in ordinal: TableOrdinal) -> ShownPlace {
    ShownPlace(
      path: tree.namespace.shownPath(of: ordinal) + "/" + String(decoding: name, as: UTF8.self),
      rejected: RejectedText(ordinal: ordinal, name: name)
    )
  }

  /// Writes the properties that differ. Only the object itself is touched, because links to it do not change.
  fileprivate func patch(
    _ text: JSONText,
    _ object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    do {
      let outcome = try ObjectPatcher(mode: options.write, missingLinks: missingLinks)
        .apply(text, to: .object(object.key), of: object.table, in: transaction)
      return outcome.hasChanged ? .changed(object) : .none
    } catch {
      throw FileTreeError(error, missingLinks)
    }
  }

  // MARK: objects by name
}
