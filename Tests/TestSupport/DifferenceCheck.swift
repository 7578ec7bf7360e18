// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Checks the differences between two versions against models: applying the differences to the older model must give the
// newer one, and each reported difference must be real.

public import RealmPages

/// Checks a `VersionDifference` against the models of its two versions.
public struct DifferenceCheck {
  /// An object with its embedded objects: the values of the properties, by name.
  private typealias Object = [String: Value]

  private let before: RealmModel
  private let after: RealmModel
  /// The number of changed objects seen.
  public private(set) var changes = 0

  public init(before: RealmModel, after: RealmModel) { (self.before, self.after) = (before, after) }

  /// Returns a description of the first error; nil if there is none.
  public mutating func error(in difference: VersionDifference) throws -> String? {
    var tables: [TableKey: TableDifference] = [:]
    for table in difference.tables {
      if tables.updateValue(table, forKey: table.key) != nil { return "table \(table.name) comes twice" }
    }
    for key in Set(before.classes.keys).union(after.classes.keys).sorted() {
      let expected = Self.schemaDifferences(before.classes[key], after.classes[key])
      let found = tables[key]?.schema ?? []
      if found.count != expected.count || Set(found) != expected {
        return "table \(key): schema \(found) instead of \(expected)"
      }
      if let error = try error(in: key, tables, difference) { return "table \(key): \(error)" }
    }
    return nil
  }

  /// Checks the differences of a class one after another, and then that none is missing.
  private mutating func error(
    in key: TableKey,
    _ tables: [TableKey: TableDifference],
    _ difference: VersionDifference
  ) throws -> String? {
    let isEmbedded = (before.classes[key]?.kind == .embedded, after.classes[key]?.kind == .embedded)
    guard let table = tables[key] else {
      if before.classes[key] == nil || after.classes[key] == nil { return "does not come" }
      if isEmbedded.1 { return nil }
      return Self.firstDifference(migrated(key, tables), objects(of: key, after))
    }
    var found = isEmbedded.0 || before.classes[key] == nil ? [:] : migrated(key, tables)
    let wanted = isEmbedded.1 || after.classes[key] == nil ? [:] : objects(of: key, after)
    let changes = difference.changes(in: table)
    var last = ObjKey.none
    while let change = try changes.next() {
      self.changes += 1
      if change.key <= last { return "\(change) after \(last)" }
      last = change.key
      switch change {
      case .inserted(let key):
        if found[key] != nil { return "\(change), which was there" }
        guard let object = wanted[key] else { return "\(change), which is not there" }
        found[key] = object
      case .deleted(let key):
        if wanted[key] != nil { return "\(change), which is there" }
        if found.removeValue(forKey: key) == nil { return "\(change), which was not there" }
      case .updated(let key, let properties):
        guard let object = wanted[key], let former = found[key] else { return "\(change), which is not in both" }
        if properties.isEmpty || properties != Array(Set(properties)).sorted() { return "\(change)" }
        for index in properties {
          guard let name = table.new?.columns[index].name, let value = object[name] else { return "\(change)" }
          if let old = former[name], RealmModel.same(old, value) { return "\(change): \(name) is \(value) in both" }
          found[key]?[name] = value
        }
      }
    }
    return Self.firstDifference(found, wanted)
  }

  private static func firstDifference(_ found: [ObjKey: Object], _ wanted: [ObjKey: Object]) -> String? {
    for key in Set(found.keys).union(wanted.keys).sorted() {
      guard let object = found[key] else { return "object \(key) is not reported as new" }
      guard let other = wanted[key] else { return "object \(key) is not reported as deleted" }
      for name in Set(object.keys).union(other.keys).sorted() {
        guard let value = object[name], let wanted = other[name] else { return "property \(name) of object \(key)" }
        if !RealmModel.same(value, wanted) {
          return "object \(key), property \(name): \(value) instead of \(wanted)"
        }
      }
    }
    return nil
  }

  // MARK: schema

  private static func schemaDifferences(
    _ before: RealmModel.Class?,
    _ after: RealmModel.Class?
  ) -> Set<SchemaDifference> {
    guard let before else { return [.added] }
    guard let after else { return [.removed] }
    var all: Set<SchemaDifference> = []
    if before.name != after.name { all.insert(.renamed(from: before.name, to: after.name)) }
    if before.kind != after.kind { all.insert(.kind(from: before.kind, to: after.kind)) }
    let pairs = pairs(before, after)
    for property in before.properties where !pairs.contains(where: { $0.before?.key == property.key }) {
      all.insert(.propertyRemoved(property.name))
    }
    for (old, new) in pairs {
      guard let old else {
        all.insert(.propertyAdded(new.name))
        continue
      }
      if old.name != new.name { all.insert(.propertyRenamed(from: old.name, to: new.name)) }
      if old.type != new.type || old.collection != new.collection || old.isNullable != new.isNullable
        || old.target != new.target
      {
        all.insert(.propertyRetyped(new.name))
      }
      if old.index != new.index { all.insert(.propertyIndex(new.name, from: old.index, to: new.index)) }
    }
    let key = before.primaryKey.flatMap { key in pairs.first { $0.before?.key == key }?.after.key }
    if key != after.primaryKey || (before.primaryKey != nil && key == nil) {
      all.insert(
        .primaryKey(
          from: before.primaryKey.flatMap(before.property)?.name,
          to: after.primaryKey.flatMap(after.property)?.name
        )
      )
    }
    return all
  }

  /// Returns the current properties of a class, each with its previous counterpart.
  private static func pairs(
    _ before: RealmModel.Class,
    _ after: RealmModel.Class
  ) -> [(before: RealmModel.Property?, after: RealmModel.Property)] {
    after.properties.map { property in
      if let same = before.property(property.key) { return (same, property) }
      // A property with the same name is the same property, unless it was renamed.
      let sameName = before.properties.first { $0.name == property.name }
      return (sameName.flatMap { after.property($0.key) == nil ? $0 : nil }, property)
    }
  }

  // MARK: objects

  /// Returns the objects of a class with their embedded objects.
  private func objects(of table: TableKey, _ model: RealmModel) -> [ObjKey: Object] {
    guard let known = model.classes[table] else { return [:] }
    return known.objects.mapValues { values in
      var object: Object = [:]
      for property in known.properties {
        object[property.name] = Self.expanded(values[property.key] ?? .null, property, model) { _ in nil }
      }
      return object
    }
  }

  /// Returns the previous objects of a class with its current properties: renamed ones under their new names, new ones
  /// with their defaults.
  private func migrated(_ table: TableKey, _ tables: [TableKey: TableDifference]) -> [ObjKey: Object] {
    guard let known = before.classes[table] else { return [:] }
    return known.objects.mapValues { migrated($0, of: table) }
  }

  private func migrated(_ values: [ColKey: Value], of table: TableKey) -> Object {
    var object: Object = [:]
    guard let known = before.classes[table] else { return object }
    for (old, new) in Self.pairs(known, after.classes[table] ?? known) {
      guard let old else {
        object[new.name] = new.defaultValue
        continue
      }
      object[new.name] = Self.expanded(values[old.key] ?? .null, old, before) { link in
        before.classes[link.table]?.objects[link.key].map { migrated($0, of: link.table) }
      }
    }
    return object
  }

  /// Replaces links with the embedded objects, and sorts sets in an order that depends only on their elements.
  private static func expanded(
    _ value: Value,
    _ property: RealmModel.Property,
    _ model: RealmModel,
    _ migrated: (RealmModel.Link) -> Object?
  ) -> Value {
    if property.collection == .set, case .list(let values) = value {
      return .list(values.sorted { "\($0)" < "\($1)" })
    }
    guard let target = property.target, let embedded = model.classes[target], embedded.kind == .embedded else {
      return value
    }
    switch value {
    case .link(let table, let key):
      let object =
        migrated(RealmModel.Link(table: table, key: key))
        ?? (embedded.objects[key] ?? [:]).reduce(into: [:]) { object, element in
          guard let inner = embedded.property(element.key) else { return }
          object[inner.name] = expanded(element.value, inner, model, migrated)
        }
      return .dictionary(
        object.sorted { $0.key < $1.key }.map { Value.Entry(key: Array($0.key.utf8), value: $0.value) }
      )
    case .list(let values): return .list(values.map { expanded($0, property, model, migrated) })
    case .dictionary(let entries):
      return .dictionary(
        entries.map { Value.Entry(key: $0.key, value: expanded($0.value, property, model, migrated)) }
      )
    default: return value
    }
  }
}
