// `realmfs browse --static`: one HTML file that shows objects without a server and without scripts.
//
// Invariant: all text from the realm passes through `append(escaped:)`, so none of it becomes markup.

public import RealmJSON
public import RealmPages
import RealmQuery

/// Writes a version of a realm as an HTML page.
public struct StaticPage {
  private let snapshot: Snapshot
  private let title: String
  private let write: (OutputBuffer) throws(EngineError) -> Void
  /// Nil if the schema cannot be read.
  private let schema: SchemaDescription?
  private let out = OutputBuffer()
  private var written = 0

  /// The maximum number of objects shown per class, and the size of the page after which no more objects are added.
  public static let maxObjects = 1000
  private static let maxBytes = 64 << 20
  private static let valueLimit = 512

  /// Creates a page with this title. `write` consumes the text in the buffer, which is emptied afterwards.
  public init(_ snapshot: Snapshot, title: String, write: @escaping (OutputBuffer) throws(EngineError) -> Void) {
    (self.snapshot, self.title, self.write) = (snapshot, title, write)
    // Without a schema, the columns have no types.
    schema = try? SchemaDescription(snapshot)
  }

  /// The objects of one class that a page shows.
  public struct Part {
    let table: Table
    /// The condition as text; nil for all objects.
    let query: String?
    /// Nil for the first objects in the order of their keys.
    let keys: [ObjKey]?

    /// All objects of a class.
    public init(_ table: Table) { (self.table, query, keys) = (table, nil, nil) }

    /// The objects of a class that match a query.
    public init(_ table: Table, _ query: String, keys: [ObjKey]) {
      (self.table, self.query, self.keys) = (table, query, keys)
    }

    var count: Int { keys?.count ?? table.objectCount }
  }

  /// Writes the page.
  ///
  /// Throws: the errors of `write`. If part of the realm cannot be read, the page shows the reason.
  public mutating func run(_ parts: [Part]) throws(EngineError) {
    out.append(Self.head)
    out.append("<title>")
    append(escaped: title)
    out.append("</title></head>\n<body><h1>")
    append(escaped: title)
    out.append("</h1>\n<p>Version ")
    out.append(decimal: snapshot.version)
    out.append(" of a Realm database, as realmfs printed it. ")
    out.append("Up to ")
    out.append(decimal: Int64(Self.maxObjects))
    out.append(" objects of each class are shown, long values are cut.</p>\n")
    appendContents(parts)
    let shown = parts.map { part in Shown(part, snapshot) }
    for part in parts { try append(part, shown) }
    out.append("</body></html>\n")
    try flush()
  }

  /// The objects that are shown on the page.
  private struct Shown {
    let table: TableKey
    let keys: Set<ObjKey>

    init(_ part: Part, _ snapshot: Snapshot) {
      table = part.table.key
      if let keys = part.keys {
        self.keys = Set(keys.prefix(maxObjects))
        return
      }
      var keys: Set<ObjKey> = []
      let cursor = ObjectCursor(part.table)
      // Objects that cannot be read are not linked; their table shows the reason.
      while keys.count < maxObjects, (try? cursor.next()) == true { keys.insert(cursor.key) }
      self.keys = keys
    }
  }

  private static let head: StaticString = """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <style>
    :root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif }
    body { margin: 1rem 1.5rem }
    summary { cursor: pointer; font-size: 1.15rem; font-weight: 600; margin: .8rem 0 .3rem }
    .wide { overflow-x: auto }
    table { border-collapse: collapse }
    th, td { border: 1px solid color-mix(in srgb, currentColor 22%, transparent); padding: .2rem .5rem }
    th, td { text-align: start; vertical-align: top }
    th small { display: block; font-weight: 400; opacity: .75 }
    td { max-width: 30rem; overflow-wrap: anywhere; white-space: pre-wrap; unicode-bidi: isolate }
    td i, .note { opacity: .75 }
    tr:target { outline: 2px solid }
    </style>
    """

  private func appendContents(_ parts: [Part]) {
    if parts.isEmpty { return out.append("<p>There are no classes.</p>\n") }
    out.append("<ul>")
    for part in parts {
      out.append("<li><a href=\"#c")
      out.append(decimal: UInt64(part.table.key.value))
      out.append("\">")
      append(escaped: part.table.className ?? "")
      out.append("</a>: ")
      append(escaped: counted(part.count, "object"))
      out.append("</li>\n")
    }
    out.append("</ul>\n")
  }

  private mutating func append(_ part: Part, _ shown: [Shown]) throws(EngineError) {
    let table = part.table
    out.append("<details open id=\"c")
    out.append(decimal: UInt64(table.key.value))
    out.append("\"><summary>")
    append(escaped: table.className ?? "")
    out.append("</summary>\n")
    if let query = part.query {
      out.append("<p>Objects that match <code>")
      append(escaped: query)
      out.append("</code></p>\n")
    }
    if let damage = table.damage {
      out.append("<p class=\"note\">This class cannot be read: ")
      append(escaped: damage.description)
      out.append("</p></details>\n")
      return
    }
    appendHeader(table)
    let cursor = ObjectCursor(table), rows = RowRenderer(snapshot), keys = part.keys
    var count = 0, damage: EngineError?
    while count < min(part.count, Self.maxObjects), written + out.count < Self.maxBytes {
      do throws(EngineError) {
        if let keys {
          guard try cursor.seek(keys[count]) else { throw .damaged("object \(keys[count]) is missing") }
        } else if try !cursor.next() {
          break
        }
      } catch {
        damage = error
        break
      }
      count += 1
      append(cursor, rows, shown)
      if out.count > 256 << 10 { try flush() }
    }
    out.append("</tbody></table></div>\n")
    if let damage {
      out.append("<p class=\"note\">The next object cannot be read: ")
      append(escaped: damage.description)
      out.append("</p>\n")
    }
    if count < part.count {
      out.append("<p class=\"note\">")
      append(escaped: "\(counted(part.count - count, "more object")) not shown")
      out.append("</p>\n")
    }
    out.append("</details>\n")
  }

  private func appendHeader(_ table: Table) {
    let types = schema?[table.className ?? ""]
    out.append("<div class=\"wide\"><table><thead><tr>")
    if table.primaryKeyIndex == nil { out.append("<th scope=\"col\">object key</th>") }
    for column in table.columns {
      out.append("<th scope=\"col\">")
      append(escaped: column.name)
      out.append("<small>")
      append(escaped: types?[column.name]?.typeText ?? "")
      out.append("</small></th>")
    }
    out.append("</tr></thead>\n<tbody>")
  }

  private func append(_ cursor: ObjectCursor, _ rows: RowRenderer, _ shown: [Shown]) {
    let table = cursor.table
    out.append("<tr id=\"o")
    out.append(decimal: UInt64(table.key.value))
    out.append("-")
    out.append(decimal: cursor.key.value)
    out.append("\">")
    if table.primaryKeyIndex == nil {
      out.append("<td>")
      out.append(decimal: cursor.key.value)
      out.append("</td>")
    }
    for index in table.columns.indices {
      out.append("<td>")
      append(property: index, cursor, rows, shown)
      out.append("</td>")
    }
    out.append("</tr>\n")
  }

  private func append(property index: Int, _ cursor: ObjectCursor, _ rows: RowRenderer, _ shown: [Shown]) {
    do {
      switch try rows.display(index, of: cursor, limit: Self.valueLimit) {
      case .null: out.append("<i>null</i>")
      case .text(let text, let size):
        append(escaped: text)
        if let size {
          out.append("<i> … ")
          append(escaped: size)
          out.append("</i>")
        }
      case .link(let table, let key, let label):
        let isShown = shown.contains { $0.table == table && $0.keys.contains(key) }
        if isShown {
          out.append("<a href=\"#o")
          out.append(decimal: UInt64(table.value))
          out.append("-")
          out.append(decimal: key.value)
          out.append("\">")
        }
        append(escaped: label)
        if isShown { out.append("</a>") }
      }
    } catch {
      out.append("<i>")
      append(escaped: error.description)
      out.append("</i>")
    }
  }

  private mutating func flush() throws(EngineError) {
    written += out.count
    try write(out)
    out.reset()
  }

  /// Appends a text, escaping all characters that have a meaning in HTML.
  private func append(escaped text: String) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": out.append("&amp;")
      case "<": out.append("&lt;")
      case ">": out.append("&gt;")
      case "\"": out.append("&quot;")
      case "'": out.append("&#39;")
      // Control characters and marks that change the text direction are shown as replacement characters.
      case "\n", "\t": out.append(UInt8(scalar.value))
      case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value): out.append("\u{FFFD}")
      case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": out.append("\u{FFFD}")
      default: for byte in UTF8.encode(scalar) ?? .init() { out.append(byte) }
      }
    }
  }
}
