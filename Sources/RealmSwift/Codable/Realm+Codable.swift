// Reads and saves objects as values of `Codable` types. The file contains the schema, so no models are needed.

import RealmPages

extension Realm {
  /// Returns all objects of a class as values of a type. The class is `className`, or has the name of the type.
  ///
  /// Property names are the stored names. Links and embedded objects become nested values, lists and sets become
  /// sequences, and maps become dictionaries. The values are copies: they do not depend on the realm and never change.
  /// Takes O(n).
  ///
  /// ```swift
  /// struct Dog: Codable {
  ///   var _id: ObjectId
  ///   var name: String
  /// }
  /// ```
  /// ```swift
  /// let names = try realm.values(Dog.self).map(\.name)
  /// ```
  public func values<T: Decodable>(_ type: T.Type, in className: String? = nil) throws -> [T] {
    try Realm.Error.translating {
      let (snapshot, table) = try context.storedClass(of: type, className)
      let cursor = ObjectCursor(table)
      var values: [T] = []
      values.reserveCapacity(table.objectCount)
      while try cursor.next() {
        values.append(try T(from: ObjectDecoder(StoredObject(snapshot: snapshot, table: table, key: cursor.key))))
      }
      return values
    }
  }

  /// Returns the object with a primary key as a value of a type; nil if it does not exist. Takes O(log n).
  ///
  /// ```swift
  /// let found = try realm.value(ofType: Dog.self, forPrimaryKey: rex)
  /// ```
  public func value<T: Decodable, KeyType: Encodable>(
    ofType type: T.Type,
    in className: String? = nil,
    forPrimaryKey key: KeyType
  ) throws -> T? {
    try Realm.Error.translating {
      let (snapshot, table) = try context.storedClass(of: type, className)
      guard let column = table.primaryKey, let value = try EncodedValue(of: key).value(as: column.type) else {
        throw Realm.Error(.fail, "'\(key)' is not of the type of a primary key of '\(table.className ?? table.name)'")
      }
      guard let key = try PrimaryKey(value).flatMap({ try table.objectKey(primaryKey: $0) }) else { return nil }
      return try T(from: ObjectDecoder(StoredObject(snapshot: snapshot, table: table, key: key)))
    }
  }

  /// Creates an object from a value, or changes the object with its primary key. Must be called in a write transaction.
  ///
  /// The class is `className`, or has the name of the type. Properties that the type does not have stay unchanged.
  /// Nested values become embedded objects, or linked objects, which are saved in the same way. Only values that differ
  /// are written.
  ///
  /// ```swift
  /// let rex = ObjectId.generate()
  /// try realm.write {
  ///   try realm.save(Dog(_id: rex, name: "Rex"))
  /// }
  /// ```
  public func save<T: Encodable>(_ value: T, in className: String? = nil) throws {
    context.checkWrite()
    let draft = try EncodedValue(of: value), name = RealmContext.className(of: T.self, className)
    try context.change { transaction in
      guard let table = try transaction.tableKey(named: Table.classPrefix + name) else {
        throw RealmContext.noClass(name)
      }
      try transaction.save(draft, in: table)
    }
  }
}

extension RealmContext {
  /// Returns the class that a type is decoded from, at the version being read.
  fileprivate func storedClass(of type: Any.Type, _ name: String?) throws -> (Snapshot, Table) {
    checkThread()
    try revive()
    let name = Self.className(of: type, name), snapshot = try snapshot()
    guard let table = try snapshot.table(named: Table.classPrefix + name) else { throw Self.noClass(name) }
    return (snapshot, table)
  }

  fileprivate static func className(of type: Any.Type, _ name: String?) -> String {
    name ?? (type as? ObjectBase.Type).map { ClassSchema.of($0).name } ?? String(describing: type)
  }

  fileprivate static func noClass(_ name: String) -> Realm.Error {
    Realm.Error(.fail, "The realm has no class '\(name)'.")
  }
}
