// `/api/classes/CLASS/deleted`: the deleted objects whose last state is still in the file.

import RealmJSON
import RealmPages

extension WebAPI {
  private static let maxDeleted = 500
  /// The maximum number of bytes of the response; more objects are left out.
  private static let deletedLimit = 8 << 20

  /// The time after which the search ends and `more` is true.
  private static let deletedTime = Duration.seconds(20)

  /// Ends the search.
  private struct Enough: Error {}

  func deleted(_ className: String, _ request: WebRequest) throws -> WebResponse {
    let limit = try request.target.number("limit", 1...Self.maxDeleted) ?? 100
    let end = ContinuousClock.now.advanced(by: Self.deletedTime)
    return try browsed.search { newest in
      _ = try newest.table(ofClass: className)
      let out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: newest.version)
      out.append(",\"rows\":[")
      var count = 0, hasMore = false
      do {
        try DeletedObjects(in: newest).forEach { (object) in
          if request.isAbandoned || ContinuousClock.now > end { throw Enough() }
          guard object.table.className?.isExactly(className) == true, let text = DeletedObjectText(object) else {
            return false
          }
          if count == limit || out.count + text.value.count > Self.deletedLimit { throw Enough() }
          let cursor = ObjectCursor(object.table)
          guard try cursor.seek(object.key) else { return false }
          if count > 0 { out.append(",") }
          count += 1
          Self.append(text, cursor, to: out)
          return true
        }
      } catch is Enough { hasMore = true }
      out.append("],\"more\":")
      out.append(hasMore ? "true" : "false")
      out.append("}\n")
      return .json(out)
    }
  }

  /// Appends a row with the members `lastVersion`, `confidence` and `json`.
  private static func append(_ text: DeletedObjectText, _ cursor: ObjectCursor, to out: OutputBuffer) {
    RowRenderer(text.object.snapshot).append(cursor, Array(cursor.table.columns.indices), to: out)
    out.truncate(to: out.count - 1)
    out.append(",\"lastVersion\":")
    out.append(decimal: text.object.version)
    out.append(",\"confidence\":")
    out.append(quoted: text.object.confidence.rawValue)
    out.append(",\"json\":")
    out.append(text.value)
    out.append("}")
  }
}
