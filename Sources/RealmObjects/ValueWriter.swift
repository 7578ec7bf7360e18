// Writes values into objects with the least change: what is stored is compared first, and what is the same stays.

import RealmPages

/// What a property, or an element of one, is to hold.
indirect enum WantedValue {
  case value(Value)
  /// An embedded object with these properties. Others stay.
  case embedded([(column: Column, value: WantedValue)])
  case list([WantedValue])
  case dictionary([(key: [UInt8], value: WantedValue)])

  /// The values of a collection.
  init(collection value: Value) {
    switch value {
    case .list(let values): self = .list(values.map(WantedValue.value))
    case .dictionary(let entries): self = .dictionary(entries.map { ($0.key, .value($0.value)) })
    default: self = .value(value)
    }
  }
}

extension ObjectTransaction {
  /// Gives a property its value.
  func write(_ wanted: WantedValue, _ column: Column, of object: ObjectReference) throws(EngineError) {
    switch (column.collection, wanted) {
    case (nil, .value(let value)):
      if try !engine.value(object.table, object.key, column.key).isSame(as: value) {
        try engine.set(object.table, object.key, column.key, value)
      }
    case (nil, .embedded(let parts)):
      let target: ObjectReference
      if case .link(let table, let key) = try engine.value(object.table, object.key, column.key), key.value >= 0 {
        target = ObjectReference(table: table, key: key)
      } else {
        target = try embedded(engine.setEmbedded(object.table, object.key, column.key), column)
      }
      try write(parts, of: target)
    case (.list, .list(let elements)): try write(list: elements, column, of: object)
    case (.set, .list(let elements)): try write(set: elements, column, of: object)
    case (.dictionary, .dictionary(let entries)): try write(dictionary: entries, column, of: object)
    default: throw EngineError(.wrongType, "property \"\(column.name)\" is a collection of another kind")
    }
  }

  private func write(
    _ parts: [(column: Column, value: WantedValue)],
    of object: ObjectReference
  ) throws(EngineError) {
    for part in parts { try write(part.value, part.column, of: object) }
  }

  private func write(
    list wanted: [WantedValue],
    _ column: Column,
    of object: ObjectReference
  ) throws(EngineError) {
    let (table, key) = (object.table, column.key)
    guard case .list(let stored) = try engine.value(table, object.key, key) else { return }
    if wanted.isEmpty {
      if !stored.isEmpty { try engine.clear(table, object.key, key) }
      return
    }
    let difference = try ListDifference(old: stored.count, new: wanted.count) { (old, new) throws(EngineError) in
      try isStored(wanted[new], as: stored[old])
    }
    for index in difference.replaced where try !isStored(wanted[index], as: stored[index]) {
      if case .value(let value) = wanted[index] {
        try engine.set(table, object.key, key, at: index, value)
      } else {
        try engine.remove(table, object.key, key, at: index)
        try insert(wanted[index], at: index, column, of: object)
      }
    }
    for index in difference.inserted { try insert(wanted[index], at: index, column, of: object) }
    for index in difference.removed.reversed() { try engine.remove(table, object.key, key, at: index) }
  }

  private func insert(
    _ wanted: WantedValue,
    at index: Int,
    _ column: Column,
    of object: ObjectReference
  ) throws(EngineError) {
    switch wanted {
    case .value(let value): try engine.insert(object.table, object.key, column.key, at: index, value)
    case .embedded(let parts):
      try write(parts, of: embedded(engine.insertEmbedded(object.table, object.key, column.key, at: index), column))
    case .list, .dictionary:
      throw EngineError(.wrongType, "property \"\(column.name)\": an element is a collection")
    }
  }

  private func write(
    set elements: [WantedValue],
    _ column: Column,
    of object: ObjectReference
  ) throws(EngineError) {
    let (table, key) = (object.table, column.key)
    guard case .list(let stored) = try engine.value(table, object.key, key) else { return }
    var wanted: [Value] = []
    for element in elements {
      guard case .value(let value) = element else {
        throw EngineError(.wrongType, "property \"\(column.name)\": a set holds no objects and collections")
      }
      wanted.append(value)
    }
    let old = Set(stored.map(\.inSet)), new = Set(wanted.map(\.inSet))
    for value in stored where !new.contains(value.inSet) { _ = try engine.discard(table, object.key, key, value) }
    for value in wanted where !old.contains(value.inSet) { _ = try engine.add(table, object.key, key, value) }
  }

  private func write(
    dictionary wanted: [(key: [UInt8], value: WantedValue)],
    _ column: Column,
    of object: ObjectReference
  ) throws(EngineError) {
    let (table, key) = (object.table, column.key)
    guard case .dictionary(let entries) = try engine.value(table, object.key, key) else { return }
    let stored = Dictionary(entries.map { ($0.key, $0.value) }) { $1 }
    let names = Set(wanted.map(\.key))
    for entry in entries where !names.contains(entry.key) {
      _ = try engine.remove(table, object.key, key, entry: entry.key)
    }
    for entry in wanted {
      let present = stored[entry.key]
      switch entry.value {
      case .value(let value):
        if present?.isSame(as: value) ?? false { continue }
        try engine.set(table, object.key, key, entry: entry.key, value)
      case .embedded(let parts):
        if case .link(let target, let known) = present, known.value >= 0 {
          try write(parts, of: ObjectReference(table: target, key: known))
        } else {
          try write(parts, of: embedded(engine.setEmbedded(table, object.key, key, entry: entry.key), column))
        }
      case .list, .dictionary:
        throw EngineError(.wrongType, "property \"\(column.name)\": an entry is a collection")
      }
    }
  }

  // MARK: comparing

  /// Whether an element is stored already.
  private func isStored(_ wanted: WantedValue, as stored: Value) throws(EngineError) -> Bool {
    switch (wanted, stored) {
    case (.value(let value), _): return stored.isSame(as: value)
    case (.embedded(let parts), .link(let table, let key)) where key.value >= 0:
      for part in parts {
        let value = try engine.value(table, key, part.column.key)
        if try !isStored(part.value, as: value, isSet: part.column.collection == .set) { return false }
      }
      return true
    default: return false
    }
  }

  /// Whether a property is stored already.
  private func isStored(_ wanted: WantedValue, as stored: Value, isSet: Bool) throws(EngineError) -> Bool {
    switch (wanted, stored) {
    case (.list(let elements), .list(let values)):
      if isSet {
        let wanted = elements.compactMap { if case .value(let value) = $0 { value.inSet } else { nil } }
        return wanted.count == elements.count && Set(wanted) == Set(values.map(\.inSet))
      }
      if elements.count != values.count { return false }
      for (element, value) in zip(elements, values) where try !isStored(element, as: value) { return false }
      return true
    case (.dictionary(let entries), .dictionary(let values)):
      let stored = Dictionary(values.map { ($0.key, $0.value) }) { $1 }
      if entries.count != stored.count { return false }
      for entry in entries {
        guard let value = stored[entry.key], try isStored(entry.value, as: value) else { return false }
      }
      return true
    default: return try isStored(wanted, as: stored)
    }
  }
}

extension Value {
  /// Whether storing one in place of the other changes nothing. All NaNs are the same, and entries of dictionaries have
  /// no order.
  fileprivate func isSame(as other: Value) -> Bool {
    switch (self, other) {
    case (.float(let a), .float(let b)): return a.bitPattern == b.bitPattern || a.isNaN && b.isNaN
    case (.double(let a), .double(let b)): return a.bitPattern == b.bitPattern || a.isNaN && b.isNaN
    case (.list(let a), .list(let b)): return a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
    case (.dictionary(let a), .dictionary(let b)):
      let former = Dictionary(a.map { ($0.key, $0.value) }) { $1 },
        new = Dictionary(b.map { ($0.key, $0.value) }) { $1 }
      return former.count == new.count && former.allSatisfy { key, value in new[key]?.isSame(as: value) ?? false }
    default: return self == other
    }
  }

  /// The value as an element of a set, where all NaNs of a type are one.
  fileprivate var inSet: Value {
    switch self {
    case .float(let number) where number.isNaN: .list([.int(0)])
    case .double(let number) where number.isNaN: .list([.int(1)])
    default: self
    }
  }
}
