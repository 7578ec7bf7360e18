// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The expected contents of a realm: plain dictionaries to which the same changes are applied, with the rules for links
// implemented again in the simplest way. Sets are unordered; everything else is compared exactly.

public import RealmPages

/// A realm as dictionaries.
public struct RealmModel: Sendable {
  /// One property of a class.
  public struct Property: Sendable {
    public var name: String
    public var key: ColKey
    public let type: ValueType
    public let collection: CollectionKind?
    public var isNullable: Bool
    public let target: TableKey?
    public var index: IndexKind?

    /// The value of this property in a new object.
    public var defaultValue: Value {
      switch collection {
      case .dictionary: return .dictionary([])
      case .list, .set: return .list([])
      case nil: return isNullable ? .null : defaultElement
      }
    }

    /// The value that replaces null if null is not allowed.
    public var defaultElement: Value {
      switch type {
      case .int: return .int(0)
      case .bool: return .bool(false)
      case .float: return .float(0)
      case .double: return .double(0)
      case .string: return .string([])
      case .data: return .data([])
      case .date: return .date(Timestamp(seconds: 0, nanoseconds: 0))
      case .decimal128: return .decimal128(Decimal128(low: 0, high: 0x3040 << 48))
      case .objectID: return .objectID(ObjectID(high: 0, low: 0))
      case .uuid: return .uuid(UniqueID(high: 0, low: 0))
      case .mixed, .link: return .null
      }
    }
  }

  /// A class: its properties in order and its objects by key.
  public struct Class: Sendable {
    public var name: String
    public let kind: TableKind
    public var properties: [Property] = []
    public var primaryKey: ColKey?
    public var objects: [ObjKey: [ColKey: Value]] = [:]

    public func property(_ key: ColKey) -> Property? { properties.first { $0.key == key } }
  }

  /// An object by table and key.
  public struct Link: Hashable, Sendable {
    public let table: TableKey
    public let key: ObjKey
  }

  public var classes: [TableKey: Class] = [:]
  public var schemaVersion: UInt64?
  /// Tables that do not contain classes, which the model ignores.
  public var otherTables: Set<TableKey> = []
  /// Objects that may link to an object; some may no longer do so.
  private var origins: [Link: Set<Link>] = [:]

  /// An empty realm.
  public init() {}

  /// Creates a model of the contents of a snapshot.
  public init(of snapshot: Snapshot) throws {
    schemaVersion = try snapshot.schemaVersion()
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key) else { continue }
      if table.className == nil {
        otherTables.insert(key)
        continue
      }
      var found = Class(name: table.name, kind: table.kind)
      found.properties = table.columns.map {
        Property(
          name: $0.name,
          key: $0.key,
          type: $0.type,
          collection: $0.collection,
          isNullable: $0.isNullable,
          target: $0.targetTable,
          index: $0.index
        )
      }
      found.primaryKey = table.primaryKey?.key
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        var values: [ColKey: Value] = [:]
        for (index, property) in found.properties.enumerated() {
          let value = try Value(copying: cursor.value(index))
          values[property.key] = value
          for link in Self.links(in: value) { origins[link, default: []].insert(Link(table: key, key: cursor.key)) }
        }
        found.objects[cursor.key] = values
      }
      classes[key] = found
    }
  }

  /// Returns a value of an existing object.
  public func value(_ table: TableKey, _ object: ObjKey, _ column: ColKey) -> Value {
    classes[table]?.objects[object]?[column] ?? .null
  }

  /// Returns the object of a class with this primary key.
  public func object(_ table: TableKey, primaryKey: Value) -> ObjKey? {
    guard let known = classes[table], let column = known.primaryKey else { return nil }
    return known.objects.first { $0.value[column] == primaryKey }?.key
  }

  // MARK: changes

  /// Adds an object with default values.
  public mutating func create(_ table: TableKey, _ key: ObjKey, primaryKey: Value? = nil) {
    var values: [ColKey: Value] = [:]
    for property in classes[table]?.properties ?? [] { values[property.key] = property.defaultValue }
    if let primaryKey, let column = classes[table]?.primaryKey { values[column] = primaryKey }
    classes[table]?.objects[key] = values
  }

  /// Changes one value of an object with `body`; deletes embedded objects that it no longer links to.
  public mutating func change(
    _ table: TableKey,
    _ object: ObjKey,
    _ column: ColKey,
    _ body: (inout Value) -> Void
  ) {
    let owned = embedded(table, object, column)
    var changed = value(table, object, column)
    body(&changed)
    classes[table]?.objects[object]?[column] = changed
    for link in Self.links(in: changed) {
      origins[link, default: []].insert(Link(table: table, key: object))
    }
    let left = embedded(table, object, column)
    for link in owned where !left.contains(link) { remove(link.table, link.key) }
  }

  /// Deletes an object: links to it become null in properties and dictionaries and are removed from lists and sets; its
  /// embedded objects are also deleted.
  public mutating func remove(_ table: TableKey, _ key: ObjKey) {
    guard let known = classes[table], known.objects[key] != nil else { return }
    let owned = known.properties.flatMap { embedded(table, key, $0.key) }
    classes[table]?.objects[key] = nil
    let gone = Link(table: table, key: key)
    for origin in origins.removeValue(forKey: gone) ?? [] {
      guard let values = classes[origin.table]?.objects[origin.key] else { continue }
      for (column, value) in values where Self.links(in: value).contains(gone) {
        classes[origin.table]?.objects[origin.key]?[column] = Self.without(gone, value)
      }
    }
    for link in owned { remove(link.table, link.key) }
  }

  /// Removes a property and the embedded objects in it.
  public mutating func removeProperty(_ table: TableKey, _ column: ColKey) {
    guard let known = classes[table] else { return }
    for key in known.objects.keys {
      for link in embedded(table, key, column) { remove(link.table, link.key) }
      classes[table]?.objects[key]?[column] = nil
    }
    classes[table]?.properties.removeAll { $0.key == column }
    if known.primaryKey == column { classes[table]?.primaryKey = nil }
  }

  /// Makes a property optional or required, under a new key.
  public mutating func setNullable(_ table: TableKey, _ column: ColKey, _ isNullable: Bool, newKey: ColKey) {
    guard let known = classes[table], let index = known.properties.firstIndex(where: { $0.key == column }) else {
      return
    }
    classes[table]?.properties[index].isNullable = isNullable
    classes[table]?.properties[index].key = newKey
    if known.primaryKey == column { classes[table]?.primaryKey = newKey }
    let property = known.properties[index], other = property.defaultElement
    for (key, values) in known.objects {
      var value = values[column] ?? .null
      if !isNullable { value = Self.withoutNulls(value, property.collection, other) }
      classes[table]?.objects[key]?[column] = nil
      classes[table]?.objects[key]?[newKey] = value
    }
  }

  private static func withoutNulls(_ value: Value, _ collection: CollectionKind?, _ other: Value) -> Value {
    switch (value, collection) {
    case (.null, _): return other
    case (.list(let values), .set):
      guard values.contains(.null) else { return value }
      let rest = values.filter { $0 != .null }
      return .list(rest.contains { sameInSet($0, other) } ? rest : rest + [other])
    case (.list(let values), _): return .list(values.map { $0 == .null ? other : $0 })
    case (.dictionary(let entries), _):
      return .dictionary(entries.map { .init(key: $0.key, value: $0.value == .null ? other : $0.value) })
    default: return value
    }
  }

  /// Removes a class.
  public mutating func removeClass(_ table: TableKey) {
    for key in classes[table]?.objects.keys.sorted() ?? [] { remove(table, key) }
    classes[table] = nil
  }

  private func embedded(_ table: TableKey, _ object: ObjKey, _ column: ColKey) -> [Link] {
    guard let property = classes[table]?.property(column), let target = property.target,
      classes[target]?.kind == .embedded
    else { return [] }
    return Self.links(in: value(table, object, column))
  }

  /// Returns all links in a value, at any depth.
  public static func links(in value: Value) -> [Link] {
    switch value {
    case .link(let table, let key): [Link(table: table, key: key)]
    case .list(let values): values.flatMap(links)
    case .dictionary(let entries): entries.flatMap { links(in: $0.value) }
    default: []
    }
  }

  private static func without(_ gone: Link, _ value: Value) -> Value {
    switch value {
    case .link(let table, let key) where Link(table: table, key: key) == gone: .null
    case .list(let values):
      .list(
        values.compactMap { element in
          if case .link(let table, let key) = element, Link(table: table, key: key) == gone { return nil }
          return without(gone, element)
        }
      )
    case .dictionary(let entries):
      .dictionary(entries.map { Value.Entry(key: $0.key, value: without(gone, $0.value)) })
    default: value
    }
  }

  // MARK: dictionaries and nesting

  /// Returns the value as it is read back: entries are sorted by key, and the last of several with the same key
  /// remains.
  public static func canonical(_ value: Value) -> Value {
    switch value {
    case .list(let values): .list(values.map(canonical))
    case .dictionary(let entries):
      entries.reduce(.dictionary([])) { put($1.key, canonical($1.value), into: $0) }
    default: value
    }
  }

  /// Returns a dictionary with one entry added or replaced.
  public static func put(_ key: [UInt8], _ value: Value, into dictionary: Value) -> Value {
    guard case .dictionary(var entries) = dictionary else { return dictionary }
    if let at = entries.firstIndex(where: { $0.key == key }) {
      entries[at].value = value
    } else {
      let at = entries.firstIndex { key.lexicographicallyPrecedes($0.key) } ?? entries.count
      entries.insert(Value.Entry(key: key, value: value), at: at)
    }
    return .dictionary(entries)
  }

  /// Changes the value at the end of `path`.
  public static func change(_ value: inout Value, at path: ArraySlice<PathStep>, _ body: (inout Value) -> Void) {
    guard let step = path.first else { return body(&value) }
    switch (step, value) {
    case (.index(let index), .list(var values)):
      value = .null
      change(&values[index], at: path.dropFirst(), body)
      value = .list(values)
    case (.key(let key), .dictionary(var entries)):
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
      value = .null
      change(&entries[index].value, at: path.dropFirst(), body)
      value = .dictionary(entries)
    default: break
    }
  }

  // MARK: equality

  /// Returns true if two values are identical bit by bit.
  public static func same(_ a: Value, _ b: Value) -> Bool {
    switch (a, b) {
    case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern
    case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
    case (.list(let x), .list(let y)): x.count == y.count && zip(x, y).allSatisfy(same)
    case (.dictionary(let x), .dictionary(let y)):
      x.count == y.count && zip(x, y).allSatisfy { $0.key == $1.key && same($0.value, $1.value) }
    default: a == b
    }
  }

  /// Returns true if a set considers two values equal: numbers by value, whatever their type. Numbers must be integers
  /// or have at most three decimals.
  public static func sameInSet(_ a: Value, _ b: Value) -> Bool {
    if let x = thousandths(a), let y = thousandths(b) { return x == y }
    return a == b
  }

  private static func thousandths(_ value: Value) -> Int128? {
    switch value {
    case .int(let x): return Int128(x) * 1000
    case .float(let x): return abs(x) < 1e30 ? Int128(x * 1000) : nil
    case .double(let x): return abs(x) < 1e30 ? Int128(x * 1000) : nil
    case .decimal128(let x):
      guard x.high & 0x6000_0000_0000_0000 != 0x6000_0000_0000_0000 else { return nil }
      var number = Int128(x.low)
      let exponent = Int(x.high >> 49 & 0x3FFF) - 6176 + 3
      guard x.high & 0x1_FFFF_FFFF_FFFF == 0, exponent < 16 else { return nil }
      for _ in 0..<max(0, exponent) { number *= 10 }
      for _ in 0..<max(0, -exponent) { number /= 10 }
      return x.high >> 63 == 0 ? number : -number
    default: return nil
    }
  }

  /// Returns a description of the first difference between the model and a snapshot; nil if they agree.
  public func difference(from snapshot: Snapshot) throws -> String? {
    let keys = try snapshot.tableKeys()
    if try snapshot.schemaVersion() != schemaVersion {
      return
        "schema version \(String(describing: try snapshot.schemaVersion())), not \(String(describing: schemaVersion))"
    }
    var seen = 0
    for key in keys {
      guard let table = try snapshot.table(key), !otherTables.contains(key) else { continue }
      guard let known = classes[key] else { return "a table \(table.name)" }
      seen += 1
      if let difference = try difference(of: table, from: known, snapshot) { return "\(known.name): \(difference)" }
    }
    return seen == classes.count ? nil : "\(seen) classes instead of \(classes.count)"
  }

  private func difference(of table: Table, from known: Class, _ snapshot: Snapshot) throws -> String? {
    if table.name != known.name || table.kind != known.kind { return "named \(table.name), \(table.kind)" }
    if table.primaryKey?.key != known.primaryKey { return "another primary key" }
    if table.columns.count != known.properties.count { return "\(table.columns.count) properties" }
    for (column, property) in zip(table.columns, known.properties) {
      if column.name != property.name || column.key != property.key || column.type != property.type
        || column.collection != property.collection || column.isNullable != property.isNullable
        || column.targetTable != property.target || column.index != property.index
      {
        return "property \(property.name) is \(column)"
      }
    }
    if table.objectCount != known.objects.count { return "\(table.objectCount) objects, not \(known.objects.count)" }
    let cursor = ObjectCursor(table)
    while try cursor.next() {
      guard let values = known.objects[cursor.key] else { return "an object \(cursor.key)" }
      for (index, property) in known.properties.enumerated() {
        let found = try Value(copying: cursor.value(index)), wanted = values[property.key] ?? .null
        if !Self.agree(found, wanted, property) {
          return "object \(cursor.key), \(property.name): \(found) instead of \(wanted)"
        }
      }
      guard let index = table.primaryKeyIndex, let key = PrimaryKey(try cursor.value(index)) else { continue }
      let found = try table.objectKey(primaryKey: key)
      if found != cursor.key { return "primary key \(key) leads to \(String(describing: found)), not \(cursor.key)" }
    }
    return nil
  }

  /// Returns true if a value that was read matches that of the model.
  public static func agree(_ found: Value, _ wanted: Value, _ property: Property) -> Bool {
    guard property.collection == .set, case .list(let a) = found, case .list(var b) = wanted else {
      return same(found, wanted)
    }
    if a.count != b.count { return false }
    for element in a {
      guard let at = b.firstIndex(where: { same($0, element) }) else { return false }
      b.swapAt(at, b.count - 1)
      b.removeLast()
    }
    return true
  }
}
