// What a migration block works with: the objects before and after, by the names of their properties.

public import Foundation
import RealmPages

/// The block that brings objects to a new schema; it gets the schema version of the file.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

/// Called with an object as it was and as it will be; nil where it does not exist.
public typealias MigrationObjectEnumerateBlock = (_ oldObject: MigrationObject?, _ newObject: MigrationObject?) -> Void

/// The schema version of a file, without opening it for its classes. Throws for a file that has none yet.
public func schemaVersionAtURL(_ fileURL: URL, encryptionKey: Data? = nil) throws -> UInt64 {
  let configuration = Realm.Configuration(fileURL: fileURL, encryptionKey: encryptionKey, readOnly: true)
  return try Realm.Error.translating {
    guard let version = try RealmPages.Realm(configuration.engine()).hold().snapshot.schemaVersion() else {
      throw Realm.Error(.invalidDatabase, "\(fileURL.path) has no schema yet")
    }
    return version
  }
}

extension Realm {
  /// Brings the file of a configuration to its schema, with its migration block where that is needed, as opening does.
  ///
  /// ```swift
  /// try Realm.performMigration(for: configuration)
  /// ```
  public static func performMigration(for configuration: Configuration = .defaultConfiguration) throws {
    _ = try RealmOpening.open(configuration)
  }
}

/// A migration of a realm: its objects before and after. Only valid in the block that it was given to.
public final class Migration {
  private let context: RealmContext
  private let former: Snapshot
  private let oldSide: MigrationSide
  private let newSide: MigrationSide
  /// The classes that go when the migration is over.
  private(set) var removed: [TableKey] = []

  init(_ context: RealmContext, from former: Snapshot) {
    (self.context, self.former) = (context, former)
    oldSide = MigrationSide(.former(former))
    newSide = MigrationSide(.transaction(context))
  }

  /// After this its objects cannot be used any more.
  func end() {
    oldSide.isOver = true
    newSide.isOver = true
  }

  /// Calls `block` with each object of a class that was there before the migration.
  public func enumerateObjects(ofType typeName: String, _ block: MigrationObjectEnumerateBlock) {
    let keys = Misuse.unwrap { () throws -> [ObjKey] in
      guard let table = try former.table(named: Table.classPrefix + typeName) else { return [] }
      let cursor = ObjectCursor(table)
      var keys: [ObjKey] = []
      while try cursor.next() { keys.append(cursor.key) }
      return keys
    }
    for key in keys { block(oldSide.object(typeName, key), newSide.object(typeName, key)) }
  }

  /// Makes an object with the values of a dictionary.
  @discardableResult
  public func create(_ typeName: String, value: [String: Any] = [:]) -> MigrationObject {
    let table = newSide.table(typeName)
    let columns = context.apply { try $0.columns(of: table) }
    var primaryKey = context.apply { try $0.table(table).primaryKey }
    primaryKey = primaryKey.flatMap { key in columns.first { $0.key == key.key } }
    let key = context.apply { transaction throws -> ObjKey in
      guard let primaryKey else { return try transaction.create(table) }
      guard let given = value[primaryKey.name], let value = newSide.engineValue(given, primaryKey) else {
        throw Realm.Error(.fail, "an object of '\(typeName)' needs a value for '\(primaryKey.name)'")
      }
      return try transaction.create(table, primaryKey: value)
    }
    let object = MigrationObject(newSide, typeName, table, key)
    for (name, value) in value where name != primaryKey?.name { object[name] = value }
    return object
  }

  /// Deletes an object of the new schema.
  public func delete(_ object: MigrationObject) {
    if object.side !== newSide { Misuse.stop("Only new objects of a migration can be deleted.") }
    context.apply { try $0.delete(object.table, object.key) }
  }

  /// Deletes the objects of a class, and the class too if the realm is not opened with it; whether it was there.
  @discardableResult
  public func deleteData(forType typeName: String) -> Bool {
    context.apply { transaction throws -> Bool in
      guard let key = try transaction.tableKey(named: Table.classPrefix + typeName) else { return false }
      if context.wanted.classes.contains(where: { $0.name.isExactly(typeName) }) {
        let cursor = ObjectCursor(try transaction.table(key))
        var keys: [ObjKey] = []
        while try cursor.next() { keys.append(cursor.key) }
        for object in keys { try transaction.delete(key, object) }
      } else {
        // Former properties may link to it until the migration is over.
        removed.append(key)
      }
      return true
    }
  }

  /// Takes the values of a former property over into a new one of the same type.
  public func renameProperty(onType typeName: String, from oldName: String, to newName: String) {
    let table = newSide.table(typeName)
    context.apply { transaction in
      let columns = try transaction.columns(of: table)
      guard let old = columns.first(where: { $0.name.isExactly(oldName) }) else {
        throw Realm.Error(.fail, "'\(typeName)' had no property '\(oldName)' that is not wanted any more")
      }
      guard let new = columns.first(where: { $0.name.isExactly(newName) }) else {
        throw Realm.Error(.fail, "'\(typeName)' has no property '\(newName)'")
      }
      guard old.type == new.type, old.collection == new.collection, old.targetTable == new.targetTable else {
        throw Realm.Error(.fail, "'\(typeName).\(oldName)' and '\(newName)' have different types")
      }
      try transaction.removeColumn(table, new.key)
      try transaction.renameColumn(table, old.key, to: newName)
      if old.isNullable != new.isNullable { _ = try transaction.setNullable(table, old.key, new.isNullable) }
    }
  }
}
