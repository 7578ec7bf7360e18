// The objects of migrations, whose classes may have no model. Properties are accessed by name.

import Foundation
import RealmPages

/// The old or the new state of a realm in a migration.
final class MigrationSide {
  enum Source {
    case former(Snapshot)
    case transaction(RealmContext)
  }

  let source: Source
  var isOver = false

  init(_ source: Source) { self.source = source }

  func table(_ name: String) -> TableKey {
    let key = Misuse.unwrap { () throws -> TableKey? in
      switch source {
      case .former(let snapshot): try snapshot.table(named: Table.classPrefix + name)?.key
      case .transaction(let context): try context.change { try $0.tableKey(named: Table.classPrefix + name) }
      }
    }
    guard let key else { Misuse.stop("There is no class '\(name)'.") }
    return key
  }

  /// Returns the object; nil if it does not exist.
  func object(_ name: String, _ key: ObjKey) -> MigrationObject? {
    switch source {
    case .former: return MigrationObject(self, name, table(name), key)
    case .transaction(let context):
      let exists = context.apply { transaction throws -> Bool in
        guard let table = try transaction.tableKey(named: Table.classPrefix + name) else { return false }
        return try transaction.contains(table, key)
      }
      return exists ? MigrationObject(self, name, table(name), key) : nil
    }
  }

  /// Returns the object that a link refers to; nil if it is unresolved.
  private func object(_ table: TableKey, _ key: ObjKey) -> MigrationObject? {
    if key.isUnresolved { return nil }
    let name = Misuse.unwrap { () throws -> String? in
      switch source {
      case .former(let snapshot): try snapshot.table(table)?.className
      case .transaction(let context): try context.change { try $0.table(table).className }
      }
    }
    return name.map { MigrationObject(self, $0, table, key) }
  }

  /// Returns a value as programs see it: collections become arrays and dictionaries.
  func anyValue(_ value: Value) -> Any? {
    switch value {
    case .null: nil
    case .int(let value): Int(value)
    case .bool(let value): value
    case .float(let value): value
    case .double(let value): value
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .data(let bytes): Data(bytes)
    case .date(let time): Date(time)
    case .decimal128(let value): Decimal128(value)
    case .objectID(let id): ObjectId(id)
    case .uuid(let id): UUID(id)
    case .link(let table, let key): object(table, key)
    case .list(let values): values.map { anyValue($0) ?? NSNull() as Any }
    case .dictionary(let entries):
      Dictionary(
        entries.map { (String(decoding: $0.key, as: UTF8.self), anyValue($0.value) ?? NSNull() as Any) },
        uniquingKeysWith: { $1 }
      )
    }
  }

  /// Returns a single value as the engine stores it; nil if its type is not that of the property.
  func engineValue(_ value: Any?, _ column: Column) -> Value? {
    guard let value, !ValueAssignment.isNull(value), (value as? any OptionalProtocol)?.isNil != true else {
      return .null
    }
    func cast<T: _ScalarValue>(_ type: T.Type) -> Value? { T._rlmCast(value)?._rlmEngineValue.value }
    switch column.type {
    case .int: return cast(Int64.self) ?? (value as? any PersistableEnum)?._rlmEngineValue.value
    case .bool: return cast(Bool.self)
    case .string: return cast(String.self) ?? (value as? any PersistableEnum)?._rlmEngineValue.value
    case .data: return cast(Data.self)
    case .date: return cast(Date.self)
    case .float: return cast(Float.self)
    case .double: return cast(Double.self)
    case .decimal128: return cast(Decimal128.self)
    case .objectID: return cast(ObjectId.self)
    case .uuid: return cast(UUID.self)
    case .link: return (value as? MigrationObject).flatMap { $0.side === self ? .link($0.table, $0.key) : nil }
    case .mixed: return mixedValue(value)
    }
  }

  /// Returns a Mixed value; arrays and dictionaries become nested collections. Nil if a value cannot be stored.
  private func mixedValue(_ value: Any) -> Value? {
    switch value {
    case let object as MigrationObject: return object.side === self ? .link(object.table, object.key) : nil
    case let values as [Any]:
      let elements = values.compactMap { mixedValue($0) }
      return elements.count == values.count ? .list(elements) : nil
    case let values as [String: Any]:
      let entries = values.compactMap { name, value in
        mixedValue(value).map { Value.Entry(key: Array(name.utf8), value: $0) }
      }
      return entries.count == values.count ? .dictionary(entries) : nil
    default:
      guard let mixed = AnyRealmValue._rlmCast(value) else { return nil }
      if case .none = mixed { return .null }
      return (mixed._rlmAny as? any _ScalarValue)?._rlmEngineValue.value
    }
  }
}

/// An object in a migration, with properties accessed by name. Links are migration objects too; lists and sets are
/// arrays, and maps are dictionaries.
@dynamicMemberLookup public final class MigrationObject {
  let side: MigrationSide
  let className: String
  let table: TableKey
  let key: ObjKey

  init(_ side: MigrationSide, _ className: String, _ table: TableKey, _ key: ObjKey) {
    (self.side, self.className, self.table, self.key) = (side, className, table, key)
  }

  /// The value of a property.
  public subscript(dynamicMember member: String) -> Any? {
    get { self[member] }
    set { self[member] = newValue }
  }

  /// The value of a property. Can be set only on new objects.
  public subscript(key name: String) -> Any? {
    get { self[name] }
    set { self[name] = newValue }
  }

  /// The value of a property. Can be set only on new objects.
  public subscript(name: String) -> Any? {
    get {
      checkValid()
      let value = Misuse.unwrap { () throws -> Value in
        switch side.source {
        case .former(let snapshot):
          guard let table = try snapshot.table(table),
            let index = table.columns.firstIndex(where: { $0.name.isExactly(name) })
          else { throw missing(name) }
          let cursor = ObjectCursor(table)
          guard try cursor.seek(key) else { throw Realm.Error(.fail, "the object of '\(className)' is gone") }
          return try Value(copying: cursor.value(index))
        case .transaction(let context):
          let column = try column(name, context)
          return try context.change { try $0.value(table, key, column.key) }
        }
      }
      return side.anyValue(value)
    }
    set {
      checkValid()
      guard case .transaction(let context) = side.source else {
        Misuse.stop("The old objects of a migration cannot be changed.")
      }
      Misuse.unwrap { try set(newValue, column(name, context), context) }
    }
  }

  /// The values of all properties by name; without those that are null.
  var values: [String: Any] {
    let names = Misuse.unwrap { () throws -> [String] in
      switch side.source {
      case .former(let snapshot): try snapshot.table(table)?.columns.map(\.name) ?? []
      case .transaction(let context): try context.change { try $0.columns(of: table).map(\.name) }
      }
    }
    return names.reduce(into: [:]) { values, name in values[name] = self[name] }
  }

  private func checkValid() { if side.isOver { Misuse.stop("The objects of a migration cannot be used after it.") } }

  private func missing(_ name: String) -> Realm.Error {
    Realm.Error(.fail, "'\(className)' has no property '\(name)'")
  }

  private func column(_ name: String, _ context: RealmContext) throws -> Column {
    let column = try context.change { try $0.columns(of: table).first { $0.name.isExactly(name) } }
    guard let column else { throw missing(name) }
    return column
  }

  /// Returns the elements of an array or another sequence, and none for nil.
  private func elements(of value: Any?, _ column: Column) throws -> [Any] {
    guard let value, !ValueAssignment.isNil(value) else { return [] }
    guard let values = value as? any Sequence else {
      throw Realm.Error(.fail, "the value \(value) does not fit the collection '\(className).\(column.name)'")
    }
    var elements: [Any] = []
    for value in values { elements.append(value) }
    return elements
  }

  private func set(_ value: Any?, _ column: Column, _ context: RealmContext) throws {
    func engine(_ value: Any?) throws -> Value {
      guard let engine = side.engineValue(value, column) else {
        throw Realm.Error(.fail, "the value \(value ?? "nil") does not fit '\(className).\(column.name)'")
      }
      return engine
    }
    switch column.collection {
    case nil:
      let value = try engine(value)
      try context.change { try $0.set(table, key, column.key, value) }
    case .list, .set:
      let values = try elements(of: value, column).map { try engine($0) }
      try context.change { transaction in
        try transaction.clear(table, key, column.key)
        for (index, value) in values.enumerated() {
          if column.collection == .set {
            _ = try transaction.add(table, key, column.key, value)
          } else {
            try transaction.insert(table, key, column.key, at: index, value)
          }
        }
      }
    case .dictionary:
      let entries = try (value as? [String: Any] ?? [:]).mapValues { try engine($0) }
      try context.change { transaction in
        try transaction.clear(table, key, column.key)
        for (name, value) in entries {
          try transaction.set(table, key, column.key, entry: Array(name.utf8), value)
        }
      }
    }
  }
}
