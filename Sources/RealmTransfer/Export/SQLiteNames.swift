// The names of tables, columns and indexes in an exported SQLite database, chosen in one place for the export and the
// import of its result.

import RealmJSON
import RealmPages

/// The names in a database of these classes.
struct SQLiteNames {
  /// A class, before names are chosen.
  struct Class {
    let name: String
    /// The properties: their names, whether each is a collection, and whether its column has an index.
    let properties: [(name: String, isCollection: Bool, isIndexed: Bool)]
  }

  /// A class with the names of its table and of the columns or child tables of its properties.
  struct ClassNames {
    let table: String
    var properties: [(name: String, index: String?)] = []
  }

  /// The names, in the order of the classes.
  let classes: [ClassNames]
  /// The names of the tables by key; empty for a schema without keys.
  private(set) var tables: [TableKey: String] = [:]

  /// Chooses names for the tables of an export.
  init(_ tables: [Table]) {
    let keys = Set(tables.map(\.key))
    self.init(
      tables.map { table in
        let properties = table.columns.map { column in
          let isLink = column.targetTable.map { keys.contains($0) } ?? false
          let isIndexed = column.index != nil && table.primaryKey?.key != column.key || isLink
          return (name: column.name, isCollection: column.collection != nil, isIndexed: isIndexed)
        }
        return Class(name: table.className ?? table.name, properties: properties)
      }
    )
    for (table, names) in zip(tables, classes) { self.tables[table.key] = names.table }
  }

  /// Chooses the names that an export of all classes of a schema has.
  init(_ schema: SchemaDescription) {
    self.init(
      schema.classes.map { description in
        let properties = description.properties.map {
          (name: $0.name, isCollection: $0.collection != nil, isIndexed: $0.index != nil || $0.type == .link)
        }
        return Class(name: description.name, properties: properties)
      }
    )
  }

  private init(_ classes: [Class]) {
    var used = SQLNames.sqlite(reserved: [])
    var names = classes.map { ClassNames(table: used.take($0.name)) }
    for (index, description) in classes.enumerated() {
      let table = names[index].table
      var columns = SQLNames.sqlite(reserved: ["_key"])
      for property in description.properties {
        if property.isCollection {
          names[index].properties.append((used.take("\(table).\(property.name)"), nil))
          continue
        }
        let column = columns.take(property.name)
        let indexName = property.isIndexed ? used.take("\(table).\(column).index") : nil
        names[index].properties.append((column, indexName))
      }
    }
    self.classes = names
  }

  /// True if a string in a Mixed column would be read as JSON.
  static func isJSON(_ text: ByteView) -> Bool { unsafe isJSON(text.unsafeBytes) }

  /// True if text in a Mixed column is JSON: an object, an array, a string, true or false.
  static func isJSON(_ text: some Collection<UInt8>) -> Bool {
    guard let first = text.first else { return false }
    return "{[\"".utf8.contains(first) || text.elementsEqual("true".utf8) || text.elementsEqual("false".utf8)
  }
}
