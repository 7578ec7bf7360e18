// The PostgreSQL form of a realm's properties. The types themselves are in RealmTransfer/Export/SQLTypes.swift;
// docs/POSTGRESQL.md has the whole table.

import RealmPages
import RealmTransfer

/// A scalar PostgreSQL type for Realm values.
struct ScalarForm: Hashable {
  let type: ValueType

  /// The type in PostgreSQL.
  var postgres: PostgresType { type.postgresType }

  /// The SQL name of the type.
  var sql: String { postgres.name }
}

/// The target of links: a class, and the key of its table.
struct LinkTarget: Hashable {
  let className: String
  let key: RowKeyForm

  /// The type of the key.
  var scalar: ScalarForm { key.scalar }

  /// The target in the catalog. It includes the key, because a class with a different key has a different table.
  var name: String { "\(scalar.sql) \(className)(\(key.property))" }
}

/// The form of one property.
enum ColumnForm: Hashable {
  case scalar(ScalarForm)
  /// A list or set of scalars.
  case array(ScalarForm)
  /// A dictionary, a Mixed value or embedded objects: the JSON of the mounted tree.
  case json
  /// A link: the key of an object of this class.
  case link(LinkTarget)
  /// A list or set of links, in a separate table.
  case links(LinkTarget)

  var isLink: Bool { if case .link = self { true } else { false } }

  /// The SQL type of the column; for a links table, the type of the targets.
  var sql: String {
    switch self {
    case .scalar(let form): form.sql
    case .link(let target), .links(let target): target.scalar.sql
    case .array(let form): form.sql + "[]"
    case .json: PostgresType.jsonb.name
    }
  }

  var oid: UInt32 {
    switch self {
    case .scalar(let form): form.postgres.oid
    case .link(let target), .links(let target): target.scalar.postgres.oid
    case .array(let form): form.postgres.arrayOID
    case .json: PostgresType.jsonb.oid
    }
  }

  /// The form in the replica's catalog, used to find the column of a property again.
  var name: String {
    switch self {
    case .scalar(let form): form.type == .objectID ? "objectId" : form.sql
    case .array(let form): (form.type == .objectID ? "objectId" : form.sql) + "[]"
    case .json: "jsonb"
    case .link(let target): "link \(target.name)"
    case .links(let target): "links \(target.name)"
    }
  }

  /// The companion column for values that do not fit: its suffix and type; nil if every value fits.
  var exact: (suffix: String, type: PostgresType)? {
    switch self {
    case .scalar(let form):
      switch form.type {
      case .string: ("__bytes", .bytea)
      case .date, .decimal128: ("__text", .text)
      default: nil
      }
    case .array(let form):
      switch form.type {
      case .string, .date, .decimal128: ("__json", .text)
      default: nil
      }
    case .json: ("__json", .text)
    case .link, .links: nil
    }
  }
}

/// The key of the objects of a class in its table.
enum RowKeyForm: Hashable {
  /// The primary key, in its property's column.
  case property(String, ScalarForm)
  /// The object key, in `_object_key`, for a class without a primary key or with a nullable one.
  case objectKey

  var scalar: ScalarForm {
    switch self {
    case .property(_, let form): form
    case .objectKey: ScalarForm(type: .int)
    }
  }

  /// The name of the property, or of the object key's column.
  var property: String { if case .property(let name, _) = self { name } else { "_object_key" } }

  /// The form in the replica's catalog.
  var name: String {
    switch self {
    case .property(let name, let form): "\(ColumnForm.scalar(form).name) \(name)"
    case .objectKey: "_object_key"
    }
  }

  init(_ table: Table) {
    if let key = table.primaryKey, !key.isNullable, key.collection == nil,
      [.int, .string, .objectID, .uuid].contains(key.type)
    {
      self = .property(key.name, ScalarForm(type: key.type))
    } else {
      self = .objectKey
    }
  }
}

extension ColumnForm {
  /// Determines the form of a property.
  init(_ column: Column, in snapshot: Snapshot) throws(EngineError) {
    if column.type == .link {
      guard let target = try column.targetTable.flatMap({ (key) throws(EngineError) in try snapshot.table(key) }),
        target.kind != .embedded, let name = target.className, column.collection != .dictionary
      else {
        self = .json
        return
      }
      let link = LinkTarget(className: name, key: RowKeyForm(target))
      self = column.collection == nil ? .link(link) : .links(link)
    } else if column.type == .mixed || column.collection == .dictionary {
      self = .json
    } else {
      let form = ScalarForm(type: column.type)
      self = column.collection == nil ? .scalar(form) : .array(form)
    }
  }
}
