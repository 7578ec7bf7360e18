// Search indexes against the objects: every value is in the index where a search looks for it, and nothing else is.
// Source: docs/format/2-model.md M10.

/// Checks the search index of one column.
final class IndexCheck {
  private let context: CheckContext
  private let table: Table
  private let index: Int
  private let column: Column
  private let cursor: ObjectCursor
  /// Entries end exactly at the end of a word: full-text indexes and indexes of lists of strings.
  private let isFullWord: Bool
  /// The index keys from the root to where the walk stands.
  private var path: [Int32] = []
  /// Pairs of an entry and an object in it.
  private var found = 0

  private var arena: Arena { context.arena }

  /// No sub-index begins beyond this offset of a value, but in full-word indexes.
  private static let maximumOffset = 200
  private static let origins = ElementType(.int, isNullable: false)

  /// Whether the objects have been found in order, so that what they miss in the index can be told.
  private let objectsAreSound: Bool

  /// A check of the index of the column at `index`.
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
  func run() throws(FormatError) {
    let problems = context.summary.problems
    _ = try walk(column.indexRef, depth: 0)
    // What is missing is told only of an index that holds together.
    if !objectsAreSound || context.summary.problems != problems { return }
    let expected = isFullWord ? try lookUpWords() : table.objectCount
    if found != expected { context.report("the index has \(found) entries for \(expected) values") }
  }

  // MARK: Nodes

  /// Checks the node at `ref` with all below it and returns its last key.
  private func walk(_ ref: Int, depth: Int) throws(FormatError) -> Int64? {
    let (node, keys) = try context.indexNode(ref, levels: path.count, depth: depth)
    if keys.width != 32 || keys.count > TreeCheck.maximumCount {
      throw FormatError("\(keys.count) keys of \(keys.width) bits", ref: ref)
    }
    if keys.count == 0 && !(path.isEmpty && depth == 0) { context.report("an empty index node", ref: ref) }
    var last: Int64?
    for i in 0..<keys.count {
      let key = try keys.int(i)
      if let last, key <= last { context.report("the keys of an index node are out of order", ref: ref) }
      last = key
      do throws(FormatError) { try entry(node, i, key, depth) } catch { context.report(error.problem, ref: error.ref) }
    }
    return last
  }

  private func entry(_ node: Node, _ i: Int, _ key: Int64, _ depth: Int) throws(FormatError) {
    let element = try node.int(i + 1)
    if node.isInner {
      if try walk(node.child(i + 1), depth: depth + 1) != key {
        context.report("key \(i) is not the last key of its child", ref: node.ref)
      }
      return
    }
    path.append(Int32(truncatingIfNeeded: key))
    defer { path.removeLast() }
    if element & 1 != 0 {
      let object = Int64(bitPattern: UInt64(bitPattern: element) >> 1)
      if isFullWord { found += 1 } else { try checkObjects([object], node.ref) }
      return
    }
    let child = try arena.node(Int(element))
    if child.hasContext {
      _ = try walk(child.ref, depth: 0)
      return
    }
    let count = try TreeCheck(context).check(child.ref) { leafRef, isRoot throws(FormatError) in
      try LeafCheck(context).check(leafRef, Self.origins, inTree: true, isRoot: isRoot)
    }
    if count == 0 { context.report("an empty entry", ref: child.ref) }
    if count == 0 { return }
    let reader = try ElementReader(arena, child.ref, Self.origins)
    if isFullWord { try checkOrder(reader) } else { try checkObjects(KeyList(reader: reader), child.ref) }
  }

  // MARK: Entries

  /// The object keys of a list.
  private struct KeyList: Sequence, IteratorProtocol {
    let reader: ElementReader
    var position = 0

    mutating func next() -> Int64? {
      guard position < reader.count, case .int(let key)? = try? reader.value(at: position)  // checked before
      else { return nil }
      position += 1
      return key
    }
  }

  /// The keys of a word ascend; an index of lists can repeat them.
  private func checkOrder(_ reader: ElementReader) throws(FormatError) {
    var last: Int64?
    for i in 0..<reader.count {
      guard case .int(let key) = try reader.value(at: i) else { continue }
      if let last, key < last || key == last && column.collection == nil {
        throw FormatError("the object keys of an entry are out of order", ref: nil)
      }
      if key != last { found += 1 }
      last = key
    }
  }

  /// Checks that the objects of one entry have values that lead there, in the right order.
  private func checkObjects(_ keys: some Sequence<Int64>, _ ref: Int) throws(FormatError) {
    var last: (key: Int64, value: ValueView, data: IndexData)?
    var areEqual = true, isAscending = true, haveEqualData = true, areEqualAscending = true
    for key in keys {
      found += 1
      if found > table.objectCount { throw FormatError("more entries than objects", ref: ref) }
      guard key >= 0, try cursor.seek(ObjKey(key)) else {
        context.report("object \(key) is in the index, but does not exist", ref: ref)
        continue
      }
      let value = try cursor.value(index), data = IndexData(value)
      for (level, word) in path.enumerated() where data.key(4 * level) != word {
        context.report("object \(key) is in the index under another value", ref: ref)
        break
      }
      if let last {
        let isEqual = ValueOrder.compare(last.value, value) == 0
        if key == last.key { context.report("object \(key) is twice in one entry", ref: ref) }
        if !isEqual { areEqual = false }
        if key <= last.key { isAscending = false }
        if isEqual && key <= last.key { areEqualAscending = false }
        if !data.isEqual(last.data) { haveEqualData = false }
        if isEqual && index == table.primaryKeyIndex {
          context.report("objects \(last.key) and \(key) have the same primary key")
        }
      }
      last = (key, value, data)
    }
    if areEqual ? !isAscending : !areEqualAscending {
      context.report("the object keys of equal values are out of order", ref: ref)
    }
    if !haveEqualData && path.count * 4 <= Self.maximumOffset {
      context.report("an entry of different values that should be in a sub-index", ref: ref)
    }
  }

  // MARK: Words

  /// Looks for every word of every object; returns how many there are.
  private func lookUpWords() throws(FormatError) -> Int {
    var expected = 0
    while try cursor.next() {
      context.place.object = cursor.key.value
      switch try cursor.value(index) {
      case .string(let text) where column.index == .fullText:
        for word in FullTextWords.words(in: text.unsafeBytes) {
          expected += 1
          try word.withView { (word) throws(FormatError) in _ = try lookUp(IndexData(word: word)) }
        }
      case .list(var list), .set(var list):
        var elements: Set<[UInt8]> = [], hasNull = false
        for i in 0..<list.count {
          if case .string(let text) = try list.value(at: i) { elements.insert(text.bytes) } else { hasNull = true }
        }
        // Some words share an entry: see `SearchIndexEditor.canShareEntry`.
        var entries: Set<Entry> = []
        for element in elements {
          entries.insert(try element.withView { (word) throws(FormatError) in try lookUp(IndexData(word: word)) })
        }
        if hasNull { entries.insert(try lookUp(IndexData(word: nil))) }
        expected += entries.count
      default: break
      }
    }
    context.place.object = nil
    return expected
  }

  /// An entry of the index, by the root of its level and its key there.
  private struct Entry: Hashable {
    let ref: Int
    let key: Int32
  }

  /// Looks for a word of the object at hand and returns where it is, or should be.
  private func lookUp(_ data: IndexData) throws(FormatError) -> Entry {
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
        try node.map { node throws(FormatError) in try contains(cursor.key.value, in: node.ref) }
        ?? (Int64(bitPattern: UInt64(bitPattern: entry) >> 1) == cursor.key.value)
      if !isListed { context.report("is missing from an entry of the index") }
      return Entry(ref: ref, key: data.key(offset))
    }
    throw FormatError("the index has more than \(CheckContext.maximumIndexLevels) levels", ref: ref)
  }

  /// Whether an ascending list has `key`.
  private func contains(_ key: Int64, in ref: Int) throws(FormatError) -> Bool {
    let reader = try ElementReader(arena, ref, Self.origins)
    var low = 0, high = reader.count
    while low < high {
      let middle = (low + high) / 2
      guard case .int(let other) = try reader.value(at: middle) else { return false }
      if other == key { return true }
      if other < key { low = middle + 1 } else { high = middle }
    }
    return false
  }
}
