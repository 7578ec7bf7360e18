// Changing a list, set or dictionary of an object, or one nested in a Mixed: elements, links, index and log together.
// Source: docs/format/2-model.md M8, M9.

/// A step into a nested collection.
public enum PathStep: Hashable, Sendable {
  /// An element of a list.
  case index(Int)
  /// An entry of a dictionary.
  case key([UInt8])
}

/// One collection of one object. Finds its place anew at each change, because others may move it.
struct CollectionEditor {
  private let group: GroupEditor
  private let table: TableEditor
  private let object: ObjKey
  private let column: Column
  private let path: [PathStep]

  private var editor: NodeEditor { group.editor }

  private struct Found {
    /// Holds the root of the collection, 0 if it is empty.
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
  ) throws(TransactionError) {
    self.group = group
    self.table = table
    self.object = object
    self.column = column
    self.path = path
  }

  private func nested(_ step: PathStep) throws(TransactionError) -> CollectionEditor {
    try CollectionEditor(group, table, object, column, path: path + [step])
  }

  private var place: String { "\(table.className) object \(object), property \"\(column.name)\"" }

  // MARK: finding

  private func find() throws(TransactionError) -> Found {
    let row = try table.place(object)
    do throws(FormatError) {
      var found: Found
      let logPath = CollectionPath(table: table.key, column: column.key, object: object)
      if let kind = column.collection {
        found = Found(
          slot: try table.collectionSlot(row, column),
          kind: kind,
          element: column.element,
          logPath: logPath
        )
      } else {
        let leaf = table.leafSlot(row, column.key.leafPosition)
        found = try nestedPlace(leaf, row.row, logPath)
      }
      for step in path { found = try descend(found, step) }
      return found
    } catch {
      if error.ref == nil { throw TransactionError(.notFound, "\(place): \(error.problem)") }
      throw TransactionError(error)
    }
  }

  /// The collection nested in element `index` of a Mixed leaf.
  private func nestedPlace(_ leaf: Slot, _ index: Int, _ logPath: CollectionPath) throws(FormatError) -> Found {
    guard column.type == .mixed else { throw FormatError("not a collection") }
    let mixed = try MixedEditor(editor, leaf)
    guard let slot = try mixed.nested(index) else { throw FormatError("no collection is nested here") }
    let kind: CollectionKind
    if case .dictionary = try MixedLeaf(editor.arena, mixed.root).value(index, editor.arena) {
      kind = .dictionary
    } else {
      kind = .list
    }
    return Found(slot: slot, kind: kind, element: .mixed, logPath: logPath)
  }

  private func descend(_ found: Found, _ step: PathStep) throws(FormatError) -> Found {
    let tree: BPlusTreeEditor, index: Int
    switch (step, found.kind) {
    case (.index(let position), .list):
      tree = BPlusTreeEditor(editor, found.slot, found.element)
      index = position
    case (.key(let key), .dictionary):
      guard try editor.ref(found.slot) != 0 else { throw FormatError("no entry with this key") }
      let (position, isThere) = try key.withView { (key) throws(FormatError) in try keyPosition(found, key) }
      guard isThere else { throw FormatError("no entry with this key") }
      tree = BPlusTreeEditor(editor, Slot(parent: try editor.dirty(found.slot), index: 1), .mixed)
      index = position
    default: throw FormatError("a path that does not fit the collection")
    }
    guard index >= 0, try index < tree.count() else { throw FormatError("no element \(index)") }
    let (leaf, local) = try tree.leaf(of: index)
    var logPath = found.logPath
    logPath.steps.append(try MixedEditor(editor, leaf).key(local))
    return try nestedPlace(leaf, local, logPath)
  }

  private func tree(_ found: Found) -> BPlusTreeEditor { BPlusTreeEditor(editor, found.slot, found.element) }

  /// Runs a change with format errors translated, and counts the table as changed.
  private func change<R>(_ body: (Found) throws(TransactionError) -> R) throws(TransactionError) -> R {
    let found = try find()
    let result = try body(found)
    table.bump()
    return result
  }

  private func format<R>(_ body: () throws(FormatError) -> R) throws(TransactionError) -> R {
    do throws(FormatError) { return try body() } catch { throw TransactionError(error) }
  }

  // MARK: values

  /// The number of elements.
  func count() throws(TransactionError) -> Int {
    let found = try find()
    return try format { () throws(FormatError) in
      switch try view(found) {
      case .list(let list), .set(let list): list.count
      case .dictionary(let dictionary): dictionary.count
      default: 0
      }
    }
  }

  private func view(_ found: Found) throws(FormatError) -> ValueView {
    let ref = try editor.ref(found.slot)
    switch found.kind {
    case .list: return .list(try ListView(editor.arena, ref, found.element))
    case .set: return .set(try ListView(editor.arena, ref, found.element, isSet: true))
    case .dictionary: return .dictionary(try DictionaryView(editor.arena, ref, keyType: 2))
    }
  }

  private func check(_ value: Value, _ found: Found) throws(TransactionError) {
    if !value.fits(found.element) {
      throw TransactionError(.wrongType, "\(place): a value that is not of the element's type")
    }
    if found.kind == .set {
      switch value {
      case .list, .dictionary:
        throw TransactionError(.wrongType, "\(place): collections cannot be nested in a set")
      default: break
      }
    }
    if column.index != nil, column.collection != nil, case .string(let word) = value,
      word.count > SearchIndexEditor.maximumWord
    {
      throw TransactionError(.overLimit, "\(place): a string of \(word.count) bytes in an indexed list")
    }
    try group.check(value, level: path.count + 2, from: table, column)
  }

  private func link(_ value: Value) throws(TransactionError) {
    if case .link(let target, let key) = value {
      try group.addBacklink(target, key, from: table, column, object)
    }
  }

  /// Takes back what a value that leaves the collection means elsewhere: backlinks, and embedded objects.
  private func unlink(_ view: ValueView) throws(TransactionError) {
    let links = try format { () throws(FormatError) in try GroupEditor.links(in: view) }
    for (target, key) in links { try group.dropLink(target, key, from: table, column, object) }
  }

  private func fill(_ step: PathStep, _ value: Value) throws(TransactionError) {
    switch value {
    case .list(let values):
      let inner = try nested(step)
      for (i, value) in values.enumerated() { try inner.insert(i, value) }
    case .dictionary(let entries):
      let inner = try nested(step)
      for entry in entries { try inner.set(key: entry.key, entry.value) }
    default: break
    }
  }

  // MARK: lists

  private func checkIndex(_ index: Int, below limit: Int) throws(TransactionError) {
    if index < 0 || index >= limit { throw TransactionError(.notFound, "\(place): no position \(index)") }
  }

  /// Inserts before element `index` of a list.
  func insert(_ index: Int, _ value: Value) throws(TransactionError) {
    try change { (found) throws(TransactionError) in
      guard found.kind == .list else { throw TransactionError(.wrongType, "\(place): not a list") }
      try check(value, found)
      let count = try format { () throws(FormatError) in try tree(found).count() }
      try checkIndex(index, below: count + 1)
      try insertRaw(found, index, value)
      try addWord(found, value)
      group.replication.collectionInsert(found.logPath, index)
    }
    try link(value)
    try fill(.index(index), value)
  }

  private func insertRaw(_ found: Found, _ index: Int, _ value: Value) throws(TransactionError) {
    try format { () throws(FormatError) in
      try value.withView { (view) throws(FormatError) in
        try store(view, found, tree(found), index, isNew: true)
      }
    }
  }

  /// Inserts or replaces element `index` of `tree`.
  private func store(
    _ view: ValueView,
    _ found: Found,
    _ tree: BPlusTreeEditor,
    _ index: Int,
    isNew: Bool
  ) throws(FormatError) {
    if isNew { try tree.insert(index, view) } else { try tree.set(index, view) }
    if MixedEditor.isCollection(view) { try distinguish(found, tree, index) }
  }

  /// Gives the collection that was just nested in element `index` of `tree` a key that no other there has, so that
  /// programs that hold it find it again. Its leaf has seen to its own. O(n) once for each tree, then O(log n).
  private func distinguish(_ found: Found, _ tree: BPlusTreeEditor, _ index: Int) throws(FormatError) {
    let (leaf, local) = try tree.leaf(of: index), mixed = try MixedEditor(editor, leaf)
    if group.nestedKeys?.path != found.logPath {
      guard let keys = try tree.nestedKeys(except: (mixed.root, local)) else { return }
      group.nestedKeys = (found.logPath, keys)
    }
    while group.nestedKeys?.taken.contains(try mixed.key(local)) ?? false { try mixed.assignKey(local, isWide: true) }
    group.nestedKeys?.taken.insert(try mixed.key(local))
  }

  /// Refuses a position where nothing can be inserted.
  func checkInsertion(at index: Int) throws(TransactionError) { try checkIndex(index, below: count() + 1) }

  /// Inserts a link to an embedded object that was made for this list.
  func insertEmbedded(_ index: Int, _ target: TableKey, _ key: ObjKey) throws(TransactionError) {
    try change { (found) throws(TransactionError) in
      let count = try format { () throws(FormatError) in try tree(found).count() }
      try checkIndex(index, below: count + 1)
      try insertRaw(found, index, .link(target, key))
      group.replication.collectionInsert(found.logPath, index)
    }
    try link(.link(target, key))
  }

  /// Replaces element `index` of a list.
  func set(_ index: Int, _ value: Value) throws(TransactionError) {
    let found = try find()
    guard found.kind == .list else { throw TransactionError(.wrongType, "\(place): not a list") }
    try check(value, found)
    try checkIndex(index, below: try format { () throws(FormatError) in try tree(found).count() })
    let old = try format { () throws(FormatError) in try tree(found).value(at: index) }
    let word = try format { () throws(FormatError) in try Value(copying: old.withoutElements) }
    try unlink(old)
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in
        try value.withView { (view) throws(FormatError) in
          try store(view, found, tree(found), index, isNew: false)
        }
      }
      try removeWord(found, word)
      try addWord(found, value)
      group.replication.collectionSet(found.logPath, index)
    }
    try link(value)
    try fill(.index(index), value)
  }

  /// Removes element `index` of a list.
  func remove(_ index: Int) throws(TransactionError) {
    let found = try find()
    guard found.kind == .list else { throw TransactionError(.wrongType, "\(place): not a list") }
    try checkIndex(index, below: try format { () throws(FormatError) in try tree(found).count() })
    let old = try format { () throws(FormatError) in try tree(found).value(at: index) }
    let word = try format { () throws(FormatError) in try Value(copying: old.withoutElements) }
    try unlink(old)
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in try tree(found).remove(index) }
      try removeWord(found, word)
      group.replication.collectionErase(found.logPath, index)
    }
  }

  /// Moves an element of a list to another position.
  func move(from: Int, to: Int) throws(TransactionError) {
    let found = try find()
    guard found.kind == .list else { throw TransactionError(.wrongType, "\(place): not a list") }
    let count = try format { () throws(FormatError) in try tree(found).count() }
    try checkIndex(from, below: count)
    try checkIndex(to, below: count)
    if from == to { return }
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in
        let tree = tree(found)
        if found.element.type == .mixed {
          // A nested collection goes along with its key: through a leaf of its own.
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
          try copy.withView { (view) throws(FormatError) in try tree.insert(to, view) }
        }
      }
      group.replication.collectionMove(found.logPath, from: from, to: to)
    }
  }

  /// Removes everything.
  func clear() throws(TransactionError) {
    let found = try find()
    let old = try format { () throws(FormatError) in try view(found) }
    let count = try count()
    if count == 0 { return }
    if case .list(var list) = old, column.index != nil, column.collection != nil {
      try format { () throws(FormatError) in
        for word in try GroupEditor.words(&list) { try table.index(column)?.remove(word: word, object) }
      }
    }
    try unlink(old)
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in try editor.clear(found.slot) }
      group.replication.collectionClear(found.logPath, oldCount: count)
    }
  }

  // MARK: sets

  /// Where `value` is in a set, or belongs.
  private func setPosition(_ found: Found, _ value: ValueView) throws(FormatError) -> (Int, isThere: Bool) {
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
    var low = 0, high = reader.count
    while low < high {
      let middle = (low + high) / 2
      let order = ValueOrder.compareInSet(try reader.value(at: middle), value, found.element.type)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  /// Where a set has `value`; nil if it has not. NaNs of several types are in no order that a search can rely on.
  private func elementPosition(_ found: Found, _ value: ValueView) throws(FormatError) -> Int? {
    let ref = try editor.ref(found.slot)
    if ref != 0, ValueOrder.isNaN(value) {
      let reader = try ElementReader(editor.arena, ref, found.element)
      for i in 0..<reader.count where try ValueOrder.isSameNumber(reader.value(at: i), value) { return i }
    }
    let (index, isThere) = try setPosition(found, value)
    return isThere ? index : nil
  }

  /// Adds a value to a set; false if it is there already.
  func add(_ value: Value) throws(TransactionError) -> Bool {
    let isNew = try change { (found) throws(TransactionError) -> Bool in
      guard found.kind == .set else { throw TransactionError(.wrongType, "\(place): not a set") }
      try check(value, found)
      let (index, isThere) = try format { () throws(FormatError) in
        try value.withView { (view) throws(FormatError) in try setPosition(found, view) }
      }
      if isThere { return false }
      try insertRaw(found, index, value)
      group.replication.collectionInsert(found.logPath, index)
      return true
    }
    if isNew { try link(value) }
    return isNew
  }

  /// Takes a value out of a set; false if it is not there.
  func discard(_ value: Value) throws(TransactionError) -> Bool {
    let found = try find()
    guard found.kind == .set else { throw TransactionError(.wrongType, "\(place): not a set") }
    let position = try format { () throws(FormatError) in
      try value.withView { (view) throws(FormatError) in try elementPosition(found, view) }
    }
    guard let index = position else { return false }
    if case .link(let target, let key) = value {
      try group.dropLink(target, key, from: table, column, object)
    }
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in try tree(found).remove(index) }
      group.replication.collectionErase(found.logPath, index)
    }
    return true
  }

  // MARK: dictionaries

  /// Where `key` is in a dictionary, or belongs.
  private func keyPosition(_ found: Found, _ key: ByteView) throws(FormatError) -> (Int, isThere: Bool) {
    let ref = try editor.ref(found.slot)
    if ref == 0 { return (0, false) }
    let reader = try ElementReader(editor.arena, editor.arena.refs(ref, slots: 2).child(0), .string)
    var low = 0, high = reader.count
    while low < high {
      let middle = (low + high) / 2
      guard case .string(let other) = try reader.value(at: middle) else {
        throw FormatError("a dictionary with a null key", ref: ref)
      }
      let order = ValueOrder.compareBytes(other, key)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  private static let valueElement = ElementType.mixed

  /// Puts an entry into a dictionary, new or in place of the one with this key.
  func set(key: [UInt8], _ value: Value) throws(TransactionError) {
    try put(key, value, allowEmbedded: false)
    try fill(.key(key), value)
  }

  /// Puts a link to an embedded object that was made for this dictionary.
  func setEmbedded(key: [UInt8], _ target: TableKey, _ object: ObjKey) throws(TransactionError) {
    try put(key, .link(target, object), allowEmbedded: true)
  }

  private func put(_ key: [UInt8], _ value: Value, allowEmbedded: Bool) throws(TransactionError) {
    let found = try find()
    guard found.kind == .dictionary else { throw TransactionError(.wrongType, "\(place): not a dictionary") }
    try group.checkDictionaryKey(key, table, column)
    if !allowEmbedded { try check(value, found) }
    let (index, isThere) = try format { () throws(FormatError) in
      try key.withView { (key) throws(FormatError) in try keyPosition(found, key) }
    }
    if isThere {
      let old = try format { () throws(FormatError) -> ValueView in
        let root = try editor.arena.refs(editor.ref(found.slot), slots: 2)
        return try ElementReader(editor.arena, root.child(1), .mixed).value(at: index)
      }
      try unlink(old)
    }
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in
        if try editor.ref(found.slot) == 0 { editor.set(found.slot, editor.slab.makeInts(.hasRefs, [0, 0])) }
        let root = try editor.dirty(found.slot)
        let values = BPlusTreeEditor(editor, Slot(parent: root, index: 1), Self.valueElement)
        if !isThere {
          let keys = BPlusTreeEditor(editor, Slot(parent: root, index: 0), .string)
          try key.withView { (key) throws(FormatError) in try keys.insert(index, .string(key)) }
        }
        try value.withView { (view) throws(FormatError) in
          try store(view, found, values, index, isNew: !isThere)
        }
      }
      if isThere {
        group.replication.collectionSet(found.logPath, index)
      } else {
        group.replication.collectionInsert(found.logPath, index)
      }
    }
    try link(value)
  }

  /// Whether there is an entry with this key, and it is null.
  func hasNull(key: [UInt8]) throws(TransactionError) -> Bool {
    let found = try find()
    guard found.kind == .dictionary else { return false }
    return try format { () throws(FormatError) in
      let (index, isThere) = try key.withView { (key) throws(FormatError) in try keyPosition(found, key) }
      guard isThere else { return false }
      let root = try editor.arena.refs(editor.ref(found.slot), slots: 2)
      guard case .null = try ElementReader(editor.arena, root.child(1), .mixed).value(at: index) else { return false }
      return true
    }
  }

  /// Removes the entry with this key; false if there is none.
  func remove(key: [UInt8]) throws(TransactionError) -> Bool {
    let found = try find()
    guard found.kind == .dictionary else { throw TransactionError(.wrongType, "\(place): not a dictionary") }
    let (index, isThere) = try format { () throws(FormatError) in
      try key.withView { (key) throws(FormatError) in try keyPosition(found, key) }
    }
    if !isThere { return false }
    let old = try format { () throws(FormatError) -> ValueView in
      let root = try editor.arena.refs(editor.ref(found.slot), slots: 2)
      return try ElementReader(editor.arena, root.child(1), .mixed).value(at: index)
    }
    try unlink(old)
    try change { (found) throws(TransactionError) in
      try format { () throws(FormatError) in
        let root = try editor.dirty(found.slot)
        try BPlusTreeEditor(editor, Slot(parent: root, index: 0), .string).remove(index)
        try BPlusTreeEditor(editor, Slot(parent: root, index: 1), Self.valueElement).remove(index)
      }
      group.replication.collectionErase(found.logPath, index)
    }
    return true
  }

  // MARK: targets that go away

  /// Removes up to `times` links to an object that is being deleted, those here first, then those in nested
  /// collections. Returns how many there were.
  func nullify(
    _ target: TableKey,
    _ key: ObjKey,
    _ times: Int,
    _ effort: Effort
  ) throws(TransactionError) -> Int {
    var found = try find()
    table.bump()
    var done = 0, nested: [PathStep] = []
    switch found.kind {
    case .list, .set:
      var index = 0
      var list = try elements(found, effort)
      while done < times, index < list?.count ?? 0 {
        switch try format({ () throws(FormatError) in try list?.value(at: index) ?? .null }) {
        case .link(let table, let other) where table == target && other == key:
          try format { () throws(FormatError) in try tree(found).remove(index) }
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
      guard case .dictionary(var dictionary) = try format({ () throws(FormatError) in try view(found) }) else {
        return 0
      }
      try format { () throws(FormatError) in try effort.enter(dictionary) }
      for i in 0..<dictionary.count where done < times {
        switch try format({ () throws(FormatError) in try dictionary.value(at: i) }) {
        case .link(let table, let other) where table == target && other == key:
          try format { () throws(FormatError) in
            let root = try editor.dirty(found.slot)
            try BPlusTreeEditor(editor, Slot(parent: root, index: 1), Self.valueElement).set(i, .null)
          }
          group.replication.collectionSet(found.logPath, i)
          done += 1
          found = try find()
          guard case .dictionary(let changed) = try format({ () throws(FormatError) in try view(found) }) else {
            return done
          }
          dictionary = changed
        case .list, .dictionary:
          nested.append(.key(try format { () throws(FormatError) in try dictionary.key(at: i).bytes }))
        default: break
        }
      }
    }
    for step in nested where done < times {
      done += try self.nested(step).nullify(target, key, times - done, effort)
    }
    return done
  }

  /// The elements in the order in which they are stored; nil if there are none. Paid for if there is an `effort`.
  private func elements(_ found: Found, _ effort: Effort?) throws(TransactionError) -> ElementReader? {
    try format { () throws(FormatError) in
      let ref = try editor.ref(found.slot)
      if ref == 0 { return nil }
      let reader = try ElementReader(editor.arena, ref, found.element)
      try effort?.enter(ListView(reader))
      return reader
    }
  }

  // MARK: indexes of lists of strings

  /// The word that an element is found under: nil for null.
  private static func word(_ value: Value) -> [UInt8]? { if case .string(let text) = value { text } else { nil } }

  private func addWord(_ found: Found, _ value: Value) throws(TransactionError) {
    guard column.index != nil, found.kind == .list, column.collection != nil else { return }
    try format { () throws(FormatError) in try table.index(column)?.insert(word: Self.word(value), object) }
  }

  /// Takes the object out of the index entry of an element that left the list, unless an equal one is left. Others that
  /// are found there too stay.
  private func removeWord(_ found: Found, _ value: Value) throws(TransactionError) {
    guard column.index != nil, found.kind == .list, column.collection != nil else { return }
    try format { () throws(FormatError) in
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
}
