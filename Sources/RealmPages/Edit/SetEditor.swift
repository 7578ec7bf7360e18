// Changes to a set, whose elements are sorted. Source: docs/format/2-model.md M8, M9.

extension CollectionEditor {
  /// The index of `value` in a set, or the index at which to insert it.
  private func setPosition(_ found: Found, _ value: ValueView) throws(EngineError) -> (Int, isThere: Bool) {
    let ref = try editor.ref(found.slot)
    if ref == 0 { return (0, false) }
    let reader = try ElementReader(editor.arena, ref, found.element)
    if ValueOrder.isUnordered(found.element.type) {
      // Sets of floating-point numbers with NaN are not sorted: compare every element.
      for i in 0..<reader.count {
        let other = try reader.value(at: i)
        if ValueOrder.compareInSet(other, value, found.element.type) == 0 { return (i, true) }
      }
    }
    func order(_ index: Int) throws(EngineError) -> Int {
      ValueOrder.compareInSet(try reader.value(at: index), value, found.element.type)
    }
    let place = try bisect(reader.count) { (index) throws(EngineError) in try order(index) < 0 }
    return (place, place < reader.count ? try order(place) == 0 : false)
  }

  /// The index of `value` in a set; nil if the set does not contain it. NaNs of several types are not sorted reliably,
  /// so a NaN is searched for element by element.
  private func elementPosition(_ found: Found, _ value: ValueView) throws(EngineError) -> Int? {
    let ref = try editor.ref(found.slot)
    if ref != 0, ValueOrder.isNaN(value) {
      let reader = try ElementReader(editor.arena, ref, found.element)
      for i in 0..<reader.count where try ValueOrder.isSameNumber(reader.value(at: i), value) { return i }
    }
    let (index, isThere) = try setPosition(found, value)
    return isThere ? index : nil
  }

  /// Adds a value to a set; false if the set already contains it.
  func add(_ value: Value) throws(EngineError) -> Bool {
    let isNew = try change { (found) throws(EngineError) -> Bool in
      guard found.kind == .set else { throw EngineError(.wrongType, "\(place): not a set") }
      try check(value, found)
      let (index, isThere) = try value.withView { (view) throws(EngineError) in try setPosition(found, view) }
      if isThere { return false }
      try insertRaw(found, index, value)
      group.replication.collectionInsert(found.logPath, index)
      return true
    }
    if isNew { try link(value) }
    return isNew
  }

  /// Removes a value from a set; false if the set does not contain it.
  func discard(_ value: Value) throws(EngineError) -> Bool {
    let found = try find()
    guard found.kind == .set else { throw EngineError(.wrongType, "\(place): not a set") }
    let position = try value.withView { (view) throws(EngineError) in try elementPosition(found, view) }
    guard let index = position else { return false }
    if case .link(let target, let key) = value {
      try group.dropLink(target, key, from: table, column, object)
    }
    try change { (found) throws(EngineError) in
      try tree(found).remove(index)
      group.replication.collectionErase(found.logPath, index)
    }
    return true
  }
}
