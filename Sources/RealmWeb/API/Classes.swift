// `/api/info`, `/api/classes` and `/api/schema`.

import RealmJSON
import RealmPages

extension WebAPI {
  func info() throws -> WebResponse {
    let size = try browsed.realm.fileStatus().size
    return try browsed.onNewest { snapshot in
      .json(
        .object([
          ("file", .string(browsed.path.split(separator: "/").last.map(String.init) ?? browsed.path)),
          ("path", .string(browsed.path)),
          ("format", .number(snapshot.fileFormat)),
          ("version", .number(Int(clamping: snapshot.version))),
          ("fileSize", .number(size)),
          ("writable", .bool(browsed.writer != nil)),
          ("encrypted", .bool(browsed.realm.configuration.encryptionKey != nil)),
          ("synced", .bool(snapshot.historyType > 2)),
        ])
      )
    }
  }

  func classes() throws -> WebResponse {
    try browsed.onNewest { snapshot in
      let tables = try snapshot.classTables()
      return .json(
        .object([
          ("version", .number(Int(clamping: snapshot.version))),
          ("classes", .array(tables.map { Self.json($0, tables) })),
        ])
      )
    }
  }

  private static func json(_ table: Table, _ tables: [Table]) -> JSONValue {
    let kind =
      switch table.kind {
      case .topLevel: "object"
      case .embedded: "embedded"
      case .asymmetric: "asymmetric"
      }
    return .object([
      ("name", .string(table.className ?? "")),
      ("kind", .string(kind)),
      ("count", .number(table.damage == nil ? table.objectCount : 0)),
      ("primaryKey", table.primaryKey.map { .string($0.name) } ?? .null),
      ("damage", table.damage.map { .string($0.description) } ?? .null),
      ("properties", .array(table.columns.map { json($0, tables) })),
    ])
  }

  private static func json(_ column: Column, _ tables: [Table]) -> JSONValue {
    let collection = column.collection.map { JSONValue.string(SchemaRenderer.name(of: $0)) } ?? .null
    let target = column.targetTable.flatMap { key in tables.first { $0.key == key }?.className }
    return .object([
      ("name", .string(column.name)),
      ("type", .string(SchemaRenderer.name(of: column.type))),
      ("collection", collection),
      ("nullable", .bool(column.isNullable)),
      ("indexed", .bool(column.index == .general)),
      ("fullText", .bool(column.index == .fullText)),
      ("target", target.map { .string($0) } ?? .null),
    ])
  }

  func schema() throws -> WebResponse {
    try browsed.onNewest { snapshot in
      let out = OutputBuffer()
      try SchemaRenderer.render(snapshot, into: out)
      return .json(out)
    }
  }
}
