// The interface of migration blocks: the old and new objects, with properties accessed by name.

public import Foundation
import RealmPages

/// A block that migrates objects to a new schema. It receives the schema version of the file.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

/// An object in a migration, with properties accessed by name.
public typealias MigrationObject = DynamicObject

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
  /// The realm before the migration.
  private let old: RealmContext
  /// The realm in the transaction of the migration.
  private let new: RealmContext
  private let models: WantedClasses
  private struct Deleted: Hashable {
    let name: String
    let key: Int64
  }
  /// The objects that `delete` removed, which are not enumerated again. Their keys may belong to created objects.
  private var deleted: Set<Deleted> = []
  /// The classes whose former objects `deleteData` removed.
  private var emptied: Set<String> = []
  /// The classes to remove when the migration ends.
  private(set) var removed: [TableKey] = []

  /// Begins a migration in the open transaction of `context`, which represents objects by dynamic objects until `end`.
  init(_ context: RealmContext) throws {
    let former = try context.file.reader.hold()
    old = try RealmContext(
      context.file,
      context.configuration,
      WantedClasses(in: former.snapshot),
      frozenAt: former
    )
    (new, models) = (context, context.wanted)
    context.represent(try models.dynamic(in: context))
  }

  /// Ends the migration. Its objects become invalid.
  func end() {
    old.end()
    new.represent(models)
  }

  /// The schema before the migration.
  public var oldSchema: Schema { Schema(objectSchema: old.wanted.classes.map { ObjectSchema($0) }) }

  /// The schema after the migration.
  public var newSchema: Schema { Schema(objectSchema: new.wanted.classes.map { ObjectSchema($0) }) }

  /// Calls `block` with each object of a class that existed before the migration. The new object is nil if it was
  /// deleted or if the class no longer exists. For a class that did not exist, calls `block` with its new objects.
  public func enumerateObjects(ofType typeName: String, _ block: MigrationObjectEnumerateBlock) {
    if emptied.contains(typeName) { return }
    let oldClass = Self.managed(typeName, old), newClass = Self.managed(typeName, new)
    guard let enumerated = oldClass ?? newClass else { return }
    let keys = Misuse.unwrap { () throws -> [Int64] in
      let context = oldClass == nil ? new : old
      guard let table = try context.table(ofClass: enumerated.name) else { return [] }
      let cursor = ObjectCursor(table)
      var keys: [Int64] = []
      while try cursor.next() { keys.append(cursor.key.value) }
      return keys
    }
    for key in keys where !deleted.contains(Deleted(name: typeName, key: key)) {
      let newObject = newClass.flatMap { new.contains($0, key) ? DynamicObject(new, $0, key) : nil }
      block(oldClass.map { DynamicObject(old, $0, key) }, newObject)
    }
  }

  private static func managed(_ typeName: String, _ context: RealmContext) -> ManagedClass? {
    context.wanted.classes.first { $0.name.isExactly(typeName) }.map { context.managed($0) }
  }

  /// Creates an object with the values of a dictionary, of an array in the order of the properties, or of an object.
  @discardableResult
  public func create(_ typeName: String, value: Any = [String: Any]()) -> MigrationObject {
    new.create(value, new.managed(named: typeName))
  }

  /// Deletes an object of the new schema.
  public func delete(_ object: MigrationObject) {
    guard object.context === new, let type = object.managedClass else {
      Misuse.stop("Only new objects of a migration can be deleted.")
    }
    deleted.insert(Deleted(name: type.name, key: object.objectKey))
    new.apply { try $0.delete(type.key, ObjKey(object.objectKey)) }
  }

  /// Deletes the objects of a class, and the class itself if the realm is not opened with it. Returns true if the class
  /// existed.
  @discardableResult
  public func deleteData(forType typeName: String) -> Bool {
    emptied.insert(typeName)
    return new.apply { transaction throws -> Bool in
      guard let key = try transaction.tableKey(named: Table.classPrefix + typeName) else { return false }
      if models.classes.contains(where: { $0.name.isExactly(typeName) }) {
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
    let type = new.managed(named: typeName), table = type.key
    if type.schema?.index(of: oldName) != nil {
      Misuse.stop("'\(typeName)' still has the property '\(oldName)', so it cannot be renamed.")
    }
    new.apply { transaction in
      let columns = try transaction.columns(of: table)
      guard let old = columns.first(where: { $0.name.isExactly(oldName) }) else {
        throw Realm.Error(.fail, "'\(typeName)' had no property '\(oldName)'")
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
    Misuse.unwrap { try new.followColumns() }
  }
}
