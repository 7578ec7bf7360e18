// A mirror: an ordinary local realm that always contains exactly one version of a server's history, and records which.
// One process keeps it up to date; all others read it. Source: docs/format/7-sync.md 7.9, 7.10.

import Glibc
public import RealmPages
import Synchronization
import Threads

/// The local copy of a synced realm.
public final class Mirror: Sendable {
  /// The writer for reading the realm and for committing to it.
  public let writer: RealmWriter
  /// The path of the file.
  public let path: String
  /// The address of the synced realm.
  public let url: SyncURL

  /// True if the file did not exist before.
  private let isNew: Bool
  private let lock: MirrorLock
  private let configuration: Configuration
  private let current: Mutex<MirrorState>
  /// True while the session is ending, so that its commits do not wait for other transactions.
  private let isAbandoned = Atomic(false)

  /// Opens the mirror at the path of `configuration`, or creates one.
  ///
  /// - Throws: if the file mirrors a different address or is not a mirror, if another process keeps it up to date, or
  ///   if another program has written to it.
  public init(_ configuration: Configuration, of url: SyncURL) throws(SyncError) {
    (path, self.url, self.configuration) = (configuration.path, url, configuration)
    isNew = unsafe access(path, F_OK) != 0
    lock = try MirrorLock(realm: path)
    // Remove the remains of an interrupted download that was to replace the mirror.
    Self.removeFiles(path + Self.freshSuffix)
    do {
      if let condition = configuration.compactsOnLaunch { try Self.compact(configuration, condition) }
      writer = try RealmWriter(mirror: configuration)
    } catch { throw SyncError(error) }
    current = Mutex(MirrorState(url: url.description))
    let snapshot: Snapshot, isEmpty: Bool
    do {
      snapshot = try writer.realm.latest()
      isEmpty = try snapshot.tableKeys().isEmpty
    } catch { throw SyncError(error) }
    guard let known = try MirrorState(in: snapshot) else {
      if !isEmpty || snapshot.historyType > 2 {
        throw SyncError(
          .mirror,
          "\(path): an existing realm, not a mirror of a synced realm; name another file"
        )
      }
      try update { _ in }
      return
    }
    if known.url != url.description {
      // If no server ever answered at the previous address, it was probably a mistake.
      if !known.hasBegun {
        current.withLock { $0 = known }
        try update { $0 = MirrorState(url: url.description) }
        return
      }
      throw SyncError(.mirror, "\(path): a mirror of \(known.url), not of \(url); name another file")
    }
    current.withLock { $0 = known }
    try check(snapshot, known)
  }

  /// Compacts the file before it is opened, if `condition` returns true and no other program has it open.
  private static func compact(
    _ configuration: Configuration,
    _ condition: (Int, Int) -> Bool
  ) throws(EngineError) {
    var status = stat()
    if unsafe stat(configuration.path, &status) != 0 || status.st_size == 0 { return }
    do {
      _ = try RealmCopy.rewrite(configuration, key: configuration.encryptionKey, where: condition)
    } catch { if error.reason != .inUse { throw error } }
  }

  /// The stored state of the mirror and its server.
  public var state: MirrorState { current.withLock { $0 } }

  /// Throws if the last commit was made by another program: the mirror's own commits record their version in the state.
  func check(_ snapshot: Snapshot, _ state: MirrorState) throws(SyncError) {
    let expected = state.fileVersion
    if snapshot.version == UInt64(bitPattern: expected) { return }
    let holders = LockHolders.ofRealm(at: path).filter { $0.processID != getpid() }
    let names = holders.isEmpty ? "a program that has exited" : holders.map(\.description).joined(separator: ", ")
    throw SyncError(
      .mirror,
      "\(path): another program has written to the mirror (version \(snapshot.version), \(expected) is the mirror's "
        + "own), perhaps \(names); its changes are not on the server and would be lost: save them with "
        + "'realmfs export', then remove the mirror and download it again"
    )
  }

  /// Throws if another program has written to the mirror. Cost: reads the newest version.
  func checkLatest() throws(SyncError) {
    let snapshot: Snapshot
    do { snapshot = try writer.realm.latest() } catch { throw SyncError(error) }
    if let known = try MirrorState(in: snapshot) { try check(snapshot, known) }
  }

  /// Takes over the state of the file that has replaced the mirror.
  private func adopt(_ state: MirrorState) { current.withLock { $0 = state } }

  /// Changes only the state.
  func update(_ change: (inout MirrorState) -> Void) throws(SyncError) {
    try commit(change) { _ in }
  }

  /// Applies changes of the server's history and the new state in one commit.
  func commit(
    _ change: (inout MirrorState) -> Void,
    _ body: (borrowing WriteTransaction) throws -> Void
  ) throws(SyncError) {
    var made = MirrorState(url: url.description)
    do {
      let transaction = try begin()
      var former = made
      // Read the state from the version that the transaction is based on: other threads may have updated it since.
      if let known = try MirrorState(in: transaction.former) {
        try check(transaction.former, known)
        former = known
      }
      var next = former
      change(&next)
      try body(transaction)
      next.fileVersion = Int64(bitPattern: transaction.nextVersion)
      try next.store(in: transaction, over: former)
      _ = try transaction.commit()
      made = next
    } catch { throw SyncError(error, ofMirror: path) }
    current.withLock { if $0.fileVersion < made.fileVersion { $0 = made } }
  }

  /// Begins a transaction for the mirror's own commits. Retries as long as another program holds a transaction.
  private func begin() throws(EngineError) -> WriteTransaction {
    while true {
      do { return try writer.beginReplaying(timeout: .seconds(1)) } catch {
        if error.reason != .busy || isAbandoned.load(ordering: .acquiring) { throw error }
      }
    }
  }

  /// Stops commits from retrying while another program holds a transaction.
  func abandon() { isAbandoned.store(true, ordering: .releasing) }
}

extension Mirror {
  /// The default path of a mirror: in the directory of the default realm.
  public static func standardPath(of url: SyncURL) -> String {
    let standard = Configuration.defaultPath
    let folder = standard[..<(standard.lastIndex(of: "/") ?? standard.endIndex)] + "/mirrors"
    let name = "\(url.host)_\(url.port)\(url.path)".map { $0 == "/" || $0 == ":" ? "_" : String($0) }.joined()
    // A file name is at most 255 bytes, and the names of the realm's auxiliary files are longer.
    return "\(folder)/\(name.prefix(200)).realm"
  }

  /// Creates the directory of a mirror, which is shared by all mirrors of the user.
  public static func makeFolder(of path: String) throws(SyncError) {
    do { try Configuration.makeFolder(of: path) } catch { throw SyncError(error) }
  }

  /// Converts a copy of a mirror to an ordinary local realm without a server.
  public static func makeLocal(_ configuration: Configuration) throws(SyncError) {
    do {
      let transaction = try RealmWriter(mirror: configuration).begin()
      if let table = try transaction.tableKey(named: MirrorState.tableName) { try transaction.removeTable(table) }
      _ = try transaction.commit()
    } catch { throw SyncError(error) }
  }
}

// MARK: replacement

extension Mirror {
  /// The path of a fresh copy next to the mirror.
  private var freshPath: String { path + Self.freshSuffix }
  private static let freshSuffix = ".fresh"

  /// Downloads everything again to a file next to the mirror, because the server no longer knows the mirror, and
  /// replaces the mirror with it in one step. Until then the mirror keeps its content.
  func replace(_ options: SyncOptions, while isWanted: () -> Bool) throws(SyncError) {
    removeFresh()
    defer { removeFresh() }
    var configuration = configuration, options = options
    configuration.path = freshPath
    (options.uploadTimeout, options.mayReplace) = (nil, false)
    let state: MirrorState
    do {
      let fresh = try Mirror(configuration, of: url), session = try SyncClient(fresh, options)
      try session.start()
      defer { session.stop() }
      var status = session.status
      while isWanted(), status.state != .live, !session.isEnded {
        status = session.wait(until: .now.advanced(by: .milliseconds(500))) { $0.state == .live }
      }
      if let failure = session.failure { throw failure }
      if status.state != .live { throw SyncError(.cancelled, "\(path): interrupted") }
      session.stop()
      state = fresh.state
    }
    // A pending upload of the previous identity is not sent again: the server that knew the identity no longer exists.
    if unsafe rename(freshPath, path) != 0 {
      throw SyncError(.failed("rename", path, errno))
    }
    adopt(state)
  }

  private func removeFresh() { Self.removeFiles(freshPath) }

  private static func removeFiles(_ path: String) {
    for name in ["", ".lock", ".note", ".management/realmfs-sync.lock"] { unsafe unlink(path + name) }
    unsafe rmdir(path + ".management")
  }

  /// Removes the files of a mirror that this process created, if no server ever answered.
  public func removeUnlessBegun() {
    if isNew, !state.hasBegun { Self.removeFiles(path) }
  }
}
