// Renders the schema as JSON text, in the canonical object-schema format of Realm JavaScript.

public import RealmPages

/// Renders schemas.
public enum SchemaRenderer {
  /// Appends the complete schema to `out`: the schema version and all classes in slot order, in the layout of `jq .`.
  public static func render(_ snapshot: Snapshot, into out: OutputBuffer) throws(RenderError) {
    let start = out.count
    do {
      var writer = JSONWriter(out, .pretty)
      writer.beginWrapper("schemaVersion")
      if let version = try snapshot.schemaVersion() {
        out.append(decimal: version)
      } else {
        writer.null()
      }
      writer.member("schema")
      writer.beginArray()
      var isFirst = true
      for key in try snapshot.tableKeys() {
        guard let table = try snapshot.table(key), table.className != nil else { continue }
        writer.next(isFirst: isFirst)
        isFirst = false
        try objectSchema(table, snapshot, &writer)
      }
      writer.endArray(isEmpty: isFirst)
      writer.endObject()
      writer.finish()
    } catch {
      out.truncate(to: start)
      throw RenderError(.damaged(error))
    }
  }

  /// Appends the schema of one class to `out`.
  public static func render(
    _ table: Table,
    of snapshot: Snapshot,
    layout: JSONLayout = .pretty,
    into out: OutputBuffer
  ) throws(RenderError) {
    let start = out.count
    do {
      var writer = JSONWriter(out, layout)
      try objectSchema(table, snapshot, &writer)
      writer.finish()
    } catch {
      out.truncate(to: start)
      throw RenderError(.damaged(error))
    }
  }

  private static func objectSchema(
    _ table: Table,
    _ snapshot: Snapshot,
    _ writer: inout JSONWriter
  ) throws(EngineError) {
    if let damage = table.damage { throw damage }
    writer.beginWrapper("name")
    writer.out.append(quoted: table.className ?? table.name)
    if let primaryKey = table.primaryKey {
      writer.member("primaryKey")
      writer.out.append(quoted: primaryKey.name)
    }
    switch table.kind {
    case .topLevel: break
    case .embedded: flag("embedded", writer)
    case .asymmetric: flag("asymmetric", writer)
    }
    writer.member("properties")
    writer.beginObject()
    for (index, column) in table.columns.enumerated() {
      writer.next(isFirst: index == 0)
      writer.out.append(quoted: column.name)
      writer.endName()
      try property(column, isPrimaryKey: index == table.primaryKeyIndex, snapshot, &writer)
    }
    writer.endObject(isEmpty: table.columns.isEmpty)
    writer.endObject()
  }

  private static func property(
    _ column: Column,
    isPrimaryKey: Bool,
    _ snapshot: Snapshot,
    _ writer: inout JSONWriter
  ) throws(EngineError) {
    writer.beginWrapper("type")
    writer.out.append(quoted: column.collection.map(name(of:)) ?? name(of: column.type))
    let target = try targetName(of: column, snapshot)
    if let elements = target ?? (column.collection == nil ? nil : name(of: column.type)) {
      writer.member("objectType")
      writer.out.append(quoted: elements)
    }
    if column.isNullable { flag("optional", writer) }
    // The index of a primary key is implied.
    switch isPrimaryKey ? nil : column.index {
    case nil: break
    case .general: flag("indexed", writer)
    case .fullText:
      writer.member("indexed")
      writer.out.append("\"full-text\"")
    }
    writer.endObject()
  }

  private static func flag(_ name: StaticString, _ writer: JSONWriter) {
    writer.member(name)
    writer.out.append("true")
  }

  private static func targetName(of column: Column, _ snapshot: Snapshot) throws(EngineError) -> String? {
    guard column.type == .link, let key = column.targetTable, let table = try snapshot.table(key) else { return nil }
    return table.className ?? table.name
  }

  /// The name of a kind of collection in a schema.
  package static func name(of collection: CollectionKind) -> String {
    switch collection {
    case .list: "list"
    case .set: "set"
    case .dictionary: "dictionary"
    }
  }

  /// The name of a type in a schema.
  package static func name(of type: ValueType) -> String {
    switch type {
    case .int: "int"
    case .bool: "bool"
    case .string: "string"
    case .data: "data"
    case .mixed: "mixed"
    case .date: "date"
    case .float: "float"
    case .double: "double"
    case .decimal128: "decimal128"
    case .objectID: "objectId"
    case .uuid: "uuid"
    case .link: "object"
    }
  }
}
