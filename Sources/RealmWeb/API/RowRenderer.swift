// Objects as rows of a table: values as in the JSON of an object, each of bounded size, and links that a page can
// follow.
//
// Invariant: the text of a value is bounded, whatever the file contains, and so is a page of rows.

import RealmJSON
import RealmPages

/// Renders values of one version with bounded size.
final class RowRenderer {
  private let snapshot: Snapshot
  private let renderer: ObjectRenderer
  private var targets: [TableKey: ObjectCursor?] = [:]

  /// The maximum number of bytes of a string or binary value that are shown.
  static let textLimit = 256
  /// The maximum number of elements of a collection that are shown.
  static let elementLimit = 20
  private static let depthLimit = 4
  /// The maximum number of elements shown for all collections within one property.
  private static let nestedLimit = 100
  private var elementsLeft = 0
  private static let labelLimit = 80

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    renderer = ObjectRenderer(snapshot)
  }

  /// Appends a row: `{"key":..,"primaryKey":..,"values":{..}}`, and the properties that are truncated or unreadable.
  func append(_ cursor: ObjectCursor, _ columns: [Int], to out: OutputBuffer) {
    out.append("{\"key\":\"")
    out.append(decimal: cursor.key.value)
    out.append("\",\"primaryKey\":")
    appendPrimaryKey(cursor, to: out)
    appendValues(cursor, columns, to: out)
    out.append("}")
  }

  /// Appends the primary key, or null if the class has none.
  func appendPrimaryKey(_ cursor: ObjectCursor, to out: OutputBuffer) {
    let start = out.count
    do {
      if let index = cursor.table.primaryKeyIndex, case let value = try renderer.read(index, of: cursor) {
        _ = try append(value, isMixed: false, depth: 0, to: out)
        return
      }
    } catch { out.truncate(to: start) }
    out.append("null")
  }

  /// Appends the members `values`, `cut` and `errors`, after a comma.
  func appendValues(_ cursor: ObjectCursor, _ columns: [Int], to out: OutputBuffer) {
    var cut: [(name: String, value: Int)] = [], errors: [(name: String, value: String)] = []
    out.append(",\"values\":{")
    for (place, index) in columns.enumerated() {
      let name = cursor.table.columns[index].name
      if place > 0 { out.append(",") }
      out.append(quoted: name)
      out.append(":")
      let start = out.count
      do {
        if let size = try append(property: index, of: cursor, to: out) { cut.append((name, size)) }
      } catch {
        out.truncate(to: start)
        out.append("null")
        errors.append((name, error.description))
      }
    }
    out.append("}")
    append(cut, as: "cut", to: out) { out.append(decimal: Int64($0)) }
    append(errors, as: "errors", to: out) { out.append(quoted: $0) }
  }

  /// Appends an object member that has one value for each of the given properties; nothing if there are none.
  private func append<T>(
    _ items: [(name: String, value: T)],
    as name: String,
    to out: OutputBuffer,
    _ body: (T) -> Void
  ) {
    if items.isEmpty { return }
    out.append(",")
    out.append(quoted: name)
    out.append(":{")
    for (place, item) in items.enumerated() {
      if place > 0 { out.append(",") }
      out.append(quoted: item.name)
      out.append(":")
      body(item.value)
    }
    out.append("}")
  }

  /// Appends a property. If it is truncated, returns its full size, in bytes or elements.
  func append(property index: Int, of cursor: ObjectCursor, to out: OutputBuffer) throws(RenderError) -> Int? {
    let value = try renderer.read(index, of: cursor)
    elementsLeft = Self.nestedLimit
    return try append(value, isMixed: cursor.table.columns[index].type == .mixed, depth: 0, to: out)
  }

  /// Appends a property completely, as in the JSON of the object.
  func append(whole index: Int, of cursor: ObjectCursor, to out: OutputBuffer) throws(RenderError) {
    try renderer.render(property: index, of: cursor, into: out)
  }

  private func append(
    _ value: ValueView,
    isMixed: Bool,
    depth: Int,
    to out: OutputBuffer
  ) throws(RenderError) -> Int? {
    switch value {
    case .string(let text) where text.count > Self.textLimit:
      try renderer.render(.string(Self.prefix(of: text, Self.textLimit)), isMixed: isMixed, into: out)
      return text.count
    case .data(let bytes) where bytes.count > Self.textLimit:
      try renderer.render(.data(bytes.extracting(0..<Self.textLimit)), isMixed: isMixed, into: out)
      return bytes.count
    case .link(let table, let key):
      appendLink(table, key, to: out)
      return nil
    case .list(let list), .set(let list): return try append(list, isMixed, depth, to: out)
    case .dictionary(let entries): return try append(entries, isMixed, depth, to: out)
    default:
      try renderer.render(value, isMixed: isMixed, into: out)
      return nil
    }
  }

  /// Returns the first bytes of a string, not splitting a character.
  private static func prefix(of text: ByteView, _ limit: Int) -> ByteView {
    if text.count <= limit { return text }
    let isContinued = unsafe text.withUnsafeBytes { bytes in
      (limit - 3...limit).map { unsafe bytes[$0] & 0xC0 == 0x80 }
    }
    // A character has at most three more bytes.
    var end = limit
    while end > limit - 3, isContinued[end - limit + 3] { end -= 1 }
    return text.extracting(0..<end)
  }

  /// Returns the number of elements of a collection that are shown.
  private func elements(of count: Int, _ depth: Int) -> Int {
    let shown = depth < Self.depthLimit ? min(count, Self.elementLimit, elementsLeft) : 0
    elementsLeft -= shown
    return shown
  }

  private func append(
    _ list: ListView,
    _ isMixed: Bool,
    _ depth: Int,
    to out: OutputBuffer
  ) throws(RenderError) -> Int? {
    var list = list
    let shown = elements(of: list.count, depth)
    var isCut = shown < list.count
    out.append("[")
    for index in 0..<shown {
      if index > 0 { out.append(",") }
      let element: ValueView
      do { element = try list.value(at: index) } catch { throw RenderError(error) }
      if try append(element, isMixed: isMixed, depth: depth + 1, to: out) != nil { isCut = true }
    }
    out.append("]")
    return isCut ? list.count : nil
  }

  private func append(
    _ entries: DictionaryView,
    _ isMixed: Bool,
    _ depth: Int,
    to out: OutputBuffer
  ) throws(RenderError) -> Int? {
    var entries = entries
    let shown = elements(of: entries.count, depth)
    var isCut = shown < entries.count
    // Without the wrapper, a dictionary in a Mixed value could be mistaken for a value of another type.
    out.append(isMixed ? "{\"$dictionary\":{" : "{")
    for index in 0..<shown {
      if index > 0 { out.append(",") }
      let key: ByteView, element: ValueView
      do { (key, element) = (try entries.key(at: index), try entries.value(at: index)) } catch {
        throw RenderError(error)
      }
      out.append(quoted: Self.prefix(of: key, Self.textLimit).string)
      out.append(":")
      if try append(element, isMixed: isMixed, depth: depth + 1, to: out) != nil { isCut = true }
    }
    out.append(isMixed ? "}}" : "}")
    return isCut ? entries.count : nil
  }

  // MARK: texts

  /// A value for display.
  enum Display {
    case null
    /// The text, and the full size if it is truncated.
    case text(String, size: String?)
    case link(TableKey, ObjKey, label: String)
  }

  /// Returns a property for display, with a text of at most `limit` bytes.
  func display(_ index: Int, of cursor: ObjectCursor, limit: Int) throws(RenderError) -> Display {
    let value = try renderer.read(index, of: cursor)
    switch value {
    case .null: return .null
    case .string(let text):
      let isCut = text.count > limit
      return .text(Self.prefix(of: text, limit).string, size: isCut ? "\(text.count) bytes" : nil)
    case .data(let bytes) where bytes.count > limit / 2:
      return .text("", size: "\(bytes.count) bytes")
    case .link(let table, let key):
      guard key.value >= 0, let target = self.cursor(of: table) else { return .null }
      if target.table.kind != .embedded || cursor.table.columns[index].type == .mixed {
        let name = target.table.className ?? target.table.name
        return .link(table, key, label: label(of: target, key) ?? "\(name) \(key)")
      }
    default: break
    }
    let out = OutputBuffer()
    try append(whole: index, of: cursor, to: out)
    if out.count <= limit { return .text(out.string, size: nil) }
    let text = String(decoding: out.bytes.prefix(limit), as: UTF8.self)
    return .text(text, size: "\(out.count) bytes of JSON")
  }

  // MARK: links

  /// Appends `{"class":..,"key":..,"label":..}`, with the linking property if one is given; null for a link to an
  /// object that was deleted.
  func appendLink(_ table: TableKey, _ key: ObjKey, property: String? = nil, to out: OutputBuffer) {
    guard key.value >= 0, let cursor = cursor(of: table) else { return out.append("null") }
    out.append("{\"class\":")
    out.append(quoted: cursor.table.className ?? cursor.table.name)
    out.append(",\"key\":\"")
    out.append(decimal: key.value)
    out.append("\",\"label\":")
    if let label = label(of: cursor, key) { out.append(quoted: label) } else { out.append("null") }
    if let property {
      out.append(",\"property\":")
      out.append(quoted: property)
    }
    out.append("}")
  }

  private func cursor(of key: TableKey) -> ObjectCursor? {
    if let known = targets[key] { return known }
    // A table that cannot be read has no cursor; checks of the file report why.
    let table = try? snapshot.table(key)
    let cursor = table.flatMap { $0.damage == nil ? ObjectCursor($0) : nil }
    targets[key] = .some(cursor)
    return cursor
  }

  /// Returns the text of the primary key, or of the first string property.
  private func label(of cursor: ObjectCursor, _ key: ObjKey) -> String? {
    let table = cursor.table
    let index = table.primaryKeyIndex ?? table.columns.firstIndex { $0.type == .string && $0.collection == nil }
    // An object that cannot be read has no label; its own page shows the reason.
    guard let index, (try? cursor.seek(key)) == true, let value = try? cursor.value(index) else { return nil }
    let out = OutputBuffer()
    switch value {
    case .null, .link, .list, .set, .dictionary: return nil
    case .string(let text): return Self.prefix(of: text, Self.labelLimit).string
    case .objectID(let id): out.append(id)
    case .uuid(let id): out.append(id)
    case .int(let value): out.append(decimal: value)
    default: return nil
    }
    return out.string
  }
}

extension RenderError {
  fileprivate init(_ error: EngineError) { self.init(.damaged(error)) }
}
