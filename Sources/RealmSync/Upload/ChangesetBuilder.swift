// Builds the changeset of a transaction: first classes and properties, then new objects, then values, and finally
// deleted objects. It compares two versions, so changes that were undone within the transaction do not appear. Source:
// docs/format/7-sync.md 7.8.

import Glibc
import RealmPages

/// Builds the changeset between two versions of a mirror.
struct ChangesetBuilder {
  private var values: ValueInstructions
  private let old: Snapshot, new: Snapshot

  /// The differing objects of a class.
  private struct Changes {
    let before: Table?, after: Table
    var inserted: [ObjKey] = []
    var updated: [(key: ObjKey, properties: [Int])] = []
    var deleted: [ObjKey] = []
    let properties: TableDifference
  }

  /// Returns the changeset of `transaction`; empty if nothing changed for other clients. `writer` identifies new
  /// objects in classes without a primary key.
  static func changeset(
    of transaction: borrowing WriteTransaction,
    writer: Int64
  ) throws(EngineError) -> [UInt8] {
    var builder = ChangesetBuilder(from: transaction.former, to: try transaction.outcome(), writer)
    return try builder.build()
  }

  private init(from old: Snapshot, to new: Snapshot, _ writer: Int64) {
    (self.old, self.new) = (old, new)
    values = ValueInstructions(from: old, to: new, writer: writer)
  }

  private mutating func build() throws(EngineError) -> [UInt8] {
    let difference = try VersionDifference(from: old, to: new)
    let classes = difference.tables.filter { ($0.new ?? $0.old)?.className != nil }
    try writeSchema(classes)
    var all: [Changes] = []
    for table in classes {
      guard let after = table.new, after.kind == .topLevel else { continue }
      var changes = Changes(before: table.old, after: after, properties: table)
      let walk = difference.changes(in: table)
      while let change = try walk.next() {
        switch change {
        case .inserted(let key): changes.inserted.append(key)
        case .updated(let key, let properties): changes.updated.append((key, properties))
        case .deleted(let key): changes.deleted.append(key)
        }
      }
      all.append(changes)
    }
    try writeObjects(all)
    return values.writer.bytes
  }

  // MARK: schema

  private mutating func writeSchema(_ tables: [TableDifference]) throws(EngineError) {
    for table in tables {
      guard let before = table.old, table.new != nil else { continue }
      for change in table.schema {
        switch change {
        case .propertyRemoved(let name):
          let className = values.name(before), property = values.writer.name(name)
          values.writer.append(.eraseColumn(className, property))
        case .propertyAdded, .propertyIndex, .added, .removed: break
        case .renamed, .kind, .primaryKey, .propertyRenamed, .propertyRetyped:
          throw EngineError(
            .refusedByServer,
            "class \(before.className ?? before.name): in a synced realm, names, types and primary keys cannot "
              + "change; add a property, and remove the old one"
          )
        }
      }
    }
    for table in tables {
      guard let before = table.old, table.new == nil else { continue }
      values.writer.append(.eraseTable(values.name(before)))
    }
    for table in tables {
      if table.old == nil, let after = table.new { try addTable(after) }
    }
    for table in tables {
      guard let after = table.new else { continue }
      for (index, column) in after.columns.enumerated() {
        let isNew = table.old == nil || table.oldProperty(index) == nil
        if isNew, index != after.primaryKeyIndex { try addColumn(column, to: after) }
      }
    }
  }

  private mutating func addTable(_ table: Table) throws(EngineError) {
    let name = values.name(table)
    if table.kind == .embedded { return values.writer.append(.addTable(name, .embedded)) }
    let key = table.primaryKey, property = values.writer.name(key?.name ?? "")
    let form = Instruction.PrimaryKeyForm(name: property, type: key?.type, isNullable: key?.isNullable ?? false)
    values.writer.append(.addTable(name, .topLevel(primaryKey: form, isAsymmetric: table.kind == .asymmetric)))
  }

  private mutating func addColumn(_ column: Column, to table: Table) throws(EngineError) {
    let className = values.name(table), name = values.writer.name(column.name)
    var target: NameIndex?
    if column.type == .link, let key = column.targetTable, let table = try new.table(key) {
      target = values.name(table)
    }
    let form = Instruction.PropertyForm(
      name: name,
      type: column.type,
      collection: column.collection,
      isNullable: column.isNullable,
      target: target
    )
    values.writer.append(.addColumn(className, form))
  }

  // MARK: objects

  private mutating func writeObjects(_ all: [Changes]) throws(EngineError) {
    var replaced: Set<ObjectReference> = []
    for changes in all {
      // An object was replaced by one with the same key: delete the old one first.
      guard changes.after.primaryKey != nil, !changes.deleted.isEmpty, !changes.inserted.isEmpty else { continue }
      var made: Set<PrimaryKey> = []
      for key in changes.inserted {
        if let primaryKey = try values.primaryKey(of: key, changes.after) { made.insert(primaryKey) }
      }
      for key in changes.deleted {
        guard let before = changes.before, let primaryKey = try values.primaryKey(of: key, before),
          made.contains(primaryKey)
        else { continue }
        replaced.insert(ObjectReference(table: changes.after.key, key: key))
        try erase(key, before)
      }
    }
    for changes in all {
      for key in changes.inserted {
        let name = values.name(changes.after)
        values.writer.append(.createObject(name, try values.key(ofNew: key, changes.after)))
      }
    }
    for changes in all {
      for key in changes.inserted {
        try values.write(key, changes.after, changes.after.columns.indices, before: nil, changes.properties)
      }
      for (key, properties) in changes.updated {
        try values.write(key, changes.after, properties, before: changes.before, changes.properties)
      }
    }
    for changes in all {
      guard let before = changes.before else { continue }
      for key in changes.deleted where !replaced.contains(ObjectReference(table: before.key, key: key)) {
        try erase(key, before)
      }
    }
  }

  private mutating func erase(_ key: ObjKey, _ table: Table) throws(EngineError) {
    let name = values.name(table)
    values.writer.append(.eraseObject(name, try values.key(of: key, table)))
  }
}
