// The objects of one table that differ between two versions, one after another: those found in the table itself, and
// those that own embedded objects that changed.

/// What happened to one object between two versions.
public enum ObjectChange: Sendable, Hashable {
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

/// Steps through the objects of a table that differ. Memory is bounded, whatever their number.
///
/// A property differs if its value does, collections and embedded objects at any depth included; links to other objects
/// differ by their keys, and incoming links are no property. A property that was removed differs in no object, a new
/// one where its value is not the default.
///
/// One thread at a time.
public final class ObjectChanges {
  private let difference: VersionDifference
  private let table: TableDifference
  private let comparison: ContentComparison
  private let start: ObjKey
  private var pairing: TablePairing?
  /// Nil before the first step.
  private var pairs: (any ObjectPairs)?
  private var owners: ChangedOwners?
  /// What comes next of each, if it was looked for and not yet given out.
  private var ownChange: ObjectChange?
  private var owner: (key: ObjKey, properties: [Int])?
  private var isAtEnd = (own: false, owners: false)
  private var failure: EngineError?

  init(_ difference: VersionDifference, _ table: TableDifference, after key: ObjKey) {
    (self.difference, self.table, start) = (difference, table, key)
    comparison = ContentComparison(difference)
  }

  /// The next object that differs, in ascending order of keys; nil at the end.
  ///
  /// Damage ends the walk: the error names the table, and comes again with each further call.
  ///
  /// Cost, where the versions share nodes: O(log n) for each changed object, and a look at the up to 255 others that
  /// are in the same leaves.
  public func next() throws(EngineError) -> ObjectChange? {
    if let failure { throw failure }
    do throws(EngineError) { return try advance() } catch {
      var located = error
      if located.place.isEmpty { located.place = "table \(table.name)" }
      failure = located
      throw located
    }
  }

  private func advance() throws(EngineError) -> ObjectChange? {
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
    // The objects of a table that has become embedded, or has ceased to be, have gone or come.
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

  /// The objects of a table in both versions that may differ.
  static func pairs(
    _ difference: VersionDifference,
    _ pairing: TablePairing,
    after key: ObjKey
  ) throws(EngineError) -> any ObjectPairs {
    if difference.sharesNodes { return try ClusterPairs(pairing, after: key) }
    return CursorPairs(pairing.old, pairing.new, pairing, after: key)
  }

  private func nextOwnChange() throws(EngineError) -> ObjectChange? {
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
