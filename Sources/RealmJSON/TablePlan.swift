// What rendering needs to know of one table, worked out once: the property names as JSON text, and cursors.

import RealmPages

/// The part of rendering that is the same for all objects of a table.
final class TablePlan {
  /// The name of a property as JSON text, in `names`, and how its values are written.
  struct Property {
    let name: Range<Int>
    let isMixed: Bool
    /// Whether the file has each text once for each object that shows it: all but those of enumerated properties.
    let ownsTexts: Bool
  }

  let table: Table
  let properties: [Property]
  /// The quoted names of all properties, one after another.
  let names = OutputBuffer()
  /// For objects that are asked for by key.
  let cursor: ObjectCursor
  /// For the primary keys of objects that others link to.
  let targetCursor: ObjectCursor

  // An embedded object can hold another of its own class, so each level of nesting needs a cursor.
  private var embeddedCursors: [ObjectCursor] = []
  private var embeddedCursorsInUse = 0

  init(_ table: Table) {
    self.table = table
    cursor = ObjectCursor(table)
    targetCursor = ObjectCursor(table)
    let names = names
    properties = table.columns.map { column in
      let start = names.count
      names.append(quoted: column.name)
      let hasTexts = [.string, .data, .mixed].contains(column.type) && column.collection == nil
      let ownsTexts = hasTexts && !column.isEnumerated
      return Property(name: start..<names.count, isMixed: column.type == .mixed, ownsTexts: ownsTexts)
    }
  }

  /// The name that `$ref` bears.
  var shownName: String { table.className ?? table.name }

  /// A cursor that is the caller's until it calls `giveBackEmbeddedCursor()`; the last one taken goes back first.
  func takeEmbeddedCursor() -> ObjectCursor {
    if embeddedCursorsInUse == embeddedCursors.count { embeddedCursors.append(ObjectCursor(table)) }
    embeddedCursorsInUse += 1
    return embeddedCursors[embeddedCursorsInUse - 1]
  }

  func giveBackEmbeddedCursor() { embeddedCursorsInUse -= 1 }
}
