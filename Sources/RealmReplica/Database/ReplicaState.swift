// The version of a realm that a replica contains: a row of `_realmfs`, written in the same transaction as the data.

import RealmPages

/// Identifies a version among all versions of this and other files.
struct VersionMark: Equatable {
  /// The identity from `Snapshot`.
  let identity: String
  /// The stamp of the file at the time of the version.
  let stamp: String
}

/// The state of a realm as stored in the database.
struct ReplicaState: Equatable {
  /// The path of the realm file.
  let file: String?
  /// The mark of the version; nil if the realm was never replicated completely.
  let mark: VersionMark?
  let version: Int64?
  /// The lineage that a later version must be consistent with; nil if unknown.
  let lineage: Lineage?
  /// True if the stored state is "following"; otherwise the row contains the reason that the realm is not replicated.
  let isFollowing: Bool

  private static let following = "following"

  private static func key(_ place: ReplicaPlace) -> PostgresParameter { .text(place.realm ?? "") }

  /// Reads and locks the row; returns nil if it does not exist.
  static func read(
    _ place: ReplicaPlace,
    _ connection: PostgresConnection,
    locking: Bool = true
  ) throws -> ReplicaState? {
    var state: ReplicaState?
    // Replicas written by earlier versions of the program have no lineage until they are written again.
    try connection.forEachRow(
      """
      SELECT file, identity, version, stamp, state, \(locking ? "lineage" : "NULL::text") \
      FROM \(place.qualified("_realmfs")) WHERE realm = $1\(locking ? " FOR UPDATE" : "")
      """,
      [key(place)]
    ) { row in
      let mark = row.text(0, 1).map { VersionMark(identity: $0, stamp: row.text(0, 3) ?? "") }
      state = ReplicaState(
        file: row.text(0, 0),
        mark: mark,
        version: row.integer(0, 2),
        lineage: row.text(0, 5).flatMap { Lineage($0) },
        isFollowing: row.text(0, 4) == following
      )
    }
    return state
  }

  /// Queues the update to the new version. If another program has changed the row in the meantime, the statement fails,
  /// and the transaction with it.
  static func write(
    _ place: ReplicaPlace,
    file: String,
    _ target: ReplicaTarget,
    after former: ReplicaState?,
    _ connection: PostgresConnection
  ) throws {
    let table = place.qualified("_realmfs")
    let parameters: [PostgresParameter] = [
      key(place), .text(file), .text(target.mark.identity), .integer(Int64(bitPattern: target.version)),
      .integer(target.schemaVersion.map { Int64(bitPattern: $0) }), .text(target.mark.stamp),
      .text(target.lineage.text),
    ]
    let columns = "realm, file, identity, version, schema_version, stamp, lineage, replicated_at, state, reason"
    let values = "$1, $2, $3, $4::bigint, $5::bigint, $6, $7, clock_timestamp(), '\(following)', NULL"
    guard let former else {
      return try connection.queue("INSERT INTO \(table) (\(columns)) VALUES (\(values))", parameters)
    }
    try connection.queue(
      """
      WITH u AS (UPDATE \(table) SET (\(columns)) = ROW(\(values)) \
      WHERE realm = $1 AND identity IS NOT DISTINCT FROM $8 RETURNING 1) SELECT 1 / count(*) FROM u
      """,
      parameters + [.text(former.mark?.identity)]
    )
  }

  /// Queues an update that marks the realm as followed again, at the version that the replica contains.
  static func resume(_ place: ReplicaPlace, _ connection: PostgresConnection) throws {
    try connection.queue(
      "UPDATE \(place.qualified("_realmfs")) SET state = '\(following)', reason = NULL WHERE realm = $1",
      [key(place)]
    )
  }

  /// Queues an update that marks a realm as failed or gone.
  static func write(
    _ place: ReplicaPlace,
    file: String,
    state: String,
    reason: String?,
    _ connection: PostgresConnection
  ) throws {
    try connection.queue(
      """
      INSERT INTO \(place.qualified("_realmfs")) AS t (realm, file, state, reason) VALUES ($1, $2, $3, $4) \
      ON CONFLICT (realm) DO UPDATE SET state = EXCLUDED.state, reason = EXCLUDED.reason \
      WHERE (t.state, t.reason) IS DISTINCT FROM (EXCLUDED.state, EXCLUDED.reason)
      """,
      [key(place), .text(file), .text(state), .text(reason)]
    )
    try connection.sync()
  }
}
