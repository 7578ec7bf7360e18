// Writes fitted drafts to properties with the fewest changes. The engine writes whole values. It does not accept
// embedded objects as values, so they are written here, reusing existing embedded objects where possible.

import RealmPages

/// The value that a property should have.
indirect enum WantedValue {
  /// A value, or all elements of a collection.
  case value(Value)
  case embedded(WantedObject)
  case embeddedList([WantedObject])
  /// Nil represents an entry without an object.
  case embeddedEntries([(key: [UInt8], object: WantedObject?)])
}

/// The values that an embedded object should have. Other properties stay unchanged.
typealias WantedObject = [(column: Column, value: WantedValue)]

extension WriteTransaction {
  /// Sets a property to a value.
  func write(_ wanted: WantedValue, _ column: Column, of object: ObjectReference) throws(EngineError) {
    let (table, key) = (object.table, object.key)
    switch wanted {
    case .value(let value): try assign(table, key, column.key, value)
    case .embedded(let parts):
      if let present = try reference(value(table, key, column.key)) { return try write(parts, of: present) }
      try write(parts, of: column.target(of: setEmbedded(table, key, column.key)))
    case .embeddedList(let elements): try write(elements, column, of: object)
    case .embeddedEntries(let entries): try write(entries, column, of: object)
    }
  }

  private func write(_ parts: WantedObject, of object: ObjectReference) throws(EngineError) {
    for part in parts { try write(part.value, part.column, of: object) }
  }

  private func write(
    _ wanted: [WantedObject],
    _ column: Column,
    of object: ObjectReference
  ) throws(EngineError) {
    let (table, key) = (object.table, object.key)
    guard case .list(let values) = try value(table, key, column.key) else { return }
    if wanted.isEmpty {
      if !values.isEmpty { try clear(table, key, column.key) }
      return
    }
    let present = values.compactMap { reference($0) }
    let difference = try ListDifference(old: present.count, new: wanted.count) { (old, new) throws(EngineError) in
      try isStored(wanted[new], in: present[old])
    }
    for index in difference.replaced { try write(wanted[index], of: present[index]) }
    for index in difference.removed.reversed() { try remove(table, key, column.key, at: index) }
    for index in difference.inserted {
      try write(wanted[index], of: column.target(of: insertEmbedded(table, key, column.key, at: index)))
    }
  }

  private func write(
    _ wanted: [(key: [UInt8], object: WantedObject?)],
    _ column: Column,
    of object: ObjectReference
  ) throws(EngineError) {
    let (table, key) = (object.table, object.key)
    guard case .dictionary(let entries) = try value(table, key, column.key) else { return }
    let difference = DictionaryDifference(old: entries.map(\.key), new: wanted.map { $0.key })
    for (entry, position) in zip(wanted, difference.former) {
      let former = position.map { entries[$0].value }
      if let parts = entry.object {
        if let target = former.flatMap({ reference($0) }) {
          try write(parts, of: target)
        } else {
          try write(parts, of: column.target(of: setEmbedded(table, key, column.key, entry: entry.key)))
        }
      } else if former != .null {
        try set(table, key, column.key, entry: entry.key, .null)
      }
    }
    for index in difference.removed { _ = try remove(table, key, column.key, entry: entries[index].key) }
  }

  /// Returns the object that a link refers to; nil if there is none.
  private func reference(_ link: Value) -> ObjectReference? {
    guard case .link(let table, let key) = link, !key.isUnresolved else { return nil }
    return ObjectReference(table: table, key: key)
  }

  /// Returns true if an object already has all these values.
  private func isStored(_ wanted: WantedObject, in object: ObjectReference) throws(EngineError) -> Bool {
    for part in wanted {
      guard case .value(let wanted) = part.value,
        try value(object.table, object.key, part.column.key).isIdentical(to: wanted)
      else { return false }
    }
    return true
  }
}

extension Column {
  /// Returns a reference to a new object, with key `key`, in the target class of this property.
  fileprivate func target(of key: ObjKey) throws(EngineError) -> ObjectReference {
    guard let targetTable else { throw EngineError(.badSchema, "\"\(name)\" has no target") }
    return ObjectReference(table: targetTable, key: key)
  }
}
