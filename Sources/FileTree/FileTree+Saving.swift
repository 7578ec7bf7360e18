// From the bytes of a file to a commit: what a name stands for, and how its text gets into the realm.

import RealmJSON
import RealmNames
import RealmPages

/// What saving a file changes.
enum SaveTarget: Hashable, Sendable {
  /// An object that exists.
  case object(TableOrdinal, ObjKey)
  /// The object that a file name of a class stands for, which may have to be made.
  case name(TableOrdinal, [UInt8])
  /// The whole schema.
  case schema
  /// The schema of one class, by file name.
  case classSchema([UInt8])
  /// The wish to compact the file.
  case compact
}

/// Where the bytes of a saved file are now.
enum SavedAs: Sendable {
  case object(TableOrdinal, ObjKey)
  case schema
  case nothing
}

extension FileTree {
  // MARK: what names stand for

  /// What a file of this name in a directory would change when it is saved; nil for a scratch file.
  func target(of name: [UInt8], in directory: InodeNumber) throws(FileTreeError) -> SaveTarget? {
    switch try node(directory) {
    case .table(let ordinal):
      let isObjectName = try read { view throws(FileTreeError) in
        Self.isObjectName(name, of: try view.existing(ordinal).table)
      }
      return isObjectName ? .name(ordinal, name) : nil
    case .fixed(.control):
      if TreeNode.Fixed.compact.isNamed(name) { return .compact }
      return TreeNode.Fixed.schema.isNamed(name) ? .schema : nil
    case .fixed(.schemaDirectory): return Self.isPlainJSONName(name) ? .classSchema(name) : nil
    default: return nil
    }
  }

  private static func isObjectName(_ name: [UInt8], of table: Table) -> Bool {
    if NameEscaping.parse(file: name.span.bytes, primaryKey: table.primaryKey?.type) != nil { return true }
    // Any name will do for an object that has none of its own, but not those of editors' files.
    return table.primaryKey == nil && isPlainJSONName(name)
  }

  private static func isPlainJSONName(_ name: [UInt8]) -> Bool {
    let suffix = Array(NameEscaping.suffix.utf8)
    guard let first = name.first, name.count > suffix.count, name.suffix(suffix.count) == suffix[...] else {
      return false
    }
    return first != UInt8(ascii: ".") && first != UInt8(ascii: "#")
  }

  /// The directory, if files can be made in it.
  ///
  /// - Throws: `readOnly`; `forbidden` for directories whose entries follow from something else.
  func writableDirectory(_ inode: InodeNumber) throws(FileTreeError) {
    guard saver != nil else { throw .readOnly }
    switch try node(inode) {
    case .fixed(.root), .fixed(.control), .fixed(.schemaDirectory): return
    case .fixed(.rejected), .rejectedDirectory:
      throw .refused(.forbidden, "this directory holds refused texts; it takes no files")
    case .table(let ordinal):
      try read { view throws(FileTreeError) in try Self.checkIsWritable(view.existing(ordinal)) }
    case .fixed(let fixed):
      throw fixed.isDirectory ? .refused(.forbidden, "\(fixed.name) cannot be written to") : .notADirectory
    case .schemaFile, .object, .memory: throw .notADirectory
    }
  }

  static func checkIsWritable(_ directory: TableDirectory) throws(FileTreeError) {
    if directory.place != .root {
      throw .refused(.forbidden, "\(directory.shownName): tables of the SDK's own are not changed")
    }
    if directory.table.kind != .topLevel {
      throw .refused(.forbidden, "\(directory.shownName): objects of an asymmetric class cannot be changed")
    }
  }

  // MARK: saving

  /// Saves `bytes` and says what they became. What is refused is kept for `caller`, under `name` where its object is
  /// gone.
  func save(
    _ bytes: [UInt8],
    as target: SaveTarget,
    by caller: Caller,
    known name: [UInt8]? = nil,
    mustBeNew: Bool = false
  ) throws(FileTreeError) -> SavedAs {
    guard let saver else { throw .readOnly }
    do throws(FileTreeError) {
      let result: SavedAs
      switch target {
      case .object(let ordinal, let key): result = try save(bytes, saver, ordinal, key)
      case .name(let ordinal, let name): result = try save(bytes, saver, ordinal, name, mustBeNew: mustBeNew)
      case .schema: result = try saveSchema(bytes, saver, ofClass: nil)
      case .classSchema(let name): result = try saveSchema(bytes, saver, ofClass: name)
      case .compact: result = try compact(bytes, saver)
      }
      accepted(target)
      return result
    } catch {
      refused(error, target, bytes, by: caller, known: name)
      throw error
    }
  }

  private func save(
    _ bytes: [UInt8],
    _ saver: Saver,
    _ ordinal: TableOrdinal,
    _ key: ObjKey
  ) throws(FileTreeError) -> SavedAs {
    let table = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      return (directory.table.key, try? self.text(of: key, directory, view))  // a damaged object can be written anew
    }
    if table.1 == bytes { return .object(ordinal, key) }
    let mode = options.write
    try saver.save { transaction throws(FileTreeError) in
      try Self.patch(bytes, ObjectReference(table: table.0, key: key), mode, transaction)
    }
    return .object(ordinal, key)
  }

  /// Saves under a name: the object that has it, or a new one. Which of the two is decided when no other program can
  /// commit any more.
  private func save(
    _ bytes: [UInt8],
    _ saver: Saver,
    _ ordinal: TableOrdinal,
    _ name: [UInt8],
    mustBeNew: Bool
  ) throws(FileTreeError) -> SavedAs {
    guard let directory = InodeNumber(spelling: .table(ordinal)) else { throw .stale }
    let place = Overlay.Place(directory: directory, name: name)
    let mode = options.write
    if !mustBeNew, let key = try object(named: name, in: ordinal, withText: bytes) { return .object(ordinal, key) }
    var object = ObjKey.none, isNew = false
    try saver.save { transaction throws(FileTreeError) in
      let (table, existing) = try self.read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        try Self.checkIsWritable(directory)
        return (directory.table, try self.object(named: name, in: directory))
      }
      if let existing {
        if mustBeNew { throw .refused(.exists, "exists already") }
        object = existing
        return try Self.patch(bytes, ObjectReference(table: table.key, key: existing), mode, transaction)
      }
      let deletion = self.recentDeletion(place)
      let draft = NewObject(bytes: bytes, name: name, table: table, formerKey: deletion?.key, mode: mode)
      let made = ObjectReference(table: table.key, key: try draft.create(in: transaction))
      (object, isNew) = (made.key, true)
      let origins = try deletion.map { deletion throws(FileTreeError) in
        try self.restoreLinks(deletion, to: made, transaction)
      }
      return Effect(touched: [made] + (origins ?? []))
    }
    deletions.forget(place)
    if isNew { try nameAlias(place, of: object) }
    return .object(ordinal, object)
  }

  /// The object that a name leads to, if its text is `bytes` already.
  private func object(
    named name: [UInt8],
    in ordinal: TableOrdinal,
    withText bytes: [UInt8]
  ) throws(FileTreeError) -> ObjKey? {
    try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      try Self.checkIsWritable(directory)
      guard let key = try self.object(named: name, in: directory) else { return nil }
      // A damaged object can be written anew.
      return (try? self.text(of: key, directory, view)) == bytes ? key : nil
    }
  }

  /// Lets a name that is not the one by which an object is listed lead to it.
  func nameAlias(_ place: Overlay.Place, of key: ObjKey) throws(FileTreeError) {
    guard case .table(let ordinal) = place.directory.spelledNode else { return }
    let type = try read { view throws(FileTreeError) in try view.existing(ordinal).table.primaryKey?.type }
    if NameEscaping.parse(file: place.name.span.bytes, primaryKey: type) == nil {
      overlay.addAlias(place.name, of: key, in: place.directory)
    }
  }

  /// Writes what differs; what is touched is the object alone, because links to it stay.
  private static func patch(
    _ bytes: [UInt8],
    _ object: ObjectReference,
    _ mode: WriteMode,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    do throws(JSONInputError) {
      let outcome = try ObjectPatcher(mode: mode)
        .apply(JSONText(bytes), to: .object(object.key), of: object.table, in: transaction)
      return outcome.hasChanged ? Effect(touched: [object]) : .none
    } catch {
      throw FileTreeError(error)
    }
  }

  // MARK: checking

  /// Throws what saving would throw because of the text, without saving: on the newest version, without a turn as
  /// writer.
  func rehearse(_ bytes: [UInt8], as target: SaveTarget) throws(FileTreeError) {
    guard let saver else { throw .readOnly }
    let mode = options.write
    try read { view throws(FileTreeError) in
      try saver.rehearse(on: view.snapshot) { transaction throws(FileTreeError) in
        switch target {
        case .object(let ordinal, let key):
          let table = try view.existing(ordinal).table.key
          return try Self.patch(bytes, ObjectReference(table: table, key: key), mode, transaction)
        case .name(let ordinal, let name):
          let directory = try view.existing(ordinal), table = directory.table
          try Self.checkIsWritable(directory)
          if let key = try self.object(named: name, in: directory) {
            return try Self.patch(bytes, ObjectReference(table: table.key, key: key), mode, transaction)
          }
          let draft = NewObject(bytes: bytes, name: name, table: table, formerKey: nil, mode: mode)
          _ = try draft.create(in: transaction)
          return .none
        case .schema: return try SchemaSaving.apply(bytes, ofClass: nil, transaction, isRehearsal: true)
        case .classSchema(let name): return try SchemaSaving.apply(bytes, ofClass: name, transaction, isRehearsal: true)
        case .compact: return .none
        }
      }
    }
  }

  // MARK: schemas

  private func saveSchema(
    _ bytes: [UInt8],
    _ saver: Saver,
    ofClass name: [UInt8]?
  ) throws(FileTreeError) -> SavedAs {
    try saver.save(mayWait: false) { transaction throws(FileTreeError) in
      try SchemaSaving.apply(bytes, ofClass: name, transaction)
    }
    return .schema
  }

  // MARK: compaction

  /// Compacts the file if the text is 1.
  private func compact(_ bytes: [UInt8], _ saver: Saver) throws(FileTreeError) -> SavedAs {
    switch String(decoding: bytes, as: UTF8.self).filter({ !$0.isWhitespace }) {
    case "1": try saver.compact()
    case "0": break
    default: throw .refused(.invalid, "write 1 to compact the realm")
    }
    return .nothing
  }

  // MARK: outcomes

  private func accepted(_ target: SaveTarget) {
    takeBackKept()
    if !refusals.wereAny { return }
    guard let place = shownPlace(of: target) else { return }
    refusals.clear(place.path)
    if let rejected = place.rejected { _ = overlay.unlink(rejected) }
  }

  /// Keeps what was refused where the user finds it.
  func refused(
    _ error: FileTreeError,
    _ target: SaveTarget,
    _ bytes: [UInt8],
    by caller: Caller,
    known name: [UInt8]?
  ) {
    guard let place = shownPlace(of: target, known: name) else { return }
    refusals.note(place.path, place.rejected == nil ? "compact" : "save", error.description)
    options.log?("\(place.path): \(error)")
    guard let rejected = place.rejected else { return }
    let metadata = MemoryFile.Metadata(
      permissions: 0o600,
      owner: caller.user,
      group: caller.group,
      modified: Clock.time()
    )
    // Without room for the text there is still the line that says so.
    _ = overlay.makeFile(at: rejected, bytes, metadata, isKnown: false)
  }

  private struct ShownPlace {
    let path: String
    /// Nil where there is no text worth keeping.
    let rejected: Overlay.Place?
  }

  /// The path that users know a target by, and where its refused text is. An object that is gone goes by its `known`
  /// name.
  private func shownPlace(of target: SaveTarget, known: [UInt8]? = nil) -> ShownPlace? {
    let rejected = TreeNode.Fixed.rejected.inode
    switch target {
    case .schema:
      let name = TreeNode.Fixed.schema.name.description
      return ShownPlace(path: ".realm/\(name)", rejected: Overlay.Place(directory: rejected, name: Array(name.utf8)))
    case .compact: return ShownPlace(path: ".realm/\(TreeNode.Fixed.compact.name)", rejected: nil)
    case .classSchema(let name):
      let path = ".realm/schema/" + String(decoding: name, as: UTF8.self)
      return ShownPlace(path: path, rejected: Overlay.Place(directory: rejected, name: name))
    case .name(let ordinal, let name): return shownPlace(ordinal, name)
    case .object(let ordinal, let key):
      // What cannot be named now was deleted or is damaged.
      let name = try? read { view throws(FileTreeError) in try self.name(of: key, in: view.existing(ordinal)) }
      return (name ?? known).flatMap { shownPlace(ordinal, $0) }
    }
  }

  private func shownPlace(_ ordinal: TableOrdinal, _ name: [UInt8]) -> ShownPlace? {
    guard let rejected = InodeNumber(spelling: .rejectedDirectory(ordinal)),
      let directory = try? read({ view throws(FileTreeError) in try view.existing(ordinal).shownName })  // it is gone
    else { return nil }
    return ShownPlace(
      path: directory + "/" + String(decoding: name, as: UTF8.self),
      rejected: Overlay.Place(directory: rejected, name: name)
    )
  }

  /// The path of an object as users know it; nil if it cannot be named.
  func shownPath(_ ordinal: TableOrdinal, _ key: ObjKey) -> String? { shownPlace(of: .object(ordinal, key))?.path }

  /// The path of a place in a class as users know it.
  func shownPath(_ place: Overlay.Place) -> String {
    let name = String(decoding: place.name, as: UTF8.self)
    guard case .table(let ordinal) = place.directory.spelledNode else { return name }
    return shownPlace(ordinal, place.name)?.path ?? name
  }

  // MARK: objects by name

  /// The object that a name leads to: its own name, or the one it was created by.
  func object(named name: [UInt8], in directory: TableDirectory) throws(FileTreeError) -> ObjKey? {
    do throws(FormatError) {
      if let key = try directory.objectKey(named: name) { return key }
      guard let key = overlay.alias(name, in: directory.inode) else { return nil }
      if try directory.table.contains(key) { return key }
      overlay.removeAlias(name, in: directory.inode)
      return nil
    } catch {
      throw damaged(directory, error)
    }
  }

  /// The file name of an object.
  func name(of key: ObjKey, in directory: TableDirectory) throws(FileTreeError) -> [UInt8] {
    let cursor = ObjectCursor(directory.table), name = OutputBuffer()
    do throws(FormatError) {
      let exists = try cursor.seek(key)
      if exists { try directory.name(of: cursor, into: name) }
      if exists { return name.bytes }
    } catch {
      throw damaged(directory, error)
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
  var missingLinks = MissingLinks.refuse

  /// Makes the object with the key that its name says.
  func create(in transaction: borrowing WriteTransaction) throws(FileTreeError) -> ObjKey {
    let fileName = NameEscaping.parse(file: name.span.bytes, primaryKey: table.primaryKey?.type)
    let primaryKey: Value? =
      switch fileName {
      case .key(let key): Value(key)
      case .hashed: try keyFromText()
      case .objectKey, nil: nil
      }
    let key: ObjKey
    do throws(TransactionError) {
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
        .apply(JSONText(bytes), to: .object(key), of: table.key, in: transaction)
    } catch {
      throw FileTreeError(error)
    }
    return key
  }

  /// The former key, if it is free.
  private func free(
    _ key: ObjKey?,
    _ transaction: borrowing WriteTransaction
  ) throws(TransactionError) -> ObjKey? {
    guard let key else { return nil }
    let table = try transaction.table(table.key)
    // A key that cannot be looked up is as good as taken.
    do throws(FormatError) { return try table.contains(key) ? nil : key } catch { return nil }
  }

  /// The primary key that the text holds, for a name that holds only its beginning.
  private func keyFromText() throws(FileTreeError) -> Value {
    guard let column = table.primaryKey else { throw .refused(.invalid, "the class has no primary key") }
    let value: Value?
    do throws(JSONInputError) { value = try JSONText(bytes).primaryKey(of: column) } catch {
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

extension FileTreeError {
  /// What a text that cannot be taken is to the tree.
  init(_ error: JSONInputError) {
    let refusal: Refusal
    switch error.kind {
    case .outOfRange: refusal = .outOfRange
    case .overLimit: refusal = .tooLarge
    case .missingObject:
      self = .stale
      return
    case .transaction(let error):
      self.init(error)
      return
    default: refusal = .invalid
    }
    self = .refused(refusal, error.description)
  }
}
