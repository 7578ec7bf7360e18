// Renders the difference between two versions as JSON Lines: one line per object, and one per class whose schema
// differs. Every view of changes uses this format. Lines are rendered one at a time, so memory use does not depend on
// their number.

public import RealmPages

/// The JSON lines for the changes from one version to another.
///
/// An object line is `{"version":17,"time":"..","op":"update","class":"Person","key":4,"before":{..},"after":{..}}`,
/// where `op` is `insert`, `update` or `delete`. An insert has `after` and a delete has `before`, each with the
/// complete object; an update has both, with only the properties that differ. A class line has the op `schema` and
/// contains the class in the format of a schema file. It precedes the lines of its objects; for a removed class, it
/// follows them.
///
/// The precondition is that of `VersionDifference`. Not thread-safe: one thread at a time.
public final class ChangeLines {
  /// A position between two lines.
  public struct Place: Sendable, Hashable {
    var table = 0
    var stage = Stage.begin

    /// The position before the first line.
    public init() {}
  }

  enum Stage: Sendable, Hashable {
    case begin
    /// After the object with this key.
    case after(ObjKey)
    /// After the last object.
    case end
  }

  /// The result of a call of `next`.
  public enum Step: Sendable {
    case line
    /// A line could not be rendered, for this reason; the next call continues after it.
    case damage(String)
    case end
  }

  /// The older and the newer version.
  public let old: Snapshot, new: Snapshot
  /// The position after the last rendered line.
  public private(set) var place = Place()

  private let difference: VersionDifference
  private let tables: [TableDifference]
  private let oldRenderer: ObjectRenderer
  private let newRenderer: ObjectRenderer
  private let time: Timestamp?
  private var changes: ObjectChanges?
  private var cursors: (old: ObjectCursor?, new: ObjectCursor?) = (nil, nil)

  /// Creates the lines for the given classes, or for all. `time` is when the newer version was committed; nil if
  /// unknown.
  ///
  /// Cost: that of a `VersionDifference`.
  public init(
    from old: Snapshot,
    to new: Snapshot,
    time: Timestamp?,
    classes: [String]? = nil,
    style: JSONStyle = .plain
  ) throws(EngineError) {
    (self.old, self.new, self.time) = (old, new, time)
    difference = try VersionDifference(from: old, to: new)
    tables = difference.tables.filter { table in
      guard let name = (table.new ?? table.old)?.className else { return false }
      return classes?.contains { $0.isExactly(name) } ?? true
    }
    oldRenderer = ObjectRenderer(old, style: style)
    newRenderer = ObjectRenderer(new, style: style)
  }

  /// Moves to a position that these lines have reached before.
  public func go(to place: Place) {
    if place == self.place { return }
    self.place = place
    leaveTable()
  }

  /// Appends the next line. On damage and at the end, `out` is unchanged.
  public func next(into out: OutputBuffer) -> Step {
    let start = out.count
    while place.table < tables.count {
      let table = tables[place.table]
      do {
        if try step(table, out) { return .line }
      } catch {
        out.truncate(to: start)
        return .damage(error.description)
      }
    }
    return .end
  }

  private func leaveTable() {
    changes = nil
    cursors = (nil, nil)
  }

  private func passTable() {
    place.table += 1
    place.stage = .begin
    leaveTable()
  }

  /// Advances by one line, or to the next stage; returns true if it appended a line.
  private func step(_ table: TableDifference, _ out: OutputBuffer) throws(RenderError) -> Bool {
    switch place.stage {
    case .begin:
      place.stage = .after(.none)
      if table.schema.isEmpty || table.new == nil { return false }
      try schemaLine(table, out)
      return true
    case .after(let key):
      let changes = self.changes ?? difference.changes(in: table, after: key)
      self.changes = changes
      let change: ObjectDifference?
      do { change = try changes.next() } catch {
        passTable()
        throw RenderError(.damaged(error))
      }
      guard let change else {
        place.stage = .end
        return false
      }
      place.stage = .after(change.key)
      try line(change, table, out)
      return true
    case .end:
      defer { passTable() }
      guard table.new == nil else { return false }
      try schemaLine(table, out)
      return true
    }
  }

  // MARK: lines

  private func begin(_ op: StaticString, _ table: TableDifference, _ out: OutputBuffer) {
    out.append("{\"version\":")
    out.append(decimal: new.version)
    Self.append(time, to: out)
    out.append(",\"op\":\"")
    out.append(op)
    out.append("\",\"class\":")
    out.append(quoted: (table.new ?? table.old)?.className ?? "")
  }

  private func line(_ change: ObjectDifference, _ table: TableDifference, _ out: OutputBuffer) throws(RenderError) {
    if cursors.old == nil { cursors.old = table.old.map { ObjectCursor($0) } }
    if cursors.new == nil { cursors.new = table.new.map { ObjectCursor($0) } }
    let (before, after) = (cursors.old, cursors.new)
    switch change {
    case .inserted(let key):
      guard let after, try after.find(key) else { throw Self.lost(key) }
      begin("insert", table, out)
      try self.key(of: after, newRenderer, out)
      out.append(",\"after\":")
      try whole(after, newRenderer, out)
    case .deleted(let key):
      guard let before, try before.find(key) else { throw Self.lost(key) }
      begin("delete", table, out)
      try self.key(of: before, oldRenderer, out)
      out.append(",\"before\":")
      try whole(before, oldRenderer, out)
    case .updated(let key, let properties):
      guard let before, let after, try before.find(key), try after.find(key) else { throw Self.lost(key) }
      begin("update", table, out)
      try self.key(of: after, newRenderer, out)
      out.append(",\"before\":{")
      var isFirst = true
      for index in properties {
        // A new property has no value in the old version.
        guard let oldIndex = table.oldProperty(index) else { continue }
        try member(after.table.columns[index].name, oldIndex, of: before, oldRenderer, &isFirst, out)
      }
      out.append("},\"after\":{")
      isFirst = true
      for index in properties {
        try member(after.table.columns[index].name, index, of: after, newRenderer, &isFirst, out)
      }
      out.append("}")
    }
    out.append("}\n")
  }

  private static func lost(_ key: ObjKey) -> RenderError {
    RenderError(.damaged(EngineError.damaged("object \(key) cannot be found")))
  }

  /// Appends the primary key as links show it, or the object key if the class has no primary key.
  private func key(of cursor: ObjectCursor, _ renderer: ObjectRenderer, _ out: OutputBuffer) throws(RenderError) {
    out.append(",\"key\":")
    if let index = cursor.table.primaryKeyIndex {
      try renderer.render(property: index, of: cursor, into: out)
    } else {
      out.append(decimal: cursor.key.value)
    }
  }

  private func whole(_ cursor: ObjectCursor, _ renderer: ObjectRenderer, _ out: OutputBuffer) throws(RenderError) {
    try renderer.render(cursor, layout: .compact, into: out)
    // Remove the line feed: the line continues.
    out.truncate(to: out.count - 1)
  }

  private func member(
    _ name: String,
    _ index: Int,
    of cursor: ObjectCursor,
    _ renderer: ObjectRenderer,
    _ isFirst: inout Bool,
    _ out: OutputBuffer
  ) throws(RenderError) {
    if !isFirst { out.append(",") }
    isFirst = false
    out.append(quoted: name)
    out.append(":")
    try renderer.render(property: index, of: cursor, into: out)
  }

  private func schemaLine(_ table: TableDifference, _ out: OutputBuffer) throws(RenderError) {
    begin("schema", table, out)
    let renamed = table.schema.compactMap { change -> (from: String, to: String)? in
      if case .propertyRenamed(let from, let to) = change { (from, to) } else { nil }
    }
    if !renamed.isEmpty {
      out.append(",\"renamed\":{")
      for (index, name) in renamed.enumerated() {
        if index > 0 { out.append(",") }
        out.append(quoted: name.from)
        out.append(":")
        out.append(quoted: name.to)
      }
      out.append("}")
    }
    if let before = table.old {
      out.append(",\"before\":")
      try SchemaRenderer.render(before, of: old, layout: .compact, into: out)
      out.truncate(to: out.count - 1)
    }
    if let after = table.new {
      out.append(",\"after\":")
      try SchemaRenderer.render(after, of: new, layout: .compact, into: out)
      out.truncate(to: out.count - 1)
    }
    out.append("}\n")
  }

  /// Appends the line that replaces changes that are lost because their versions were overwritten. `version` is the
  /// version from which lines continue.
  public static func gap(upTo version: UInt64, time: Timestamp?, into out: OutputBuffer) {
    out.append("{\"version\":")
    out.append(decimal: version)
    append(time, to: out)
    out.append(",\"gap\":true}\n")
  }

  private static func append(_ time: Timestamp?, to out: OutputBuffer) {
    out.append(",\"time\":")
    guard let time else { return out.append("null") }
    out.append("\"")
    _ = out.append(date: time)
    out.append("\"")
  }
}
