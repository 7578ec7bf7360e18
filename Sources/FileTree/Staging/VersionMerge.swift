// A three-way merge: applies the changes from a base version to a staged version on top of a later version of the same
// realm. This is how a transaction over several files is committed when other programs may have committed since it
// began.
//
// Objects changed on both sides are conflicts; if there are any, nothing is merged, so no update is lost. All other
// changes of the staged version are applied as texts, as in an import: first the objects, then the links that depend on
// objects created later.

import RealmJSON
import RealmNames
import RealmPages

/// The changes from a base version to a staged one.
final class VersionMerge {
  /// A reason why the changes cannot be applied.
  struct Problem {
    /// The path in the tree that the problem concerns.
    let path: String
    /// True if another program's change is the reason.
    let isConflict: Bool
    let reason: String
  }

  /// The changes in one class.
  private struct ClassChanges {
    let old: Table?
    let new: Table?
    /// True if its properties also differ.
    let isSchemaNew: Bool
    var deleted: [ObjKey] = []
    var inserted: [ObjKey] = []
    var updated: [(key: ObjKey, properties: [Int])] = []
    var touched: Set<ObjKey> = []
  }

  let base: Snapshot
  let staged: Snapshot
  /// New objects whose keys the user chose; they cannot be renumbered.
  private let chosen: Set<ObjectReference>
  /// New keys for objects without a primary key whose keys other programs have used.
  private var renumbered: [ObjectReference: ObjKey] = [:]
  private let schemas: (base: SchemaDescription, staged: SchemaDescription)
  private var classes: [ClassChanges] = []
  /// The problems found, at most `maxProblems`.
  private(set) var problems: [Problem] = []

  /// The maximum number of recorded problems.
  private static let maxProblems = 1000

  /// Finds the changes from `base` to `staged`. Cost: O(log n) per change.
  init(
    from base: Snapshot,
    to staged: Snapshot,
    chosen: Set<ObjectReference> = []
  ) throws(FileTreeError) {
    (self.base, self.staged, self.chosen) = (base, staged, chosen)
    do {
      schemas = (try SchemaDescription(base), try SchemaDescription(staged))
      let difference = try VersionDifference(from: base, to: staged)
      for table in difference.tables where (table.new ?? table.old)?.className != nil {
        var found = ClassChanges(old: table.old, new: table.new, isSchemaNew: !table.schema.isEmpty)
        let changes = difference.changes(in: table)
        while let change = try changes.next() {
          found.touched.insert(change.key)
          switch change {
          case .inserted(let key): found.inserted.append(key)
          case .deleted(let key): found.deleted.append(key)
          case .updated(let key, let properties): found.updated.append((key, properties))
          }
        }
        if found.isSchemaNew || !found.touched.isEmpty { classes.append(found) }
      }
    } catch { throw .damaged("the transaction", error) }
  }

  /// True if there are no changes.
  var isEmpty: Bool { classes.isEmpty && schemas.base == schemas.staged }

  /// The number of objects created, changed and deleted.
  var objectCount: Int { classes.reduce(0) { $0 + $1.touched.count } }

  // MARK: applying the changes

  /// Applies the changes in `transaction`, which is based on a later version of the same realm.
  ///
  /// - Throws: `refused` with a summary if `problems` is not empty. After any error, roll back the transaction.
  func apply(to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Effect {
    problems = []
    try findConflicts(with: transaction.former)
    if problems.isEmpty {
      let effect = try change(transaction)
      if problems.isEmpty { return effect }
    }
    throw summary
  }

  /// All problems in one error.
  private var summary: FileTreeError {
    let hasConflict = problems.contains(where: \.isConflict)
    let first = problems.first.map { "\($0.path): \($0.reason)" } ?? ""
    let text = problems.count == 1 ? first : "\(problems.count) problems, listed in .log; the first: \(first)"
    return .refused(hasConflict ? .conflict : .invalid, text)
  }

  private func note(_ path: String, isConflict: Bool, _ reason: String) {
    if problems.count < Self.maxProblems {
      problems.append(Problem(path: path, isConflict: isConflict, reason: reason))
    }
  }

  // MARK: conflicts

  /// Compares the changes of other programs since the base with the changes to apply. Cost: O(log n) for each of their
  /// changes in the affected classes.
  private func findConflicts(with newest: Snapshot) throws(FileTreeError) {
    if newest.version == base.version { return }
    do {
      let isSchemaSame = try SchemaDescription(newest) == schemas.base
      if schemas.base != schemas.staged, !isSchemaSame {
        note(".realm/schema.json", isConflict: true, "another program changed the schema as well")
      }
      let difference = try VersionDifference(from: base, to: newest)
      for table in difference.tables {
        guard let mine = classes.first(where: { $0.old?.key == table.key }) else { continue }
        let changes = difference.changes(in: table)
        while let change = try changes.next() {
          if mine.isSchemaNew {
            let name = try shownName(change, table)
            note(name, isConflict: true, "changed by another program since, in a class whose properties change")
          } else if mine.touched.contains(change.key) {
            try findConflict(change, table, mine)
          }
        }
      }
    } catch { throw .damaged("the realm", error) }
  }

  private func findConflict(
    _ change: ObjectDifference,
    _ table: TableDifference,
    _ mine: ClassChanges
  ) throws(EngineError) {
    switch change {
    case .inserted:
      // Objects with a primary key are identified by it, not by object key. Other objects are given a new key, unless
      // the user chose theirs.
      if table.new?.primaryKey == nil, chosen.contains(ObjectReference(table: table.key, key: change.key)) {
        note(try shownName(change, table), isConflict: true, "another program created an object with this key since")
      }
    case .updated:
      note(try shownName(change, table), isConflict: true, "changed by another program since the transaction began")
    case .deleted:
      note(try shownName(change, table), isConflict: true, "deleted by another program since the transaction began")
    }
  }

  private func shownName(_ change: ObjectDifference, _ table: TableDifference) throws(EngineError) -> String {
    if case .deleted(let key) = change { return try Self.path(of: key, in: table.old) }
    return try Self.path(of: change.key, in: table.new)
  }

  /// The path of an object in the tree.
  private static func path(of key: ObjKey, in table: Table?) throws(EngineError) -> String {
    guard let table else { return "" }
    let cursor = ObjectCursor(table), name = OutputBuffer(), directory = OutputBuffer()
    NameEscaping.append(directoryOf: table.className ?? table.name, to: directory)
    if try cursor.seek(key) {
      try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: name)
    } else {
      NameEscaping.append(fileOf: key, to: name)
    }
    return String(decoding: directory.bytes + [UInt8(ascii: "/")] + name.bytes, as: UTF8.self)
  }

  // MARK: the changes

  private func change(_ transaction: borrowing WriteTransaction) throws(FileTreeError) -> Effect {
    var touched: [ObjectReference] = []
    for changes in classes { try delete(changes, transaction, &touched) }
    let hasNewSchema = schemas.base != schemas.staged
    if hasNewSchema, problems.isEmpty { try changeSchema(transaction) }
    if !problems.isEmpty { return .none }
    for changes in classes { try renumber(changes, transaction) }
    let applier = RecordApplier<StagedObject>(), texts = StagedTexts(staged)
    applier.renumbered = renumbered
    for changes in classes { try make(changes, applier, texts, transaction, &touched) }
    for record in applier.waiting {
      _ = try apply(record.place, texts) { (text) throws(InputError) in
        try applier.finish(record, text, in: transaction)
      }
    }
    let replaced = classes.flatMap { changes -> [ObjectReference] in
      guard let table = changes.old?.key else { return [] }
      return (changes.deleted + changes.updated.map(\.key)).map { ObjectReference(table: table, key: $0) }
    }
    return Effect(
      touched: hasNewSchema || touched.count > Effect.maxTouched ? nil : touched,
      replaced: replaced,
      replacesSchema: hasNewSchema
    )
  }

  private func delete(
    _ changes: ClassChanges,
    _ transaction: borrowing WriteTransaction,
    _ touched: inout [ObjectReference]
  ) throws(FileTreeError) {
    guard let table = changes.old?.key else { return }
    for key in changes.deleted {
      do {
        let origins = try transaction.origins(of: table, key)
        // The staged version contains none of the links to it in the base version, so their origins are in `touched`.
        for origin in origins where !isTouched(origin) {
          let name = try transaction.table(origin.table)
          note(
            try Self.path(of: key, in: changes.old),
            isConflict: true,
            "deleted here, but \(try Self.path(of: origin.key, in: name)) links to it now"
          )
        }
        try transaction.delete(table, key)
        touched += origins + [ObjectReference(table: table, key: key)]
      } catch { throw FileTreeError(error) }
    }
  }

  private func isTouched(_ object: ObjectReference) -> Bool {
    classes.contains { $0.old?.key == object.table && $0.touched.contains(object.key) }
  }

  private func changeSchema(_ transaction: borrowing WriteTransaction) throws(FileTreeError) {
    do {
      try SchemaChange(to: schemas.staged, in: transaction).apply(transaction)
    } catch {
      if case .engine(let error) = error.reason { throw FileTreeError(error) }
      note(".realm/schema.json", isConflict: false, error.description)
    }
  }

  /// An object of the staged version.
  private struct StagedObject {
    let table: Table
    let key: ObjKey
    /// The changed properties of an existing object; nil for a new one.
    var properties: [Int]?
  }

  /// Finds free keys for new objects of a class without a primary key whose keys other programs have used.
  private func renumber(
    _ changes: ClassChanges,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) {
    guard let staged = changes.new, staged.primaryKey == nil, let last = changes.inserted.last else { return }
    do {
      guard let key = try transaction.tableKey(named: staged.name) else { return }
      let table = try transaction.table(key)
      var free = ObjKey(last.value + 1)
      for key in changes.inserted where try table.contains(key) {
        while try table.contains(free) { free = ObjKey(free.value + 1) }
        renumbered[ObjectReference(table: table.key, key: key)] = free
        free = ObjKey(free.value + 1)
      }
    } catch { throw FileTreeError(error) }
  }

  /// Creates the new objects of a class. Updates of existing objects wait until all objects that they may link to
  /// exist.
  private func make(
    _ changes: ClassChanges,
    _ applier: RecordApplier<StagedObject>,
    _ texts: StagedTexts,
    _ transaction: borrowing WriteTransaction,
    _ touched: inout [ObjectReference]
  ) throws(FileTreeError) {
    guard let staged = changes.new, let name = changes.new?.name else { return }
    let table: TableKey
    do {
      guard let key = try transaction.tableKey(named: name) else {
        return note(".realm/schema.json", isConflict: true, "class \(staged.className ?? name) no longer exists")
      }
      table = key
    } catch { throw FileTreeError(error) }
    for key in changes.inserted {
      let free = renumbered[ObjectReference(table: table, key: key)] ?? key
      let target = staged.primaryKey == nil ? PatchTarget.keyed(free) : .upsert
      let object = StagedObject(table: staged, key: key)
      let outcome = try apply(object, texts) { (text) throws(InputError) in
        try applier.apply(text, at: object, to: target, of: table, in: transaction)
      }
      guard let outcome else { continue }
      if !outcome.wasCreated {
        try format(staged) { () throws(EngineError) in
          note(try Self.path(of: key, in: staged), isConflict: true, "created by another program as well")
        }
      }
      touched.append(ObjectReference(table: table, key: outcome.object))
    }
    for (key, properties) in changes.updated {
      let object = ObjectReference(table: table, key: key)
      touched.append(object)
      applier.wait(for: StagedObject(table: staged, key: key, properties: properties), object)
    }
  }

  /// Renders staged objects. Objects of one class in a row share a cursor.
  private final class StagedTexts {
    private let renderer: ObjectRenderer
    private let out = OutputBuffer()
    private var cursor: ObjectCursor?

    init(_ snapshot: Snapshot) { renderer = ObjectRenderer(snapshot) }

    /// Returns the text of an object, or of its changed properties.
    func text(of object: StagedObject) throws(FileTreeError) -> [UInt8] {
      let cursor = cursor.flatMap { $0.table.key == object.table.key ? $0 : nil } ?? ObjectCursor(object.table)
      self.cursor = cursor
      out.reset()
      do { _ = try cursor.seek(object.key) } catch { throw .damaged("the transaction", error) }
      do {
        guard let properties = object.properties else {
          try renderer.render(cursor, layout: .compact, into: out)
          return out.bytes
        }
        for (place, index) in properties.enumerated() {
          out.append(place == 0 ? "{" : ",")
          out.append(string: Array(object.table.columns[index].name.utf8))
          out.append(":")
          try renderer.render(property: index, of: cursor, into: out)
        }
        out.append("}")
        return out.bytes
      } catch { throw .damaged(place: "the transaction", problem: error.description) }
    }
  }

  /// Applies the text of a staged object. Returns nil and records a problem if the text is refused.
  private func apply(
    _ object: StagedObject,
    _ texts: StagedTexts,
    _ body: (JSONText) throws(InputError) -> PatchOutcome
  ) throws(FileTreeError) -> PatchOutcome? {
    let text = try texts.text(of: object)
    do { return try body(JSONText(text)) } catch {
      if case .engine(let error) = error.kind, error.reason != .duplicateKey { throw FileTreeError(error) }
      let refusal = error
      try format(object.table) { () throws(EngineError) in
        note(try Self.path(of: object.key, in: object.table), isConflict: false, refusal.description)
      }
      return nil
    }
  }

  private func format(_ table: Table, _ body: () throws(EngineError) -> Void) throws(FileTreeError) {
    do { try body() } catch { throw .damaged(table.name, error) }
  }
}
