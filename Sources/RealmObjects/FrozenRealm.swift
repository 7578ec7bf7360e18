// One version of a realm and the objects in it, by name. Values are copies, so they outlive everything.

public import RealmPages

/// One version of a realm, which never changes. It can be used from any thread, task and actor.
public struct FrozenRealm: Sendable {
  private let hold: VersionHold
  private let objectTypes: [String]?

  init(_ hold: VersionHold, _ configuration: Configuration) {
    self.hold = hold
    objectTypes = configuration.objectTypes
  }

  /// The engine's view of the version.
  public var snapshot: Snapshot { hold.snapshot }

  /// The number of the version; each commit adds 1.
  public var version: UInt64 { snapshot.version }

  /// The names of the classes that the configuration shows.
  public func classNames() throws(EngineError) -> [String] {
    try reading { () throws(EngineError) in
      var names: [String] = []
      for key in try snapshot.tableKeys() {
        if let name = try snapshot.table(key)?.className, isShown(name) { names.append(name) }
      }
      return names
    }
  }

  /// The objects of a class, in the order of their object keys. Throws `notFound` if there is no such class.
  public func objects(_ className: String) throws(EngineError) -> RealmObjects {
    RealmObjects(self, try table(className))
  }

  /// All objects of the class that is named like the type, or `className`, as values of the type. Links and embedded
  /// objects become nested values, dates the seconds of Foundation's `Date`, ObjectIds and UUIDs their text. O(n).
  public func objects<T: Decodable>(_ type: T.Type, of className: String? = nil) throws -> [T] {
    var values: [T] = []
    try objects(className ?? String(describing: type)).forEach { values.append(try $0.decode(type)) }
    return values
  }

  /// The object with this primary key; nil if there is none. O(log n).
  public func object(_ className: String, primaryKey: Value) throws(EngineError) -> RealmObject? {
    let table = try table(className)
    guard let wanted = PrimaryKey(primaryKey) else { return nil }
    let key = try reading { () throws(EngineError) in try table.objectKey(primaryKey: wanted) }
    return key.map { RealmObject(self, table, $0) }
  }

  /// The object that a link leads to; nil for other values, and for one that is gone.
  public func object(_ link: Value) throws(EngineError) -> RealmObject? {
    guard case .link(let tableKey, let key) = link else { return nil }
    return try reading { () throws(EngineError) in
      guard let table = try snapshot.table(tableKey), try table.contains(key) else { return nil }
      return RealmObject(self, table, key)
    }
  }

  private func isShown(_ className: String) -> Bool { objectTypes?.contains(className) ?? true }

  private func table(_ className: String) throws(EngineError) -> Table {
    let table = try reading { () throws(EngineError) in
      try snapshot.table(named: Table.classPrefix + className)
    }
    guard let table, isShown(className) else { throw EngineError(.notFound, "there is no class \(className)") }
    return table
  }
}

/// The objects of a class in one version.
public struct RealmObjects: Sendable {
  private let realm: FrozenRealm
  private let table: Table

  init(_ realm: FrozenRealm, _ table: Table) { (self.realm, self.table) = (realm, table) }

  /// The number of objects. O(1).
  public var count: Int { table.objectCount }

  /// Calls `body` with each object.
  public func forEach(_ body: (RealmObject) throws -> Void) throws {
    let cursor = ObjectCursor(table)
    while try reading({ () throws(EngineError) in try cursor.next() }) {
      try body(RealmObject(realm, table, cursor.key))
    }
  }

  /// The first object of which `condition` holds; nil if there is none.
  public func first(where condition: (RealmObject) throws -> Bool = { _ in true }) throws -> RealmObject? {
    let cursor = ObjectCursor(table)
    while try reading({ () throws(EngineError) in try cursor.next() }) {
      let object = RealmObject(realm, table, cursor.key)
      if try condition(object) { return object }
    }
    return nil
  }
}

/// An object in one version, its properties by name.
public struct RealmObject: Sendable {
  /// The version that the object is in.
  public let realm: FrozenRealm
  /// The key of the object.
  public let key: ObjKey
  let table: Table

  init(_ realm: FrozenRealm, _ table: Table, _ key: ObjKey) { (self.realm, self.table, self.key) = (realm, table, key) }

  /// The name of the object's class.
  public var className: String { table.className ?? table.name }

  /// The class and the key, by which a transaction knows the object.
  public var reference: ObjectReference { ObjectReference(table: table.key, key: key) }

  /// The names of the properties, in schema order.
  public var propertyNames: [String] { table.columns.map(\.name) }

  /// A copy of the value of a property; collections are lists and dictionaries. Throws `notFound` if there is no such
  /// property. O(log n).
  public subscript(name: String) -> Value {
    get throws(EngineError) {
      guard let index = table.columns.firstIndex(where: { $0.name == name }) else {
        throw EngineError(.notFound, "\(className): no property \"\(name)\"")
      }
      let value = try reading { () throws(EngineError) -> Value? in
        let cursor = ObjectCursor(table)
        guard try cursor.seek(key) else { return nil }
        return try Value(copying: cursor.value(index))
      }
      guard let value else { throw EngineError(.notFound, "\(className): no object \(key)") }
      return value
    }
  }

  /// The object that a link in a property leads to; nil for null.
  public func object(_ name: String) throws(EngineError) -> RealmObject? { try realm.object(self[name]) }

  /// The object as a value of a type.
  public func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: ObjectDecoder(self, path: [])) }
}

/// Runs `body`, which reads a version.
func reading<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
  try body()
}

extension Value {
  /// The text of a string; nil for other values.
  public var asText: String? {
    if case .string(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }
  /// The number; nil for values that are no integers.
  public var asInt: Int64? { if case .int(let value) = self { value } else { nil } }
  /// The number; nil for values that are neither doubles nor floats.
  public var asDouble: Double? {
    switch self {
    case .double(let value): value
    case .float(let value): Double(value)
    default: nil
    }
  }
  /// The truth; nil for other values.
  public var asBool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The elements of a list or set; nil for other values.
  public var asList: [Value]? { if case .list(let values) = self { values } else { nil } }
}
