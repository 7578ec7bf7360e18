// The objects of one table that differ between two versions, one after another: those found in the table, and those
// that own changed embedded objects.

/// A change of one object between two versions.
public enum ObjectDifference: Sendable, Hashable {
  /// Only the newer version has it.
  case inserted(ObjKey)
  /// Only the older version has it.
  case deleted(ObjKey)
  /// Both have it, and these properties differ: ascending positions in the columns of the newer table.
  case updated(ObjKey, properties: [Int])

  /// The key of the object.
  public var key: ObjKey {
    switch self {
    case .inserted(let key), .deleted(let key), .updated(let key, _): key
    }
  }
}

/// Iterates over the objects of a table that differ. Memory is bounded, whatever their number.
///
/// A property differs if its value does, including collections and embedded objects at any depth. Links to other
/// objects are compared by key; incoming links are not compared. A removed property does not count as a change of any
/// object, a new one only if its value is not the default.
///
/// Not thread-safe: use it from one thread at a time.
public final class ObjectChanges {
  private let difference: VersionDifference
  private let table: TableDifference
  private let comparison: ContentComparison
  private let start: ObjKey
  private var pairing: TablePairing?
  /// Nil before the first step.
  private var pairs: (any ObjectPairs)?
  private var owners: ChangedOwners?
  /// The next object from each source, if it was found but not returned yet.
  private var ownChange: ObjectDifference?
  private var owner: (key: ObjKey, properties: [Int])?
  private var isAtEnd = (own: false, owners: false)
  private var failure: EngineError?

  init(_ difference: VersionDifference, _ table: TableDifference, after key: ObjKey) {
    (self.difference, self.table, start) = (difference, table, key)
    comparison = ContentComparison(difference)
  }

  /// Returns the next object that differs, in ascending order of keys; nil at the end.
  ///
  /// Damage ends the iteration: the error names the table, and each further call throws it again.
  ///
  /// Cost, if the versions share nodes: O(log n) for each changed object, plus checking up to 255 other objects in the
  /// same leaves.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func next() throws(EngineError) -> ObjectDifference? {
    if let failure { throw failure }
    do { return try advance() } catch {
      var located = error
      if located.place.isEmpty { located.place = "table \(table.name)" }
      failure = located
      throw located
    }
  }

  private func advance() throws(EngineError) -> ObjectDifference? {
    if pairs == nil { try begin() }
    if ownChange == nil && !isAtEnd.own {
      ownChange = try nextOwnChange()
      isAtEnd.own = ownChange == nil
    }
    if owner == nil && !isAtEnd.owners {
      owner = try owners?.next()
      isAtEnd.owners = owner == nil
    }
    guard let owner, owner.key <= ownChange?.key ?? owner.key else {
      defer { ownChange = nil }
      return ownChange
    }
    self.owner = nil
    guard let change = ownChange, change.key == owner.key else {
      return .updated(owner.key, properties: owner.properties)
    }
    ownChange = nil
    guard case .updated(let key, let properties) = change else { return change }
    return .updated(key, properties: Array(Set(properties).union(owner.properties)).sorted())
  }

  private func begin() throws(EngineError) {
    if let damage = table.old?.damage ?? table.new?.damage { throw damage }
    // When a table becomes embedded, or is no longer embedded, its objects count as deleted or inserted.
    let old = table.old?.kind == .embedded ? nil : table.old, new = table.new?.kind == .embedded ? nil : table.new
    guard old != nil, let new else {
      pairs = CursorPairs(old, new, nil, after: start)
      return
    }
    guard let pairing = try difference.pairing(of: new.key) else { return }
    self.pairing = pairing
    pairs = try Self.pairs(difference, pairing, after: start)
    let embedded = try difference.embeddedTables(below: new.key)
    if !embedded.isEmpty {
      owners = ChangedOwners(difference, comparison, of: new.key, embedded, after: start)
    }
  }

  /// The objects of a table with both versions that may differ.
  static func pairs(
    _ difference: VersionDifference,
    _ pairing: TablePairing,
    after key: ObjKey
  ) throws(EngineError) -> any ObjectPairs {
    if difference.sharesNodes { return try ClusterPairs(pairing, after: key) }
    return CursorPairs(pairing.old, pairing.new, pairing, after: key)
  }

  private func nextOwnChange() throws(EngineError) -> ObjectDifference? {
    while let pairs, let pair = try pairs.next() {
      switch pair.presence {
      case .old: return .deleted(pair.key)
      case .new: return .inserted(pair.key)
      case .both:
        guard let pairing else { continue }
        let properties = try comparison.differing(pairs, pairing, firstOnly: false)
        if !properties.isEmpty { return .updated(pair.key, properties: properties) }
      }
    }
    return nil
  }
}
