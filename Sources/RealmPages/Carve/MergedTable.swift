// One table assembled from the remains of several versions of it: the best version, and others that fill the gaps in
// that one.

/// Where an object or value was found if not in the version that is saved.
public enum Provenance: Sendable, Hashable, Comparable {
  /// In another version, reached from its top array.
  case version(UInt64)
  /// In a table that no top array reaches.
  case table
  /// In clusters that no table reaches, but that have the form of exactly one table.
  case clusters
}

/// A table whose lost objects and values are filled from other versions of it.
///
/// Only keys that the best version has lost are filled: an object that it does not have was deleted. Values are filled
/// by object key and column key.
final class MergedTable: SourceTable {
  /// A version of the table.
  typealias Version = (table: RescuedTable, provenance: Provenance)

  private(set) var best: RescuedTable
  private let bestProvenance: Provenance?
  private let others: [Version]
  /// Clusters without a table; see `CarvedStructures.strays`.
  var strays: [RescuedTable]
  /// The number of values of objects of the best version that were read from others.
  private(set) var filledValues: [Provenance: Int] = [:]

  let key: TableKey
  var name: String { best.name }
  var kind: TableKind { best.kind }
  var columns: [Column] { best.columns }
  var primaryKeyIndex: Int? { best.primaryKeyIndex }
  var claimedCount: Int? { best.claimedCount }
  var madeUpNames: Int { best.madeUpNames }
  var nextSequence: Int64 { max(best.nextSequence, others.map(\.table.nextSequence).max() ?? 0) }

  /// `provenance` is that of `best`; nil if it is in the version that is saved.
  init(
    _ best: RescuedTable,
    _ provenance: Provenance?,
    others: [Version],
    strays: [RescuedTable] = []
  ) {
    (self.best, bestProvenance, self.others, self.strays) = (best, provenance, others, strays)
    key = best.key
  }

  /// The reason why the kind differs from the stored one; nil if it does not.
  var kindNote: String? { best.kindNote }

  /// Corrects the kind; see `RescuedTable.correctKind`.
  func correctKind(_ effort: Effort) { best.correctKind(effort) }

  /// Completes link columns; see `RescuedTable.completeTargets`.
  func completeTargets(from others: [RescuedTable]) { best.completeTargets(from: others) }

  /// All versions, the best one first.
  var versions: [Version] { (bestProvenance.map { [(best, $0)] } ?? []) + others }

  /// The refs of all tables and clusters that the table may be read from.
  var refs: [Int] {
    ([best] + others.map(\.table) + strays).flatMap { table in table.top.map { [$0] } ?? table.roots.map(\.ref) }
  }

  func forEachObject(
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError) {
    var lost: [KeyRange] = []
    try best.forEachObject(
      effort,
      in: nil,
      { (object) throws(EngineError) in try body(FilledObject(object, self, bestProvenance)) },
      onLoss: { (error, range) throws(EngineError) in
        if let range { lost.append(range) }
        try onDamage(error)
      }
    )
    _ = try fill(lost, effort, body)
    for table in strays {
      effort.renew()
      let map = positions(in: table)
      try table.forEachObject(
        effort,
        { (object) throws(EngineError) in try body(MovedObject(object, map, .clusters)) },
        onDamage: onDamage
      )
    }
  }

  /// Calls `body` with the objects that other versions have for lost keys. Returns the keys that all versions lack.
  private func fill(
    _ lost: [KeyRange],
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void
  ) throws(EngineError) -> [KeyRange] {
    var lost = lost
    for (table, provenance) in others where !lost.isEmpty {
      // Each version is another walk.
      effort.renew()
      let map = positions(in: table)
      var still: [KeyRange] = []
      try table.forEachObject(
        effort,
        in: lost,
        { (object) throws(EngineError) in try body(MovedObject(object, map, provenance)) },
        onLoss: { (_, range) throws(EngineError) in
          // Keys that this version has lost, too, are still wanted.
          if let range { still += lost.filter { $0.overlaps(range) }.map { $0.clamped(to: range) } }
        }
      )
      lost = still
    }
    return lost
  }

  /// The position of each column in another version; nil for one that it does not have.
  private func positions(in table: RescuedTable) -> [Int?] {
    columns.map { column in table.columns.firstIndex { $0.key == column.key } }
  }

  /// True if no version has all objects that the best one lost.
  func lacksObjects(_ effort: Effort) -> Bool {
    var lost: [KeyRange] = [], reached = 0, hasUnknownLoss = false
    // The closures do not throw, so nothing is thrown here.
    try? best.forEachObject(
      effort,
      in: nil,
      { _ in reached += 1 },
      onLoss: { (_, range) in
        if let range { lost.append(range) } else { hasUnknownLoss = true }
      }
    )
    if lost.isEmpty { return hasUnknownLoss || reached < claimedCount ?? 0 }
    // Likewise.
    return (try? fill(lost, effort) { _ in })?.isEmpty != true
  }

  /// The property at `index` of an object, from the newest other version that has it.
  fileprivate func otherValue(of key: ObjKey, _ index: Int) -> ValueView? {
    for (table, provenance) in others {
      guard let position = table.columns.firstIndex(where: { $0.key == columns[index].key }),
        let value = ifReadable({ () throws(EngineError) in try table.value(of: key, position) })
      else { continue }
      filledValues[provenance, default: 0] += 1
      return value
    }
    return nil
  }
}

/// An object of the best version; values that cannot be read are taken from other versions.
private struct FilledObject: SourceObject {
  private let object: any SourceObject
  private let table: MergedTable
  let provenance: Provenance?

  init(_ object: any SourceObject, _ table: MergedTable, _ provenance: Provenance?) {
    (self.object, self.table, self.provenance) = (object, table, provenance)
  }

  var key: ObjKey? { object.key }

  func value(_ index: Int) throws(EngineError) -> ValueView {
    do { return try object.value(index) } catch {
      if let key, let value = table.otherValue(of: key, index) { return value }
      throw error
    }
  }

  func forEachElement(
    _ index: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    onDamage: (EngineError) -> Void
  ) -> Bool {
    // If not even the list can be found, `value` looks for it in other versions.
    if ifReadable({ () throws(EngineError) in try object.value(index) }) == nil { return false }
    return object.forEachElement(index, effort, body, onDamage: onDamage)
  }
}

/// An object of another version, whose columns may be in another order.
private struct MovedObject: SourceObject {
  private let object: any SourceObject
  /// The position of each column in that version; nil for a column that it does not have.
  private let columns: [Int?]
  let provenance: Provenance?

  init(_ object: any SourceObject, _ columns: [Int?], _ provenance: Provenance) {
    (self.object, self.columns, self.provenance) = (object, columns, provenance)
  }

  var key: ObjKey? { object.key }

  func value(_ index: Int) throws(EngineError) -> ValueView {
    guard let position = columns[index] else { throw .damaged("this version does not have the property") }
    return try object.value(position)
  }

  func forEachElement(
    _ index: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    onDamage: (EngineError) -> Void
  ) -> Bool {
    columns[index].map { object.forEachElement($0, effort, body, onDamage: onDamage) } ?? false
  }
}
