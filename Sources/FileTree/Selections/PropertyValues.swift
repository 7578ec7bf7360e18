// The distinct values of a property, from its search index or by one scan of the objects.

import RealmJSON
import RealmNames
import RealmPages

/// The values of one property of the objects of a table.
struct PropertyValues {
  private let property: Column
  private let index: Int
  private let table: Table
  private let target: (cursor: ObjectCursor, primaryKey: Int?)?

  init(_ property: Column, _ table: Table, _ snapshot: Snapshot) throws(FileTreeError) {
    self.property = property
    self.table = table
    index = table.columns.firstIndex { $0.key == property.key } ?? 0
    let target: Table?
    do {
      target = try property.targetTable.flatMap { (key) throws(EngineError) in try snapshot.table(key) }
    } catch { throw .damaged(property.name, error) }
    self.target = target.map { (ObjectCursor($0), $0.primaryKeyIndex) }
  }

  /// Returns the names of the distinct values, sorted by value.
  ///
  /// `keys` are the objects to read; nil for all. Memory is proportional to the number of values.
  func names(of keys: [ObjKey]?, until deadline: ContinuousClock.Instant) throws(FileTreeError) -> [[UInt8]] {
    var values: [[UInt8]: ValueView] = [:]
    let name = OutputBuffer()
    try scan(keys ?? table.objectsOfDistinctValues(of: index), until: deadline) { value throws(EngineError) in
      guard try self.name(value, into: name) else { return true }
      let bytes = name.bytes
      if values[bytes] == nil { values[bytes] = value }
      return true
    }
    let sorted = values.sorted { a, b in
      let order = a.value.order(b.value)
      return order != 0 ? order < 0 : a.key.lexicographicallyPrecedes(b.key)
    }
    // Values with different names can be equal, such as 0.0 and -0.0, or 1E1 and 10.
    var names: [[UInt8]] = [], last: ValueView?
    for (name, value) in sorted {
      if let last, last.order(value) == 0 { continue }
      names.append(name)
      last = value
    }
    return names
  }

  /// Returns the value with this name; nil if no object has this value.
  func value(named wanted: [UInt8]) throws(FileTreeError) -> Value? {
    var found: Value?
    let name = OutputBuffer()
    try scan(nil, until: nil) { value throws(EngineError) in
      guard try self.name(value, into: name), name.equals(wanted),
        case .string(let bytes) = value
      else { return true }
      found = .string(bytes.bytes)
      return false
    }
    return found
  }

  private func scan(
    _ keys: [ObjKey]?,
    until deadline: ContinuousClock.Instant?,
    _ body: (ValueView) throws(EngineError) -> Bool
  ) throws(FileTreeError) {
    let cursor = ObjectCursor(table)
    var position = 0
    while true {
      do {
        if let keys {
          guard position < keys.count else { return }
          position += 1
          guard try cursor.seek(keys[position - 1]) else { continue }
        } else {
          position += 1
          guard try cursor.next() else { return }
        }
        guard try body(cursor.value(index)) else { return }
      } catch { throw .damaged(table.className ?? table.name, error) }
      if position & 0xFFF == 0, let deadline, ContinuousClock.now >= deadline {
        throw .refused(.timedOut, "the values of \(property.name) took too long to find; see -o query_timeout")
      }
    }
  }

  /// Writes the name of a value to `name`. Returns false if the value has no name.
  private func name(_ value: ValueView, into name: OutputBuffer) throws(EngineError) -> Bool {
    name.reset()
    guard case .link(_, let key) = value else { return ValueNaming.append(value, to: name) }
    guard let target, key.value >= 0 else { return ValueNaming.append(.null, to: name) }
    guard try target.cursor.seek(key) else { return false }
    try NameEscaping.append(fileOf: target.cursor, column: target.primaryKey, to: name)
    name.truncate(to: name.count - NameEscaping.suffix.utf8.count)
    return true
  }
}
