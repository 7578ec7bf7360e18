// Changing a set, whose elements are in order. Source: docs/format/2-model.md M8, M9.

extension CollectionEditor {
  /// Where `value` is in a set, or belongs.
  private func setPosition(_ found: Found, _ value: ValueView) throws(EngineError) -> (Int, isThere: Bool) {
    let ref = try editor.ref(found.slot)
    if ref == 0 { return (0, false) }
    let reader = try ElementReader(editor.arena, ref, found.element)
    if ValueOrder.isUnordered(found.element.type) {
      // Sets of floating-point numbers with NaN are in no order: look at every element.
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

  /// Where a set has `value`; nil if it has not. NaNs of several types are in no order that a search can rely on.
  private func elementPosition(_ found: Found, _ value: ValueView) throws(EngineError) -> Int? {
    let ref = try editor.ref(found.slot)
    if ref != 0, ValueOrder.isNaN(value) {
      let reader = try ElementReader(editor.arena, ref, found.element)
      for i in 0..<reader.count where try ValueOrder.isSameNumber(reader.value(at: i), value) { return i }
    }
    let (index, isThere) = try setPosition(found, value)
    return isThere ? index : nil
  }

  /// Adds a value to a set; false if it is there already.
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

  /// Takes a value out of a set; false if it is not there.
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
