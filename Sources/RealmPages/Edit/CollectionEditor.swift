// Changes to a list, set or dictionary of an object, or to one nested in a Mixed: elements, links, index and history
// together. This file has the parts that all three kinds share; each kind has its own file.
// Source: docs/format/2-model.md M8, M9.

/// A step into a nested collection.
public enum PathStep: Hashable, Sendable {
  /// An element of a list.
  case index(Int)
  /// An entry of a dictionary.
  case key([UInt8])
}

/// One collection of one object. Looks up its slot for each change, because other changes may move it.
struct CollectionEditor {
  let group: GroupEditor
  let table: TableEditor
  let object: ObjKey
  let column: Column
  let path: [PathStep]

  var editor: NodeEditor { group.editor }

  struct Found {
    /// The slot of the root of the collection; holds 0 if the collection is empty.
    let slot: Slot
    let kind: CollectionKind
    let element: ElementType
    let logPath: CollectionPath
  }

  init(
    _ group: GroupEditor,
    _ table: TableEditor,
    _ object: ObjKey,
    _ column: Column,
    path: [PathStep] = []
  ) throws(EngineError) {
    self.group = group
    self.table = table
    self.object = object
    self.column = column
    self.path = path
  }

  private func nested(_ step: PathStep) throws(EngineError) -> CollectionEditor {
    try CollectionEditor(group, table, object, column, path: path + [step])
  }

  var place: String { "\(table.className) object \(object), property \"\(column.name)\"" }

  // MARK: finding

  func find() throws(EngineError) -> Found {
    let row = try table.place(object), logPath = CollectionPath(table: table.key, column: column.key, object: object)
    var found: Found
    if let kind = column.collection {
      let slot = try table.collectionSlot(row, column)
      found = Found(slot: slot, kind: kind, element: column.element, logPath: logPath)
    } else {
      found = try nestedPlace(table.leafSlot(row, column.key.leafPosition), row.row, logPath)
    }
    for step in path { found = try descend(found, step) }
    return found
  }

  private func missing(_ problem: String) -> EngineError {
    EngineError(.notFound, "\(place): \(problem)")
  }

  /// The collection nested in element `index` of a Mixed leaf.
  private func nestedPlace(_ leaf: Slot, _ index: Int, _ logPath: CollectionPath) throws(EngineError) -> Found {
    guard column.type == .mixed else { throw missing("not a collection") }
    let mixed = try MixedEditor(editor, leaf)
    guard let slot = try mixed.nested(index) else { throw missing("no collection is nested here") }
    let kind: CollectionKind
    if case .dictionary = try MixedLeaf(editor.arena, mixed.root).value(index, editor.arena) {
      kind = .dictionary
    } else {
      kind = .list
    }
    return Found(slot: slot, kind: kind, element: .mixed, logPath: logPath)
  }

  private func descend(_ found: Found, _ step: PathStep) throws(EngineError) -> Found {
    let tree: BPlusTreeEditor, index: Int
    switch (step, found.kind) {
    case (.index(let position), .list):
      tree = BPlusTreeEditor(editor, found.slot, found.element)
      index = position
    case (.key(let key), .dictionary):
      let (position, isThere) = try key.withView { (key) throws(EngineError) in try keyPosition(found, key) }
      guard isThere else { throw missing("no entry with this key") }
      let root = try editor.dirty(found.slot)
      tree = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.values), .mixed)
      index = position
    default: throw missing("a path that does not fit the collection")
    }
    guard index >= 0, try index < tree.count() else {
      throw missing("no element \(index)")
    }
    var logPath = found.logPath
    let (leaf, local) = try tree.leaf(of: index)
    logPath.steps.append(try MixedEditor(editor, leaf).key(local))
    return try nestedPlace(leaf, local, logPath)
  }

  func tree(_ found: Found) -> BPlusTreeEditor { BPlusTreeEditor(editor, found.slot, found.element) }

  /// Runs a change, and marks the table as changed.
  func change<R>(_ body: (Found) throws(EngineError) -> R) throws(EngineError) -> R {
    let found = try find()
    let result = try body(found)
    table.bump()
    return result
  }

  // MARK: values

  /// The number of elements.
  func count() throws(EngineError) -> Int {
    let found = try find()
    return switch try view(found) {
    case .list(let list), .set(let list): list.count
    case .dictionary(let dictionary): dictionary.count
    default: 0
    }
  }

  func view(_ found: Found) throws(EngineError) -> ValueView {
    let ref = try editor.ref(found.slot)
    switch found.kind {
    case .list: return .list(try ListView(editor.arena, ref, found.element))
    case .set: return .set(try ListView(editor.arena, ref, found.element, isSet: true))
    case .dictionary: return .dictionary(try DictionaryView(editor.arena, ref, keyType: 2))
    }
  }

  /// Throws if `value` cannot be an element. A link to an embedded object can be one only if `adoptsEmbedded` is true.
  func check(_ value: Value, _ found: Found, adoptsEmbedded: Bool = false) throws(EngineError) {
    if adoptsEmbedded, column.type == .link, case .link = value { return }
    if !value.fits(found.element) {
      throw EngineError(.wrongType, "\(place): a value that is not of the element's type")
    }
    if found.kind == .set {
      switch value {
      case .list, .dictionary:
        throw EngineError(.wrongType, "\(place): collections cannot be nested in a set")
      default: break
      }
    }
    if column.index != nil, column.collection != nil, case .string(let word) = value,
      word.count > SearchIndexEditor.maximumWord
    {
      throw EngineError(.overLimit, "\(place): a string of \(word.count) bytes in an indexed list")
    }
    try group.check(value, level: path.count + 2, from: table, column)
  }

  func link(_ value: Value) throws(EngineError) {
    if case .link(let target, let key) = value {
      try group.addBacklink(target, key, from: table, column, object)
    }
  }

  /// Removes the backlinks and the embedded objects that belong to a value about to be removed from the collection.
  func unlink(_ view: ValueView) throws(EngineError) {
    let links = try GroupEditor.links(in: view)
    for (target, key) in links { try group.dropLink(target, key, from: table, column, object) }
  }

  /// Fills the collection that was just nested at `step`, if `value` is a collection.
  func fill(_ step: PathStep, _ value: Value) throws(EngineError) {
    if value.isCollection { try nested(step).fill(value) }
  }

  // MARK: storing

  func insertRaw(_ found: Found, _ index: Int, _ value: Value) throws(EngineError) {
    try value.withView { (view) throws(EngineError) in
      try store(view, found, tree(found), index, isNew: true)
    }
  }

  /// Inserts or replaces element `index` of `tree`.
  func store(
    _ view: ValueView,
    _ found: Found,
    _ tree: BPlusTreeEditor,
    _ index: Int,
    isNew: Bool
  ) throws(EngineError) {
    if isNew { try tree.insert(index, view) } else { try tree.set(index, view) }
    if MixedEditor.isCollection(view) { try distinguish(found, tree, index) }
  }

  /// Assigns the collection just nested in element `index` of `tree` a key that is unique in the tree, so that programs
  /// with a reference to it can find it. The leaf has ensured that the key is unique in the leaf. Cost: O(n) once per
  /// tree, then O(log n).
  private func distinguish(_ found: Found, _ tree: BPlusTreeEditor, _ index: Int) throws(EngineError) {
    let (leaf, local) = try tree.leaf(of: index), mixed = try MixedEditor(editor, leaf)
    if group.nestedKeys?.path != found.logPath {
      guard let keys = try tree.nestedKeys(except: (mixed.root, local)) else { return }
      group.nestedKeys = (found.logPath, keys)
    }
    while group.nestedKeys?.taken.contains(try mixed.key(local)) ?? false { try mixed.assignKey(local, isWide: true) }
    group.nestedKeys?.taken.insert(try mixed.key(local))
  }

  // MARK: all elements

  /// Removes all elements.
  func clear() throws(EngineError) {
    let found = try find()
    let old = try view(found)
    let count = try count()
    if count == 0 { return }
    if case .list(var list) = old, column.index != nil, column.collection != nil {
      for word in try GroupEditor.words(&list) { try table.index(column)?.remove(word: word, object) }
    }
    try unlink(old)
    try change { (found) throws(EngineError) in
      try editor.clear(found.slot)
      group.replication.collectionClear(found.logPath, oldCount: count)
    }
  }

  // MARK: links to deleted objects

  /// Removes up to `times` links to an object that is being deleted, first those here, then those in nested
  /// collections. Returns the number of removed links.
  func nullify(
    _ target: TableKey,
    _ key: ObjKey,
    _ times: Int,
    _ effort: Effort
  ) throws(EngineError) -> Int {
    var found = try find()
    table.bump()
    var done = 0, nested: [PathStep] = []
    switch found.kind {
    case .list, .set:
      var index = 0
      var list = try elements(found, effort)
      while done < times, index < list?.count ?? 0 {
        switch try list?.value(at: index) ?? .null {
        case .link(let table, let other) where table == target && other == key:
          try tree(found).remove(index)
          group.replication.collectionErase(found.logPath, index)
          done += 1
          found = try find()
          list = try elements(found, nil)
          continue
        case .list, .dictionary: nested.append(.index(index))
        default: break
        }
        index += 1
      }
    case .dictionary:
      guard case .dictionary(var dictionary) = try view(found) else {
        return 0
      }
      try effort.enter(dictionary)
      for i in 0..<dictionary.count where done < times {
        switch try dictionary.value(at: i) {
        case .link(let table, let other) where table == target && other == key:
          let root = try editor.dirty(found.slot)
          try BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.values), Self.valueElement).set(
            i,
            .null
          )
          group.replication.collectionSet(found.logPath, i)
          done += 1
          found = try find()
          guard case .dictionary(let changed) = try view(found) else {
            return done
          }
          dictionary = changed
        case .list, .dictionary:
          nested.append(.key(try dictionary.key(at: i).bytes))
        default: break
        }
      }
    }
    for step in nested where done < times {
      done += try self.nested(step).nullify(target, key, times - done, effort)
    }
    return done
  }

  /// The elements in stored order; nil if the collection is empty. Charged to `effort`, if there is one.
  private func elements(_ found: Found, _ effort: Effort?) throws(EngineError) -> ElementReader? {
    let ref = try editor.ref(found.slot)
    if ref == 0 { return nil }
    let reader = try ElementReader(editor.arena, ref, found.element)
    try effort?.enter(ListView(reader))
    return reader
  }
}
