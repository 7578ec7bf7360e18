// One connection to PostgreSQL through libpq, which is never allowed to block: while waiting for the server, the
// connection calls `onWait`, so that a slow server does not keep a version of a realm pinned.

import CPostgres
import Glibc
import RealmPages
import Synchronization
import Threads

/// The address of a database, in libpq's syntax.
public struct PostgresAddress: Sendable {
  /// A URI `postgresql://..`, or `key=value` words.
  let text: String
  /// The address without secrets, for messages.
  public let shown: String

  /// Validates the address. Rejects a password in it, which would be visible to all users of the machine.
  public init(_ text: String) throws {
    if let reason = unsafe cpostgres_load() {
      throw ReplicaError.unsuitable(unsafe "replicas need libpq (Debian package libpq5): \(String(cString: reason))")
    }
    var message: UnsafeMutablePointer<CChar>?
    guard let options = unsafe PQconninfoParse(text, &message) else {
      let cause = unsafe message.map { unsafe String(cString: $0) } ?? "out of memory"
      unsafe PQfreemem(message)
      throw ReplicaError.unsuitable("not an address of PostgreSQL: \(cause.withoutLineEnd)")
    }
    defer { unsafe PQconninfoFree(options) }
    var parts: [String: String] = [:], index = 0
    while let keyword = unsafe options[index].keyword {
      if let value = unsafe options[index].val {
        unsafe parts[String(cString: keyword)] = unsafe String(cString: value)
      }
      index += 1
    }
    if parts["password"] != nil || parts["sslpassword"] != nil {
      throw ReplicaError.unsuitable(
        "a password on the command line is visible to all users of this machine; put it into ~/.pgpass, the file that "
          + "PGPASSFILE names, or a service of pg_service.conf"
      )
    }
    self.text = text
    let host = parts["host"] ?? parts["hostaddr"] ?? parts["service"].map { "service \($0)" } ?? "the local server"
    shown = "\(host)\(parts["port"].map { ":\($0)" } ?? "")/\(parts["dbname"] ?? "")"
  }
}

/// A connection to the server.
///
/// Statements are queued in pipeline mode and sent together; `sync` reads their results. After the first failure the
/// connection is unusable: its transaction and all later statements in the queue are lost.
///
/// A pooler that assigns a different server connection to each transaction loses prepared statements. Their names are
/// hashes of their texts, so no other statement can run in their place; once one is missing, prepared statements are no
/// longer used.
@safe final class PostgresConnection {
  // Safe: it owns the handle and is the only one to close it.
  private let handle: OpaquePointer
  private let address: PostgresAddress
  /// Called at least every 30 ms while waiting for the server.
  var onWait: () throws -> Void = {}
  /// The names of prepared statements, by text.
  private var prepared: [String: String] = [:]
  /// True if a pooler has lost a prepared statement.
  static let hasPooler = Atomic(false)
  private var expected: [Expected] = []
  private var isInPipeline = false
  /// The number of bytes queued since the last `sync`.
  private(set) var queuedBytes = 0

  private enum Expected {
    case preparation(String)
    case statement(((PostgresResult) throws -> Void)?)
  }

  /// Connects to the server.
  init(_ address: PostgresAddress, onWait: @escaping () throws -> Void) throws {
    self.address = address
    // Parameters in the address override those before it.
    let defaults = [
      ("connect_timeout", "10"), ("keepalives_idle", "20"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("tcp_user_timeout", "30000"), ("fallback_application_name", "realmfs"), ("dbname", address.text),
      ("client_encoding", "UTF8"),
    ]
    var names = unsafe defaults.map { unsafe UnsafePointer<CChar>(strdup($0.0)) },
      values = unsafe defaults.map {
        unsafe UnsafePointer<CChar>(strdup($0.1))
      }
    defer { unsafe (names + values).forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
    unsafe names.append(nil)
    unsafe values.append(nil)
    guard let handle = unsafe PQconnectStartParams(names, values, 1) else {
      throw ReplicaError.connection("out of memory")
    }
    unsafe self.handle = unsafe handle
    self.onWait = onWait
    let deadline = MonotonicTime.now.advanced(by: .seconds(15))
    var state = PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      if unsafe state == PGRES_POLLING_FAILED || PQstatus(handle) == CONNECTION_BAD { throw failure() }
      if deadline.milliseconds == 0 { throw ReplicaError.connection("\(address.shown): no answer within 15 seconds") }
      if try wait(for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT) { state = unsafe PQconnectPoll(handle) }
    }
    unsafe PQsetnonblocking(handle, 1)
    unsafe PQsetNoticeReceiver(handle, { _, _ in }, nil)
    let encoding = parameter("server_encoding")
    if encoding != "UTF8" {
      throw ReplicaError.unsuitable(
        "\(address.shown): the database has the encoding \(encoding ?? "?"), which cannot hold every string; make one "
          + "with 'createdb -E UTF8 -T template0'"
      )
    }
    guard let version = unsafe Int32(exactly: PQserverVersion(handle)), version >= 150_000 else {
      throw ReplicaError.unsuitable(
        unsafe "\(address.shown): PostgreSQL \(PQserverVersion(handle) / 10000); at least 15 is needed"
      )
    }
  }

  deinit { unsafe PQfinish(handle) }

  /// The process ID of the server process for this connection, as listed in pg_stat_activity.
  var processID: Int32 { unsafe PQbackendPID(handle) }

  private func parameter(_ name: String) -> String? {
    unsafe PQparameterStatus(handle, name).map { unsafe String(cString: $0) }
  }

  private func failure() -> ReplicaError {
    let text = unsafe PQerrorMessage(handle).map { unsafe String(cString: $0) }?.withoutLineEnd ?? ""
    return .connection("\(address.shown): \(text.isEmpty ? "the connection is lost" : text)")
  }

  // MARK: waiting

  /// Waits up to 30 ms; returns true if the socket is ready.
  private func wait(for events: Int32) throws -> Bool {
    var descriptor = unsafe pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
    if unsafe poll(&descriptor, 1, 0) > 0 { return true }
    try onWait()
    return unsafe poll(&descriptor, 1, 30) > 0
  }

  /// Sends the queue while also reading input, so that client and server cannot block each other.
  private func flush() throws {
    while true {
      let left = unsafe PQflush(handle)
      if left == 0 { return }
      if left < 0 { throw failure() }
      if try wait(for: POLLIN | POLLOUT), unsafe PQconsumeInput(handle) == 0 { throw failure() }
    }
  }

  /// Returns the next result; nil after the last result of a statement.
  private func next() throws -> PostgresResult? {
    try flush()
    while unsafe PQisBusy(handle) != 0 {
      if try wait(for: POLLIN), unsafe PQconsumeInput(handle) == 0 { throw failure() }
    }
    return unsafe PQgetResult(handle).map { unsafe PostgresResult($0) }
  }

  private func check(_ result: PostgresResult) throws {
    guard result.isError else { return }
    if unsafe PQstatus(handle) == CONNECTION_BAD { throw failure() }
    let error = result.error
    if case .server(let state, _) = error, state == "26000" || state == "42P05" {
      // The prepared statement does not exist, or another program has prepared one with this name.
      Self.hasPooler.store(true, ordering: .relaxed)
      throw ReplicaError.overtaken
    }
    throw error
  }

  // MARK: statements without parameters

  /// Runs statements with the simple query protocol and returns the last result.
  @discardableResult
  func run(_ sql: String) throws -> PostgresResult {
    try leavePipeline()
    if unsafe PQsendQuery(handle, sql) == 0 { throw failure() }
    var last: PostgresResult?
    var error: (any Error)?
    while let result = try next() {
      do { try check(result) } catch let failure { error = error ?? failure }
      last = result
    }
    if let error { throw error }
    guard let last else { throw ReplicaError.connection("\(address.shown): no answer") }
    return last
  }

  /// Runs a statement and calls `body` with each row as it arrives, in binary format; memory use is bounded.
  func forEachRow(
    _ sql: String,
    _ parameters: [PostgresParameter] = [],
    _ body: (PostgresResult) throws -> Void
  ) throws {
    try leavePipeline()
    let isSent = unsafe parameters.withArrays { types, values, lengths, formats in
      unsafe PQsendQueryParams(handle, sql, Int32(parameters.count), types, values, lengths, formats, 1)
    }
    if isSent == 0 { throw failure() }
    unsafe PQsetSingleRowMode(handle)
    var error: (any Error)?
    while let result = try next() {
      do {
        try check(result)
        if result.isSingleRow, error == nil { try body(result) }
      } catch let failure { error = error ?? failure }
    }
    if let error { throw error }
  }

  // MARK: pipeline

  private func leavePipeline() throws {
    guard isInPipeline else { return }
    try sync()
    if unsafe PQexitPipelineMode(handle) == 0 { throw failure() }
    isInPipeline = false
  }

  /// Queues a statement. Its result is passed to `body` no later than the return of `sync`.
  func queue(
    _ sql: String,
    _ parameters: [PostgresParameter],
    _ body: ((PostgresResult) throws -> Void)? = nil
  ) throws {
    if !isInPipeline {
      if unsafe PQenterPipelineMode(handle) == 0 { throw failure() }
      isInPipeline = true
    }
    let name = try Self.hasPooler.load(ordering: .relaxed) ? nil : preparedName(sql, parameters)
    let count = Int32(parameters.count)
    let isSent = unsafe parameters.withArrays { types, values, lengths, formats in
      if let name { return unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) }
      return unsafe PQsendQueryParams(handle, sql, count, types, values, lengths, formats, 1)
    }
    if isSent == 0 { throw failure() }
    expected.append(.statement(body))
    queuedBytes += parameters.reduce(64) { $0 + ($1.bytes?.count ?? 0) }
    if queuedBytes > 1 << 16 { try flush() }
  }

  /// Prepares a statement unless it is already prepared, and returns its name.
  private func preparedName(_ sql: String, _ parameters: [PostgresParameter]) throws -> String {
    if let known = prepared[sql] { return known }
    let name = "realmfs_" + hexadecimal(SHA256Digest.word(of: Array(sql.utf8)), digits: 16)
    let types = parameters.map(\.type)
    if unsafe PQsendPrepare(handle, name, sql, Int32(types.count), types) == 0 { throw failure() }
    prepared[sql] = name
    expected.append(.preparation(sql))
    return name
  }

  /// Sends the queue and reads all results. Throws the first error among them.
  func sync() throws {
    guard isInPipeline else { return }
    if unsafe PQpipelineSync(handle) == 0 { throw failure() }
    queuedBytes = 0
    let awaited = expected
    expected = []
    var error: (any Error)?
    for item in awaited {
      while let result = try next() {
        do {
          try check(result)
          if case .statement(let body?) = item, error == nil { try body(result) }
        } catch let failure {
          error = error ?? failure
          if case .preparation(let sql) = item { prepared[sql] = nil }
        }
      }
    }
    // The result of the sync itself; no other result follows.
    guard let end = try next(), end.isSync else { throw error ?? failure() }
    if let error { throw error }
  }

  // MARK: COPY

  /// Begins a COPY FROM STDIN.
  func beginCopy(_ sql: String) throws {
    try leavePipeline()
    if unsafe PQsendQuery(handle, sql) == 0 { throw failure() }
    guard let result = try next() else { throw failure() }
    try check(result)
  }

  func put(_ bytes: UnsafeRawBufferPointer) throws {
    let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    while true {
      let taken = unsafe PQputCopyData(handle, base, Int32(bytes.count))
      if taken > 0 { break }
      if taken < 0 { throw failure() }
      if try wait(for: POLLOUT | POLLIN), unsafe PQconsumeInput(handle) == 0 { throw failure() }
    }
    try flush()
  }

  /// Ends a COPY.
  func endCopy() throws {
    while true {
      let taken = unsafe PQputCopyEnd(handle, nil)
      if taken > 0 { break }
      if taken < 0 { throw failure() }
      if try wait(for: POLLOUT | POLLIN), unsafe PQconsumeInput(handle) == 0 { throw failure() }
    }
    var error: (any Error)?
    while let result = try next() {
      do { try check(result) } catch let failure { error = error ?? failure }
    }
    if let error { throw error }
  }
}

extension String {
  /// The lines of a message, joined by semicolons.
  var withoutLineEnd: String {
    split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" || $0 == " " } }.joined(separator: "; ")
  }
}
