// A mirror: an ordinary local realm that is always exactly one version of a server's history, and knows which. One process
// keeps it up to date; all others read it. Source: docs/format/7-sync.md 7.9, 7.10.

import Glibc
public import RealmPages
import Synchronization

/// The local copy of a synced realm.
public final class Mirror: Sendable {
  /// For reading the realm, and for its commits.
  public let writer: RealmWriter
  /// The path of the file.
  public let path: String
  /// What the mirror is a copy of.
  public let url: SyncURL

  private let lock: MirrorLock
  private let current: Mutex<MirrorState>

  /// Opens the mirror at the path of `configuration`, or makes one. The realm of another address, a realm that is no
  /// mirror, and one that another process keeps up to date are refused; and a mirror that another program has written.
  public init(_ configuration: Configuration, of url: SyncURL) throws(SyncError) {
    (path, self.url) = (configuration.path, url)
    lock = try MirrorLock(realm: path)
    do throws(EngineError) { writer = try RealmWriter(mirror: configuration) } catch { throw SyncError(error) }
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
      throw SyncError(.mirror, "\(path): a mirror of \(known.url), not of \(url); name another file")
    }
    current.withLock { $0 = known }
    try check(snapshot)
  }

  /// What the mirror knows of its server.
  public var state: MirrorState { current.withLock { $0 } }

  /// Throws if another program has committed to the mirror.
  func check(_ snapshot: Snapshot) throws(SyncError) {
    let expected = state.fileVersion
    if snapshot.version == UInt64(bitPattern: expected) { return }
    let holders = LockHolders.ofRealm(at: path).filter { $0.processID != getpid() }
    let names = holders.isEmpty ? "a program that is gone" : holders.map(\.description).joined(separator: ", ")
    throw SyncError(
      .mirror,
      "\(path): another program has written to the mirror (version \(snapshot.version), \(expected) is the mirror's own), "
        + "perhaps \(names); its changes are not on the server and would be lost: take them from the file with 'realmfs "
        + "export', then remove the mirror and download anew"
    )
  }

  /// Changes the state alone.
  func update(_ change: (inout MirrorState) -> Void) throws(SyncError) {
    try commit(change) { (_) throws(ApplyError) in }
  }

  /// Makes changes of the server's history and the new state in one commit.
  func commit(
    _ change: (inout MirrorState) -> Void,
    _ body: (borrowing WriteTransaction) throws(ApplyError) -> Void
  ) throws(SyncError) {
    var next = state
    change(&next)
    do throws(EngineError) {
      let transaction = try writer.beginReplaying()
      if next.fileVersion != 0 { try throwing { () throws(SyncError) in try check(transaction.former) } }
      do throws(ApplyError) { try body(transaction) } catch {
        switch error {
        case .engine(let error): throw error
        case .unfit: throw EngineError(.notApplicable, error.description)
        }
      }
      next.fileVersion = Int64(bitPattern: transaction.nextVersion)
      try next.store(in: transaction)
      _ = try transaction.commit()
    } catch {
      if error.reason == .cancelled { throw SyncError(.mirror, error.description) }
      if error.reason == .notApplicable { throw SyncError(.protocolBroken, "\(path): \(error.description)") }
      throw SyncError(error)
    }
    current.withLock { $0 = next }
  }

  /// A refusal of the mirror as an error of the engine, which a transaction ends with.
  private func throwing(_ body: () throws(SyncError) -> Void) throws(EngineError) {
    do throws(SyncError) { try body() } catch { throw EngineError(.cancelled, error.description) }
  }
}

extension Mirror {
  /// Forgets identities and progress, because the server does not know them any more; the next connection downloads
  /// everything anew.
  func forgetServer() throws(SyncError) {
    throw SyncError(.reset, "\(path): the server does not know this mirror any more")
  }
}
