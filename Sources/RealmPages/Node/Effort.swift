// Bounds the cost of a walk. In an intact version each node has one parent, so a walk that visits each object once
// visits each node once. In a damaged file nodes can have several parents, and a walk can visit the same ones 2^60
// times without a cycle. A walk is therefore charged for each collection and cluster it enters, with its minimum size
// in a file, and fails once it has been charged twice the size of the file.

/// The work that one walk over a version may still do.
///
/// For walks that visit each value once: one value with everything nested in it, or many objects one after another.
package final class Effort {
  // Exclusive access is not checked at run time: one walk uses it, and no property is passed inout.
  /// Bytes.
  @safe @exclusivity(unchecked) private(set) var left = 0
  /// The initial value of `left`.
  @safe @exclusivity(unchecked) private(set) var granted = 0
  /// True if the full limit was granted, not only its first part.
  @safe @exclusivity(unchecked) private var isWhole = false
  private let arena: Arena

  /// Creates the budget for a walk over the file and the additions of a transaction.
  init(_ arena: Arena) {
    self.arena = arena
    renew()
  }

  /// The initial grant. Few walks exceed it, so that only these have to determine how much of the file consists of
  /// holes.
  private static let firstPart = 1 << 18
  private static let minPart = 1 << 12

  /// Resets the budget for another walk.
  package func renew() {
    granted = min(Self.minPart + 2 * arena.maximumBytes, Self.firstPart)
    (left, isWhole) = (granted, false)
  }

  /// True if the budget is used up. A walk that continues after damage ends here.
  var isSpent: Bool { isWhole && left < 0 }

  /// Charges for `bytes` of the file; `ref` is the node being visited.
  @inline(__always)
  package func spend(_ bytes: Int, at ref: Int? = nil) throws(EngineError) {
    left &-= bytes
    if left < 0 { try extend(ref) }
  }

  /// Grants the rest, once.
  @inline(never)
  private func extend(_ ref: Int?) throws(EngineError) {
    if !isWhole {
      isWhole = true
      left += Self.minPart + 2 * arena.storedBytes() - granted
      if left >= 0 { return }
    }
    throw .damaged("more than the file has room for: some nodes have several parents", ref: ref)
  }

  /// Charges for a list or set, without nested values.
  @inline(__always)
  package func enter(_ list: ListView) throws(EngineError) {
    // A leaf of 1000 elements of width 0 occupies 8 bytes; one of Mixed values also has a node of refs.
    if let columns = list.subtableColumns { return try spend(8 + columns * (8 + list.count >> 7)) }
    guard let element = list.elementType else { return }
    try enter(leaf: list.count, element, at: list.ref)
  }

  /// Charges for a list or set, or a leaf of one.
  @inline(__always)
  func enter(leaf count: Int, _ element: ElementType, at ref: Int?) throws(EngineError) {
    try spend(element.type == .mixed && !element.isTypedLink ? 32 + count >> 5 : 8 + count >> 7, at: ref)
  }

  /// Charges for the schema of a table with `columns` properties.
  func enter(tableOf columns: Int, at ref: Int) throws(EngineError) {
    // The top array and spec, and the name, type, attributes and key of each property.
    try spend(64 + 8 * columns, at: ref)
  }

  /// Charges for a dictionary, without nested values.
  @inline(__always)
  package func enter(_ dictionary: DictionaryView) throws(EngineError) {
    // A row of a subtable was charged with the list of rows. In other dictionaries, each key takes at least one byte.
    if let ref = dictionary.ref { try spend(64 + dictionary.count, at: ref) }
  }

  /// Charges for an element of a collection, if its size does not follow from the collection.
  @inline(__always)
  package func enter(element: ValueView) throws(EngineError) {
    switch element {
    case .string(let bytes), .data(let bytes): try spend(bytes.count)
    default: break
    }
  }
}

extension ValueView {
  /// The budget for one walk through the value; nil if nothing is nested in it.
  var effort: Effort? {
    switch self {
    case .list(let list), .set(let list): list.arena.map { Effort($0) }
    case .dictionary(let dictionary): dictionary.arena.map { Effort($0) }
    default: nil
    }
  }
}
