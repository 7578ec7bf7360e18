// A query against one version: finds the matching objects in the requested order and number.

public import RealmPages

/// A query in Realm Query Language, bound to a class of a snapshot. Not thread-safe: one thread at a time.
public final class ObjectQuery {
  private let snapshot: Snapshot
  private let table: Table
  private let stages: [Stage]

  /// A predicate, followed by the ordering of its results. The results of a stage are the input of the next one.
  private struct Stage {
    let predicate: BoundPredicate
    let ordering: [Ordering]
  }

  private enum Ordering {
    case sort([(path: BoundPath, ascending: Bool)])
    case distinct([BoundPath])
    case limit(Int)
  }

  /// Parses a query and resolves its names. Errors contain the column.
  public convenience init(_ text: String, of table: Table, in snapshot: Snapshot) throws(InputError) {
    try self.init([.query(text)], of: table, in: snapshot)
  }

  /// Parses conditions that are applied in sequence: each filters the results of the previous one, in their order and
  /// number. Errors contain the column in the faulty condition and its index, `InputError.condition`.
  public init(_ conditions: [QueryCondition], of table: Table, in snapshot: Snapshot) throws(InputError) {
    self.snapshot = snapshot
    self.table = table
    let binder = QueryBinder(snapshot: snapshot, table: table, variable: nil)
    var stages: [Stage] = []
    for (index, condition) in conditions.enumerated() {
      do {
        let (syntax, orderingSyntax) = try condition.syntax()
        var predicate = try binder.bind(syntax)
        // Merge with the previous condition if there is no ordering between them.
        if let last = stages.last, last.ordering.isEmpty {
          predicate = .all([last.predicate, predicate])
          stages.removeLast()
        }
        stages.append(Stage(predicate: predicate, ordering: try Self.bound(orderingSyntax, table, snapshot)))
      } catch { throw error.of(condition: index) }
    }
    self.stages = stages
  }

  private static func bound(
    _ syntax: [OrderingSyntax],
    _ table: Table,
    _ snapshot: Snapshot
  ) throws(InputError) -> [Ordering] {
    func path(_ syntax: PathSyntax) throws(InputError) -> BoundPath {
      let path = try BoundPath(syntax, from: table, variable: nil, in: snapshot)
      if path.isList {
        throw InputError(column: syntax.column, problem: "objects are ordered by one value each, not by a list")
      }
      return path
    }
    var ordering: [Ordering] = []
    for part in syntax {
      switch part {
      case .limit(let count): ordering.append(.limit(count))
      case .sort(let keys):
        var bound: [(path: BoundPath, ascending: Bool)] = []
        for key in keys { bound.append((try path(key.path), key.ascending)) }
        ordering.append(.sort(bound))
      case .distinct(let paths):
        var bound: [BoundPath] = []
        for syntax in paths { bound.append(try path(syntax)) }
        ordering.append(.distinct(bound))
      }
    }
    return ordering
  }

  /// True if an index finds the objects, so that not all of them are read.
  public var usesIndex: Bool { stages.first?.predicate.candidates != nil }

  /// True if the query sorts, removes duplicates or limits the number of objects.
  public var isOrdered: Bool { stages.contains { !$0.ordering.isEmpty } }

  /// True if `matches` alone decides whether an object is among `keys`.
  public var isDecidedByObject: Bool {
    stages.allSatisfy { stage in
      stage.ordering.allSatisfy { if case .sort = $0 { true } else { false } }
    }
  }

  /// Returns true if the current object of a cursor of the class matches. Ignores the ordering.
  public func matches(_ cursor: ObjectCursor) throws(QueryFailure) -> Bool {
    try QueryFailure.of { () throws in
      for stage in stages where try !stage.predicate.holds(cursor) { return false }
      return true
    }
  }

  /// Returns the keys of the matching objects, in the order of the query, or in key order if it has none. Returns only
  /// the first `count` of them, which costs less than sorting all.
  ///
  /// Cost: O(log n + hits) with an index, otherwise proportional to the number of objects in the class. Memory: 8 bytes
  /// per hit; to sort all, 48 bytes.
  ///
  /// - Throws: also `timedOut` if the query is not finished by `deadline`, or if `isCancelled` returns true, which is
  ///   called for every 256th object.
  public func keys(
    first count: Int = .max,
    until deadline: ContinuousClock.Instant? = nil,
    isCancelled: (() -> Bool)? = nil
  ) throws(QueryFailure) -> [ObjKey] {
    try QueryFailure.of { () throws in
      var work = QueryWork(deadline: deadline, isCancelled: isCancelled)
      guard let first = stages.first else { return [] }
      var limit = first.ordering.isEmpty && stages.count == 1 ? count : .max
      if case .limit(let count) = first.ordering.first { limit = count }
      var keys = try matches(first.predicate, limit: limit, &work)
      try order(&keys, by: first.ordering, first: stages.count == 1 ? count : .max, &work)
      keys = try pass(keys, stages.dropFirst(), &work)
      return keys.count > count ? Array(keys.prefix(count)) : keys
    }
  }

  /// Returns the number of matching objects. Cost: as for `keys`, but only a few instructions per object if the
  /// predicate is a comparison of one property with a constant.
  public func count() throws(QueryFailure) -> Int {
    if stages.count == 1, isDecidedByObject, let predicate = stages.first?.predicate, predicate.candidates == nil,
      let scan = predicate.scan, scan.isAll
    {
      return try QueryFailure.of { () throws in try ObjectCursor(table).count(where: scan.property, scan.test) }
    }
    return try keys().count
  }

  /// Returns the matching objects among `keys`, in the order of the query, or in the given order if it has none.
  public func keys(among keys: [ObjKey]) throws(QueryFailure) -> [ObjKey] {
    try QueryFailure.of { () throws in
      var work = QueryWork(deadline: nil)
      return try pass(keys, stages[...], &work)
    }
  }

  private func pass(_ keys: [ObjKey], _ stages: ArraySlice<Stage>, _ work: inout QueryWork) throws -> [ObjKey] {
    var keys = keys
    for stage in stages {
      let cursor = ObjectCursor(table)
      var passed: [ObjKey] = []
      for key in keys {
        try work.step()
        if try cursor.seek(key), try stage.predicate.holds(cursor) { passed.append(key) }
      }
      keys = passed
      try order(&keys, by: stage.ordering, &work)
    }
    return keys
  }

  /// Applies an ordering. Of the result, only the first `count` are needed.
  private func order(
    _ keys: inout [ObjKey],
    by ordering: [Ordering],
    first count: Int = .max,
    _ work: inout QueryWork
  ) throws {
    for (index, part) in ordering.enumerated() {
      switch part {
      case .limit(let count): keys = Array(keys.prefix(count))
      case .sort(let by):
        var limit = index + 1 == ordering.count ? count : .max
        if index + 1 < ordering.count, case .limit(let count) = ordering[index + 1] { limit = count }
        keys = try ObjectSorter(keys: keys, by: by, cursor: ObjectCursor(table)).sorted(limit: limit, &work)
      case .distinct(let paths): keys = try distinct(keys, paths, &work)
      }
    }
  }

  private func matches(_ predicate: BoundPredicate, limit: Int, _ work: inout QueryWork) throws -> [ObjKey] {
    var keys: [ObjKey] = []
    let cursor = ObjectCursor(table)
    if let find = predicate.candidates, let candidates = try find() {
      if predicate.areCandidatesSure { return Array(candidates.prefix(limit)) }
      for key in candidates where keys.count < limit {
        try work.step()
        if try cursor.seek(key), try predicate.holds(cursor) { keys.append(key) }
      }
      return keys
    }
    if let scan = predicate.scan, scan.isAll, limit == .max {
      while try cursor.nextCluster(where: scan.property, scan.test, into: &keys) { try work.step() }
      return keys
    }
    if let scan = predicate.scan {
      while keys.count < limit, try cursor.next(where: scan.property, scan.test) {
        try work.step()
        let passes = scan.isAll ? true : try predicate.holds(cursor)
        if passes { keys.append(cursor.key) }
      }
      return keys
    }
    while keys.count < limit, try cursor.next() {
      try work.step()
      if try predicate.holds(cursor) { keys.append(cursor.key) }
    }
    return keys
  }

  // MARK: ordering

  /// Returns the first object for each combination of values. Omits objects with a null link along a path.
  private func distinct(_ keys: [ObjKey], _ paths: [BoundPath], _ work: inout QueryWork) throws -> [ObjKey] {
    let cursor = ObjectCursor(table)
    var items: [(place: Int, key: ObjKey, values: [OrderingValue])] = []
    for (place, key) in keys.enumerated() {
      try work.step()
      let values = try OrderingValue.all(of: key, paths, cursor)
      if !values.contains(where: \.leadsNowhere) { items.append((place, key, values)) }
    }
    func order(_ a: [OrderingValue], _ b: [OrderingValue]) -> Int {
      for (x, y) in zip(a, b) {
        let order = x.value.order(y.value)
        if order != 0 { return order }
      }
      return 0
    }
    items.sort { a, b in
      let order = order(a.values, b.values)
      return order != 0 ? order < 0 : a.place < b.place
    }
    var first: [(place: Int, key: ObjKey)] = []
    for (index, item) in items.enumerated() where index == 0 || order(items[index - 1].values, item.values) != 0 {
      first.append((item.place, item.key))
    }
    return first.sorted { $0.place < $1.place }.map(\.key)
  }
}
