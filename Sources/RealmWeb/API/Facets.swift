// `/api/classes/CLASS/facets`: the values of a property, most frequent first.

import RealmJSON
import RealmPages

extension WebAPI {
  /// The maximum number of objects read, and of different values counted.
  private static let maxScanned = 2_000_000, maxValues = 20_000

  func facets(_ className: String, _ request: WebRequest) throws -> WebResponse {
    let target = request.target
    guard let property = target["property"] else { throw WebError(400, "the parameter property is missing") }
    let limit = try target.number("limit", 1...1000) ?? 50
    return try browsed.onNewest { snapshot in
      let table = try snapshot.table(ofClass: className), index = try table.columnIndex(named: property)
      if table.columns[index].collection != nil { throw WebError(400, "\(property) is a collection") }
      let values = try Self.indexed(table, index, request) ?? Self.scanned(table, index, RowRenderer(snapshot), request)
      let out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: snapshot.version)
      out.append(",\"values\":[")
      let cursor = ObjectCursor(table), rows = RowRenderer(snapshot)
      let sorted = values.sorted { a, b in a.count != b.count ? a.count > b.count : a.first < b.first }
      for (place, value) in sorted.prefix(limit).enumerated() {
        if place > 0 { out.append(",") }
        out.append("{\"value\":")
        guard try cursor.seek(value.first) else { throw EngineError.damaged("object \(value.first) is missing") }
        _ = try rows.append(property: index, of: cursor, to: out)
        out.append(",\"count\":")
        out.append(decimal: Int64(value.count))
        out.append("}")
      }
      out.append("],\"more\":")
      out.append(values.count > limit ? "true" : "false")
      out.append("}\n")
      return .json(out)
    }
  }

  /// A value, represented by the first object that has it.
  private struct Facet {
    let first: ObjKey
    var count: Int
  }

  /// Returns the values of an indexed property; nil if there is no usable index or it has many values.
  private static func indexed(_ table: Table, _ index: Int, _ request: WebRequest) throws -> [Facet]? {
    guard let first = table.objectsOfDistinctValues(of: index), first.count <= maxValues else { return nil }
    let cursor = ObjectCursor(table)
    var facets: [Facet] = []
    for (step, key) in first.enumerated() {
      try checkClient(request, step)
      guard try cursor.seek(key), let keys = try table.objectKeys(where: index, is: cursor.value(index)) else {
        return nil
      }
      facets.append(Facet(first: key, count: keys.count))
    }
    return facets
  }

  /// Throws if the client has disconnected; checks this every 256 steps.
  private static func checkClient(_ request: WebRequest, _ step: Int) throws {
    if step & 0xFF == 0, request.isAbandoned { throw WebError(503, "the request was cancelled") }
  }

  /// Counts the values of a property by reading all objects.
  private static func scanned(
    _ table: Table,
    _ index: Int,
    _ rows: RowRenderer,
    _ request: WebRequest
  ) throws -> [Facet] {
    if table.objectCount > maxScanned {
      throw WebError(
        400,
        "\(table.columns[index].name) is not indexed or has many values, and only \(maxScanned) objects are counted "
          + "without an index"
      )
    }
    let cursor = ObjectCursor(table), out = OutputBuffer()
    var facets: [[UInt8]: Facet] = [:], step = 0
    while try cursor.next() {
      try checkClient(request, step)
      step += 1
      out.reset()
      // Values that differ only in the truncated part count as one.
      if try rows.append(property: index, of: cursor, to: out) != nil { out.append("...") }
      facets[out.bytes, default: Facet(first: cursor.key, count: 0)].count += 1
      if facets.count > maxValues {
        throw WebError(400, "\(table.columns[index].name) has more than \(maxValues) values")
      }
    }
    return Array(facets.values)
  }
}
