// A mirror: an ordinary local realm that is always exactly one version of a server's history, and knows which. One
// process keeps it up to date; all others read it. Source: docs/format/7-sync.md 7.9, 7.10.

import Glibc
public import RealmPages
import Synchronization
import Threads

/// The local copy of a synced realm.
public final class Mirror: Sendable {
  /// For reading the realm, and for its commits.
  public let writer: RealmWriter
  /// The path of the file.
  public let path: String
  /// What the mirror is a copy of.
  public let url: SyncURL

  /// Whether there was no file before.
  private let isNew: Bool
  private let lock: MirrorLock
  private let configuration: Configuration
  private let current: Mutex<MirrorState>
  /// Whether its session is ending, so that nobody waits for its commits.
  private let isAbandoned = Atomic(false)

  /// Opens the mirror at the path of `configuration`, or makes one. The realm of another address, a realm that is no
  /// mirror, and one that another process keeps up to date are refused; and a mirror that another program has written.
  public init(_ configuration: Configuration, of url: SyncURL) throws(SyncError) {
    (path, self.url, self.configuration) = (configuration.path, url, configuration)
    isNew = unsafe access(path, F_OK) != 0
    lock = try MirrorLock(realm: path)
    // What a download was cut off at that was to take the mirror's place.
    Self.removeFiles(path + Self.freshSuffix)
    do throws(EngineError) {
      if let condition = configuration.compactsOnLaunch { try Self.compact(configuration, condition) }
      writer = try RealmWriter(mirror: configuration)
    } catch { throw SyncError(error) }
    current = Mutex(MirrorState(url: url.description))
    let snapshot: Snapshot
    do throws(EngineError) { snapshot = try writer.realm.latest() } catch { throw SyncError(error) }
    guard let known = try MirrorState(in: snapshot) else {
      let isEmpty: Bool
      do throws(EngineError) {
        isEmpty = try snapshot.tableKeys().isEmpty
      } catch { throw SyncError(error) }
      if !isEmpty || snapshot.historyType > 2 {
        throw SyncError(
          .mirror,
          "\(path): a realm with data of its own, no mirror of a synced realm; name another file"
        )
      }
      try update { _ in }
      return
    }
    if known.url != url.description {
      // An address at which no server ever answered was perhaps a mistake.
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

  /// Compacts the file before it is opened, if `condition` wants it and no other program has it open.
  private static func compact(
    _ configuration: Configuration,
    _ condition: (Int, Int) -> Bool
  ) throws(EngineError) {
    var status = stat()
    if unsafe stat(configuration.path, &status) != 0 || status.st_size == 0 { return }
    do throws(EngineError) {
      _ = try RealmCopy.rewrite(configuration, key: configuration.encryptionKey, where: condition)
    } catch { if error.reason != .inUse { throw error } }
  }

  /// What the mirror knows of its server.
  public var state: MirrorState { current.withLock { $0 } }

  /// Throws if the last commit is another program's: the mirror's own note their version in the state.
  func check(_ snapshot: Snapshot, _ state: MirrorState) throws(SyncError) {
    let expected = state.fileVersion
    if snapshot.version == UInt64(bitPattern: expected) { return }
    let holders = LockHolders.ofRealm(at: path).filter { $0.processID != getpid() }
    let names = holders.isEmpty ? "a program that is gone" : holders.map(\.description).joined(separator: ", ")
    throw SyncError(
      .mirror,
      "\(path): another program has written to the mirror (version \(snapshot.version), \(expected) is the mirror's "
        + "own), perhaps \(names); its changes are not on the server and would be lost: take them from the file with "
        + "'realmfs export', then remove the mirror and download anew"
    )
  }

  /// Throws if another program has written the mirror. Costs a look at its newest version.
  func checkLatest() throws(SyncError) {
    let snapshot: Snapshot
    do throws(EngineError) { snapshot = try writer.realm.latest() } catch { throw SyncError(error) }
    if let known = try MirrorState(in: snapshot) { try check(snapshot, known) }
  }

  /// Takes over the state of the file that has taken the mirror's place.
  private func adopt(_ state: MirrorState) { current.withLock { $0 = state } }

  /// Changes the state alone.
  func update(_ change: (inout MirrorState) -> Void) throws(SyncError) {
    try commit(change) { (_) throws(ApplyError) in }
  }

  /// Makes changes of the server's history and the new state in one commit.
  func commit(
    _ change: (inout MirrorState) -> Void,
    _ body: (borrowing WriteTransaction) throws(ApplyError) -> Void
  ) throws(SyncError) {
    var made = MirrorState(url: url.description)
    do throws(EngineError) {
      let transaction = try begin()
      var former = made
      // What others have noted meanwhile is in the version that the transaction builds on.
      try throwing { () throws(SyncError) in
        guard let known = try MirrorState(in: transaction.former) else { return }
        try check(transaction.former, known)
        former = known
      }
      var next = former
      change(&next)
      do throws(ApplyError) { try body(transaction) } catch {
        switch error {
        case .engine(let error): throw error
        case .unfit: throw EngineError(.notApplicable, error.description)
        }
      }
      next.fileVersion = Int64(bitPattern: transaction.nextVersion)
      try next.store(in: transaction, over: former)
      _ = try transaction.commit()
      made = next
    } catch {
      if error.reason == .cancelled { throw SyncError(.mirror, error.description) }
      if error.reason == .notApplicable { throw SyncError(.protocolBroken, "\(path): \(error.description)") }
      throw SyncError(error)
    }
    current.withLock { if $0.fileVersion < made.fileVersion { $0 = made } }
  }

  /// Begins a transaction of the mirror's own. A program may hold one of its own for as long as it wants.
  private func begin() throws(EngineError) -> WriteTransaction {
    while true {
      do throws(EngineError) { return try writer.beginReplaying(timeout: .seconds(1)) } catch {
        if error.reason != .busy || isAbandoned.load(ordering: .acquiring) { throw error }
      }
    }
  }

  /// From now on its commits wait for no other transaction.
  func abandon() { isAbandoned.store(true, ordering: .releasing) }

  /// A refusal of the mirror as an error of the engine, which a transaction ends with.
  private func throwing(_ body: () throws(SyncError) -> Void) throws(EngineError) {
    do throws(SyncError) { try body() } catch { throw EngineError(.cancelled, error.description) }
  }
}

extension Mirror {
  /// Where the mirror of a realm is unless a program says so: in the folder of the default realm.
  public static func standardPath(of url: SyncURL) -> String {
    let standard = Configuration.defaultPath
    let folder = standard[..<(standard.lastIndex(of: "/") ?? standard.endIndex)] + "/mirrors"
    let name = "\(url.host)_\(url.port)\(url.path)".map { $0 == "/" || $0 == ":" ? "_" : String($0) }.joined()
    // A name is at most 255 bytes, and those beside the realm are longer.
    return "\(folder)/\(name.prefix(200)).realm"
  }

  /// Makes the folder of a mirror, where others of this user's are too.
  public static func makeFolder(of path: String) throws(SyncError) {
    do throws(EngineError) { try Configuration.makeFolder(of: path) } catch { throw SyncError(error) }
  }

  /// Makes an ordinary local realm of a copy of a mirror: it knows no server any more.
  public static func makeLocal(_ configuration: Configuration) throws(SyncError) {
    do throws(EngineError) {
      let transaction = try RealmWriter(mirror: configuration).begin()
      if let table = try transaction.tableKey(named: MirrorState.tableName) { try transaction.removeTable(table) }
      _ = try transaction.commit()
    } catch { throw SyncError(error) }
  }
}

// MARK: a server that forgot

extension Mirror {
  /// Where a fresh copy is made beside the mirror.
  private var freshPath: String { path + Self.freshSuffix }
  private static let freshSuffix = ".fresh"

  /// Downloads everything anew to a file beside the mirror, because the server does not know the mirror any more, and
  /// puts it in the place of the mirror in one step. Until then the mirror shows what it has.
  func replace(_ options: SyncOptions, while isWanted: () -> Bool) throws(SyncError) {
    removeFresh()
    defer { removeFresh() }
    var configuration = configuration, options = options
    configuration.path = freshPath
    (options.uploadTimeout, options.mayReplace) = (nil, false)
    let state: MirrorState
    do {
      let fresh = try Mirror(configuration, of: url), session = try SyncSession(fresh, options)
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
    // What was sent with the former identity is not sent again: the server that knew it is gone.
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

  /// Removes the files of a mirror that this process made, if no server ever answered: nobody misses them.
  public func removeUnlessBegun() {
    if isNew, !state.hasBegun { Self.removeFiles(path) }
  }
}
