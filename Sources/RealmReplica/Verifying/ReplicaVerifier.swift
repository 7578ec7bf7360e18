// Compares a replica with its realm: rows and links are counted and hashed on both sides, by the server in SQL and by
// this program from the realm. The hash of a row is the first eight bytes of the SHA-256 of its binary format
// (`record_send`); the hash of a table is the sum over its rows.

public import RealmPages
public import RealmTransfer
import RealmJSON
import Threads

/// Compares realms, one after another, over one connection. Not thread-safe: one thread at a time.
public final class ReplicaVerifier {
  private let address: PostgresAddress
  private var connection: PostgresConnection?
  /// The time that a replica being written may take to reach the newest version.
  public var timeout = Duration.seconds(10)
  /// The maximum number of differing rows reported per class.
  public var namedRows = 20
  /// Receives messages about damaged items that are omitted.
  public var onComplaint: (String) -> Void = { _ in }

  /// Creates a verifier; it connects on first use.
  public init(_ address: PostgresAddress) { self.address = address }

  /// Compares both sides of one realm at one version.
  ///
  /// Cost: both sides are read once.
  public func run(_ realm: Realm, _ place: ReplicaPlace) throws -> ExportVerification {
    do {
      let current: PostgresConnection
      if let connection {
        current = connection
      } else {
        current = try PostgresConnection(address) {}
      }
      connection = current
      return try run(realm, place, current)
    } catch {
      // The connection may be in the middle of a transaction.
      connection = nil
      throw error
    }
  }

  private func run(
    _ realm: Realm,
    _ place: ReplicaPlace,
    _ connection: PostgresConnection
  ) throws -> ExportVerification {
    let deadline = MonotonicTime.now.advanced(by: timeout)
    while true {
      try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
      var isThere = false
      try connection.forEachRow("SELECT to_regclass($1) IS NOT NULL", [.text(place.qualified("_realmfs"))]) { row in
        isThere = row.bytes(0, 0) == [1]
      }
      let state = isThere ? try ReplicaState.read(place, connection, locking: false) : nil
      let hold = try realm.hold()
      let snapshot = hold.snapshot
      guard let known = state?.mark?.identity else {
        throw ReplicaError.unsuitable(
          "\(address.shown): schema \(place.schema) has no replica"
            + (place.realm.map { " of the realm \($0)" } ?? "") + "; 'realmfs replicate' makes one"
        )
      }
      if known == (try snapshot.identity()) {
        let result = try compare(snapshot, place, connection)
        if realm.isCurrent(snapshot) {
          try connection.run("ROLLBACK")
          return result
        }
      }
      if deadline.milliseconds == 0 {
        throw ReplicaError.unsuitable(
          "\(realm.configuration.path) is at version \(snapshot.version), the replica at version "
            + "\(state?.version ?? 0); let 'realmfs replicate --once' bring it there first"
        )
      }
      try connection.run("ROLLBACK")
      _ = realm.waitForChange(since: snapshot, timeout: .milliseconds(50))
    }
  }

  private func compare(
    _ snapshot: Snapshot,
    _ place: ReplicaPlace,
    _ connection: PostgresConnection
  ) throws -> ExportVerification {
    let catalog = Catalog(place)
    try catalog.load(connection)
    let tables: [TableKey: ReplicaTable]
    do {
      let planner = SchemaPlanner(catalog, connection, snapshot, isLocked: false)
      tables = try planner.plan()
      for (name, reason) in planner.changes.damaged { onComplaint("class \(name) is not compared: \(reason)") }
    } catch ReplicaError.overtaken {
      throw ReplicaError.unsuitable(
        "\(address.shown): the tables do not fit the schema of the realm; replicate it again"
      )
    }
    var classes: [ClassVerification] = []
    for key in tables.keys.sorted() {
      guard let table = tables[key], let source = try snapshot.table(key)
      else { continue }
      let own = try digests(of: table, source, snapshot)
      var stored: [(count: Int, hash: UInt64)] = []
      for sql in [table.digest] + table.links.map({ table.digest($0) }) {
        try connection.forEachRow(sql, table.realmParameters) { row in
          stored.append((Int(row.integer(0, 0) ?? 0), UInt64(truncatingSum: row.text(0, 1))))
        }
      }
      var found = ClassVerification(table.className, exported: own, stored: stored)
      if !found.isSame {
        let comparison = RowComparison(table, source, snapshot, connection, limit: namedRows)
        (found.differences, found.differenceCount) = try comparison.run()
      }
      classes.append(found)
    }
    return ExportVerification(classes: classes, danglingLinks: 0)
  }

  /// Returns the digest of a class, then those of its links tables.
  private func digests(
    of table: ReplicaTable,
    _ source: Table,
    _ snapshot: Snapshot
  ) throws -> [(count: Int, hash: UInt64)] {
    let effort = Effort(snapshot)
    let reader = RescuingCursor(source, after: .none, effort)
    let encoder = RowEncoder(table, source, snapshot, ObjectRenderer(snapshot, sweep: effort), reader.cursor)
    var digests = [(count: Int, hash: UInt64)](repeating: (0, 0), count: 1 + table.links.count)
    var complaints: [String] = []
    while reader.next(&complaints) {
      do { try encoder.encode() } catch {
        // A value without its companion column cannot be in the replica.
        if case .damaged(let text) = error { complaints.append(text) } else { digests[0].count += 1 }
        continue
      }
      digests[0].count += 1
      digests[0].hash &+= encoder.rowHash
      for index in table.links.indices {
        digests[index + 1].count += encoder.targets[index].count
        digests[index + 1].hash &+= encoder.linksHash(index)
      }
    }
    for complaint in complaints { onComplaint(complaint) }
    return digests
  }
}
