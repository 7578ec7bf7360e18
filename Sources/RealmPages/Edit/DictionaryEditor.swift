// Changes to a dictionary, whose entries are sorted by key. Source: docs/format/2-model.md M8, M9.

extension CollectionEditor {
  /// The index of `key` in a dictionary, or the index at which to insert it.
  func keyPosition(_ found: Found, _ key: ByteView) throws(EngineError) -> (Int, isThere: Bool) {
    let ref = try editor.ref(found.slot)
    if ref == 0 { return (0, false) }
    let reader = try ElementReader(
      editor.arena,
      editor.arena.refs(ref, slots: Layout.Dictionary.count).child(Layout.Dictionary.keys),
      .string
    )
    func order(_ index: Int) throws(EngineError) -> Int {
      guard case .string(let other) = try reader.value(at: index) else {
        throw .damaged("a dictionary with a null key", ref: ref)
      }
      return ValueOrder.compareBytes(other, key)
    }
    let place = try bisect(reader.count) { (index) throws(EngineError) in try order(index) < 0 }
    return (place, place < reader.count ? try order(place) == 0 : false)
  }

  static let valueElement = ElementType.mixed

  /// Adds an entry to a dictionary, or replaces the one with this key. With `adoptsEmbedded`, the value may be a link
  /// to an embedded object that was created for the dictionary.
  func set(key: [UInt8], _ value: Value, adoptsEmbedded: Bool = false) throws(EngineError) {
    let found = try find()
    guard found.kind == .dictionary else { throw EngineError(.wrongType, "\(place): not a dictionary") }
    try group.checkDictionaryKey(key, table, column)
    try check(value, found, adoptsEmbedded: adoptsEmbedded)
    let (index, isThere) = try key.withView { (key) throws(EngineError) in try keyPosition(found, key) }
    // Add the new link first: an unresolved object to which both refer would be deleted with the old link.
    try link(value)
    if isThere { try unlink(try self.value(in: find(), at: index)) }
    try change { (found) throws(EngineError) in
      if try editor.ref(found.slot) == 0 { editor.set(found.slot, editor.slab.makeInts(.hasRefs, [0, 0])) }
      let root = try editor.dirty(found.slot)
      let values = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.values), Self.valueElement)
      if !isThere {
        let keys = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.keys), .string)
        try key.withView { (key) throws(EngineError) in try keys.insert(index, .string(key)) }
      }
      try value.withView { (view) throws(EngineError) in
        try store(view, found, values, index, isNew: !isThere)
      }
      if isThere {
        group.replication.collectionSet(found.logPath, index)
      } else {
        group.replication.collectionInsert(found.logPath, index)
      }
    }
    try fill(.key(key), value)
  }

  /// True if an entry with this key exists and its value is null.
  func hasNull(key: [UInt8]) throws(EngineError) -> Bool {
    let found = try find()
    guard found.kind == .dictionary else { return false }
    let (index, isThere) = try key.withView { (key) throws(EngineError) in try keyPosition(found, key) }
    guard isThere else { return false }
    return if case .null = try value(in: found, at: index) { true } else { false }
  }

  private func value(in found: Found, at index: Int) throws(EngineError) -> ValueView {
    let root = try editor.arena.refs(editor.ref(found.slot), slots: Layout.Dictionary.count)
    return try ElementReader(editor.arena, root.child(Layout.Dictionary.values), .mixed).value(at: index)
  }

  /// Removes the entry with this key; false if it does not exist.
  func remove(key: [UInt8]) throws(EngineError) -> Bool {
    let found = try find()
    guard found.kind == .dictionary else { throw EngineError(.wrongType, "\(place): not a dictionary") }
    let (index, isThere) = try key.withView { (key) throws(EngineError) in try keyPosition(found, key) }
    if !isThere { return false }
    try unlink(try self.value(in: found, at: index))
    try change { (found) throws(EngineError) in
      let root = try editor.dirty(found.slot)
      try BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.keys), .string).remove(index)
      try BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.values), Self.valueElement).remove(
        index
      )
      group.replication.collectionErase(found.logPath, index)
    }
    return true
  }
}
