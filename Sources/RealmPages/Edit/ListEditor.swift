// Changes to a list, and to the search index of a list of strings. Source: docs/format/2-model.md M8, M10.

extension CollectionEditor {
  private func checkIndex(_ index: Int, below limit: Int) throws(EngineError) {
    if index < 0 || index >= limit { throw EngineError(.notFound, "\(place): no position \(index)") }
  }

  /// Inserts an element before element `index` of a list. With `adoptsEmbedded`, the value may be a link to an embedded
  /// object that was created for the list.
  func insert(_ index: Int, _ value: Value, adoptsEmbedded: Bool = false) throws(EngineError) {
    try change { (found) throws(EngineError) in
      guard found.kind == .list else { throw EngineError(.wrongType, "\(place): not a list") }
      try check(value, found, adoptsEmbedded: adoptsEmbedded)
      let count = try tree(found).count()
      try checkIndex(index, below: count + 1)
      try insertRaw(found, index, value)
      try addWord(found, value)
      group.replication.collectionInsert(found.logPath, index)
    }
    try link(value)
    try fill(.index(index), value)
  }

  /// Throws if nothing can be inserted at the position.
  func checkInsertion(at index: Int) throws(EngineError) { try checkIndex(index, below: count() + 1) }

  /// Replaces element `index` of a list.
  func set(_ index: Int, _ value: Value) throws(EngineError) {
    let found = try find()
    guard found.kind == .list else { throw EngineError(.wrongType, "\(place): not a list") }
    try check(value, found)
    try checkIndex(index, below: try tree(found).count())
    // Add the new link first: an unresolved object to which both refer would be deleted with the old link.
    try link(value)
    let old = try tree(find()).value(at: index)
    let word = try Value(copying: old.withoutElements)
    try unlink(old)
    try change { (found) throws(EngineError) in
      try value.withView { (view) throws(EngineError) in
        try store(view, found, tree(found), index, isNew: false)
      }
      try removeWord(found, word)
      try addWord(found, value)
      group.replication.collectionSet(found.logPath, index)
    }
    try fill(.index(index), value)
  }

  /// Removes element `index` of a list.
  func remove(_ index: Int) throws(EngineError) {
    let found = try find()
    guard found.kind == .list else { throw EngineError(.wrongType, "\(place): not a list") }
    try checkIndex(index, below: try tree(found).count())
    let old = try tree(found).value(at: index)
    let word = try Value(copying: old.withoutElements)
    try unlink(old)
    try change { (found) throws(EngineError) in
      try tree(found).remove(index)
      try removeWord(found, word)
      group.replication.collectionErase(found.logPath, index)
    }
  }

  /// Moves an element of a list to another position.
  func move(from: Int, to: Int) throws(EngineError) {
    let found = try find()
    guard found.kind == .list else { throw EngineError(.wrongType, "\(place): not a list") }
    let count = try tree(found).count()
    try checkIndex(from, below: count)
    try checkIndex(to, below: count)
    if from == to { return }
    try change { (found) throws(EngineError) in
      let tree = tree(found)
      if found.element.type == .mixed {
        // A nested collection is moved with its key, through a temporary leaf.
        let holder = editor.slab.makeInts(.hasRefs, [Int64(MixedEditor.make(editor))])
        let waiting = Slot(parent: holder, index: 0)
        let (source, local) = try tree.leaf(of: from)
        let value = try MixedLeaf(editor.arena, editor.ref(source)).value(local, editor.arena)
        try MixedEditor(editor, waiting).take(local, from: MixedEditor(editor, source), as: value)
        try tree.remove(from)
        let moved = try MixedLeaf(editor.arena, editor.ref(waiting)).value(0, editor.arena)
        try tree.insert(to, moved.withoutElements)
        let (target, place) = try tree.leaf(of: to)
        try MixedEditor(editor, target).adopt(place, from: MixedEditor(editor, waiting), 0)
        try editor.clear(waiting)
        try editor.slab.drop(holder, editor.arena)
      } else {
        let copy = try Value(copying: tree.value(at: from))
        try tree.remove(from)
        try copy.withView { (view) throws(EngineError) in try tree.insert(to, view) }
      }
      group.replication.collectionMove(found.logPath, from: from, to: to)
    }
  }

  // MARK: indexes of lists of strings

  /// The word under which an element is indexed: nil for null.
  private static func word(_ value: Value) -> [UInt8]? { if case .string(let text) = value { text } else { nil } }

  private func addWord(_ found: Found, _ value: Value) throws(EngineError) {
    guard column.index != nil, found.kind == .list, column.collection != nil else { return }
    try table.index(column)?.insert(word: Self.word(value), object)
  }

  /// Removes the object from the index entry of an element that left the list, unless the list still has an equal one.
  /// Other elements that share the entry stay indexed.
  private func removeWord(_ found: Found, _ value: Value) throws(EngineError) {
    guard column.index != nil, found.kind == .list, column.collection != nil else { return }
    guard case .list(var list) = try view(found) else { return }
    let word = Self.word(value)
    var neighbours: [[UInt8]?] = []
    for i in 0..<list.count {
      let text: ByteView? = if case .string(let text) = try list.value(at: i) { text } else { nil }
      if !SearchIndexEditor.canShareEntry(text ?? .empty, word ?? []) { continue }
      let other = text?.bytes
      if other == word { return }
      neighbours.append(other)
    }
    guard let index = try table.index(column) else { return }
    try index.remove(word: word, object)
    for other in neighbours { try index.insert(word: other, object) }
  }
}
