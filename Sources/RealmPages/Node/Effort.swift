// What a walk may cost. In a sound version each node has one parent, so a walk that takes each object once takes each
// node once. Where nodes of a damaged file have several parents, a walk can take the same ones 2^60 times, without
// ever going in a circle. A walk therefore pays for each collection and cluster that it enters the least room that
// this takes in a file, and ends when it has paid twice for the whole file.

/// The work that one walk over a version may still do.
///
/// For walks that take each value once: one value with all that is nested in it, or many objects one after another.
package final class Effort {
  // Exclusive access is not checked at run time here: one walk uses it, and no property is handed out for writing.
  /// Bytes.
  @safe @exclusivity(unchecked) private(set) var left = 0
  /// What `left` was at first.
  @safe @exclusivity(unchecked) private(set) var granted = 0
  /// Whether that was all that the file has room for, and not only a first part.
  @safe @exclusivity(unchecked) private var isWhole = false
  private let arena: Arena

  /// Work for the file and what a transaction has added to it.
  init(_ arena: Arena) {
    self.arena = arena
    renew()
  }

  /// What most walks do not pay in full, so that only the others have to find out how much of the file is holes.
  private static let firstPart = 1 << 18
  private static let leastPart = 1 << 12

  /// Begins another walk.
  package func renew() {
    granted = min(Self.leastPart + 2 * arena.maximumBytes, Self.firstPart)
    (left, isWhole) = (granted, false)
  }

  /// Whether nothing more can be paid for: who goes on after damage ends here.
  var isSpent: Bool { isWhole && left < 0 }

  /// Pays for `bytes` of the file; `ref` is the node that the walk comes to.
  @inline(__always)
  package func spend(_ bytes: Int, at ref: Int? = nil) throws(EngineError) {
    left &-= bytes
    if left < 0 { try extend(ref) }
  }

  /// Adds the rest, once.
  @inline(never)
  private func extend(_ ref: Int?) throws(EngineError) {
    if !isWhole {
      isWhole = true
      left += Self.leastPart + 2 * arena.storedBytes() - granted
      if left >= 0 { return }
    }
    throw .damaged("more than the file has room for: some nodes have several parents", ref: ref)
  }

  /// Pays for a list or set, apart from what is nested in it.
  @inline(__always)
  package func enter(_ list: ListView) throws(EngineError) {
    // A leaf of 1000 elements without any bits takes 8 bytes, one of Mixed values a node of refs besides.
    if let columns = list.subtableColumns { return try spend(8 + columns * (8 + list.count >> 7)) }
    guard let element = list.elementType else { return }
    try enter(leaf: list.count, element, at: list.ref)
  }

  /// Pays for a list or set, or a leaf of one.
  @inline(__always)
  func enter(leaf count: Int, _ element: ElementType, at ref: Int?) throws(EngineError) {
    try spend(element.type == .mixed && !element.isTypedLink ? 32 + count >> 5 : 8 + count >> 7, at: ref)
  }

  /// Pays for the schema of a table with so many properties.
  func enter(tableOf columns: Int, at ref: Int) throws(EngineError) {
    // Top array and spec, and for each property its name, type, attributes and key.
    try spend(64 + 8 * columns, at: ref)
  }

  /// Pays for a dictionary, apart from what is nested in it.
  @inline(__always)
  package func enter(_ dictionary: DictionaryView) throws(EngineError) {
    // A row of a subtable was paid for with the list of all rows. Each key of others takes a byte at least.
    if let ref = dictionary.ref { try spend(64 + dictionary.count, at: ref) }
  }

  /// Pays for an element of a collection, as far as its size is not known from the collection.
  @inline(__always)
  package func enter(element: ValueView) throws(EngineError) {
    switch element {
    case .string(let bytes), .data(let bytes): try spend(bytes.count)
    default: break
    }
  }
}

extension ValueView {
  /// Work for one walk through the value; nil if nothing is nested in it.
  var effort: Effort? {
    switch self {
    case .list(let list), .set(let list): list.arena.map { Effort($0) }
    case .dictionary(let dictionary): dictionary.arena.map { Effort($0) }
    default: nil
    }
  }
}
