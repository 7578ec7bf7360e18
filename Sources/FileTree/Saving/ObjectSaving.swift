// Saving objects: a text is a patch of the object that has the name, or makes a new one.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// An object that exists.
struct ObjectTarget: SaveTarget {
  private let ordinal: TableOrdinal
  private let key: ObjKey

  init(_ ordinal: TableOrdinal, _ key: ObjKey) {
    self.ordinal = ordinal
    self.key = key
  }

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    let saved = try tree.save(request.bytes, saver, ordinal, key)
    tree.noteAliasText(try request.bytes, of: key, in: ordinal)
    return saved
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let object = ObjectReference(table: try view.existing(ordinal).table.key, key: key)
    _ = try tree.patch(bytes, object, transaction)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { shownPlace(tree, known: nil) }

  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace? {
    // What cannot be named was deleted or is damaged, or its class is gone.
    let present = try? tree.readable { view throws(FileTreeError) in
      try tree.name(of: key, in: try view.existing(ordinal))
    }
    return (present ?? name).map { tree.shownPlace($0, in: ordinal) }
  }
}

/// The object that a file name of a class stands for, which may have to be made.
struct NamedObjectTarget: SaveTarget {
  private let directory: ClassNode
  private let name: [UInt8]

  init(_ directory: ClassNode, _ name: [UInt8]) {
    self.directory = directory
    self.name = name
  }

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    try tree.save(request, saver, directory, name)
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let directory = try view.existing(self.directory.ordinal), table = directory.table
    let mode = tree.options.write
    try directory.checkIsWritable()
    if let key = try tree.object(named: name, in: directory) {
      _ = try tree.patch(bytes, ObjectReference(table: table.key, key: key), transaction)
    } else {
      let draft = NewObject(
        bytes: bytes,
        name: name,
        table: table,
        formerKey: nil,
        mode: mode,
        missingLinks: tree.missingLinks
      )
      _ = try draft.create(in: transaction)
    }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    tree.shownPlace(name, in: directory.ordinal)
  }
}

extension TreeContext {
  /// Where users look for what an object refused.
  fileprivate func shownPlace(_ name: [UInt8], in ordinal: TableOrdinal) -> ShownPlace {
    ShownPlace(
      path: shownPath(of: ordinal) + "/" + String(decoding: name, as: UTF8.self),
      rejected: RejectedText(ordinal: ordinal, name: name)
    )
  }

  /// The path of a table's directory.
  func shownPath(of ordinal: TableOrdinal) -> String {
    (views.registry.isClass(ordinal) ? "" : ".realm/tables/") + shownName(of: ordinal)
  }

  /// The path of the directory of a selection.
  func shownPath(of selection: ObjectSelection) -> String {
    shownPath(of: selection.ordinal) + String(decoding: selection.path, as: UTF8.self)
  }

  /// The name of a class as users know it, also of one that is gone.
  func shownName(of ordinal: TableOrdinal) -> String {
    String(decoding: views.registry.name(ordinal) ?? [], as: UTF8.self)
  }

  fileprivate func save(
    _ bytes: [UInt8],
    _ saver: Saver,
    _ ordinal: TableOrdinal,
    _ key: ObjKey
  ) throws(FileTreeError) -> SavedAs {
    let table = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      let table = directory.table.key
      return (table, self.knownText(of: ObjectReference(table: table, key: key), view))
    }
    if table.1 == bytes { return .object(ordinal, key, hasChanged: false) }
    let hasChanged = try saveKeepingTexts(saver) { transaction throws(FileTreeError) in
      try self.patch(bytes, ObjectReference(table: table.0, key: key), transaction)
    }
    return .object(ordinal, key, hasChanged: hasChanged)
  }

  /// Saves under a name: the object that has it, or a new one. Which of the two is decided when no other program can
  /// commit any more.
  fileprivate func save(
    _ request: SaveRequest,
    _ saver: Saver,
    _ home: ClassNode,
    _ name: [UInt8]
  ) throws(FileTreeError) -> SavedAs {
    let mode = options.write, ordinal = home.ordinal, bytes = try request.bytes, mustBeNew = request.mustBeNew
    let place = Overlay.Place(directory: home.inode, name: name)
    if !mustBeNew, request.moved == nil, let key = try object(named: name, in: ordinal, withText: bytes) {
      return .object(ordinal, key, hasChanged: false)
    }
    var object = ObjKey.none, isNew = false, defaulted: [ColKey] = []
    let hasChanged = try saveKeepingTexts(saver) { transaction throws(FileTreeError) in
      let (table, existing) = try self.read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        try directory.checkIsWritable()
        return (directory.table, try self.object(named: name, in: directory))
      }
      if let existing {
        // One whose name is set aside does not count: the program that did that puts a new text in its place.
        if mustBeNew, !self.overlay.isAside(existing, in: place.directory) { throw .refused(.exists, "exists already") }
        object = existing
        let reference = ObjectReference(table: table.key, key: existing)
        let effect = try self.patch(bytes, reference, transaction)
        guard let moved = request.moved else { return effect }
        return effect.joined(with: try self.remove(moved, for: reference, transaction))
      }
      let deletion = self.recentDeletion(place)
      let draft = NewObject(
        bytes: bytes,
        name: name,
        table: table,
        formerKey: deletion?.key,
        mode: mode,
        missingLinks: missingLinks
      )
      let outcome = try draft.create(in: transaction)
      let made = ObjectReference(table: table.key, key: outcome.key)
      (object, isNew, defaulted) = (made.key, true, draft.defaulted(in: outcome.text))
      // Links that led to no object may have waited for this one.
      var origins = try Self.origins(of: made, transaction)
      if let deletion { origins += try self.restoreLinks(deletion, to: made, transaction) }
      let effect = Effect(touched: [made] + origins)
      guard let moved = request.moved else { return effect }
      return effect.joined(with: try self.remove(moved, for: made, transaction))
    }
    deletions.forget(place)
    if isNew { try nameAlias(name, of: object, in: home) }
    noteAliasText(bytes, of: object, in: ordinal)
    if !defaulted.isEmpty { reportDefaults(defaulted, of: object, in: ordinal, shownPath(of: place)) }
    if let staged, isNew, let table = try read({ view in view.directory(ordinal)?.table }), table.primaryKey == nil,
      case .objectKey = NameEscaping.parse(file: name, primaryKey: nil)
    {
      staged.noteChosen(ObjectReference(table: table.key, key: object))
    }
    return .object(ordinal, object, hasChanged: hasChanged)
  }

  /// The objects that link to one.
  private static func origins(
    of object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> [ObjectReference] {
    do throws(EngineError) { return try transaction.origins(of: object.table, object.key) } catch {
      throw FileTreeError(error)
    }
  }

  /// The object that a name leads to, if its text is `bytes` already.
  private func object(
    named name: [UInt8],
    in ordinal: TableOrdinal,
    withText bytes: [UInt8]
  ) throws(FileTreeError) -> ObjKey? {
    try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      try directory.checkIsWritable()
      guard let key = try self.object(named: name, in: directory) else { return nil }
      // A damaged object can be written anew.
      return (try? self.text(of: key, directory, view)) == bytes ? key : nil
    }
  }

  /// Lets a name that is not the one by which an object is listed lead to it.
  func nameAlias(_ name: [UInt8], of key: ObjKey, in directory: ClassNode) throws(FileTreeError) {
    let type = try read { view throws(FileTreeError) in
      try view.existing(directory.ordinal).table.primaryKey?.type
    }
    if NameEscaping.parse(file: name, primaryKey: type) == nil {
      overlay.addAlias(name, of: key, in: directory.inode)
    }
  }

  /// Writes what differs; what is touched is the object alone, because links to it stay.
  fileprivate func patch(
    _ bytes: [UInt8],
    _ object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    do throws(JSONInputError) {
      let outcome = try ObjectPatcher(mode: options.write, missingLinks: missingLinks)
        .apply(JSONText(bytes), to: .object(object.key), of: object.table, in: transaction)
      return outcome.hasChanged ? .changed(object) : .none
    } catch {
      throw FileTreeError(error, missingLinks)
    }
  }

  // MARK: objects by name

  /// The object that a name leads to: its own name, or the one it was created by.
  func object(named name: [UInt8], in directory: TableDirectory) throws(FileTreeError) -> ObjKey? {
    do throws(EngineError) {
      if let key = try directory.objectKey(named: name) { return key }
      guard let key = overlay.alias(name, in: directory.inode) else { return nil }
      if try directory.table.contains(key) { return key }
      overlay.removeAlias(name, in: directory.inode)
      return nil
    } catch {
      throw .damaged(directory.shownName, error)
    }
  }

  /// The file name of an object.
  func name(of key: ObjKey, in directory: TableDirectory) throws(FileTreeError) -> [UInt8] {
    let cursor = ObjectCursor(directory.table), name = OutputBuffer()
    do throws(EngineError) {
      let exists = try cursor.seek(key)
      if exists { try directory.name(of: cursor, into: name) }
      if exists { return name.bytes }
    } catch {
      throw .damaged(directory.shownName, error)
    }
    throw .stale
  }
}

/// An object on its way into a class.
struct NewObject: Sendable {
  let bytes: [UInt8]
  let name: [UInt8]
  let table: Table
  /// The key of an object of that name that was deleted a moment ago.
  let formerKey: ObjKey?
  let mode: WriteMode
  let missingLinks: MissingLinks

  /// Makes the object with the key that its name says. Returns also the text as it was read.
  func create(in transaction: borrowing WriteTransaction) throws(FileTreeError) -> (key: ObjKey, text: JSONText) {
    let fileName = NameEscaping.parse(file: name, primaryKey: table.primaryKey?.type)
    let text: JSONText, primaryKey: Value?
    do throws(JSONInputError) { text = try JSONText(bytes) } catch { throw FileTreeError(error) }
    switch fileName {
    case .key(let key):
      primaryKey = Value(key)
      try check(Value(key), in: text)
    case .hashed: primaryKey = try key(from: text)
    case .objectKey, nil: primaryKey = nil
    }
    let key: ObjKey
    do throws(EngineError) {
      if let primaryKey {
        key = try transaction.create(table.key, primaryKey: primaryKey, key: free(formerKey, transaction))
      } else if case .objectKey(let wanted) = fileName {
        key = try transaction.create(table.key, key: wanted)
      } else {
        key = try transaction.create(table.key, key: free(formerKey, transaction))
      }
    } catch {
      throw FileTreeError(error)
    }
    do throws(JSONInputError) {
      _ = try ObjectPatcher(mode: mode, missingLinks: missingLinks)
        .apply(text, to: .object(key), of: table.key, in: transaction)
    } catch {
      throw FileTreeError(error, missingLinks)
    }
    return (key, text)
  }

  /// The required properties that a text does not name: a new object has their defaults.
  func defaulted(in text: JSONText) -> [ColKey] {
    table.columns.filter { $0.isRequired && $0.key != table.primaryKey?.key && !text.hasMember($0.name) }.map(\.key)
  }

  /// Refuses a text that has another primary key than the name.
  private func check(_ key: Value, in text: JSONText) throws(FileTreeError) {
    guard let column = table.primaryKey else { return }
    do throws(JSONInputError) { try text.checkPrimaryKey(of: column, is: key) } catch { throw FileTreeError(error) }
  }

  /// The former key, if it is free.
  private func free(
    _ key: ObjKey?,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> ObjKey? {
    guard let key else { return nil }
    let table = try transaction.table(table.key)
    // A key that cannot be looked up is as good as taken.
    do throws(EngineError) { return try table.contains(key) ? nil : key } catch { return nil }
  }

  /// The primary key that the text holds, for a name that holds only its beginning.
  private func key(from text: JSONText) throws(FileTreeError) -> Value {
    guard let column = table.primaryKey else { throw .refused(.invalid, "the class has no primary key") }
    let value: Value?
    do throws(JSONInputError) { value = try text.primaryKey(of: column) } catch {
      throw FileTreeError(error)
    }
    guard let value, case .string(let text) = value,
      Array(NameEscaping.file(of: PrimaryKey.string(text)).utf8) == name
    else {
      throw .refused(.invalid, "the name is a shortened one, so the text must hold the primary key that leads to it")
    }
    return value
  }
}

extension TreeContext {
  /// Reports properties that a new object has defaults of, because its text did not name them: each property once.
  private func reportDefaults(_ columns: [ColKey], of key: ObjKey, in ordinal: TableOrdinal, _ path: String) {
    for column in columns {
      let place = FieldPlace(ordinal, key, column)
      guard defaultedProperties.isNew(ordinal, column) else { continue }
      do throws(FileTreeError) {
        let (name, text) = try read { view throws(FileTreeError) in
          let columns = try view.existing(ordinal).table.columns
          guard let property = columns.first(where: { $0.key == column }) else { throw .stale }
          return (property.name, try place.text(.value, view))
        }
        let value = String(decoding: text.dropLast(), as: UTF8.self)
        let reason =
          "the text does not name \(name), which is required, so it is \(value); "
          + "this is reported once for each property"
        refusals.remark(path, "create", reason)
        options.log?("\(path): \(reason)")
      } catch {
        // Another program has removed the object or the property since.
      }
    }
  }
}

/// The properties of which it was reported that new objects have their defaults.
final class DefaultedProperties: Sendable {
  private struct Property: Hashable {
    let ordinal: TableOrdinal
    let column: ColKey
  }

  private let reported = Mutex<Set<Property>>([])

  /// Returns true the first time it is called for a property.
  func isNew(_ ordinal: TableOrdinal, _ column: ColKey) -> Bool {
    reported.withLock { $0.insert(Property(ordinal: ordinal, column: column)).inserted }
  }
}

extension FileTreeError {
  /// Why the text of a file is refused. Where a link leads to nothing, the reason also says how files are saved that
  /// link to each other.
  init(_ error: JSONInputError, _ links: MissingLinks) {
    guard case .linkTargetMissing = error.kind, links == .refuse else {
      self.init(error)
      return
    }
    self = .refused(
      .invalid,
      error.description
        + "; for files that link to each other use 'realmfs tx MOUNTPOINT -- tar xf FILE' or 'realmfs import FILE DIR'"
    )
  }

  /// What a text that cannot be taken is to the tree.
  init(_ error: JSONInputError) {
    let refusal: Refusal
    switch error.kind {
    case .outOfRange: refusal = .outOfRange
    case .overLimit: refusal = .tooLarge
    case .missingObject:
      self = .stale
      return
    case .engine(let error):
      self.init(error)
      return
    default: refusal = .invalid
    }
    self = .refused(refusal, error.description)
  }
}
