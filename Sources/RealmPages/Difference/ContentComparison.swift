// Compares values by content if equality does not follow from their refs. Values are equal if their bits are: in a
// Mixed, 1 does not equal 1.0, and a NaN equals itself.

/// Compares values of the older version with values of the newer one.
final class ContentComparison {
  /// The condition for links to embedded objects to be equal.
  enum Mode {
    /// The keys are the same.
    case keys
    /// The keys are the same, or the content of the objects is. Changes within an object that both versions have are
    /// found separately.
    case places
    /// The content of the objects is the same.
    case objects
  }

  private let difference: VersionDifference
  /// Unused cursors for embedded objects.
  private var spare: [TableKey: [CursorPair]] = [:]
  /// The number of leaves and objects that may still be read for the current value. Only a damaged file exceeds it;
  /// content that is not read counts as different.
  private var budget = 0

  /// A cursor for each version of a table.
  struct CursorPair {
    let old: ObjectCursor
    let new: ObjectCursor

    init(_ pairing: TablePairing) { (old, new) = (ObjectCursor(pairing.old), ObjectCursor(pairing.new)) }

    /// Moves both cursors to an object; false if one version does not have it.
    func seek(_ key: ObjKey) throws(EngineError) -> Bool { try old.seek(key) ? new.seek(key) : false }
  }

  /// The maximum depth of collections and embedded objects. Deeper content, which cannot be displayed either, counts as
  /// different.
  private static let maximumDepth = 200

  init(_ difference: VersionDifference) { self.difference = difference }

  /// The properties in which the current object of `pairs` differs, or only the first of them.
  func differing(_ pairs: any ObjectPairs, _ pairing: TablePairing, firstOnly: Bool) throws(EngineError) -> [Int] {
    var found: [Int] = []
    for index in try pairs.suspects() {
      guard try pairs.mayDiffer(index) else { continue }
      let property = pairing.properties[index], value = try pairs.newValue(index)
      let isEqual: Bool
      if property.old == nil {
        isEqual = isDefault(value, pairing.new.columns[index])
      } else {
        isEqual = try areEqual(pairs.oldValue(index), value, property.links, .places)
      }
      if isEqual { continue }
      found.append(index)
      if firstOnly { break }
    }
    return found
  }

  /// True if two values of a property are equal.
  func areEqual(
    _ value: ValueView,
    _ other: ValueView,
    _ links: LinkMeaning,
    _ mode: Mode
  ) throws(EngineError) -> Bool {
    budget = 1 << 20 + difference.old.arena.maximumNodes + difference.new.arena.maximumNodes
    return try areEqual(value, other, links, mode, depth: 0)
  }

  /// True if a value is the one that existing objects get when the property is added.
  private func isDefault(_ value: ValueView, _ column: Column) -> Bool {
    switch value {
    // In a Mixed, which is null by default, an empty collection is a value.
    case .list(let list), .set(let list): column.collection != nil && list.count == 0
    case .dictionary(let entries): column.collection != nil && entries.count == 0
    default: column.element.defaultValue.withView { Self.scalarsAreEqual(value, $0) }
    }
  }

  // MARK: values

  /// True if two values are equal; collections are not compared and count as different.
  static func scalarsAreEqual(_ value: ValueView, _ other: ValueView) -> Bool {
    switch (value, other) {
    case (.null, .null): true
    case (.int(let x), .int(let y)): x == y
    case (.bool(let x), .bool(let y)): x == y
    case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern
    case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
    case (.string(let x), .string(let y)), (.data(let x), .data(let y)):
      x.count == y.count && ValueOrder.compareBytes(x, y) == 0
    case (.date(let x), .date(let y)): x == y
    case (.decimal128(let x), .decimal128(let y)): x.low == y.low && x.high == y.high
    case (.objectID(let x), .objectID(let y)): x == y
    case (.uuid(let x), .uuid(let y)): x == y
    case (.link(let table, let key), .link(let otherTable, let otherKey)): table == otherTable && key == otherKey
    default: false
    }
  }

  private func areEqual(
    _ value: ValueView,
    _ other: ValueView,
    _ links: LinkMeaning,
    _ mode: Mode,
    depth: Int
  ) throws(EngineError) -> Bool {
    switch (value, other) {
    case (.link(let table, let key), .link(let otherTable, let otherKey)):
      switch links {
      case .reference: return Self.scalarsAreEqual(value, other)
      case .changed: return false
      case .embedded(let target):
        if table != target || otherTable != target { return false }
        if mode != .objects && key == otherKey { return true }
        return mode == .keys ? false : try objectsAreEqual(target, key, otherKey, depth: depth + 1)
      }
    case (.list(let list), .list(let otherList)), (.set(let list), .set(let otherList)):
      return try areEqual(list, otherList, links, mode, depth: depth + 1)
    case (.dictionary(let entries), .dictionary(let otherEntries)):
      return try areEqual(entries, otherEntries, links, mode, depth: depth + 1)
    default: return Self.scalarsAreEqual(value, other)
    }
  }

  private func objectsAreEqual(
    _ table: TableKey,
    _ key: ObjKey,
    _ otherKey: ObjKey,
    depth: Int
  ) throws(EngineError) -> Bool {
    guard mayGoOn(depth), let pairing = try difference.pairing(of: table) else { return false }
    let cursors = spare[table]?.popLast() ?? CursorPair(pairing)
    defer { spare[table, default: []].append(cursors) }
    let isThere = try cursors.old.seek(key), otherIsThere = try cursors.new.seek(otherKey)
    if !isThere || !otherIsThere { return isThere == otherIsThere }
    for (index, property) in pairing.properties.enumerated() {
      let value = try cursors.new.value(index)
      let isEqual: Bool
      if let oldIndex = property.old {
        isEqual = try areEqual(cursors.old.value(oldIndex), value, property.links, .objects, depth: depth)
      } else {
        isEqual = isDefault(value, pairing.new.columns[index])
      }
      if !isEqual { return false }
    }
    return true
  }

  // MARK: collections

  private func areEqual(
    _ list: ListView,
    _ other: ListView,
    _ links: LinkMeaning,
    _ mode: Mode,
    depth: Int
  ) throws(EngineError) -> Bool {
    if list.count != other.count { return false }
    if !mayGoOn(depth) { return false }
    if let elements = list.stored, let otherElements = other.stored {
      return try areEqual(elements, otherElements, links, mode, depth: depth)
    }
    var list = list, other = other
    for index in 0..<list.count {
      guard try areEqual(list.value(at: index), other.value(at: index), links, mode, depth: depth) else { return false }
    }
    return true
  }

  private func areEqual(
    _ entries: DictionaryView,
    _ other: DictionaryView,
    _ links: LinkMeaning,
    _ mode: Mode,
    depth: Int
  ) throws(EngineError) -> Bool {
    if entries.count != other.count { return false }
    if !mayGoOn(depth) { return false }
    if let trees = entries.trees, let others = other.trees {
      guard try areEqual(trees.keys, others.keys, .reference, mode, depth: depth) else { return false }
      return try areEqual(trees.values, others.values, links, mode, depth: depth)
    }
    var entries = entries, other = other
    for index in 0..<entries.count {
      guard try ValueOrder.compareBytes(entries.key(at: index), other.key(at: index)) == 0,
        try areEqual(entries.value(at: index), other.value(at: index), links, mode, depth: depth)
      else { return false }
    }
    return true
  }

  /// Compares two trees of elements in step, and skips leaves that both share.
  private func areEqual(
    _ elements: ElementReader,
    _ others: ElementReader,
    _ links: LinkMeaning,
    _ mode: Mode,
    depth: Int
  ) throws(EngineError) -> Bool {
    if elements.count != others.count { return false }
    // Equal links may refer to embedded objects that differ.
    let isShared = difference.sharesNodes && links != .changed && (mode != .objects || links == .reference)
    if isShared && elements.rootRef == others.rootRef { return true }
    var index = 0
    while index < elements.count {
      if !mayGoOn(depth) { return false }
      let place = try elements.leafPlace(of: index), other = try others.leafPlace(of: index)
      let end = min(place.positions.upperBound, other.positions.upperBound)
      if !isShared || place.leaf != other.leaf || place.positions.lowerBound != other.positions.lowerBound {
        for position in index..<end {
          guard
            try areEqual(elements.value(at: position), others.value(at: position), links, mode, depth: depth)
          else { return false }
        }
      }
      index = end
    }
    return true
  }

  private func mayGoOn(_ depth: Int) -> Bool {
    budget -= 1
    return budget >= 0 && depth <= Self.maximumDepth
  }
}
