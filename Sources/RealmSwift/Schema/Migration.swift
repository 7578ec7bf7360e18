// The interface of migration blocks: the old and new objects, with properties accessed by name.

public import Foundation
import RealmPages

/// A block that migrates objects to a new schema. It receives the schema version of the file.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

/// A block that is called with the old and the new state of an object; nil where the object does not exist.
public typealias MigrationObjectEnumerateBlock = (_ oldObject: MigrationObject?, _ newObject: MigrationObject?) -> Void

/// Returns the schema version of a file, without the model classes. Throws if the file has no schema version yet.
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
  /// Updates the file of a configuration to its schema, calling the migration block if needed, as opening the realm
  /// does.
  ///
  /// ```swift
  /// try Realm.performMigration(for: configuration)
  /// ```
  public static func performMigration(for configuration: Configuration = .defaultConfiguration) throws {
    _ = try RealmOpening.open(configuration)
  }
}

/// A migration of a realm, with its old and new objects. Valid only in the migration block.
public final class Migration {
  private let context: RealmContext
  private let former: Snapshot
  private let oldSide: MigrationSide
  private let newSide: MigrationSide
  private struct Deleted: Hashable {
    let name: String
    let key: ObjKey
  }
  /// The objects that `delete` removed, which are not enumerated again. Their keys may belong to created objects.
  private var deleted: Set<Deleted> = []
  /// The classes whose former objects `deleteData` removed.
  private var emptied: Set<String> = []
  /// The classes to remove when the migration ends.
  private(set) var removed: [TableKey] = []

  init(_ context: RealmContext, from former: Snapshot) {
    (self.context, self.former) = (context, former)
    oldSide = MigrationSide(.former(former))
    newSide = MigrationSide(.transaction(context))
  }

  /// Ends the migration: its objects can no longer be used.
  func end() {
    oldSide.isOver = true
    newSide.isOver = true
  }

  /// Calls `block` with each object of a class that existed before the migration.
  public func enumerateObjects(ofType typeName: String, _ block: MigrationObjectEnumerateBlock) {
    if emptied.contains(typeName) { return }
    let keys = Misuse.unwrap { () throws -> [ObjKey] in
      guard let table = try former.table(named: Table.classPrefix + typeName) else { return [] }
      let cursor = ObjectCursor(table)
      var keys: [ObjKey] = []
      while try cursor.next() { keys.append(cursor.key) }
      return keys
    }
    for key in keys where !deleted.contains(Deleted(name: typeName, key: key)) {
      block(oldSide.object(typeName, key), newSide.object(typeName, key))
    }
  }

  /// Creates an object with the values of a dictionary, of an array in the order of the properties, or of an object.
  @discardableResult
  public func create(_ typeName: String, value: Any = [String: Any]()) -> MigrationObject {
    let table = newSide.table(typeName), value = values(of: value, typeName)
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
    deleted.insert(Deleted(name: object.className, key: object.key))
    context.apply { try $0.delete(object.table, object.key) }
  }

  /// Returns the values for a new object by property name.
  private func values(of value: Any, _ typeName: String) -> [String: Any] {
    let names = context.wanted.classes.first { $0.name.isExactly(typeName) }?.properties.filter(\.isStored)
    switch value {
    case let values as [String: Any]: return values
    case let values as [Any]:
      guard let names, values.count <= names.count else {
        Misuse.stop("There are \(values.count) values for the \(names?.count ?? 0) properties of '\(typeName)'.")
      }
      return Dictionary(zip(names.map(\.storedName), values)) { $1 }
    case let object as MigrationObject: return object.values
    case let object as ObjectBase:
      let entries = object.schema.properties.enumerated().compactMap { index, property -> (String, Any)? in
        guard property.isStored, let value = property.storage.anyValue(of: object, index) else { return nil }
        return (property.storedName, value)
      }
      return Dictionary(entries) { $1 }
    default: Misuse.stop("An object of '\(typeName)' cannot be created from a value of type \(type(of: value)).")
    }
  }

  /// Deletes the objects of a class, and the class itself if the realm is not opened with it. Returns true if the class
  /// existed.
  @discardableResult
  public func deleteData(forType typeName: String) -> Bool {
    emptied.insert(typeName)
    return context.apply { transaction throws -> Bool in
      guard let key = try transaction.tableKey(named: Table.classPrefix + typeName) else { return false }
      if context.wanted.classes.contains(where: { $0.name.isExactly(typeName) }) {
        let cursor = ObjectCursor(try transaction.table(key))
        var keys: [ObjKey] = []
        while try cursor.next() { keys.append(cursor.key) }
        for object in keys { try transaction.delete(key, object) }
      } else {
        // Old properties may link to the class until the migration ends.
        removed.append(key)
      }
      return true
    }
  }

  /// Moves the values of an old property to a new property of the same type.
  public func renameProperty(onType typeName: String, from oldName: String, to newName: String) {
    let table = newSide.table(typeName)
    context.apply { transaction in
      let columns = try transaction.columns(of: table)
      guard let old = columns.first(where: { $0.name.isExactly(oldName) }) else {
        throw Realm.Error(.fail, "'\(typeName)' had no property '\(oldName)', or still has it")
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
