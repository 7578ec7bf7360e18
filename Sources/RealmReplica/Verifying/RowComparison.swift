// Finds the rows of a class that differ from its objects. Both sides are compared by the hashes of keys, rows and
// links, part by part, so that memory is bounded. The first differing rows are reported.

import RealmJSON
import RealmPages
import RealmTransfer

/// Finds the differing rows of one class. Not thread-safe: one thread at a time.
final class RowComparison {
  private let table: ReplicaTable, source: Table, snapshot: Snapshot
  private let connection: PostgresConnection
  /// The maximum number of rows to report.
  private let limit: Int
  private var found: [(kind: RowDifference.Kind, field: [UInt8])] = []
  private var count = 0

  /// The maximum number of objects whose hashes are in memory at a time.
  private static let comparedAtOnce = 400_000

  init(_ table: ReplicaTable, _ source: Table, _ snapshot: Snapshot, _ connection: PostgresConnection, limit: Int) {
    (self.table, self.source, self.snapshot, self.connection) = (table, source, snapshot, connection)
    self.limit = limit
  }

  /// Returns the first differing rows, and the number of all.
  func run() throws -> (rows: [RowDifference], count: Int) {
    let parts = UInt64(max(1, (source.objectCount + Self.comparedAtOnce - 1) / Self.comparedAtOnce))
    for part in 0..<parts { try compare(part, of: parts) }
    var rows: [RowDifference] = []
    for (kind, field) in found {
      var text = ""
      let key = PostgresParameter(type: table.keyColumn.oid, field)
      try connection.forEachRow("SELECT ($1::\(table.keyColumn.sql))::text", [key]) { row in text = row.text(0, 0) ?? ""
      }
      rows.append(RowDifference(kind, text))
    }
    return (rows, count)
  }

  private func note(_ kind: RowDifference.Kind, _ field: [UInt8]?) {
    count += 1
    if let field, found.count < limit { found.append((kind, field)) }
  }

  private func compare(_ part: UInt64, of parts: UInt64) throws {
    var known: [UInt64: (object: ObjKey, row: UInt64, links: [UInt64])] = [:]
    let effort = Effort(snapshot)
    let reader = RescuingCursor(source, after: .none, effort)
    let encoder = RowEncoder(table, source, snapshot, ObjectRenderer(snapshot, sweep: effort), reader.cursor)
    // The comparison of the whole class has already reported damage.
    var complaints: [String] = []
    while reader.next(&complaints) {
      do { try encoder.encode() } catch {
        if case .damaged = error { continue }
      }
      let hash = encoder.keyHash
      if hash % parts != part { continue }
      known[hash] = (encoder.cursor.key, encoder.rowHash, table.links.indices.map { encoder.linksHash($0) })
    }
    var fields: [UInt64: [UInt8]] = [:], differing: Set<UInt64> = [], seen: Set<UInt64> = []
    try connection.forEachRow(table.rows, table.realmParameters) { row in
      let hash = UInt64(bitPattern: row.integer(0, 0) ?? 0)
      if hash % parts != part { return }
      guard let object = known[hash] else { return self.note(.extra, row.bytes(0, 2)) }
      seen.insert(hash)
      if object.row == UInt64(bitPattern: row.integer(0, 1) ?? 0) { return }
      differing.insert(hash)
      if fields.count < self.limit { fields[hash] = row.bytes(0, 2) }
    }
    for (index, links) in table.links.enumerated() {
      var owners: Set<UInt64> = []
      try connection.forEachRow(table.rows(links), table.realmParameters) { row in
        let hash = UInt64(bitPattern: row.integer(0, 0) ?? 0)
        if hash % parts != part { return }
        guard let object = known[hash], seen.contains(hash) else { return }
        owners.insert(hash)
        if object.links[index] == UInt64(truncatingSum: row.text(0, 1)) { return }
        differing.insert(hash)
        if fields.count < self.limit { fields[hash] = row.bytes(0, 2) }
      }
      for (hash, object) in known where object.links[index] != 0 && seen.contains(hash) && !owners.contains(hash) {
        differing.insert(hash)
      }
    }
    let objects = known.filter { differing.contains($0.key) || !seen.contains($0.key) }
    for (hash, object) in objects.sorted(by: { $0.value.object < $1.value.object }) {
      let kind = seen.contains(hash) ? RowDifference.Kind.values : .missing
      var field = fields[hash]
      if field == nil, found.count < limit { field = try key(of: object.object, encoder) }
      note(kind, field)
    }
  }

  /// Returns the key field of an object; nil if it cannot be read.
  private func key(of object: ObjKey, _ encoder: RowEncoder) throws -> [UInt8]? {
    if try !encoder.cursor.seek(object) { return nil }
    // The key is available even if another value needs a companion column.
    do { try encoder.encode() } catch {
      if case .damaged = error { return nil }
    }
    return encoder.keyParameter.bytes
  }
}
