// A query against one version: the objects that pass, in the order and number that it asks for.

public import RealmPages

/// Why a query ended before it had asked all objects.
public enum QueryFailure: Error {
  /// What it read is damaged.
  case damaged(FormatError)
  /// It is more work than a query may be.
  case refused(QueryError)

  static func of<Result>(_ body: () throws -> Result) throws(QueryFailure) -> Result {
    do { return try body() } catch let error as FormatError { throw .damaged(error) } catch let error as QueryError {
      throw .refused(error)
    } catch { throw .refused(QueryError(column: 1, problem: "\(error)")) }
  }
}

/// A query in Realm Query Language, bound to a class of a snapshot.
///
/// One thread at a time.
public final class Query {
  private let snapshot: Snapshot
  private let table: Table
  private let predicate: BoundPredicate
  private let ordering: [Ordering]

  private enum Ordering {
    case sort([(path: BoundPath, ascending: Bool)])
    case distinct([BoundPath])
    case limit(Int)
  }

  /// Reads a query and looks its names up. Errors point at the column.
  public init(_ text: String, of table: Table, in snapshot: Snapshot) throws(QueryError) {
    self.snapshot = snapshot
    self.table = table
    let (syntax, orderingSyntax) = try QueryParser.parse(text)
    predicate = try QueryBinder(snapshot: snapshot, table: table, variable: nil).bind(syntax)
    func path(_ syntax: PathSyntax) throws(QueryError) -> BoundPath {
      let path = try BoundPath(syntax, from: table, variable: nil, in: snapshot)
      if path.isList {
        throw QueryError(column: syntax.column, problem: "objects are ordered by one value each, not by a list")
      }
      return path
    }
    var ordering: [Ordering] = []
    for part in orderingSyntax {
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
    self.ordering = ordering
  }

  /// Whether an index finds the objects, so that not all of them are asked.
  public var usesIndex: Bool { predicate.candidates != nil }

  /// Whether the query sorts, drops equal objects or limits their number.
  public var isOrdered: Bool { !ordering.isEmpty }

  /// Whether the object that a cursor of the class stands on passes; the ordering does not count.
  public func matches(_ cursor: ObjectCursor) throws(QueryFailure) -> Bool {
    try QueryFailure.of { () throws in try predicate.holds(cursor) }
  }

  /// The keys of the objects that pass, in the order of the query, or else of their keys.
  ///
  /// Cost: O(log n) and the number of hits with an index, else all objects of the class; 8 bytes for each hit.
  public func keys() throws(QueryFailure) -> [ObjKey] { try QueryFailure.of { () throws in try orderedKeys() } }

  private func orderedKeys() throws -> [ObjKey] {
    var limit = Int.max
    if case .limit(let count) = ordering.first { limit = count }
    var keys = try matches(limit: limit)
    for part in ordering {
      switch part {
      case .limit(let count): keys = Array(keys.prefix(count))
      case .sort(let by): try sort(&keys, by)
      case .distinct(let paths): keys = try distinct(keys, paths)
      }
    }
    return keys
  }

  private func matches(limit: Int) throws -> [ObjKey] {
    var keys: [ObjKey] = []
    let cursor = ObjectCursor(table)
    if let find = predicate.candidates, let candidates = try find() {
      for key in candidates where keys.count < limit {
        if try cursor.seek(key), try predicate.holds(cursor) { keys.append(key) }
      }
      return keys
    }
    if let scan = predicate.scan {
      while keys.count < limit, try cursor.next(where: scan.property, scan.test) {
        let passes = scan.isAll ? true : try predicate.holds(cursor)
        if passes { keys.append(cursor.key) }
      }
      return keys
    }
    while keys.count < limit, try cursor.next() {
      if try predicate.holds(cursor) { keys.append(cursor.key) }
    }
    return keys
  }

  // MARK: ordering

  /// The values that an object is ordered by, copied, and whether a link on the way leads to nothing.
  private func values(
    _ key: ObjKey,
    _ paths: [BoundPath],
    _ cursor: ObjectCursor
  ) throws -> [OrderingValue] {
    guard try cursor.seek(key) else { return [] }
    var values: [OrderingValue] = []
    for path in paths {
      guard case .one(let value) = try path.operand(cursor) else { continue }
      values.append(OrderingValue(value: value, leadsNowhere: try path.leadsNowhere(cursor)))
    }
    return values
  }

  private func sort(_ keys: inout [ObjKey], _ by: [(path: BoundPath, ascending: Bool)]) throws {
    let cursor = ObjectCursor(table)
    var items: [(place: Int, key: ObjKey, values: [OrderingValue])] = []
    items.reserveCapacity(keys.count)
    for (place, key) in keys.enumerated() { items.append((place, key, try values(key, by.map(\.path), cursor))) }
    items.sort { a, b in
      for (index, key) in by.enumerated() where index < a.values.count && index < b.values.count {
        let (x, y) = (a.values[index], b.values[index])
        // Objects whose links lead to nothing come after the others.
        if x.leadsNowhere || y.leadsNowhere {
          if x.leadsNowhere == y.leadsNowhere { continue }
          return key.ascending != x.leadsNowhere
        }
        let order = x.value.order(y.value)
        if order != 0 { return key.ascending ? order < 0 : order > 0 }
      }
      return a.place < b.place
    }
    keys = items.map(\.key)
  }

  /// The first object for each combination of values; those whose links lead to nothing are left out.
  private func distinct(_ keys: [ObjKey], _ paths: [BoundPath]) throws -> [ObjKey] {
    let cursor = ObjectCursor(table)
    var items: [(place: Int, key: ObjKey, values: [OrderingValue])] = []
    for (place, key) in keys.enumerated() {
      let values = try values(key, paths, cursor)
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

private struct OrderingValue {
  let value: ValueView
  let leadsNowhere: Bool
}
