// Finds the objects of a top-level table that own changed embedded objects. A change of an embedded object does not
// change the nodes of its owner, so the search starts at the embedded objects that differ and follows their backlinks.
//
// Embedded objects are read in the order of their keys, but owners are needed in the order of theirs. To bound memory,
// each round keeps the owners with the lowest keys; when they are used up, the next round reads the embedded objects
// again.

/// The owners in ascending order of their keys, each with the properties that contain changed objects.
final class ChangedOwners {
  /// A property of an owner, by its position in the newer table.
  private struct Entry: Hashable, Comparable {
    let key: ObjKey
    let property: Int

    static func < (a: Entry, b: Entry) -> Bool { a.key != b.key ? a.key < b.key : a.property < b.property }
  }

  /// A property of an object that contains embedded objects.
  private struct Place: Hashable {
    let table: TableKey
    let key: ObjKey
    let property: Int
  }

  private let difference: VersionDifference
  private let comparison: ContentComparison
  private let table: TableKey
  private let embedded: [TablePairing]
  /// Owners up to this key have been returned.
  private var floor: ObjKey
  /// The owners of the current round, and the index of the first one not yet returned.
  private var entries: [Entry] = []
  private var position = 0
  /// Owners after this key are left for the next round.
  private var ceiling = ObjKey(.max)
  private var isComplete = false
  private var cursors: [TableKey: ContentComparison.CursorPair] = [:]
  /// True if the content of a place differs.
  private var verdicts: [Place: Bool] = [:]

  /// The maximum nesting depth of embedded objects; deeper nesting is a cycle.
  private static let maximumDepth = 10_000
  private static let maximumVerdicts = 1 << 14

  /// Starts after `key`.
  init(
    _ difference: VersionDifference,
    _ comparison: ContentComparison,
    of table: TableKey,
    _ embedded: [TablePairing],
    after key: ObjKey
  ) {
    (self.difference, self.comparison, self.table, self.embedded, floor) =
      (difference, comparison, table, embedded, key)
  }

  /// The next owner and its properties that differ; nil at the end.
  func next() throws(EngineError) -> (key: ObjKey, properties: [Int])? {
    while position == entries.count {
      if isComplete { return nil }
      try collect()
    }
    let key = entries[position].key
    var properties: [Int] = []
    while position < entries.count, entries[position].key == key {
      properties.append(entries[position].property)
      position += 1
    }
    return (key, properties)
  }

  /// Runs a round over the embedded objects that differ.
  private func collect() throws(EngineError) {
    (entries, position, ceiling, isComplete) = ([], 0, ObjKey(.max), true)
    for pairing in embedded {
      let pairs = try ObjectChanges.pairs(difference, pairing, after: .none)
      while let pair = try pairs.next() {
        guard pair.presence == .both, try !comparison.differing(pairs, pairing, firstOnly: true).isEmpty,
          let owner = try owner(of: pair.key, in: pairing), floor < owner.key, owner.key <= ceiling
        else { continue }
        entries.append(owner)
        if entries.count >= 2 * difference.ownerLimit { cut() }
      }
    }
    cut()
    floor = ceiling
  }

  /// Sorts the owners and keeps as many as the limit allows; an owner is kept with all its properties or not at all.
  private func cut() {
    entries = Array(Set(entries)).sorted()
    guard entries.count > difference.ownerLimit else { return }
    let first = entries[0].key, firstLeft = entries[difference.ownerLimit].key
    entries.removeAll { first < firstLeft ? $0.key >= firstLeft : $0.key > first }
    ceiling = entries[entries.count - 1].key
    isComplete = false
  }

  /// The owner of an embedded object that differs; nil if the owner is in another table, or if none of its values
  /// differs.
  private func owner(of key: ObjKey, in pairing: TablePairing) throws(EngineError) -> Entry? {
    var key = key, pairing = pairing
    for _ in 0..<Self.maximumDepth {
      guard let place = try place(of: key, in: pairing), let next = try difference.pairing(of: place.table) else {
        return nil
      }
      guard try differs(place, next) else { return nil }
      if next.new.kind != .embedded {
        return next.new.key == table ? Entry(key: place.key, property: place.property) : nil
      }
      (key, pairing) = (place.key, next)
    }
    throw .damaged("embedded objects that contain each other", place: "table \(pairing.new.name)")
  }

  private func cursors(of pairing: TablePairing) -> ContentComparison.CursorPair {
    if let known = cursors[pairing.new.key] { return known }
    let pair = ContentComparison.CursorPair(pairing)
    cursors[pairing.new.key] = pair
    return pair
  }

  /// The property that contains an embedded object, found by its backlink.
  private func place(of key: ObjKey, in pairing: TablePairing) throws(EngineError) -> Place? {
    let cursor = cursors(of: pairing).new
    guard try cursor.seek(key) else { return nil }
    for backlink in pairing.new.backlinks {
      guard let owner = try cursor.origins(from: backlink.originTable, backlink.originColumn).first,
        let property = try difference.new.table(backlink.originTable)?.columns
          .firstIndex(where: { $0.key == backlink.originColumn })
      else { continue }
      return Place(table: backlink.originTable, key: owner, property: property)
    }
    return nil
  }

  /// True if the value of a property that contains a changed object differs. It always does if it contains the same
  /// objects as before, in the same positions; otherwise the objects may have been rearranged so that the content is
  /// equal.
  private func differs(_ place: Place, _ pairing: TablePairing) throws(EngineError) -> Bool {
    if let known = verdicts[place] { return known }
    if verdicts.count >= Self.maximumVerdicts { verdicts.removeAll(keepingCapacity: true) }
    let verdict = try isChanged(place, pairing)
    verdicts[place] = verdict
    return verdict
  }

  private func isChanged(_ place: Place, _ pairing: TablePairing) throws(EngineError) -> Bool {
    let cursors = cursors(of: pairing), property = pairing.properties[place.property]
    // A new object does not count as changed. A new property is found by its value.
    guard let oldIndex = property.old, try cursors.seek(place.key) else { return false }
    if difference.sharesNodes, let root = try cursors.old.collectionRoot(oldIndex),
      try root == cursors.new.collectionRoot(place.property)
    {
      return true
    }
    let value = try cursors.old.value(oldIndex), other = try cursors.new.value(place.property)
    if try comparison.areEqual(value, other, property.links, .keys) { return true }
    return try !comparison.areEqual(value, other, property.links, .objects)
  }
}
