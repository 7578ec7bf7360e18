// What differs between two versions as JSON Lines: one line an object, and one for each class whose schema differs.
// This is the one form of a change, whatever shows it. Lines are made one after another, so memory does not grow with
// their number.

public import RealmPages

/// The lines of the changes that lead from one version to another.
///
/// A line of an object is
/// `{"version":17,"time":"..","op":"update","class":"Person","key":4,"before":{..},"after":{..}}`, where `op` is
/// `insert`, `update` or `delete`. An insert has `after`, a delete `before`, each with the whole object; an update has
/// both, with the properties that differ. A line of a class has the op `schema`, with the class as in schema files. It
/// comes before the lines of its objects, that of a class that was removed behind them.
///
/// The precondition is that of `VersionDifference`. One thread at a time.
public final class ChangeLines {
  /// A place between two lines.
  public struct Place: Sendable, Hashable {
    var table = 0
    var stage = Stage.begin

    /// The place before the first line.
    public init() {}
  }

  enum Stage: Sendable, Hashable {
    case begin
    /// Behind the object with this key.
    case after(ObjKey)
    /// Behind all objects.
    case end
  }

  /// What came of a step.
  public enum Step: Sendable {
    case line
    /// Something that cannot be shown; the next step goes on behind it.
    case damage(String)
    case end
  }

  /// The versions.
  public let old: Snapshot, new: Snapshot
  /// Behind the last line.
  public private(set) var place = Place()

  private let difference: VersionDifference
  private let tables: [TableDifference]
  private let oldRenderer: ObjectRenderer
  private let newRenderer: ObjectRenderer
  private let time: Timestamp
  private var changes: ObjectChanges?
  private var cursors: (old: ObjectCursor?, new: ObjectCursor?) = (nil, nil)

  /// The lines of some classes, or of all. `time` is when the newer version came.
  ///
  /// Cost: that of a `VersionDifference`.
  public init(
    from old: Snapshot,
    to new: Snapshot,
    time: Timestamp,
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

  /// Goes to a place where these lines were before.
  public func go(to place: Place) {
    if place == self.place { return }
    self.place = place
    leaveTable()
  }

  /// Appends the next line. After damage and at the end `out` is as it was.
  public func next(into out: OutputBuffer) -> Step {
    let start = out.count
    while place.table < tables.count {
      let table = tables[place.table]
      do throws(RenderError) {
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

  /// Moves on by a line, or to the next stage; whether there was a line.
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
      let change: ObjectChange?
      do throws(EngineError) { change = try changes.next() } catch {
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
    out.append(",\"time\":\"")
    _ = out.append(date: time)
    out.append("\",\"op\":\"")
    out.append(op)
    out.append("\",\"class\":")
    out.append(quoted: (table.new ?? table.old)?.className ?? "")
  }

  private func line(_ change: ObjectChange, _ table: TableDifference, _ out: OutputBuffer) throws(RenderError) {
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
        // A property that is new has no value before.
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

  /// The primary key as links show it, or the object key of a class without one.
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
    // The line goes on.
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

  /// The line in place of changes that are not known any more: what it took to find them was overwritten. `version` is
  /// the one from which on there are lines again.
  public static func gap(upTo version: UInt64, time: Timestamp, into out: OutputBuffer) {
    out.append("{\"version\":")
    out.append(decimal: version)
    out.append(",\"time\":\"")
    _ = out.append(date: time)
    out.append("\",\"gap\":true}\n")
  }
}
