// Compares search indexes with the objects: every value must be in the index where a search looks for it, and the index
// must contain nothing else. Source: docs/format/2-model.md M10.

/// Checks the search index of one column.
final class IndexCheck {
  private let context: CheckContext
  private let table: Table
  private let index: Int
  private let column: Column
  private var cursor: ObjectCursor
  /// True if every entry ends with its word: in full-text indexes and indexes of string lists.
  private let isFullWord: Bool
  /// The index keys from the root to the current position.
  private var path: [Int32] = []
  /// The number of pairs of an entry and an object in it.
  private var found = 0
  /// Entries of single objects. They are checked when the batch is full, and before anything is reported.
  private var batch = IndexBatch()

  private var arena: Arena { context.arena }

  /// No sub-index begins beyond this offset into a value, except in full-word indexes.
  private static let maximumOffset = 200
  private static let origins = ElementType(.int, isNullable: false)

  /// True if the objects were checked without problems, so that values missing from the index can be determined.
  private let objectsAreSound: Bool

  /// Creates a check of the index of the column at `index`.
  init(_ context: CheckContext, _ table: Table, column index: Int, objectsAreSound: Bool) {
    self.context = context
    self.objectsAreSound = objectsAreSound
    self.table = table
    self.index = index
    column = table.columns[index]
    cursor = ObjectCursor(table)
    isFullWord = column.index == .fullText || column.collection != nil
  }

  /// Claims and checks the whole index.
  func run() throws(EngineError) {
    let problems = context.summary.problems + context.summary.leftovers
    context.beforeReport = { [unowned self] in checkBatch(mayDropPages: false) }
    defer { context.beforeReport = nil }
    _ = try walk(column.indexRef, depth: 0)
    checkBatch(mayDropPages: true)
    // Missing entries are reported only if the index is otherwise consistent.
    if !objectsAreSound || context.summary.problems + context.summary.leftovers != problems { return }
    let expected = isFullWord ? try lookUpWords() : table.objectCount
    if found != expected { report("the index has \(found) entries for \(expected) values") }
  }

  // MARK: Nodes

  /// Checks the node at `ref` and everything below it. Returns its last key.
  private func walk(_ ref: Int, depth: Int) throws(EngineError) -> Int64? {
    let (node, keys) = try context.indexNode(ref, levels: path.count, depth: depth)
    if keys.width != 32 || keys.count > TreeCheck.maximumCount {
      throw .damaged("\(keys.count) keys of \(keys.width) bits", ref: ref)
    }
    if keys.count == 0 && !(path.isEmpty && depth == 0) { context.report("an empty index node", ref: ref) }
    // Copied, because pages may be dropped between entries.
    let isInner = node.isInner
    var entries: [(key: Int64, element: Int64)] = []
    for i in 0..<keys.count {
      entries.append((try keys.int(i), try isInner ? Int64(node.child(i + 1)) : node.int(i + 1)))
    }
    var last: Int64?
    for (i, (key, element)) in entries.enumerated() {
      if let last, key <= last { context.report("the keys of an index node are out of order", ref: ref) }
      last = key
      do {
        if !isInner {
          try entry(element, key, ref)
        } else if try walk(Int(element), depth: depth + 1) != key {
          context.report("key \(i) is not the last key of its child", ref: ref)
        }
      } catch { context.report(error.problem, ref: error.ref) }
      if context.dropPages() { cursor = ObjectCursor(table) }
    }
    return last
  }

  /// Checks the entry of one key in the index leaf at `ref`.
  private func entry(_ element: Int64, _ key: Int64, _ ref: Int) throws(EngineError) {
    path.append(Int32(truncatingIfNeeded: key))
    defer { path.removeLast() }
    if element & 1 != 0 {
      let object = Int64(bitPattern: UInt64(bitPattern: element) >> 1)
      found += 1
      if !isFullWord { try add(object, ref) }
      return
    }
    let child = try arena.node(Int(element))
    if child.hasContext {
      _ = try walk(child.ref, depth: 0)
      return
    }
    let count = try TreeCheck(context).check(child.ref) { leafRef, _ throws(EngineError) in
      try LeafCheck(context).check(leafRef, Self.origins)
    }
    if count == 0 { context.report("an empty entry", ref: child.ref) }
    if count == 0 { return }
    let list = try ElementReader(arena, Int(element), Self.origins)
    if isFullWord { try checkOrder(list) } else { try checkObjects(list, Int(element)) }
  }

  // MARK: Entries

  /// Reports an entry that does not match its objects. For a Mixed property it is a leftover, because Realm's engine
  /// does not maintain these indexes correctly (docs/format/2-model.md M15).
  private func report(_ text: @autoclosure () -> String, ref: Int? = nil) {
    context.report(text(), ref: ref, isLeftover: column.type == .mixed)
  }

  /// Checks that the object keys of a word ascend. An index of lists may contain duplicates.
  private func checkOrder(_ reader: ElementReader) throws(EngineError) {
    var last: Int64?
    for i in 0..<reader.count {
      guard case .int(let key) = try reader.value(at: i) else { continue }
      if let last, key < last || key == last && column.collection == nil {
        throw .damaged("the object keys of an entry are out of order", ref: nil)
      }
      if key != last { found += 1 }
      last = key
    }
  }

  /// Throws if the index has more entries than there are objects.
  private func expectObjects(_ ref: Int) throws(EngineError) {
    // The index of a Mixed property can have stale entries beside the valid ones.
    if found > (column.type == .mixed ? 2 * table.objectCount + 64 : table.objectCount) {
      throw .damaged("more entries than objects", ref: ref)
    }
  }

  /// Adds an entry of a single object to the batch.
  private func add(_ object: Int64, _ ref: Int) throws(EngineError) {
    try expectObjects(ref)
    batch.append(object, path, ref: ref)
    if batch.isFull { checkBatch(mayDropPages: true) }
  }

  /// Checks the batch. If an entry is wrong, the entries are checked again in index order, which is the order of the
  /// reports.
  private func checkBatch(mayDropPages: Bool) {
    if batch.isEmpty { return }
    var entries = IndexBatch()
    swap(&entries, &batch)
    if !areRight(entries, mayDropPages: mayDropPages) {
      entries.forEach { entry in
        do throws(EngineError) { _ = try value(of: entry.object, under: entry.path, entry.ref) } catch {
          context.report(error.problem, ref: error.ref)
        }
      }
    }
    entries.removeAll()
    batch = entries
  }

  private func areRight(_ entries: IndexBatch, mayDropPages: Bool) -> Bool {
    do {
      for index in entries.byObject() {
        let object = entries.object(Int(index))
        guard object >= 0, try cursor.seek(ObjKey(object)) else { return false }
        if !entries.leads(Int(index), to: IndexData(try cursor.value(self.index))) { return false }
        if mayDropPages, context.dropPages() { cursor = ObjectCursor(table) }
      }
      return true
    } catch {
      // The second check reports the error with its entry.
      return false
    }
  }

  /// Returns the value of an entry's object; nil if there is no such object. Reports an object that does not belong
  /// there.
  private func value(
    of key: Int64,
    under path: ArraySlice<Int32>,
    _ ref: Int
  ) throws(EngineError) -> (value: ValueView, data: IndexData)? {
    guard key >= 0, try cursor.seek(ObjKey(key)) else {
      report("object \(key) is in the index, but does not exist", ref: ref)
      return nil
    }
    let value = try cursor.value(index), data = IndexData(value)
    for (level, word) in path.enumerated() where data.key(4 * level) != word {
      report("object \(key) is in the index under another value", ref: ref)
      break
    }
    return (value, data)
  }

  /// Checks that the values of the objects in one entry lead to it, and that the objects are in order.
  private func checkObjects(_ list: ElementReader, _ ref: Int) throws(EngineError) {
    var list = list
    var last: (key: Int64, value: ValueView, data: IndexData)?
    var areEqual = true, isAscending = true, haveEqualData = true, areEqualAscending = true
    for position in 0..<list.count {
      guard case .int(let key) = try list.value(at: position) else { break }
      found += 1
      try expectObjects(ref)
      guard let (value, data) = try self.value(of: key, under: path[...], ref) else { continue }
      if let last {
        let isEqual = ValueOrder.compare(last.value, value) == 0
        if key == last.key { report("object \(key) is twice in one entry", ref: ref) }
        if !isEqual { areEqual = false }
        if key <= last.key { isAscending = false }
        if isEqual && key <= last.key { areEqualAscending = false }
        if !data.isEqual(last.data) { haveEqualData = false }
        if isEqual && index == table.primaryKeyIndex {
          context.report("objects \(last.key) and \(key) have the same primary key")
        }
      }
      last = (key, value, data)
      if context.dropPages() {
        // Dropping pages invalidates `last`, so this pair is not compared. That is rare enough.
        last = nil
        cursor = ObjectCursor(table)
        list = try ElementReader(arena, ref, Self.origins)
      }
    }
    if areEqual ? !isAscending : !areEqualAscending {
      report("the object keys of equal values are out of order", ref: ref)
    }
    if !haveEqualData && path.count * 4 <= Self.maximumOffset {
      report("an entry of different values that should be in a sub-index", ref: ref)
    }
  }

  // MARK: Words

  /// Looks up every word of every object. Returns the expected number of entries.
  private func lookUpWords() throws(EngineError) -> Int {
    var expected = 0
    while try cursor.next() {
      context.place.object = cursor.key.value
      switch try cursor.value(index) {
      case .string(let text) where column.index == .fullText:
        for word in unsafe FullTextWords.words(in: text.unsafeBytes) {
          expected += 1
          try word.withView { (word) throws(EngineError) in _ = try lookUp(IndexData(word: word)) }
        }
      case .list(var list), .set(var list):
        var elements: Set<[UInt8]> = [], hasNull = false
        for i in 0..<list.count {
          if case .string(let text) = try list.value(at: i) { elements.insert(text.bytes) } else { hasNull = true }
        }
        // Some words share an entry; see `SearchIndexEditor.canShareEntry`.
        var entries: Set<Entry> = []
        for element in elements {
          entries.insert(try element.withView { (word) throws(EngineError) in try lookUp(IndexData(word: word)) })
        }
        if hasNull { entries.insert(try lookUp(IndexData(word: nil))) }
        expected += entries.count
      default: break
      }
      let key = cursor.key
      if context.dropPages() {
        cursor = ObjectCursor(table)
        if try !cursor.seek(key) { throw .damaged("object \(key) is not found again", ref: nil) }
      }
    }
    context.place.object = nil
    return expected
  }

  /// An entry of the index, given by the root of its level and its key in that level.
  private struct Entry: Hashable {
    let ref: Int
    let key: Int32
  }

  /// Looks up a word of the current object. Returns the entry where it is, or where it should be.
  private func lookUp(_ data: IndexData) throws(EngineError) -> Entry {
    var ref = column.indexRef
    let search = SearchIndex(arena: arena, rootRef: ref)
    for offset in stride(from: 0, through: 4 * CheckContext.maximumIndexLevels, by: 4) {
      guard let entry = try search.entry(ref, data.key(offset)) else {
        context.report("has a word that is not in the index")
        return Entry(ref: ref, key: data.key(offset))
      }
      let node = entry & 1 == 0 ? try arena.node(Int(entry)) : nil
      if let node, node.hasContext {
        ref = node.ref
        continue
      }
      if offset + 4 < data.count { context.report("a word is in the index under its first \(offset + 4) bytes") }
      let isListed =
        try node.map { node throws(EngineError) in try contains(cursor.key.value, in: node.ref) }
        ?? (Int64(bitPattern: UInt64(bitPattern: entry) >> 1) == cursor.key.value)
      if !isListed { context.report("is missing from an entry of the index") }
      return Entry(ref: ref, key: data.key(offset))
    }
    throw .damaged("the index has more than \(CheckContext.maximumIndexLevels) levels", ref: ref)
  }

  /// Returns true if an ascending list contains `key`.
  private func contains(_ key: Int64, in ref: Int) throws(EngineError) -> Bool {
    let reader = try ElementReader(arena, ref, Self.origins)
    let place = try bisect(reader.count) { (index) throws(EngineError) in
      if case .int(let other) = try reader.value(at: index) { other < key } else { false }
    }
    guard place < reader.count, case .int(let other) = try reader.value(at: place) else { return false }
    return other == key
  }
}
