// `/api/search`: searches the strings of all classes.

import RealmJSON
import RealmPages
import RealmQuery

extension WebAPI {
  /// The maximum duration of a search, and the number of objects read between two checks of the clock and the client.
  private static let searchTime = Duration.seconds(20), step = 256
  private static let maxHits = 500

  func search(_ request: WebRequest) throws -> WebResponse {
    guard let text = request.target["text"], !text.isEmpty else { throw WebError(400, "the parameter text is missing") }
    if text.utf8.count > 1000 { throw WebError(400, "the text is longer than 1000 bytes") }
    let limit = try request.target.number("limit", 1...Self.maxHits) ?? 50
    return try browsed.onNewest { snapshot in
      var walk = Walk(TextSearch(text), limit: limit, until: .now.advanced(by: Self.searchTime), request)
      for table in try snapshot.classTables() where !walk.hasEnded { walk.search(table) }
      let out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: snapshot.version)
      out.append(",\"hits\":[")
      out.append(walk.hits, in: 0..<walk.hits.count)
      out.append("],\"complete\":")
      out.append(walk.hasEnded || walk.isDamaged ? "false" : "true")
      out.append("}\n")
      return .json(out)
    }
  }

  /// A walk through classes.
  private struct Walk {
    let text: TextSearch
    let limit: Int
    let deadline: ContinuousClock.Instant
    let request: WebRequest
    let hits = OutputBuffer()
    private var count = 0, steps = 0
    /// True if the walk ended before the last object.
    private(set) var hasEnded = false
    private(set) var isDamaged = false

    init(_ text: TextSearch, limit: Int, until deadline: ContinuousClock.Instant, _ request: WebRequest) {
      (self.text, self.limit, self.deadline, self.request) = (text, limit, deadline, request)
    }

    mutating func search(_ table: Table) {
      let columns = table.columns.indices.filter {
        table.columns[$0].collection == nil && [.string, .mixed].contains(table.columns[$0].type)
      }
      if columns.isEmpty || table.damage != nil { return }
      let cursor = ObjectCursor(table)
      do {
        while try cursor.next() {
          steps += 1
          if steps % step == 0, ContinuousClock.now >= deadline || request.isAbandoned {
            hasEnded = true
            return
          }
          for index in columns {
            guard case .string(let value) = try cursor.value(index), let place = text.first(in: value) else { continue }
            if count == limit {
              hasEnded = true
              return
            }
            add(value, place, index, cursor)
          }
        }
      } catch { isDamaged = true }
    }

    private mutating func add(_ value: ByteView, _ place: Range<Int>, _ index: Int, _ cursor: ObjectCursor) {
      if count > 0 { hits.append(",") }
      count += 1
      hits.append("{\"class\":")
      hits.append(quoted: cursor.table.className ?? "")
      hits.append(",\"key\":\"")
      hits.append(decimal: cursor.key.value)
      hits.append("\",\"property\":")
      hits.append(quoted: cursor.table.columns[index].name)
      hits.append(",\"excerpt\":")
      hits.append(quoted: TextSearch.excerpt(of: value, around: place))
      hits.append("}")
    }
  }
}
