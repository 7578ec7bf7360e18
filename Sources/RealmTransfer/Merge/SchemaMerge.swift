// Merges three schemas: additions of both sides, and removals of one side. What the sides define differently is a
// problem that only the user can solve, because the values of one side would be lost.

import RealmJSON
import RealmPages

/// A merged schema.
struct SchemaMerge {
  /// A class, or a property of one, that one side removed and the other still has.
  struct Removal {
    let className: String
    /// Nil if the class was removed.
    let property: String?
    let isEmbedded: Bool
    /// The side that removed it.
    let side: RealmMerge.Side

    var place: String { property.map { "\(className).\($0)" } ?? "class \(className)" }
  }

  /// The schema with the classes and properties of both sides, without those that one side removed.
  private(set) var schema: SchemaDescription
  private(set) var removals: [Removal] = []
  /// Definitions that cannot be merged.
  private(set) var problems: [String] = []

  private let base: SchemaDescription?
  private let ours: SchemaDescription
  private let theirs: SchemaDescription

  init(base: SchemaDescription?, ours: SchemaDescription, theirs: SchemaDescription) {
    (self.base, self.ours, self.theirs) = (base, ours, theirs)
    let version = [ours.version, theirs.version].compactMap { $0 }.max()
    schema = SchemaDescription(version: version)
    let names = ours.classes.map(\.name) + theirs.classes.map(\.name).filter { ours[$0] == nil }
    for name in names {
      if let merged = mergeClass(name) { schema.classes.append(merged) }
    }
  }

  private mutating func mergeClass(_ name: String) -> ClassDescription? {
    let old = base?[name]
    switch (ours[name], theirs[name]) {
    case (let one?, let two?):
      if one.kind != two.kind {
        problems.append("class \(name) is \(one.kind) in OURS and \(two.kind) in THEIRS")
      }
      if !one.primaryKey.isExactly(two.primaryKey) {
        let keys = (one.primaryKey ?? "none", two.primaryKey ?? "none")
        problems.append("class \(name): the primary key is \(keys.0) in OURS and \(keys.1) in THEIRS")
      } else if let old, !old.primaryKey.isExactly(one.primaryKey) {
        problems.append("class \(name): both sides changed the primary key; use a BASE that has it")
      }
      return merge(old, one, two)
    case (let one?, nil): return keep(one, unless: old, removedBy: .theirs)
    case (nil, let two?): return keep(two, unless: old, removedBy: .ours)
    case (nil, nil): return nil
    }
  }

  private mutating func keep(
    _ present: ClassDescription,
    unless old: ClassDescription?,
    removedBy side: RealmMerge.Side
  ) -> ClassDescription? {
    guard let old else { return present }
    let isEmbedded = present.kind == .embedded
    removals.append(Removal(className: present.name, property: nil, isEmbedded: isEmbedded, side: side))
    if old != present { problems.append("class \(present.name) is removed on one side and changed on the other") }
    return nil
  }

  private mutating func merge(
    _ old: ClassDescription?,
    _ ours: ClassDescription,
    _ theirs: ClassDescription
  ) -> ClassDescription {
    var merged = ours
    merged.properties = []
    let names = ours.properties.map(\.name) + theirs.properties.map(\.name).filter { ours[$0] == nil }
    for name in names {
      let place = "\(ours.name).\(name)"
      switch (ours[name], theirs[name]) {
      case (let one?, let two?): merged.properties.append(merge(old?[name], one, two, place))
      case (let one?, nil) where old?[name] == nil: merged.properties.append(one)
      case (nil, let two?) where old?[name] == nil: merged.properties.append(two)
      case (let one, let two):
        if let present = one ?? two, old?[name] != present {
          problems.append("\(place) is removed on one side and changed on the other")
        }
        removals.append(
          Removal(
            className: ours.name,
            property: name,
            isEmbedded: ours.kind == .embedded,
            side: one == nil ? .ours : .theirs
          )
        )
      }
    }
    return merged
  }

  private mutating func merge(
    _ old: PropertyDescription?,
    _ ours: PropertyDescription,
    _ theirs: PropertyDescription,
    _ place: String
  ) -> PropertyDescription {
    /// Returns the value that one side changed; nil if both changed it to different values.
    func pick<T: Equatable>(_ old: T?, _ ours: T, _ theirs: T) -> T? {
      ours == theirs || old == theirs ? ours : old == ours ? theirs : nil
    }
    var merged = ours
    let isSameType =
      ours.type == theirs.type && ours.collection == theirs.collection && ours.target.isExactly(theirs.target)
    let isNullable = pick(old?.isNullable, ours.isNullable, theirs.isNullable)
    // The side that still allows null may have nulls, which would become 0 or empty values.
    let wouldReplaceNulls = isNullable == false && (ours.isNullable || theirs.isNullable)
    if let isNullable, isSameType, !wouldReplaceNulls {
      merged.isNullable = isNullable
    } else {
      problems.append("\(place) is \(ours.typeText) in OURS and \(theirs.typeText) in THEIRS")
    }
    // Without a property in the base, an index that one side has is an addition.
    if let index = pick(.some(old?.index), ours.index, theirs.index) {
      merged.index = index
    } else {
      problems.append("\(place) has different indexes in OURS and THEIRS")
    }
    return merged
  }

  // MARK: removals

  /// True if a change of an object of a class may concern values that `removal` removes. `changed` has the names of the
  /// changed properties; nil means all. A value of a property includes the embedded objects in it.
  func concerns(_ removal: Removal, _ changed: [String]?, of className: String) -> Bool {
    func isChanged(_ name: String) -> Bool { changed?.contains { $0.isExactly(name) } ?? true }
    if !removal.isEmbedded {
      return removal.className.isExactly(className) && (removal.property.map(isChanged) ?? true)
    }
    let present = removal.side == .ours ? theirs : ours
    let properties = present[className]?.properties.filter { isChanged($0.name) } ?? []
    var targets = properties.compactMap(\.target), seen: Set<ExactName> = []
    while let name = targets.popLast() {
      guard let target = present[name], target.kind == .embedded, seen.insert(ExactName(name)).inserted else {
        continue
      }
      if name.isExactly(removal.className) { return true }
      targets += target.properties.compactMap(\.target)
    }
    return false
  }

  // MARK: changing the realm

  /// Gives the realm of `transaction`, which has the schema of ours, the merged schema.
  func apply(to transaction: borrowing WriteTransaction) throws {
    var wanted = schema
    // A removal loses values, which the caller has checked to be those of the base.
    if !removals.isEmpty { wanted.version = max(schema.version ?? 0, (ours.version ?? 0) &+ 1) }
    do throws(SchemaChangeError) {
      let change = try SchemaChange(to: wanted, in: transaction)
      try change.apply(transaction) { step in if case .setVersion = step { false } else { true } }
    } catch {
      if case .engine(let cause) = error.reason { throw cause }
      throw TransferError.unsuitable("the schemas cannot be merged: \(error)")
    }
    guard let version = schema.version, version != ours.version else { return }
    try transaction.setSchemaVersion(version)
  }
}
