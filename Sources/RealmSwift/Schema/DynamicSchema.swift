// Classes as a file has them, for migrations: their objects are dynamic, and no model is needed.

import Foundation
import RealmPages

extension WantedClasses {
  /// Reads all classes of a version.
  init(in snapshot: Snapshot) throws {
    try self.init(
      dynamic: snapshot.classes().compactMap { table in
        try table.className.map { name in
          try ClassSchema(
            dynamic: name,
            table.kind,
            table.columns.map { try ModelProperty(dynamic: $0, table) { try snapshot.table($0)?.className } }
          )
        }
      }
    )
  }

  /// Returns these classes as a realm has them, with the same properties in the same order.
  func dynamic(in context: RealmContext) throws -> WantedClasses {
    try WantedClasses(
      dynamic: classes.compactMap { schema in
        guard let table = try context.table(ofClass: schema.name) else { return nil }
        let properties = try schema.properties.filter(\.isStored).compactMap { property in
          try table.columns.first { $0.name.isExactly(property.storedName) }
            .map { try ModelProperty(dynamic: $0, table, model: property, name: context.className) }
        }
        return ClassSchema(dynamic: schema.name, schema.kind, properties)
      }
    )
  }
}

extension ModelProperty {
  /// Creates the property of a column. The name and the primary key are those of `model` if there is one. `className`
  /// returns the name of a class.
  fileprivate init(
    dynamic column: Column,
    _ table: Table,
    model: ModelProperty? = nil,
    name className: (TableKey) throws -> String?
  ) throws {
    name = model?.name ?? column.name
    storedName = column.name
    // Dynamic objects have no storage for values.
    offset = 0
    let types = Self.types(of: column)
    storageType = types.storage
    type = types.value._rlmType
    isPrimaryKey = model?.isPrimaryKey ?? (table.primaryKey?.key == column.key)
    isIndexed = column.index != nil
    originProperty = nil
    if let target = column.targetTable { targetName = try className(target) }
  }

  private typealias Types = (value: any _Persistable.Type, storage: any PropertyStorage.Type)

  /// Returns the type that represents the values of a column.
  private static func types(of column: Column) -> Types {
    switch column.type {
    case .int: types(of: column, Int.self)
    case .bool: types(of: column, Bool.self)
    case .string: types(of: column, String.self)
    case .data: types(of: column, Data.self)
    case .date: types(of: column, Date.self)
    case .float: types(of: column, Float.self)
    case .double: types(of: column, Double.self)
    case .decimal128: types(of: column, Decimal128.self)
    case .objectID: types(of: column, ObjectId.self)
    case .uuid: types(of: column, UUID.self)
    case .mixed: types(in: column.collection, AnyRealmValue.self)
    case .link:
      switch column.collection {
      case nil: types(DynamicObject?.self)
      case .list: types(List<DynamicObject>.self)
      case .set: types(MutableSet<DynamicObject>.self)
      case .dictionary: types(Map<String, DynamicObject?>.self)
      }
    }
  }

  private static func types<T: _ScalarValue>(of column: Column, _ type: T.Type) -> Types {
    column.isNullable ? types(in: column.collection, T?.self) : types(in: column.collection, type)
  }

  private static func types<T: RealmCollectionValue & _Persistable>(
    in collection: CollectionKind?,
    _ type: T.Type
  ) -> Types {
    switch collection {
    case nil: types(type)
    case .list: types(List<T>.self)
    case .set: types(MutableSet<T>.self)
    case .dictionary: types(Map<String, T>.self)
    }
  }

  private static func types<T: _Persistable>(_ type: T.Type) -> Types { (type, Persisted<T>.self) }
}
