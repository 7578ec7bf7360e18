// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A strict reader of changesets: what a program that shares the file learns of a commit.

import RealmPages

/// The instructions of one changeset.
public struct ChangesetReader: Sendable {
  /// Why a changeset cannot be read.
  public struct Malformed: Error, CustomStringConvertible {
    public let description: String
  }

  /// A collection or property of an object.
  public struct Place: Hashable, Sendable {
    public let table: Int64
    public let object: Int64
    public let column: Int64
  }

  /// Tables that were added, removed, renamed.
  public private(set) var tables: (added: Set<Int64>, removed: Set<Int64>, renamed: Set<Int64>) = ([], [], [])
  /// Columns by table: added, removed, renamed.
  public private(set) var columns: (added: Set<[Int64]>, removed: Set<[Int64]>, renamed: Set<[Int64]>) = ([], [], [])
  /// Objects by table and key.
  public private(set) var created: Set<[Int64]> = []
  public private(set) var removed: Set<[Int64]> = []
  /// Properties that were set, or whose collection was changed.
  public private(set) var touched: Set<Place> = []
  /// Tables that were selected.
  public private(set) var selected: Set<Int64> = []

  /// Reads `bytes` from the first to the last.
  public init(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    func operand(_ what: String) throws -> Int64 {
      var value: UInt64 = 0, shift: UInt64 = 0
      while let byte = rest.popFirst() {
        if byte & 0x80 != 0 {
          if shift > 56 { throw Malformed(description: "\(what): more than 64 bits") }
          value |= UInt64(byte & 0x7f) << shift
          shift += 7
          continue
        }
        if byte & 0x3f == 0 && shift > 7 && value < 64 << (shift - 7) {
          throw Malformed(description: "\(what): too long")
        }
        value |= UInt64(byte & 0x3f) << shift
        return byte & 0x40 == 0 ? Int64(bitPattern: value) : ~Int64(bitPattern: value)
      }
      throw Malformed(description: "\(what): the changeset ends")
    }
    func index(_ what: String) throws -> Int64 {
      let value = try operand(what)
      if value < 0 { throw Malformed(description: "\(what): \(value)") }
      return value
    }
    var table: Int64?, collection: Place?
    func here() throws -> Int64 {
      guard let table else { throw Malformed(description: "no table is selected") }
      return table
    }
    while let code = rest.popFirst() {
      switch code {
      case 0x01, 0x02, 0x03:
        let key = try index("table key")
        if code == 0x01 { tables.added.insert(key) }
        if code == 0x02 { tables.removed.insert(key) }
        if code == 0x03 { tables.renamed.insert(key) }
        (table, collection) = (nil, nil)
      case 0x0a:
        if try operand("levels") != 0 { throw Malformed(description: "levels") }
        let key = try index("table key")
        (table, collection) = (key, nil)
        selected.insert(key)
      case 0x0b: created.insert([try here(), try index("object key")])
      case 0x0c: removed.insert([try here(), try operand("object key")])
      case 0x0d:
        let column = try index("column key")
        touched.insert(Place(table: try here(), object: try operand("object key"), column: column))
      case 0x14: columns.added.insert([try here(), try index("column key")])
      case 0x15: columns.removed.insert([try here(), try index("column key")])
      case 0x16: columns.renamed.insert([try here(), try index("column key")])
      case 0x1e, 0x2d:
        let column = try index("column key"), object = try operand("object key")
        let place = Place(table: try here(), object: object, column: column)
        touched.insert(place)
        collection = place
        if code == 0x2d {
          let steps = try index("steps")
          if steps == 0 { throw Malformed(description: "a path without steps") }
          for _ in 0..<steps {
            let key = try operand("step")
            if key == 0 || key != Int64(Int32(truncatingIfNeeded: key)) { throw Malformed(description: "step \(key)") }
          }
        }
      case 0x1f, 0x20, 0x23, 0x24, 0x21:
        guard collection != nil else { throw Malformed(description: "no collection is selected") }
        let first = try index("position")
        if code == 0x21, try index("position") == first { throw Malformed(description: "a move to the same place") }
      case 0x2b:
        _ = (try here(), try index("column key"), try index("table key"))
      default: throw Malformed(description: "instruction \(code)")
      }
    }
  }

  /// What the changeset leaves out or invents, given the realm before and after; nil if it tells the truth.
  public func omission(before: RealmModel, after: RealmModel) -> String? {
    for key in selected {
      let table = TableKey(UInt32(truncatingIfNeeded: key))
      let isKnown = before.classes[table] != nil || after.classes[table] != nil || after.otherTables.contains(table)
      if !isKnown && !tables.added.contains(key) { return "selects table \(key)" }
    }
    for (key, new) in after.classes {
      let table = Int64(key.value)
      guard let old = before.classes[key] else {
        if !tables.added.contains(table) { return "says nothing of class \(new.name)" }
        continue
      }
      if old.name != new.name && !tables.renamed.contains(table) { return "does not rename \(new.name)" }
      for property in new.properties {
        guard let known = old.property(property.key) else {
          if !columns.added.contains([table, property.key.value]) {
            return "does not add \(new.name).\(property.name)"
          }
          continue
        }
        if known.name != property.name && !columns.renamed.contains([table, property.key.value]) {
          return "does not rename \(new.name).\(property.name)"
        }
      }
      for property in old.properties where new.property(property.key) == nil {
        if !columns.removed.contains([table, property.key.value]) {
          return "does not remove \(new.name).\(property.name)"
        }
      }
      for (object, values) in new.objects {
        guard let was = old.objects[object] else {
          if new.kind != .embedded && !created.contains([table, object.value]) {
            return "does not create \(new.name) \(object)"
          }
          continue
        }
        // Removed and made again with the same key.
        if created.contains([table, object.value]) || removed.contains([table, object.value]) { continue }
        for property in new.properties where old.property(property.key) != nil {
          let place = Place(table: table, object: object.value, column: property.key.value)
          if touched.contains(place) { continue }
          guard let a = was[property.key], let b = values[property.key], RealmModel.same(a, b) else {
            return "does not say that \(new.name) \(object), \(property.name) changed"
          }
        }
      }
      for object in old.objects.keys where new.objects[object] == nil {
        if !removed.contains([table, object.value]) { return "does not remove \(new.name) \(object)" }
      }
    }
    for (key, old) in before.classes where after.classes[key] == nil {
      if !tables.removed.contains(Int64(key.value)) { return "does not remove class \(old.name)" }
    }
    return nil
  }
}
