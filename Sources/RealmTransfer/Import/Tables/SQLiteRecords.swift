// Converts the rows of a SQLite database to the JSON of objects, one on each line. A value whose type is not that of
// its property becomes the JSON of that value, which the import rejects with its position.

import RealmJSON
import RealmPages

/// Converts the rows of a database.
final class SQLiteRecords {
  private let database: SQLiteDatabase
  private let content: SQLiteSchema
  private let schema: SchemaDescription
  private let names: SQLiteNames
  /// The readers of embedded objects, by class.
  private var embedded: [String: ObjectReader] = [:]

  /// The limit for the text of one object, as for a line of text.
  private static let longestObject = 1 << 30
  private static let maxDepth = 200

  /// Prepares the conversion to the classes of `schema`. `content` has the tables of the database.
  init(_ database: SQLiteDatabase, _ content: SQLiteSchema, _ schema: SchemaDescription) {
    (self.database, self.content, self.schema) = (database, content, schema)
    names = SQLiteNames(schema)
  }

  /// The values of a property or element in a row: how many, and how they are read.
  private enum Form {
    case value(ValueType)
    /// A link to a class with a primary key of this type; nil for one with object keys.
    case link(String, ValueType?)
    case embedded(String)
    /// JSON text, for collections and embedded objects in a database that is not an export.
    case json
    /// The elements in a child table.
    case elements(SQLiteStatement, ElementForm, isDictionary: Bool)
  }

  private final class ElementForm {
    let form: Form
    init(_ form: Form) { self.form = form }
  }

  /// Reads objects of one class.
  private final class ObjectReader {
    let statement: SQLiteStatement
    /// The properties with their names as JSON, and the number of values that each has in a row.
    let fields: [(name: [UInt8], form: Form, count: Int)]
    let showsKey: Bool
    let isExport: Bool

    init(
      _ statement: SQLiteStatement,
      _ fields: [(name: [UInt8], form: Form, count: Int)],
      showsKey: Bool,
      isExport: Bool
    ) {
      (self.statement, self.fields, self.showsKey, self.isExport) = (statement, fields, showsKey, isExport)
    }
  }

  /// Returns the objects of a table as lines of JSON. `name` is its name in messages.
  func convert(_ table: SQLiteMapping.MappedTable, name: String) throws -> InputFile {
    let text = try TemporaryText()
    let reader = try reader(table.className, table.table.name, table.columns, table.table.isExported, byKey: false)
    defer { reader.statement.reset() }
    var count = 0
    while let row = try reader.statement.next() {
      count += 1
      let start = text.buffer.count
      do {
        try append(row, reader, text.buffer, start: start, depth: 0)
      } catch {
        switch error {
        case .failure(let error): throw error
        case .tooLarge:
          throw TransferError.unsuitable(
            "\(name): row \(count): embedded objects form a cycle or are nested too deeply, "
              + "or its text is longer than 1 GiB"
          )
        }
      }
      text.buffer.append(0x0A)
      try text.flush()
    }
    return try text.input(name: name)
  }

  private enum Problem: Error {
    case failure(any Error)
    /// Objects are nested too deeply, or the text of one is too long.
    case tooLarge
  }

  // MARK: statements

  private func reader(
    _ className: String,
    _ table: String,
    _ columns: [SQLiteMapping.MappedColumn],
    _ isExport: Bool,
    byKey: Bool
  ) throws -> ObjectReader {
    var expressions = isExport ? ["t.\"_key\""] : []
    var fields: [(name: [UInt8], form: Form, count: Int)] = []
    for column in columns {
      let out = OutputBuffer()
      out.append(quoted: column.property.name)
      out.append(":")
      if isExport, let collection = column.property.collection {
        let form = try elements(column, isDictionary: collection == .dictionary)
        fields.append((out.bytes, form, 0))
        continue
      }
      let value = "t.\(column.column.quotedForSQL)"
      let form = isExport ? self.form(column.property) : foreignForm(column.property)
      let parts = isExport ? values(value, form) : [value]
      expressions += parts
      fields.append((out.bytes, form, parts.count))
    }
    let condition = byKey ? " WHERE t.\"_key\" = ?" : ""
    let statement = try SQLiteStatement(
      database,
      "SELECT \(expressions.joined(separator: ", ")) FROM \(table.quotedForSQL) t\(condition)"
    )
    let showsKey = isExport && !byKey && schema[className]?.primaryKey == nil
    return ObjectReader(statement, fields, showsKey: showsKey, isExport: isExport)
  }

  private func elements(
    _ column: SQLiteMapping.MappedColumn,
    isDictionary: Bool
  ) throws -> Form {
    let form = form(column.property), place = isDictionary ? "\"_name\"" : "\"_index\""
    let parts = [isDictionary ? "t.\"_name\"" : "NULL"] + values("t.\"value\"", form)
    let statement = try SQLiteStatement(
      database,
      "SELECT \(parts.joined(separator: ", ")) FROM \(column.column.quotedForSQL) t WHERE t.\"_owner\" = ? "
        + "ORDER BY t.\(place)"
    )
    return .elements(statement, ElementForm(form), isDictionary: isDictionary)
  }

  /// Returns the form of a value in an export.
  private func form(_ property: PropertyDescription) -> Form {
    guard property.type == .link, let target = property.target, let known = schema[target] else {
      return .value(property.type)
    }
    if known.kind == .embedded { return .embedded(target) }
    return .link(target, known.primaryKey.flatMap { known[$0]?.type })
  }

  /// Returns the form of a value in any other database.
  private func foreignForm(_ property: PropertyDescription) -> Form {
    if property.collection != nil { return .json }
    guard property.type == .link, let target = property.target, let known = schema[target] else {
      return .value(property.type)
    }
    if known.kind == .embedded { return .json }
    return .value(known.primaryKey.flatMap { known[$0]?.type } ?? .int)
  }

  /// Returns the SQL expressions for a value in an export; for a link, also the primary key of its target.
  private func values(_ value: String, _ form: Form) -> [String] {
    guard case .link(let target, .some) = form, let names = names(of: target),
      let key = names.description.primaryKey,
      let column = zip(names.description.properties, names.sql.properties).first(where: { $0.0.name.isExactly(key) })
    else { return [value] }
    let table = names.sql.table.quotedForSQL
    return [value, "(SELECT k.\(column.1.name.quotedForSQL) FROM \(table) k WHERE k.\"_key\" = \(value))"]
  }

  private func names(of className: String) -> (description: ClassDescription, sql: SQLiteNames.ClassNames)? {
    guard let index = schema.classes.firstIndex(where: { $0.name.isExactly(className) }) else { return nil }
    return (schema.classes[index], names.classes[index])
  }

  private func embeddedReader(_ className: String) throws -> ObjectReader {
    if let reader = embedded[className] { return reader }
    guard let (description, sql) = names(of: className) else { throw TransferError.unsuitable("no class \(className)") }
    // A property that the class got after the export has no column or table.
    let columns = zip(description.properties, sql.properties).filter { [content] in
      $0.collection == nil ? content.hasColumn($1.name, of: sql.table) : content.hasCollection($1.name)
    }.map { SQLiteMapping.MappedColumn(column: $1.name, property: $0) }
    let reader = try reader(className, sql.table, columns, true, byKey: true)
    embedded[className] = reader
    return reader
  }

  // MARK: objects

  private func append(
    _ row: [SQLiteValue],
    _ reader: ObjectReader,
    _ out: OutputBuffer,
    start: Int,
    depth: Int
  ) throws(Problem) {
    if depth > Self.maxDepth || out.count - start > Self.longestObject { throw .tooLarge }
    out.append("{")
    var index = reader.isExport ? 1 : 0
    var isFirst = true
    if reader.showsKey, let key = row.first?.integer {
      out.append("\"$key\":")
      out.append(decimal: key)
      isFirst = false
    }
    for field in reader.fields {
      if !isFirst { out.append(",") }
      isFirst = false
      out.append(field.name)
      if case .elements(let statement, let element, let isDictionary) = field.form {
        let rows: [[SQLiteValue]]
        do {
          statement.bind(1, row.first?.integer ?? 0)
          rows = try statement.rows()
        } catch { throw .failure(error) }
        try append(rows, element.form, isDictionary, out, start: start, depth: depth)
        continue
      }
      try append(row[index..<index + field.count], field.form, reader.isExport, out, start: start, depth: depth)
      index += field.count
    }
    out.append("}")
  }

  private func append(
    _ rows: [[SQLiteValue]],
    _ form: Form,
    _ isDictionary: Bool,
    _ out: OutputBuffer,
    start: Int,
    depth: Int
  ) throws(Problem) {
    // Pairs, because a key can be bytes that are not UTF-8.
    out.append(isDictionary ? "{\"$dictionary\":[" : "[")
    for (position, row) in rows.enumerated() {
      if position > 0 { out.append(",") }
      if isDictionary {
        out.append("[")
        append(row[0], .string, isExport: true, out)
        out.append(",")
      }
      try append(row[1...], form, true, out, start: start, depth: depth)
      if isDictionary { out.append("]") }
    }
    out.append(isDictionary ? "]}" : "]")
  }

  private func append(
    _ values: ArraySlice<SQLiteValue>,
    _ form: Form,
    _ isExport: Bool,
    _ out: OutputBuffer,
    start: Int,
    depth: Int
  ) throws(Problem) {
    guard let value = values.first, let last = values.last else { return out.append("null") }
    switch form {
    case .value(let type): append(value, type, isExport: isExport, out)
    case .json:
      if case .text(let text) = value, isJSON(text) {
        out.append(text)
      } else {
        append(value, .mixed, isExport: false, out)
      }
    case .link(let target, let type):
      guard case .null = value else {
        if type != nil, case .null = last {
          // An object whose primary key is null.
          out.append("{\"$ref\":")
          out.append(quoted: target)
          out.append(",\"$id\":null}")
        } else {
          append(last, type ?? .int, isExport: isExport, out)
        }
        return
      }
      out.append("null")
    case .embedded(let className):
      guard let key = value.integer else { return append(value, .mixed, isExport: false, out) }
      let reader: ObjectReader, rows: [[SQLiteValue]]
      do {
        reader = try embeddedReader(className)
        reader.statement.bind(1, key)
        rows = try reader.statement.rows()
      } catch { throw .failure(error) }
      guard let row = rows.first else { return out.append(decimal: key) }
      try append(row, reader, out, start: start, depth: depth + 1)
    case .elements: out.append("null")
    }
  }

  // MARK: values

  /// True if text is one JSON value: text after it could set other properties.
  private func isJSON(_ text: [UInt8]) -> Bool {
    // The reason that text is not JSON does not matter: it is a string then.
    (try? JSONText(text)) != nil
  }

  private func append(_ value: SQLiteValue, _ type: ValueType, isExport: Bool, _ out: OutputBuffer) {
    switch value {
    case .null: out.append("null")
    case .integer(let number):
      if type == .bool, number == 0 || number == 1 {
        out.append(number == 1 ? "true" : "false")
      } else {
        out.append(decimal: number)
      }
    case .real(let number): append(number, out)
    case .text(let text): append(text, type, isExport, out)
    case .blob(let bytes): append(blob: bytes, type, out)
    }
  }

  private func append(_ number: Double, _ out: OutputBuffer) {
    if number.isFinite { return out.append(real: number) }
    out.append(number > 0 ? "{\"$numberDouble\":\"Infinity\"}" : "{\"$numberDouble\":\"-Infinity\"}")
  }

  private func append(_ text: [UInt8], _ type: ValueType, _ isExport: Bool, _ out: OutputBuffer) {
    switch type {
    case .mixed where isExport && SQLiteNames.isJSON(text) && isJSON(text): out.append(text)
    case .date:
      if isExport, text.first == UInt8(ascii: "{"), isJSON(text) { return out.append(text) }
      let mark = out.count
      out.append("\"")
      if let date = Timestamp(lenient: text), out.append(date: date) { return out.append("\"") }
      out.truncate(to: mark)
      out.append(string: text)
    case .float, .double:
      guard text.elementsEqual("NaN".utf8) else { return out.append(string: text) }
      out.append("{\"$numberDouble\":\"NaN\"}")
    case .bool:
      let word = String(decoding: text, as: UTF8.self).lowercased()
      if word == "true" || word == "false" { out.append(Array(word.utf8)) } else { out.append(string: text) }
    case .data: append(blob: text, type, out)
    default: out.append(string: text)
    }
  }

  private func append(blob bytes: [UInt8], _ type: ValueType, _ out: OutputBuffer) {
    switch type {
    case .uuid where bytes.count == 16:
      out.append("\"")
      for (index, byte) in bytes.enumerated() {
        if [4, 6, 8, 10].contains(index) { out.append("-") }
        out.append(hex: byte)
      }
      out.append("\"")
    case .objectID where bytes.count == 12:
      out.append("\"")
      for byte in bytes { out.append(hex: byte) }
      out.append("\"")
    case .data:
      out.append("\"")
      unsafe out.append(base64: bytes.span.bytes)
      out.append("\"")
    default:
      out.append("{\"$binary\":{\"base64\":\"")
      unsafe out.append(base64: bytes.span.bytes)
      out.append("\",\"subType\":\"00\"}}")
    }
  }
}
