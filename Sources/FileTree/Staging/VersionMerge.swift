// What one version changes against the one that it builds on, made in a third that builds on the same: the commit of a
// transaction over several files, where other programs may have committed meanwhile.
//
// Objects that both sides changed are conflicts, and nothing is merged then: no update is lost. Everything else of the
// staged version is made by its texts, as an import makes it: objects first, then the links that had to wait.

import RealmJSON
import RealmNames
import RealmPages

/// The changes from a base version to a staged one.
final class VersionMerge {
  /// What keeps the changes from being made.
  struct Problem {
    /// What it concerns, as a path of the tree.
    let path: String
    /// Whether it was changed by another program.
    let isConflict: Bool
    let reason: String
  }

  /// What changes in one class.
  private struct ClassChanges {
    let old: Table?
    let new: Table?
    /// Whether its properties differ, too.
    let isSchemaNew: Bool
    var deleted: [ObjKey] = []
    var inserted: [ObjKey] = []
    var updated: [(key: ObjKey, properties: [Int])] = []
    var touched: Set<ObjKey> = []
  }

  let base: Snapshot
  let staged: Snapshot
  /// New objects whose keys the user chose: no other will do.
  private let chosen: Set<ObjectReference>
  /// The keys that new objects without a primary key get where others have taken theirs.
  private var renumbered: [ObjectReference: ObjKey] = [:]
  private let schemas: (base: SchemaDescription, staged: SchemaDescription)
  private var classes: [ClassChanges] = []
  /// Why the changes cannot be made, as far as was found.
  private(set) var problems: [Problem] = []

  /// More problems are not looked for.
  private static let mostProblems = 1000

  /// Finds what `staged`, which builds on `base`, changes. Cost: O(log n) for each change.
  init(
    from base: Snapshot,
    to staged: Snapshot,
    chosen: Set<ObjectReference> = []
  ) throws(FileTreeError) {
    (self.base, self.staged, self.chosen) = (base, staged, chosen)
    do throws(EngineError) {
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

  /// Whether nothing changes.
  var isEmpty: Bool { classes.isEmpty && schemas.base == schemas.staged }

  /// The number of objects that are made, changed and deleted.
  var objectCount: Int { classes.reduce(0) { $0 + $1.touched.count } }

  // MARK: making the changes

  /// Makes the changes in `transaction`, which begins on a later version of the same realm. Where something keeps it
  /// from that, `problems` has all reasons, the error sums them up, and the transaction is to be rolled back.
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
    if problems.count < Self.mostProblems {
      problems.append(Problem(path: path, isConflict: isConflict, reason: reason))
    }
  }

  // MARK: conflicts

  /// Compares what others changed since the base with what is to be changed. Cost: O(log n) for each of their changes
  /// in the classes that are concerned.
  private func findConflicts(with newest: Snapshot) throws(FileTreeError) {
    if newest.version == base.version { return }
    do throws(EngineError) {
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
    _ change: ObjectChange,
    _ table: TableDifference,
    _ mine: ClassChanges
  ) throws(EngineError) {
    switch change {
    case .inserted:
      // Objects with a primary key are the same by that, not by their key. Others get another key, unless theirs was
      // chosen.
      if table.new?.primaryKey == nil, chosen.contains(ObjectReference(table: table.key, key: change.key)) {
        note(try shownName(change, table), isConflict: true, "another program created an object with this key since")
      }
    case .updated:
      note(try shownName(change, table), isConflict: true, "changed by another program since the transaction began")
    case .deleted:
      note(try shownName(change, table), isConflict: true, "deleted by another program since the transaction began")
    }
  }

  private func shownName(_ change: ObjectChange, _ table: TableDifference) throws(EngineError) -> String {
    if case .deleted(let key) = change { return try Self.path(of: key, in: table.old) }
    return try Self.path(of: change.key, in: table.new)
  }

  /// An object as a path of the tree.
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
    var waiting: [Waiting] = []
    for changes in classes { try renumber(changes, transaction) }
    for changes in classes { try make(changes, transaction, &touched, &waiting) }
    for item in waiting { try finish(item, transaction) }
    let replaced = classes.flatMap { changes -> [ObjectReference] in
      guard let table = changes.old?.key else { return [] }
      return (changes.deleted + changes.updated.map(\.key)).map { ObjectReference(table: table, key: $0) }
    }
    return Effect(
      touched: hasNewSchema || touched.count > Effect.mostTouched ? nil : touched,
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
      do throws(EngineError) {
        let origins = try transaction.origins(of: table, key)
        // All links that the base has to it are gone in the staged version, so those objects are touched.
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
    do throws(SchemaChangeError) {
      try SchemaChange(to: schemas.staged, in: transaction).apply(transaction)
    } catch {
      if case .engine(let error) = error.reason { throw FileTreeError(error) }
      note(".realm/schema.json", isConflict: false, error.description)
    }
  }

  /// An object whose links lead to objects that come later, or that existed before.
  private struct Waiting {
    let staged: Table
    let key: ObjKey
    /// What changes of one that exists; nil for a new one.
    let properties: [Int]?
    /// Where it is made.
    let object: ObjectReference
  }

  /// Finds free keys for new objects of a class without primary key, where others have made objects with theirs.
  private func renumber(
    _ changes: ClassChanges,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) {
    guard let staged = changes.new, staged.primaryKey == nil, let last = changes.inserted.last else { return }
    do throws(EngineError) {
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

  /// Makes the new objects of a class; those that exist are left for later, when all objects are there that their links
  /// may lead to.
  private func make(
    _ changes: ClassChanges,
    _ transaction: borrowing WriteTransaction,
    _ touched: inout [ObjectReference],
    _ waiting: inout [Waiting]
  ) throws(FileTreeError) {
    guard let staged = changes.new, let name = changes.new?.name else { return }
    let table: TableKey
    do throws(EngineError) {
      guard let key = try transaction.tableKey(named: name) else {
        return note(".realm/schema.json", isConflict: true, "class \(staged.className ?? name) no longer exists")
      }
      table = key
    } catch { throw FileTreeError(error) }
    let patcher = ObjectPatcher(mode: .patch, missingLinks: .leaveOut)
    patcher.renumbered = renumbered
    let cursor = ObjectCursor(staged), renderer = ObjectRenderer(self.staged), text = OutputBuffer()
    for key in changes.inserted {
      let free = renumbered[ObjectReference(table: table, key: key)] ?? key
      let target = staged.primaryKey == nil ? PatchTarget.keyed(free) : .upsert
      do throws(EngineError) { _ = try cursor.seek(key) } catch { throw .damaged("the transaction", error) }
      guard let outcome = try apply(cursor, nil, renderer, text, to: target, of: table, patcher, transaction) else {
        continue
      }
      if !outcome.wasCreated {
        try format(staged) { () throws(EngineError) in
          note(try Self.path(of: key, in: staged), isConflict: true, "created by another program as well")
        }
      }
      let object = ObjectReference(table: table, key: outcome.object)
      touched.append(object)
      if outcome.missingLinks > 0 { waiting.append(Waiting(staged: staged, key: key, properties: nil, object: object)) }
    }
    for (key, properties) in changes.updated {
      let object = ObjectReference(table: table, key: key)
      touched.append(object)
      waiting.append(Waiting(staged: staged, key: key, properties: properties, object: object))
    }
  }

  private lazy var finisher = Finisher(staged, renumbered)

  /// What goes over the objects that wait, one class after the other.
  private final class Finisher {
    let patcher = ObjectPatcher(mode: .patch)
    let renderer: ObjectRenderer
    let text = OutputBuffer()
    var cursor: ObjectCursor?

    init(_ snapshot: Snapshot, _ renumbered: [ObjectReference: ObjKey]) {
      renderer = ObjectRenderer(snapshot)
      patcher.renumbered = renumbered
    }

    func cursor(of table: Table) -> ObjectCursor {
      if let cursor, cursor.table.key == table.key { return cursor }
      let new = ObjectCursor(table)
      cursor = new
      return new
    }
  }

  private func finish(_ item: Waiting, _ transaction: borrowing WriteTransaction) throws(FileTreeError) {
    let cursor = finisher.cursor(of: item.staged)
    do throws(EngineError) { _ = try cursor.seek(item.key) } catch { throw .damaged("the transaction", error) }
    _ = try apply(
      cursor,
      item.properties,
      finisher.renderer,
      finisher.text,
      to: .object(item.object.key),
      of: item.object.table,
      finisher.patcher,
      transaction
    )
  }

  /// Makes an object be what the staged version has, or only in these properties; nil, and a problem, if it cannot be
  /// made.
  private func apply(
    _ cursor: ObjectCursor,
    _ properties: [Int]?,
    _ renderer: ObjectRenderer,
    _ text: OutputBuffer,
    to target: PatchTarget,
    of table: TableKey,
    _ patcher: ObjectPatcher,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> PatchOutcome? {
    text.reset()
    do throws(RenderError) {
      if let properties {
        for (place, index) in properties.enumerated() {
          text.append(place == 0 ? "{" : ",")
          text.append(string: Array(cursor.table.columns[index].name.utf8))
          text.append(":")
          try renderer.render(property: index, of: cursor, into: text)
        }
        text.append("}")
      } else {
        try renderer.render(cursor, layout: .compact, into: text)
      }
    } catch { throw .damaged(place: "the transaction", problem: error.description) }
    do throws(JSONInputError) {
      return try patcher.apply(JSONText(text.bytes), to: target, of: table, in: transaction)
    } catch {
      if case .engine(let error) = error.kind, error.reason != .duplicateKey { throw FileTreeError(error) }
      let refusal = error
      try format(cursor.table) { () throws(EngineError) in
        note(try Self.path(of: cursor.key, in: cursor.table), isConflict: false, refusal.description)
      }
      return nil
    }
  }

  private func format(_ table: Table, _ body: () throws(EngineError) -> Void) throws(FileTreeError) {
    do throws(EngineError) { try body() } catch { throw .damaged(table.name, error) }
  }
}
