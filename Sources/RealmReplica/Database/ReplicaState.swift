// The version that a replica has of a realm: a row of `_realmfs`, written in the transaction that writes the data.

import RealmPages

/// What tells a version from all others, of this or another file.
struct VersionMark: Equatable {
  /// That of `Snapshot`.
  let identity: String
  /// That of the file when it had the version.
  let stamp: String
}

/// What the database says of a realm.
struct ReplicaState: Equatable {
  /// The realm file.
  let file: String?
  /// That of the version; nil if the realm was never replicated in full.
  let mark: VersionMark?
  let version: Int64?
  /// What a later version must agree with; nil if it is not known.
  let lineage: Lineage?
  /// True if the row says that the realm is followed, and not why it is not.
  let isFollowing: Bool

  private static let following = "following"

  private static func key(_ place: ReplicaPlace) -> PostgresParameter { .text(place.realm ?? "") }

  /// Reads it, and locks the row; nil if there is none.
  static func read(
    _ place: ReplicaPlace,
    _ connection: PostgresConnection,
    locking: Bool = true
  ) throws(ReplicaError) -> ReplicaState? {
    var state: ReplicaState?
    // Replicas of earlier versions have no lineage until they are written.
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

  /// Queues the new version. If another program has written the row meanwhile, the statement fails, and with it the
  /// transaction.
  static func write(
    _ place: ReplicaPlace,
    file: String,
    _ target: ReplicaTarget,
    after former: ReplicaState?,
    _ connection: PostgresConnection
  ) throws(ReplicaError) {
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

  /// Queues that the realm is followed again, at the version that the replica has.
  static func resume(_ place: ReplicaPlace, _ connection: PostgresConnection) throws(ReplicaError) {
    try connection.queue(
      "UPDATE \(place.qualified("_realmfs")) SET state = '\(following)', reason = NULL WHERE realm = $1",
      [key(place)]
    )
  }

  /// Notes that a realm cannot be replicated, or is gone.
  static func write(
    _ place: ReplicaPlace,
    file: String,
    state: String,
    reason: String?,
    _ connection: PostgresConnection
  ) throws(ReplicaError) {
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
