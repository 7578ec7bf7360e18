// One table in two versions: the differences of its schema, and the matching of its properties.

/// A table that may differ between two versions, or that only one of them has.
public struct TableDifference: Sendable {
  /// The table in the older version; nil if it is new.
  public let old: Table?
  /// The table in the newer version; nil if it was removed.
  public let new: Table?
  /// The differences of the schema, in schema order. Empty if the table is damaged: then reading its changes throws.
  public let schema: [SchemaDifference]

  /// The key of the table.
  public var key: TableKey { (new ?? old)?.key ?? .none }
  /// The stored name, in the newer version if the table exists there.
  public var name: String { (new ?? old)?.name ?? "" }

  /// For each column of the newer table, the position of the same property in the older table.
  private let oldProperties: [Int?]

  init(old: Table?, new: Table?, _ difference: VersionDifference) {
    (self.old, self.new) = (old, new)
    guard let old, let new else {
      (schema, oldProperties) = (new == nil ? [.removed] : [.added], [])
      return
    }
    // The same error is thrown when its changes are read.
    guard let pairing = try? difference.pairing(of: new.key) else {
      (schema, oldProperties) = ([], [])
      return
    }
    schema = SchemaDifference.all(old, new, pairing)
    oldProperties = pairing.properties.map(\.old)
  }

  /// The position in the older table of the property at `index` in the newer one; nil if the property or the table is
  /// new.
  public func oldProperty(_ index: Int) -> Int? { oldProperties.indices.contains(index) ? oldProperties[index] : nil }
}

/// One difference between the schemas of a table in two versions. Properties are named as in the newer version, removed
/// ones as in the older.
public enum SchemaDifference: Sendable, Hashable {
  /// The table is new.
  case added
  /// The table was removed.
  case removed
  /// The table was renamed.
  case renamed(from: String, to: String)
  /// The kind changed between top-level, embedded and asymmetric.
  case kind(from: TableKind, to: TableKind)
  /// The primary key is another property, or was added or removed.
  case primaryKey(from: String?, to: String?)
  /// A property was added. Objects count as changed if their value is not the default.
  case propertyAdded(String)
  /// A property was removed, with its values. That does not count as a change of objects.
  case propertyRemoved(String)
  /// A property was renamed.
  case propertyRenamed(from: String, to: String)
  /// The type, collection, target or nullability of a property changed. Objects count as changed if their value
  /// differs.
  case propertyRetyped(String)
  /// The search index of a property was added or removed, or its kind changed.
  case propertyIndex(String, from: IndexKind?, to: IndexKind?)

  static func all(_ old: Table, _ new: Table, _ pairing: TablePairing) -> [SchemaDifference] {
    var all: [SchemaDifference] = []
    if !old.name.isExactly(new.name) { all.append(.renamed(from: old.name, to: new.name)) }
    if old.kind != new.kind { all.append(.kind(from: old.kind, to: new.kind)) }
    let kept = Set(pairing.properties.compactMap(\.old))
    for (index, column) in old.columns.enumerated() where !kept.contains(index) {
      all.append(.propertyRemoved(column.name))
    }
    for (index, property) in pairing.properties.enumerated() {
      let after = new.columns[index]
      guard let before = property.old.map({ old.columns[$0] }) else {
        all.append(.propertyAdded(after.name))
        continue
      }
      if !before.name.isExactly(after.name) { all.append(.propertyRenamed(from: before.name, to: after.name)) }
      if before.type != after.type || before.collection != after.collection || before.isNullable != after.isNullable
        || before.targetTable != after.targetTable
      {
        all.append(.propertyRetyped(after.name))
      }
      if before.index != after.index {
        all.append(.propertyIndex(after.name, from: before.index, to: after.index))
      }
    }
    // A primary key that was only renamed is the same property.
    let before = old.primaryKeyIndex, after = new.primaryKeyIndex
    if before != after.flatMap({ pairing.properties[$0].old }) || (before == nil) != (after == nil) {
      all.append(.primaryKey(from: old.primaryKey?.name, to: new.primaryKey?.name))
    }
    return all
  }
}

/// The meaning of a property's links, in both versions.
enum LinkMeaning: Hashable {
  /// A top-level object: only its key is compared.
  case reference
  /// An embedded object of this table: its content is compared, not its key.
  case embedded(TableKey)
  /// An embedded object in only one version, or one of another table: links never count as equal.
  case changed
}

/// The matching of the properties that both versions of a table have: by key, or by name if the key differs, as after a
/// change of the type.
final class TablePairing {
  /// A property of the newer table.
  struct Property {
    /// The position in the older table; nil if the property is new.
    let old: Int?
    let links: LinkMeaning
    /// True if equal refs mean equal values.
    let isShareable: Bool
  }

  let old: Table
  let new: Table
  /// The properties by position in the newer table, without those that only the older table has.
  let properties: [Property]
  /// True if equal refs of clusters mean equal objects.
  let isShareable: Bool

  init(
    _ old: Table,
    _ new: Table,
    sharesNodes: Bool,
    linkMeaning: ((old: Column, new: Column)) throws(EngineError) -> LinkMeaning
  ) throws(EngineError) {
    (self.old, self.new) = (old, new)
    let byKey = Dictionary(old.columns.enumerated().map { ($1.key, $0) }) { first, _ in first }
    var matches = new.columns.map { byKey[$0.key] }
    let taken = Set(matches.compactMap { $0 })
    let byName = Dictionary(
      old.columns.enumerated().filter { !taken.contains($0.offset) }.map { ($1.name, $0) }
    ) { first, _ in first }
    for (index, column) in new.columns.enumerated() where matches[index] == nil { matches[index] = byName[column.name] }
    var properties: [Property] = []
    for (index, column) in new.columns.enumerated() {
      guard let match = matches[index] else {
        properties.append(Property(old: nil, links: .reference, isShareable: false))
        continue
      }
      let before = old.columns[match], links = try linkMeaning((before, column))
      var isShareable = sharesNodes && before.key == column.key && links != .changed
      if isShareable { isShareable = try Self.haveSameWords(old, before, new, column) }
      properties.append(Property(old: match, links: links, isShareable: isShareable))
    }
    self.properties = properties
    isShareable = sharesNodes && properties.allSatisfy(\.isShareable)
  }

  /// True if a number in a leaf of enumerated strings represents the same word in both versions. The words are stored
  /// outside the clusters; new ones are appended.
  private static func haveSameWords(
    _ old: Table,
    _ before: Column,
    _ new: Table,
    _ after: Column
  ) throws(EngineError) -> Bool {
    if before.enumRef == after.enumRef { return true }
    if before.enumRef == 0 || after.enumRef == 0 { return false }
    let words = try StringLeaf(old.arena, before.enumRef), others = try StringLeaf(new.arena, after.enumRef)
    if words.count > others.count { return false }
    for index in 0..<words.count {
      let word = try words.value(index, old.arena), other = try others.value(index, new.arena)
      switch (word, other) {
      case (nil, nil): continue
      case (let word?, let other?) where ValueOrder.compareBytes(word, other) == 0: continue
      default: return false
      }
    }
    return true
  }
}
