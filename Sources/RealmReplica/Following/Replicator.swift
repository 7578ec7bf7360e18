// Updates the replica of one realm to the newest version, in one database transaction. Invariant: the version is
// written in the same transaction, so after a crash on either side the replica contains exactly one version of the
// realm, and records which.

import RealmJSON
public import RealmPages
import Synchronization
import Threads

/// The result of a pass.
public struct ReplicaPass: Sendable {
  /// The version that the replica now contains.
  public internal(set) var version: UInt64 = 0
  /// The number of object rows written, by COPY or individually, and removed.
  public internal(set) var written = 0, removed = 0
  /// The number of classes whose rows were compared.
  public internal(set) var compared = 0
  /// The number of damaged objects that were omitted.
  public internal(set) var damaged = 0
  /// Messages for the user.
  public internal(set) var remarks: [String] = []
  /// The time from the start of the pass to the end of its transaction, in nanoseconds.
  public internal(set) var duration: Int64 = 0
}

/// Replicates one realm. Not thread-safe: one thread at a time.
///
/// A pass updates the tables first, then writes rows that are new, need comparison, or changed. Meanwhile the realm may
/// change: the window records changes to rows that were already written, and the pass ends when none are left. If the
/// transaction fails, changes taken from the window are returned to it.
public final class Replicator {
  let place: ReplicaPlace
  let catalog: Catalog
  let window: VersionWindow
  private(set) var connection: PostgresConnection
  /// The version that `window.changed` starts from, and the version of a commit whose outcome is unknown.
  private var lastMark: VersionMark?
  private var attemptedMark: VersionMark?
  private let address: PostgresAddress
  let path: String
  /// True if the connection is unusable.
  private(set) var isBroken = false
  /// The state expected in the database; used only if `isBaseKnown`.
  private var base: ReplicaState?
  private var isBaseKnown = false
  var tables: [TableKey: ReplicaTable] = [:]
  private var hasTables = false
  /// The changes taken from the window in the current transaction.
  var inFlight = PendingChanges(limit: 400_000)
  var encoders: [TableKey: RowEncoder] = [:]
  var planner: SchemaPlanner?
  /// Companion columns to be added while the tables of the schema are locked.
  private var wantedExact: [(table: TableKey, property: Int)] = []
  var pass = ReplicaPass()
  private var isDrained = false
  /// The number of the window's renamed properties that the current transaction has renamed.
  private var renamedCount = 0
  /// True if rows were skipped because they need columns that do not exist yet.
  var mustBeginAgain = false
  /// True if the current transaction has written or removed individual rows.
  var hasWritten = false
  /// The effect of the current transaction on existing rows, as far as they were compared.
  var losses = ReplicaLosses()

  /// True if the next pass follows the file even if the replica loses data: a different realm, an older version, or one
  /// whose damaged objects are omitted.
  public var acceptsReplacement = false
  /// True if the next pass compares all rows, even of a version that the replica already contains.
  public var wantsComparison = false

  /// The maximum number of objects whose hashes are in memory at a time, and of rows to be removed.
  var comparedAtOnce = 400_000, removedAtOnce = 50_000

  /// Receives messages about damaged items that are omitted.
  public var onComplaint: (String) -> Void = { _ in }
  /// Called while waiting for a server; returning true ends the pass with `stopped`.
  public var shouldStop: () -> Bool = { false }

  /// Opens the window on a realm. The connection is used only for this realm as long as the replicator uses it.
  init(
    _ realm: Realm,
    _ place: ReplicaPlace,
    _ address: PostgresAddress,
    _ connection: PostgresConnection
  ) throws {
    (self.place, self.address, self.connection, catalog) = (place, address, connection, Catalog(place))
    path = realm.configuration.path
    let stamp = FileSignature(path, readsHead: false)?.stamp ?? ""
    window = try VersionWindow(realm)
    lastMark = VersionMark(identity: try window.snapshot.identity(), stamp: stamp)
  }

  /// Connects, and opens the window on a realm.
  public convenience init(_ realm: Realm, _ place: ReplicaPlace, _ address: PostgresAddress) throws {
    let connection = try PostgresConnection(address) {}
    try Catalog.prepare(place, connection)
    try self.init(realm, place, address, connection)
  }

  /// Replaces the connection after it broke or a transaction on it was abandoned.
  func reconnect() throws {
    let connection = try PostgresConnection(address) { [unowned self] in
      if self.shouldStop() { throw ReplicaError.stopped }
      try self.advanceWindow()
    }
    try Catalog.prepare(place, connection)
    self.connection = connection
    (isBaseKnown, hasTables, isBroken) = (false, false, false)
  }

  /// True if there is no file at the path of the realm. The previous file is still open.
  public var isFileGone: Bool { window.realm.location.place == .gone }

  /// The newest version that the window has reached.
  public var newestVersion: UInt64 { window.snapshot.version }

  /// Waits for a newer version, at most for `timeout`.
  public func waitForChange(timeout: Duration) -> Bool {
    window.realm.waitForChange(since: window.snapshot, timeout: timeout)
  }

  /// Follows the realm while the database is unreachable, so that no version is held.
  public func advanceWindow() throws {
    _ = try self.window.moveIfDue()
  }

  /// Called between rows and while waiting for the server.
  func tick() throws {
    if shouldStop() { throw ReplicaError.stopped }
    guard try self.window.moveIfDue() else { return }
    encoders = [:]
    if !isDrained, window.isLost || window.hasNewSchema { throw ReplicaError.overtaken }
  }

  // MARK: a pass

  /// Updates the replica to the newest version; returns nil if it already contains that version.
  ///
  /// Cost: proportional to the changes; the whole realm if the changes are not known.
  ///
  /// After an error, the next call reconnects and continues with the remaining changes.
  public func run() throws -> ReplicaPass? {
    let start = MonotonicTime.now
    if isBroken { try reconnect() }
    _ = try self.window.move()
    try self.checkSize()
    encoders = [:]
    let identity = try self.window.snapshot.identity()
    let flags = Flags(window)
    if isBaseKnown, base?.mark?.identity == identity, window.changed.isEmpty, !flags.isLost, flags.unsure.isEmpty,
      wantedExact.isEmpty, !wantsComparison
    {
      return nil
    }
    (window.isLost, window.isExchanged, window.unsure, window.hasNewSchema) = (false, false, [], false)
    pass = ReplicaPass()
    (isDrained, hasWritten, mustBeginAgain, renamedCount, losses) = (false, false, false, 0, ReplicaLosses())
    connection.onWait = { [unowned self] in try self.tick() }
    do {
      let result = try transact(flags, identity)
      (acceptsReplacement, wantsComparison) = (false, false)
      inFlight = PendingChanges(limit: 400_000)
      window.renamed.removeFirst(renamedCount)
      planner = nil
      if var result {
        result.duration = MonotonicTime.now.nanoseconds - start.nanoseconds
        return result
      }
      return nil
    } catch {
      flags.restore(to: window)
      let taken = inFlight
      inFlight = PendingChanges(limit: 400_000)
      window.changed.restore(taken)
      // After a failed transaction, the state of the tables must be queried again.
      (planner, hasTables, isBaseKnown, isBroken) = (nil, false, false, true)
      throw error
    }
  }

  /// Throws if the file was truncated: the missing part might not be read before the next commit.
  private func checkSize() throws(EngineError) {
    let size = try window.realm.fileStatus().size, expected = window.snapshot.logicalSize
    if size < expected {
      throw EngineError(.damaged, "\(path): truncated: \(size) bytes, but version \(newestVersion) has \(expected)")
    }
  }

  /// The state of the window other than the changed objects.
  private struct Flags {
    let isLost: Bool, isExchanged: Bool
    let unsure: Set<TableKey>
    let hasNewSchema: Bool

    init(_ window: VersionWindow) {
      (isLost, isExchanged, unsure) = (window.isLost, window.isExchanged, window.unsure)
      hasNewSchema = window.hasNewSchema
    }

    /// Puts back the state that a failed transaction had taken.
    func restore(to window: VersionWindow) {
      window.isLost = window.isLost || isLost
      window.isExchanged = window.isExchanged || isExchanged
      window.unsure.formUnion(unsure)
      window.hasNewSchema = window.hasNewSchema || hasNewSchema
    }
  }

  private func transact(_ flags: Flags, _ identity: String) throws -> ReplicaPass? {
    let unsure = flags.unsure
    try connection.queue("BEGIN", [])
    // The duration of a transaction depends on the realm. The timeouts are set locally to the transaction, because a
    // session setting would affect other clients of a pooler.
    try connection.queue(
      "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)",
      []
    )
    var comparesAll = flags.isLost || wantsComparison, isSame = false, isSuccessor = !flags.isExchanged
    if !isBaseKnown {
      base = try ReplicaState.read(place, connection)
      isBaseKnown = true
      let former = base?.mark
      // The known changes start from a different version than the one in the replica.
      if former == nil || former != lastMark && former != attemptedMark { (comparesAll, isSuccessor) = (true, false) }
      isSame =
        former?.identity == identity && window.changed.isEmpty && !comparesAll && unsure.isEmpty
        && !flags.hasNewSchema && wantedExact.isEmpty
    }
    var changes = SchemaChangeSet()
    // Others may have dropped tables of an up-to-date replica. In a replica of many realms, a realm's tables are
    // checked only when the realm changes.
    if isSame ? place.realm == nil : !hasTables || flags.hasNewSchema || !wantedExact.isEmpty || comparesAll {
      changes = try plan()
    }
    if isSame, changes.isEmpty, window.changed.isEmpty {
      if base?.isFollowing == false { try ReplicaState.resume(place, connection) }
      try connection.run("COMMIT")
      return nil
    }
    try check(changes.damaged)
    try clear(changes.obsolete)
    (losses.dropped, losses.removed) = (losses.dropped + changes.dropped, losses.removed + changes.droppedRows)
    var compared = unsure.union(changes.altered)
    if comparesAll { compared.formUnion(tables.keys) }
    for (key, table) in tables.sorted(by: { $0.key < $1.key }) {
      let isNew = changes.created.contains(key)
      var isCopied = isNew
      if !isNew, compared.contains(key), place.realm != nil { isCopied = try isEmpty(table) }
      if isCopied {
        window.changed.forget(key)
        try copy(key)
      }
      if isCopied { compared.remove(key) }
    }
    for sql in changes.keys { try connection.run(sql) }
    for key in tables.keys.sorted() where compared.contains(key) { try compare(key) }
    if mustBeginAgain { throw ReplicaError.overtaken }
    let target = try flush()
    if mustBeginAgain { throw ReplicaError.overtaken }
    isDrained = true
    if !isSuccessor, !acceptsReplacement {
      // The results of queued statements are not counted yet.
      try connection.sync()
      try checkSuccession(target, losses, after: base)
    }
    if let late = planner?.changes { changes.remarks = late.remarks }
    if let former = base?.file, former != path, place.realm == nil {
      changes.remarks.append("the replica was that of \(former) before")
    }
    if !changes.constraints.isEmpty {
      // Tables with deferred constraint checks cannot be altered.
      try connection.run("SET CONSTRAINTS ALL IMMEDIATE")
    }
    for sql in changes.constraints {
      // Citus rejects some foreign keys.
      guard let planner, try !planner.attempt(sql, unless: "0A000") else { continue }
      changes.remarks.append("the server does not support this, so it is left out: \(sql)")
    }
    attemptedMark = target.mark
    try ReplicaState.write(place, file: path, target, after: base, connection)
    var outcome = ""
    try connection.queue("COMMIT", []) { outcome = $0.command }
    do { try connection.sync() } catch ReplicaError.server(state: "22012", _) {
      throw ReplicaError.overtaken
    }
    if outcome != "COMMIT" { throw ReplicaError.overtaken }
    base = ReplicaState(
      file: path,
      mark: target.mark,
      version: Int64(bitPattern: target.version),
      lineage: target.lineage,
      isFollowing: true
    )
    lastMark = target.mark
    wantedExact = []
    pass.version = target.version
    pass.remarks = changes.remarks
    return pass
  }

  /// Throws if a class that the replica contains cannot be read; reports other unreadable classes.
  private func check(_ damaged: [(className: String, reason: String)]) throws {
    for (name, reason) in damaged {
      if catalog.entries.contains(where: { $0.className.isExactly(name) }) {
        try stopAtDamage("class \(name): \(reason)")
      }
      warn("class \(name): \(reason)")
    }
  }

  /// Throws if existing rows of the replica would be removed, or become stale, because objects cannot be read.
  func stopAtDamage(_ reason: String) throws {
    if base?.mark == nil || acceptsReplacement { return }
    throw EngineError(
      .damaged,
      "\(path): \(reason); nothing was changed in the database; 'realmfs recover' saves what can be read, and "
        + "--accept-replacement leaves out what cannot"
    )
  }

  /// Removes the obsolete rows and values of one realm among many.
  private func clear(_ statements: [String]) throws {
    for sql in statements {
      try connection.queue(sql, place.realm.map { [.text($0)] } ?? []) { result in
        let words = result.command.split(separator: " "), count = words.last.flatMap { Int($0) } ?? 0
        if words.first == "DELETE" { self.losses.removed += count } else { self.losses.overwritten += count }
      }
    }
  }

  // MARK: tables

  private func plan() throws -> SchemaChangeSet {
    let isMany = place.realm != nil
    try connection.sync()
    var isLocked = !isMany || !wantedExact.isEmpty
    while true {
      if isLocked { try connection.run(Catalog.lock(place)) }
      try catalog.load(connection, mending: isLocked)
      let planner = SchemaPlanner(catalog, connection, window.snapshot, isLocked: isLocked)
      do {
        if !isMany {
          for renamed in window.renamed { try planner.rename(renamed) }
          renamedCount = window.renamed.count
        }
        tables = try planner.plan()
        for wanted in wantedExact {
          if let table = tables[wanted.table], let source = try source(of: wanted.table) {
            try planner.addExact(table, property: wanted.property, of: source)
          }
        }
        if !wantedExact.isEmpty {
          tables = try SchemaPlanner(catalog, connection, window.snapshot, isLocked: false).plan()
        }
        try connection.sync()
        self.planner = planner
        encoders = [:]
        hasTables = true
        return planner.changes
      } catch ReplicaError.overtaken where !isLocked {
        isLocked = true
      }
    }
  }

  func source(of key: TableKey) throws -> Table? {
    try self.window.snapshot.table(key)
  }

  /// Adds companion columns. A replica of many realms must lock the schema for this, and a table with deferred
  /// constraint checks cannot be altered. In these cases returns false, and the transaction is restarted after the rest
  /// of the class has been read.
  func addExact(_ key: TableKey, _ properties: [Int]) throws -> Bool {
    guard place.realm == nil, !hasWritten, let planner else {
      for property in properties where !wantedExact.contains(where: { $0 == (key, property) }) {
        wantedExact.append((key, property))
      }
      return false
    }
    guard let table = tables[key], let source = try source(of: key) else { return true }
    for property in properties { try planner.addExact(table, property: property, of: source) }
    try connection.sync()
    tables[key] = try SchemaPlanner(catalog, connection, window.snapshot, isLocked: false).plan()[key]
    encoders = [:]
    return true
  }

  private func isEmpty(_ table: ReplicaTable) throws -> Bool {
    var isEmpty = false
    let condition = place.realm == nil ? "" : " WHERE realm = $1::text"
    try connection.forEachRow(
      "SELECT NOT EXISTS (SELECT FROM \(table.qualifiedName)\(condition))",
      table.realmParameters
    ) { row in isEmpty = row.bytes(0, 0) == [1] }
    return isEmpty
  }

  /// Returns the encoder of a class, for the current version.
  func encoder(_ key: TableKey) throws -> RowEncoder? {
    if let known = encoders[key] { return known }
    guard let table = tables[key], let source = try source(of: key) else { return nil }
    let encoder = RowEncoder(table, source, window.snapshot, ObjectRenderer(window.snapshot), ObjectCursor(source))
    encoders[key] = encoder
    return encoder
  }
}
