// Writes whole values to properties: every value that is copied from elsewhere or comes from a caller is written here.
// A new value fills an empty collection; otherwise the present value is changed in as few steps as possible. JSON texts
// of objects plan their own steps (RealmJSON/Objects/ObjectPlan.swift), which use the same editors.

extension CollectionEditor {
  /// Adds the elements of a list or dictionary to the collection, which must be empty. With `adoptsEmbedded`, elements
  /// may be links to embedded objects without another owner.
  func fill(_ value: Value, adoptsEmbedded: Bool = false) throws(EngineError) {
    switch value {
    case .list(let values) where column.collection == .set && path.isEmpty:
      for value in values { _ = try add(value) }
    case .list(let values):
      for (index, value) in values.enumerated() { try insert(index, value, adoptsEmbedded: adoptsEmbedded) }
    case .dictionary(let entries):
      for entry in entries { try set(key: entry.key, entry.value, adoptsEmbedded: adoptsEmbedded) }
    default: break
    }
  }

  /// Changes a list to contain these elements. The common prefix and suffix stay.
  private func write(list wanted: [Value], over present: [Value]) throws(EngineError) {
    if wanted.isEmpty {
      if !present.isEmpty { try clear() }
      return
    }
    let difference = ListDifference(old: present.count, new: wanted.count) { present[$0].isIdentical(to: wanted[$1]) }
    for index in difference.replaced where !present[index].isIdentical(to: wanted[index]) {
      try set(index, wanted[index])
    }
    for index in difference.removed.reversed() { try remove(index) }
    for index in difference.inserted { try insert(index, wanted[index]) }
  }

  /// Changes a set to contain these elements. Elements in both stay; a set that may be unsorted is rewritten
  /// completely.
  private func write(set wanted: [Value], over present: [Value]) throws(EngineError) {
    let difference = SetDifference(old: present.map(\.bits), new: wanted.map(\.bits))
    if difference.removed.isEmpty && difference.added.isEmpty { return }
    if ValueOrder.isUnordered(column.type) {
      if !present.isEmpty { try clear() }
      return try fill(.list(wanted))
    }
    for index in difference.removed { _ = try discard(present[index]) }
    for index in difference.added { _ = try add(wanted[index]) }
  }

  /// Changes a dictionary to contain these entries. Entries that are equal in both stay.
  private func write(dictionary wanted: [Value.Entry], over present: [Value.Entry]) throws(EngineError) {
    let difference = DictionaryDifference(old: present.map(\.key), new: wanted.map(\.key))
    for (entry, former) in zip(wanted, difference.former) {
      if let former, present[former].value.isIdentical(to: entry.value) { continue }
      try set(key: entry.key, entry.value)
    }
    for index in difference.removed { _ = try remove(key: present[index].key) }
  }

  /// Changes the collection from `present` to `wanted`.
  func write(_ wanted: Value, over present: Value) throws(EngineError) {
    switch (column.collection, wanted, present) {
    case (.list, .list(let values), .list(let present)): try write(list: values, over: present)
    case (.set, .list(let values), .list(let present)): try write(set: values, over: present)
    case (.dictionary, .dictionary(let entries), .dictionary(let present)):
      try write(dictionary: entries, over: present)
    default: throw EngineError(.wrongType, "\(place): a list or set is written as a list, a dictionary as one")
    }
  }
}

extension Value {
  /// True for a list or dictionary.
  var isCollection: Bool {
    switch self {
    case .list, .dictionary: true
    default: false
    }
  }

  /// True if storing `other` instead of this value changes nothing. Numbers are compared bit by bit, so NaNs with the
  /// same bits are equal; the entries of dictionaries have no order.
  package func isIdentical(to other: Value) -> Bool {
    switch (self, other) {
    case (.list(let a), .list(let b)): return a.count == b.count && zip(a, b).allSatisfy { $0.isIdentical(to: $1) }
    case (.dictionary(let a), .dictionary(let b)):
      let former = Dictionary(a.map { ($0.key, $0.value) }) { $1 },
        new = Dictionary(b.map { ($0.key, $0.value) }) { $1 }
      return former.count == new.count && former.allSatisfy { new[$0]?.isIdentical(to: $1) ?? false }
    default: return withView { view in other.withView { ContentComparison.scalarsAreEqual(view, $0) } }
    }
  }

  /// A value for comparison in which numbers are equal only if their bits are; a NaN equals itself.
  package var bits: Value {
    switch self {
    case .float(let number): .list([.int(Int64(number.bitPattern))])
    case .double(let number): .list([.null, .int(Int64(bitPattern: number.bitPattern))])
    default: self
    }
  }
}
