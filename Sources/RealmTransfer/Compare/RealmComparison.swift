// Compares two versions: classes and properties by name; objects by primary key, or by object key in a class without
// one; values by their text.

import RealmJSON
import RealmNames
public import RealmPages

/// One difference between an old and a new realm.
public enum Difference: Sendable {
  /// A class or property, described in words; `old` or `new` is nil if the item does not exist there.
  case schema(String, old: String?, new: String?)
  /// An object that exists only in the old realm: its class, file name and text.
  case removed(className: String, name: String, text: String)
  /// An object that exists only in the new realm.
  case added(className: String, name: String, text: String)
  /// An object that exists in both realms, and the properties that differ, as JSON.
  case changed(className: String, name: String, [(property: String, old: String, new: String)])
}

/// Compares two versions.
public final class RealmComparison {
  private struct Side {
    let snapshot: Snapshot
    let effort: Effort
    let renderer: ObjectRenderer
    let text = OutputBuffer()

    init(_ snapshot: Snapshot) {
      self.snapshot = snapshot
      effort = Effort(snapshot)
      renderer = ObjectRenderer(snapshot, sweep: effort)
    }
  }

  private let old: Side
  private let new: Side
  private let classes: [String]?
  private let areVersions: Bool

  /// True if objects are compared cluster by cluster first; a test sets both values.
  package var comparesClusters = true

  /// True if a property that only the new class has is a difference of each object in which its value is not the
  /// default. The old text is then empty.
  var comparesNewProperties = false

  /// The keys of the object of the difference that `body` receives; nil on a side without the object.
  private(set) var keys: (old: ObjKey?, new: ObjKey?) = (nil, nil)

  /// Keys that links of the new realm show for objects without a primary key, instead of their own.
  var renumbered: [ObjectReference: ObjKey] {
    get { new.renderer.renumbered }
    set { new.renderer.renumbered = newValue }
  }

  /// Receives messages about damaged items that are omitted.
  public var onComplaint: (String) -> Void = { _ in }

  /// Prepares the comparison of the given classes, or of all.
  ///
  /// Pass `areVersions` only for two versions of one realm that have not been overwritten: the precondition of
  /// `VersionDifference`.
  public init(_ old: Snapshot, _ new: Snapshot, classes: [String]?, areVersions: Bool = false) {
    self.old = Side(old)
    self.new = Side(new)
    self.classes = classes
    self.areVersions = areVersions
  }

  /// Calls `body` with each difference: the schema first, then class by class.
  ///
  /// Cost: both realms are read once, plus O(log n) for each object that the comparison of clusters does not find
  /// equal. For versions that share nodes and have the same schema, only objects that differ are read.
  public func run(_ body: (Difference) throws -> Void) throws {
    for side in [old, new] { side.effort.renew() }
    let (oldSchema, newSchema) = (try schema(old), try schema(new))
    let names = oldSchema.classes.map(\.name) + newSchema.classes.map(\.name).filter { oldSchema[$0] == nil }
    if let missing = classes?.first(where: { !names.contains($0) }) {
      throw TransferError.missingClass("no class \(missing) in either; \(KnownNames(names).hint(for: missing))")
    }
    let chosen = names.filter { classes?.contains($0) ?? true }
    for name in chosen { try compareSchema(name, oldSchema[name], newSchema[name], body) }
    let difference = areVersions ? sharedNodes() : nil
    for name in chosen { try compareObjects(name, difference, body) }
  }

  /// Returns the difference between versions that share nodes; nil if they share none or their schemas differ. The text
  /// of an object contains names and primary keys of other classes, so it may differ after a schema change even if the
  /// object does not.
  private func sharedNodes() -> VersionDifference? {
    // On failure, all objects are compared, which reports the damage.
    guard let difference = try? VersionDifference(from: old.snapshot, to: new.snapshot), difference.sharesNodes,
      difference.tables.allSatisfy({ $0.schema.isEmpty || Table.className(ofTable: $0.name) == nil })
    else { return nil }
    return difference
  }

  /// Calls `body` with the differences of these objects, which have the same keys in both versions.
  ///
  /// Cost: O(log n) for each object.
  public func run(
    objects: some Sequence<ObjectReference>,
    _ body: (Difference) throws -> Void
  ) throws {
    for side in [old, new] { side.effort.renew() }
    var pairs: [TableKey: ClassPair] = [:]
    for object in objects {
      let pair: ClassPair
      if let known = pairs[object.table] { pair = known } else { pair = try self.pair(object.table) }
      pairs[object.table] = pair
      try reportingDamage {
        switch (try pair.oldCursor.seek(object.key), try pair.newCursor.seek(object.key)) {
        case (false, false): break
        case (true, true): try compare(pair.oldCursor, pair, pair.properties, body)
        case (true, false):
          let (file, text) = try show(pair.oldCursor, old)
          try body(.removed(className: pair.name, name: file, text: text))
        case (false, true):
          let (file, text) = try show(pair.newCursor, new)
          try body(.added(className: pair.name, name: file, text: text))
        }
      }
    }
  }

  private func pair(_ key: TableKey) throws -> ClassPair {
    let tables: (Table?, Table?)
    tables = (try old.snapshot.table(key), try new.snapshot.table(key))
    guard let before = tables.0, let after = tables.1 else {
      throw TransferError.damaged("table \(key) is not in both versions")
    }
    return ClassPair(after.className ?? after.name, before, after)
  }

  private func schema(_ side: Side) throws -> SchemaDescription {
    try SchemaDescription(side.snapshot)
  }

  // MARK: schema

  private func compareSchema(
    _ name: String,
    _ old: ClassDescription?,
    _ new: ClassDescription?,
    _ body: (Difference) throws -> Void
  ) throws {
    func words(_ description: ClassDescription?) -> String? {
      description.map { "\($0.kind)" + ($0.primaryKey.map { ", primary key \($0)" } ?? "") }
    }
    if !words(old).isExactly(words(new)) { try body(.schema(name, old: words(old), new: words(new))) }
    func words(_ property: PropertyDescription?) -> String? {
      property.map { $0.typeText + ($0.index.map { $0 == .fullText ? ", full-text index" : ", indexed" } ?? "") }
    }
    let properties = (old?.properties ?? []).map(\.name)
    for property in properties
      + (new?.properties ?? []).map(\.name).filter({ new in !properties.contains { $0.isExactly(new) } })
    {
      let (before, after) = (words(old?[property]), words(new?[property]))
      if !before.isExactly(after) { try body(.schema("\(name).\(property)", old: before, new: after)) }
    }
  }

  // MARK: objects

  private func table(_ name: String, _ side: Side) throws -> Table? {
    guard let table = try side.snapshot.table(named: Table.classPrefix + name), table.className.isExactly(name) else {
      return nil
    }
    return table.kind == .embedded ? nil : table
  }

  private func compareObjects(
    _ name: String,
    _ difference: VersionDifference?,
    _ body: (Difference) throws -> Void
  ) throws {
    let (before, after) = (try table(name, old), try table(name, new))
    let pair = before.flatMap { before in after.map { ClassPair(name, before, $0) } }
    if let before {
      let equal = difference == nil ? equalObjects(pair) : nil
      try forEachObject(of: before, old, difference, equal) { cursor, isEqual in
        if isEqual, let pair, let equal {
          if try pair.newCursor.seek(cursor.key) { try compare(cursor, pair, equal.others, body) }
        } else if let pair, try pair.counterpart(of: cursor) != nil {
          try compare(cursor, pair, pair.properties, body)
        } else {
          let (file, text) = try show(cursor, old)
          keys = (cursor.key, nil)
          try body(.removed(className: name, name: file, text: text))
        }
      }
    }
    if let after {
      let back = before.map { ClassPair(name, after, $0) }
      let equal = difference == nil ? equalObjects(pair) : nil
      try forEachObject(of: after, new, difference, equal) { cursor, isEqual in
        if isEqual { return }
        if let back, try back.counterpart(of: cursor) != nil { return }
        let (file, text) = try show(cursor, new)
        keys = (nil, cursor.key)
        try body(.added(className: name, name: file, text: text))
      }
    }
  }

  private func equalObjects(_ pair: ClassPair?) -> EqualObjects? {
    guard comparesClusters, let pair, !comparesNewProperties || pair.added.isEmpty else { return nil }
    return pair.equalObjects(old.snapshot, new.snapshot)
  }

  /// Calls `body` with the objects of a table, or only with those in `difference`, and with true if the object is one
  /// of the equal ones. Equal objects are skipped if no property remains to be compared.
  private func forEachObject(
    of table: Table,
    _ side: Side,
    _ difference: VersionDifference?,
    _ equal: EqualObjects?,
    _ body: (ObjectCursor, Bool) throws -> Void
  ) throws {
    var complaints: [String] = [], last = ObjKey.none
    if let difference {
      guard let changed = difference.tables.first(where: { $0.key == table.key }) else { return }
      let cursor = ObjectCursor(table), changes = difference.changes(in: changed)
      var next = step(changes)
      while case .success(let change?) = next {
        try reportingDamage { if try cursor.seek(change.key) { try body(cursor, false) } }
        last = change.key
        next = step(changes)
      }
      if case .success = next { return }
      // After damage, all remaining objects are read.
    }
    let reader = RescuingCursor(table, after: last, side.effort)
    while reader.next(&complaints) {
      let end = equal?.end(of: reader.last)
      if let end, equal?.others.isEmpty == true {
        reader.pass(over: end)
      } else {
        for complaint in complaints { onComplaint(complaint) }
        complaints = []
        try reportingDamage { try body(reader.cursor, end != nil) }
      }
    }
    for complaint in complaints { onComplaint(complaint) }
  }

  private func step(_ changes: ObjectChanges) -> Result<ObjectDifference?, EngineError> {
    Result { () throws(EngineError) in try changes.next() }
  }

  /// Runs `body` on one object and reports its damage.
  private func reportingDamage(_ body: () throws -> Void) throws {
    do { try body() } catch {
      guard let damage = error.damage else { throw error }
      onComplaint(damage)
    }
  }

  private func show(_ cursor: ObjectCursor, _ side: Side) throws -> (name: String, text: String) {
    side.text.reset()
    try side.renderer.render(cursor, layout: .compact, into: side.text)
    side.text.truncate(to: side.text.count - 1)
    return (try fileName(of: cursor), side.text.string)
  }

  private func compare(
    _ cursor: ObjectCursor,
    _ pair: ClassPair,
    _ properties: [(old: Int, new: Int)],
    _ body: (Difference) throws -> Void
  ) throws {
    let other = pair.newCursor
    var changes: [(property: String, old: String, new: String)] = []
    for (index, newIndex) in properties {
      try render(cursor, index, other, newIndex)
      if old.text.equals(new.text) { continue }
      let texts = (old.text.string, new.text.string)
      if pair.holdsSets[index] {
        (old.renderer.sortsSets, new.renderer.sortsSets) = (true, true)
        defer { (old.renderer.sortsSets, new.renderer.sortsSets) = (false, false) }
        try render(cursor, index, other, newIndex)
        if old.text.equals(new.text) { continue }
      }
      changes.append((cursor.table.columns[index].name, texts.0, texts.1))
    }
    if comparesNewProperties {
      for index in pair.added {
        if let text = try newText(index, of: other) { changes.append((other.table.columns[index].name, "", text)) }
      }
    }
    keys = (cursor.key, other.key)
    if !changes.isEmpty { try body(.changed(className: pair.name, name: try fileName(of: cursor), changes)) }
  }

  /// Returns the text of a property that only the new class has; nil if the value is the default.
  private func newText(_ index: Int, of cursor: ObjectCursor) throws -> String? {
    func render(_ body: () throws(RenderError) -> Void) throws -> String {
      new.text.reset()
      try body()
      return new.text.string
    }
    let text = try render { () throws(RenderError) in
      try new.renderer.render(property: index, of: cursor, into: new.text)
    }
    if ["null", "[]", "{}"].contains(text) { return nil }
    let initial = try cursor.table.columns[index].defaultValue.map { value in
      try render { () throws(RenderError) in
        try value.withView { (view) throws(RenderError) in
          try new.renderer.render(view, property: index, of: cursor, into: new.text)
        }
      }
    }
    return text == initial ? nil : text
  }

  /// Renders a property of both objects into the text buffers of both sides.
  private func render(_ cursor: ObjectCursor, _ index: Int, _ other: ObjectCursor, _ newIndex: Int)
    throws
  {
    old.text.reset()
    new.text.reset()
    try old.renderer.render(property: index, of: cursor, into: old.text)
    try new.renderer.render(property: newIndex, of: other, into: new.text)
  }

  /// Returns the file name of an object in a mounted tree.
  private func fileName(of cursor: ObjectCursor) throws -> String {
    let out = OutputBuffer()
    try NameEscaping.append(fileOf: cursor, column: cursor.table.primaryKeyIndex, to: out)
    return out.string
  }
}

/// A class that exists in both realms.
private final class ClassPair {
  let name: String
  private let old: Table
  private let new: Table
  private let primaryKey: Int?
  let oldCursor: ObjectCursor
  let newCursor: ObjectCursor
  /// The indices of the common properties.
  let properties: [(old: Int, new: Int)]
  /// The indices of the properties that only the new class has.
  let added: [Int]
  /// For each property of the old class, true if it is a set or may contain sets in embedded objects. Sets are equal if
  /// their elements are equal in any order.
  let holdsSets: [Bool]

  init(_ name: String, _ old: Table, _ new: Table) {
    (self.name, self.old, self.new) = (name, old, new)
    oldCursor = ObjectCursor(old)
    newCursor = ObjectCursor(new)
    properties = old.columns.enumerated().compactMap { index, column in
      new.columns.firstIndex { $0.name.isExactly(column.name) }.map { (index, $0) }
    }
    added = new.columns.indices.filter { index in !old.columns.contains { $0.name.isExactly(new.columns[index].name) } }
    holdsSets = old.columns.map { $0.collection == .set || $0.type == .link }
    // Objects are matched by primary key if both classes have the same one.
    let isSame = old.primaryKey != nil && (old.primaryKey?.name).isExactly(new.primaryKey?.name)
    primaryKey = isSame ? old.primaryKeyIndex : nil
  }

  /// Returns the objects found equal without reading each of them; nil if corresponding objects cannot be identified by
  /// object key.
  func equalObjects(_ before: Snapshot, _ after: Snapshot) -> EqualObjects? {
    let equal = EqualObjects(old, of: before, new, of: after, properties)
    return primaryKey != nil && equal.others.contains { $0.old == primaryKey } ? nil : equal
  }

  /// Returns the object of the new realm that corresponds to the one at `cursor`, and moves `newCursor` to it.
  func counterpart(of cursor: ObjectCursor) throws -> ObjKey? {
    var key: ObjKey? = cursor.key
    if let primaryKey {
      guard let value = PrimaryKey(try cursor.value(primaryKey)) else { return nil }
      key = try new.objectKey(primaryKey: value)
    }
    guard let key, try newCursor.seek(key) else { return nil }
    return key
  }
}
