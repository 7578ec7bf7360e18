// Precomputed data for rendering one table: the property names as JSON text, and cursors.

import RealmPages

/// The part of rendering that is the same for all objects of a table.
final class TablePlan {
  /// A property: the range of its name, as JSON text, in `names`, and the form of its values.
  struct Property {
    let name: Range<Int>
    let isMixed: Bool
    /// True if the property holds single strings, binaries or Mixed values that objects of a valid file do not share.
    /// Objects share the strings of enumerated properties.
    let ownsTexts: Bool
  }

  let table: Table
  let properties: [Property]
  /// The quoted names of all properties, one after another.
  let names = OutputBuffer()
  /// The cursor for objects requested by key.
  let cursor: ObjectCursor
  /// The cursor for the primary keys of link targets.
  let targetCursor: ObjectCursor

  // An embedded object can contain another of its own class, so each level of nesting needs a cursor.
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

  /// The name of the class in `$ref`.
  var shownName: String { table.className ?? table.name }

  /// Lends a cursor until the caller calls `giveBackEmbeddedCursor()`; cursors are returned in reverse order.
  func takeEmbeddedCursor() -> ObjectCursor {
    if embeddedCursorsInUse == embeddedCursors.count { embeddedCursors.append(ObjectCursor(table)) }
    embeddedCursorsInUse += 1
    return embeddedCursors[embeddedCursorsInUse - 1]
  }

  func giveBackEmbeddedCursor() { embeddedCursorsInUse -= 1 }
}
