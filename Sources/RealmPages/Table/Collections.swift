// Views of lists, sets and dictionaries, element by element. Source: docs/format/2-model.md M8.

/// The elements of a B+tree, read by position. Remembers the leaf it read last.
final class ElementReader {
  let arena: Arena
  let count: Int
  let element: ElementType
  private let tree: BPlusTree
  private var leaf: ColumnLeaf
  private var start = 0
  private var end: Int

  /// Opens the tree at `ref`. Cost O(1).
  init(_ arena: Arena, _ ref: Int, _ element: ElementType) throws(EngineError) {
    self.arena = arena
    self.element = element
    tree = try BPlusTree(arena, ref)
    if let count = tree.innerCount {
      let place = try tree.place(of: 0, arena)
      leaf = try ColumnLeaf(arena, place.leaf, element, inTree: true)
      self.count = count
      end = place.end
      try checkLeaf(ref)
    } else {
      leaf = try ColumnLeaf(arena, ref, element, inTree: true)
      count = leaf.count
      end = count
    }
  }

  /// The root of the tree.
  var ref: Int { tree.root.ref }

  func value(at index: Int) throws(EngineError) -> ValueView {
    if index < start || index >= end {
      if index < 0 || index >= count {
        throw .damaged("a collection of \(count) elements has no element \(index)", ref: tree.root.ref)
      }
      let place = try tree.place(of: index, arena)
      leaf = try ColumnLeaf(arena, place.leaf, element, inTree: true)
      (start, end) = (place.start, place.end)
      try checkLeaf(place.leaf)
    }
    return try leaf.value(index - start, arena)
  }

  /// Returns the integer at `index` of a reader of non-nullable integers.
  func integer(at index: Int) throws(EngineError) -> Int64 {
    if index >= start, index < end, case .ints(let node) = leaf { return try node.int(index - start) }
    guard case .int(let value) = try value(at: index) else { throw .damaged("expected integers", ref: tree.root.ref) }
    return value
  }

  /// The root of the tree.
  var rootRef: Int { tree.root.ref }

  /// Returns the leaf that holds the element at `index` (0 ..< count), and the positions of that leaf's elements.
  func leafPlace(of index: Int) throws(EngineError) -> (leaf: Int, positions: Range<Int>) {
    guard tree.innerCount != nil else { return (tree.root.ref, 0..<count) }
    let place = try tree.place(of: index, arena)
    return (place.leaf, place.start..<place.end)
  }

  private func checkLeaf(_ ref: Int) throws(EngineError) {
    if leaf.count != end - start {
      let found = leaf.count, expected = end - start
      // Do not read from a leaf of unexpected size.
      end = start
      throw .damaged("a leaf of \(found) elements instead of \(expected)", ref: ref)
    }
  }
}

/// The elements of a list or set, borrowed from the snapshot. Not for use by several threads at once.
public struct ListView {
  private let reader: ElementReader?
  /// The rows of a subtable that serves as a list value; used instead of `reader`.
  private let subtable: LegacySubtable?
  /// The type of the elements; nil for an empty collection.
  var elementType: ElementType? { reader?.element }
  /// The arena that holds the collection; nil if it is empty.
  var arena: Arena? { reader?.arena ?? subtable?.arena }
  /// The root of its tree; nil for an empty collection or a subtable.
  var ref: Int? { reader?.ref }
  /// The number of columns of the subtable; nil for a tree of elements.
  var subtableColumns: Int? { subtable?.columnCount }
  /// Stored positions in presentation order; nil if that is the stored order.
  private let order: [Int]?
  /// The tree of the elements; nil if they are presented in another order than stored.
  var stored: ElementReader? { order == nil ? reader : nil }

  private init(subtable: LegacySubtable?) { (reader, self.subtable, order) = (nil, subtable, nil) }

  /// The elements of a reader, in stored order.
  init(_ reader: ElementReader) { (self.reader, subtable, order) = (reader, nil, nil) }

  /// A list without elements.
  static var empty: ListView { ListView(subtable: nil) }

  /// The rows of a subtable of formats 2 to 9; empty if `rootsRef` is 0.
  init(subtable arena: Arena, _ spec: LegacySpec, rootsRef: Int) throws(EngineError) {
    self.init(subtable: rootsRef == 0 ? nil : try LegacySubtable(arena, spec, rootsRef: rootsRef))
  }

  /// The collection whose tree is at `ref`; 0 means empty.
  init(_ arena: Arena, _ ref: Int, _ element: ElementType, isSet: Bool = false) throws(EngineError) {
    let reader = ref == 0 ? nil : try ElementReader(arena, ref, element)
    self.reader = reader
    subtable = nil
    if isSet, arena.format < 24, let reader, ValueOrder.changedBefore24(element.type) {
      // Elements of a set are distinct, so their number is bounded by the size of the file.
      if reader.count > arena.maximumBytes { throw .damaged("a set of \(reader.count) elements", ref: ref) }
      order = try ValueOrder.sortedPositions(reader.count) { index throws(EngineError) in try reader.value(at: index) }
    } else {
      order = nil
    }
  }

  /// The number of elements.
  public var count: Int { reader?.count ?? subtable?.count ?? 0 }

  /// Returns the element at `index` (0 ..< count). Cost O(log n), and O(1) for the element after the last one read.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public mutating func value(at index: Int) throws(EngineError) -> ValueView {
    guard let reader else {
      if let subtable { return try subtable.element(index) }
      throw .damaged("an empty collection has no element \(index)")
    }
    return try reader.value(at: order?[index] ?? index)
  }
}

extension ListView {
  /// Returns the key of the collection nested in element `index`; 0 if it has none. The key stays the same when
  /// elements move.
  package func nestedKey(at index: Int) throws(EngineError) -> Int64 {
    guard let stored, stored.element.type == .mixed, index < stored.count else { return 0 }
    let place = try stored.leafPlace(of: index)
    return try MixedEditor.key(stored.arena, place.leaf, index - place.positions.lowerBound)
  }
}

/// The entries of a dictionary in ascending byte order of their keys, borrowed from the snapshot. Not for use by
/// several threads at once.
public struct DictionaryView {
  private enum Form {
    case empty
    /// Format 23 and later: two trees of equal length.
    case trees(keys: ElementReader, values: ElementReader)
    /// Formats 21 and 22: a cluster tree, its entries sorted by key.
    case clusters(HashedDictionary)
    /// Formats 2 to 9: a row of a subtable.
    case row(Int, LegacySubtable)
  }

  private let form: Form
  /// The number of entries.
  public let count: Int
  /// The trees of the keys and the values; nil for an empty dictionary and in older formats.
  var trees: (keys: ElementReader, values: ElementReader)? {
    if case .trees(let keys, let values) = form { (keys, values) } else { nil }
  }

  private init() { (form, count) = (.empty, 0) }

  /// The arena that holds the dictionary; nil if it is empty.
  var arena: Arena? {
    switch form {
    case .empty: nil
    case .trees(let keys, _): keys.arena
    case .clusters(let dictionary): dictionary.tree.arena
    case .row(_, let subtable): subtable.arena
    }
  }

  /// The root of the dictionary's tree; nil for an empty dictionary or a row of a subtable.
  var ref: Int? {
    switch form {
    case .empty, .row: nil
    case .trees(let keys, _): keys.ref
    case .clusters(let dictionary): dictionary.tree.rootRef
    }
  }

  /// A dictionary without entries.
  static var empty: DictionaryView { DictionaryView() }

  /// A row of a subtable. `row` must be in bounds.
  init(row: Int, of subtable: LegacySubtable) { (form, count) = (.row(row, subtable), subtable.width) }

  /// The dictionary whose root is at `ref`; 0 means empty. `keyType` is the type code of the keys.
  init(_ arena: Arena, _ ref: Int, keyType: Int) throws(EngineError) {
    if ref == 0 {
      form = .empty
      count = 0
      return
    }
    if keyType != 2 { throw .damaged("a dictionary with keys of type \(keyType) instead of strings", ref: ref) }
    if arena.format < 23 {
      let dictionary = try HashedDictionary(arena, ref)
      form = .clusters(dictionary)
      count = dictionary.entries.count
      return
    }
    let root = try arena.refs(ref, slots: Layout.Dictionary.count)
    let keys = try ElementReader(arena, root.child(Layout.Dictionary.keys), .string)
    let values = try ElementReader(arena, root.child(Layout.Dictionary.values), .mixed)
    if keys.count != values.count {
      throw .damaged("\(keys.count) dictionary keys for \(values.count) values", ref: ref)
    }
    form = .trees(keys: keys, values: values)
    count = keys.count
  }

  /// Returns the key of the entry at `index` (0 ..< count).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public mutating func key(at index: Int) throws(EngineError) -> ByteView {
    switch form {
    case .empty: throw .damaged("an empty dictionary has no entry \(index)")
    case .trees(let keys, _):
      guard case .string(let key) = try keys.value(at: index) else {
        throw .damaged("a dictionary whose key \(index) is null")
      }
      return key
    case .clusters(let dictionary): return dictionary.entries[index].key
    case .row(_, let subtable): return subtable.key(index)
    }
  }

  /// Returns the index of the entry whose key has these bytes; nil if there is none. Cost: O(log n).
  package mutating func index(of key: some Sequence<UInt8>) throws(EngineError) -> Int? {
    let place = try bisect(count) { (index) throws(EngineError) in
      try unsafe self.key(at: index).unsafeBytes.lexicographicallyPrecedes(key)
    }
    guard place < count, try unsafe self.key(at: place).unsafeBytes.elementsEqual(key) else { return nil }
    return place
  }

  /// Returns the value of the entry at `index` (0 ..< count).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public mutating func value(at index: Int) throws(EngineError) -> ValueView {
    switch form {
    case .empty: throw .damaged("an empty dictionary has no entry \(index)")
    case .trees(_, let values): return try values.value(at: index)
    case .clusters(let dictionary): return dictionary.entries[index].value
    case .row(let row, let subtable): return try subtable.value(row, index)
    }
  }
}

/// A dictionary of formats 21 and 22: a cluster tree whose keys are hashes, with a column of keys and one of values.
private final class HashedDictionary {
  let entries: [(key: ByteView, value: ValueView)]
  let tree: ClusterTree

  init(_ arena: Arena, _ ref: Int) throws(EngineError) {
    let tree = ClusterTree(arena: arena, rootRef: ref)
    self.tree = tree
    let total = min(try tree.count(), arena.limit)
    var entries: [(key: ByteView, value: ValueView)] = []
    var next: UInt64 = 0
    while let (cluster, first) = try tree.first(notBelow: next) {
      let keys = try ColumnLeaf(arena, cluster.leafRef(0), .string, inTree: false)
      let values = try ColumnLeaf(arena, cluster.leafRef(1), .mixed, inTree: false)
      for row in first..<cluster.count {
        guard case .string(let key) = try keys.value(row, arena) else {
          throw .damaged("a dictionary with a null key", ref: ref)
        }
        entries.append((key, try values.value(row, arena)))
      }
      let last = try cluster.key(cluster.count - 1)
      if last == .max || last < next { break }
      next = last + 1
      if entries.count > total { throw .damaged("a dictionary with more entries than its count, \(total)", ref: ref) }
    }
    entries.sort { ValueOrder.compareBytes($0.key, $1.key) < 0 }
    self.entries = entries
  }
}
