// `/api/classes/CLASS/rows`: a page of the objects of a class.

import CLinux
import RealmJSON
import RealmPages
import RealmQuery

extension WebAPI {
  /// The maximum duration of a query.
  static let queryTime = Duration.seconds(60)
  private static let maxRows = 500
  /// The number of objects up to which the first ones of an order are found without sorting all.
  private static let maxFirst = 1000
  /// The size of a result, in keys, after which unused memory is returned to the system.
  private static let largeResult = 100_000

  func rows(_ className: String, _ request: WebRequest) throws -> WebResponse {
    let target = request.target
    let position = try target.number("position", 0...Int(Int32.max)) ?? 0
    let limit = try target.number("limit", 0...Self.maxRows) ?? 100
    let after = try target["after"].map { text in try Self.objectKey(text) }
    if after != nil, target["position"] != nil || !(target["sort"] ?? "").isEmpty {
      throw WebError(400, "after: pages of a sorted class, and those with a position, have no object key to follow")
    }
    return try browsed.onNewest { snapshot in
      let table = try snapshot.table(ofClass: className)
      var columns = Array(table.columns.indices)
      if let names = target.list("columns") {
        columns = []
        for name in names {
          // Many programs also encode the commas.
          let isOne = table.columns.contains { $0.name.isExactly(name) }
          for name in isOne ? [name] : name.split(separator: ",").map(String.init) {
            columns.append(try table.columnIndex(named: name))
          }
        }
      }
      let selection = try Selection(target, table, snapshot)
      let cursor = ObjectCursor(table), rows = RowRenderer(snapshot)
      let out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: snapshot.version)
      out.append(",\"position\":")
      out.append(decimal: Int64(position))
      out.append(",\"rows\":[")
      var count = table.objectCount
      if let selection {
        let result = try result(of: selection, first: position + limit, request)
        count = result.count
        let first = try after.map { key in try Self.place(after: key, in: result, selection) } ?? position
        for (place, key) in result.keys.dropFirst(first).prefix(limit).enumerated() {
          if place > 0 { out.append(",") }
          guard try cursor.seek(key) else { throw EngineError.damaged("object \(key) is missing") }
          rows.append(cursor, columns, to: out)
        }
      } else if limit > 0 {
        var hasNext = try after.map { key in try cursor.seek(after: key) } ?? cursor.seek(position: position)
        for place in 0..<limit where hasNext {
          if place > 0 { out.append(",") }
          rows.append(cursor, columns, to: out)
          hasNext = try cursor.next()
        }
      }
      out.append("],\"count\":")
      out.append(decimal: Int64(count))
      out.append("}\n")
      return .json(out)
    }
  }

  /// The objects of a class that match a query, and their order.
  struct Selection {
    let table: Table
    let snapshot: Snapshot
    let query: String
    let sort: String

    /// Nil for all objects in the order of their keys.
    init?(_ target: RequestTarget, _ table: Table, _ snapshot: Snapshot) throws {
      (self.table, self.snapshot) = (table, snapshot)
      let blanks: Set<Character> = [" ", "\t", "\n", "\r"]
      query = target["query"].flatMap { $0.allSatisfy { blanks.contains($0) } ? nil : $0 } ?? ""
      sort = target["sort"] ?? ""
      if query.isEmpty, sort.isEmpty { return nil }
    }

    /// Selects the objects of another selection, in another order.
    private init(_ selection: Selection, sort: String) {
      (table, snapshot, query, self.sort) = (selection.table, selection.snapshot, selection.query, sort)
    }

    /// The selection without its sort order.
    fileprivate var unsorted: Selection { Selection(self, sort: "") }

    fileprivate func bound() throws -> ObjectQuery {
      var conditions: [QueryCondition] = query.isEmpty ? [] : [.query(query)]
      if !sort.isEmpty {
        let isDescending = sort.utf8.first == UInt8(ascii: "-")
        // A property name can begin with a minus sign.
        let isName = table.columns.contains { $0.name.isExactly(sort) }
        let name = isDescending && !isName ? String(sort.unicodeScalars.dropFirst()) : sort
        _ = try table.columnIndex(named: name)
        conditions.append(.sorted(property: name, ascending: !isDescending || isName))
      }
      do { return try ObjectQuery(conditions, of: table, in: snapshot) } catch {
        if error.condition == 0, !query.isEmpty { throw WebError(error) }
        throw WebError(400, "cannot sort by \(sort): \(error.problem)")
      }
    }
  }

  /// Returns the position of the first object of a result after an object key.
  private static func place(
    after key: ObjKey,
    in result: QueryResult,
    _ selection: Selection
  ) throws -> Int {
    if try selection.bound().isOrdered { throw WebError(400, "after: the query has an order; use position instead") }
    var (low, high) = (0, result.keys.count)
    while low < high {
      let middle = (low + high) / 2
      if result.keys[middle] > key { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Returns at least the first `first` objects of a selection. Ends early if the client of the request has
  /// disconnected.
  func result(
    of selection: Selection,
    first: Int,
    _ client: WebRequest
  ) throws -> QueryResult {
    let isBeginning = !selection.sort.isEmpty && first <= Self.maxFirst
    let identity = try selection.snapshot.identity()
    let request = ResultCache.Request(
      version: identity,
      table: selection.table.key,
      query: selection.query,
      sort: selection.sort,
      isBeginning: isBeginning
    )
    // Report a malformed query without waiting for other requests.
    let query = try selection.bound()
    let counted = isBeginning && !selection.query.isEmpty ? try selection.unsorted.bound() : nil
    return try results.result(request) {
      let end = ContinuousClock.now.advanced(by: Self.queryTime)
      let keys = try query.keys(first: isBeginning ? Self.maxFirst : .max, until: end) { client.isAbandoned }
      var count = keys.count
      if isBeginning, count == Self.maxFirst {
        count = try counted?.keys(until: end) { client.isAbandoned }.count ?? selection.table.objectCount
      }
      if count > Self.largeResult { clinux_trim_heap() }
      return (QueryResult(keys: keys, count: count), browsed.realm.isCurrent(selection.snapshot))
    }
  }
}

extension RequestTarget {
  /// Returns a parameter as a number; nil if it is missing.
  func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
    guard let text = self[name] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw WebError(
        400,
        "\(name)=\(text.prefix(40)): expected a number from \(range.lowerBound) to \(range.upperBound)"
      )
    }
    return number
  }
}
