// A synced realm that this process has open: the mirror and the session that keeps it up to date.

import RealmPages
import RealmSync
import Synchronization
import Threads

/// What makes a realm file a synced one. The connection ends with it.
final class SyncedFile: Sendable {
  let mirror: Mirror
  /// The connection as programs see it.
  let session: SyncSession
  private let core: RealmSync.SyncSession
  /// How long the server may be silent.
  private let timeout: Duration

  /// Opens the mirror and begins to connect; waits for neither the server nor the download.
  init(_ sync: SyncConfiguration, _ configuration: RealmPages.Configuration, isReadOnly: Bool) throws {
    let address = try sync.address(), options = try sync.options(isReadOnly: isReadOnly)
    timeout = .seconds(sync.timeout)
    (mirror, core) = try Realm.Error.translating {
      if sync.fileURL == nil { try Mirror.makeFolder(of: configuration.path) }
      let mirror = try Mirror(configuration, of: address)
      return (mirror, try RealmSync.SyncSession(mirror, options))
    }
    session = SyncSession(core, sync)
    let isReported = Once()
    _ = core.addObserver { [weak session, weak core] status in
      guard status.state == .failed, let failure = core?.failure, isReported.take() else { return }
      SyncManager.shared.errorHandler?(Realm.Error(failure), session)
    }
    try Realm.Error.translating { try core.start() }
  }

  deinit { core.stop() }

  private final class Once: Sendable {
    private let taken = Atomic(false)
    func take() -> Bool { !taken.exchange(true, ordering: .acquiringAndReleasing) }
  }

  /// The file of the server's that new objects are named by; 0 while there is none.
  var writerFile: Int64 { mirror.state.writer.file }

  /// Whether everything was downloaded once.
  var isComplete: Bool { core.status.isComplete }

  // MARK: waiting

  /// Who waits for a download.
  struct Waiting: Sendable {
    /// Whether the wait is to end.
    var isCancelled: @Sendable () -> Bool = { false }
    /// Called with what has come.
    var report: @Sendable (SyncSession.Progress) -> Void = { _ in }
  }

  /// Waits until everything is here that the server has now.
  func download(_ waiting: Waiting = Waiting()) throws {
    let number = core.requestMark()
    try wait(waiting) { status in status.mark >= number }
  }

  /// Waits until `isDone`. Gives up when nothing has come for the time-out.
  func wait(_ waiting: Waiting = Waiting(), _ isDone: (SyncStatus) throws -> Bool) throws {
    var last: SyncStatus?, thrown: (any Error)?
    _ = try Realm.Error.translating {
      try core.wait(patience: timeout) { status in
        if status != last { waiting.report(SyncSession.Progress(download: status)) }
        last = status
        do {
          if try isDone(status) { return true }
          if waiting.isCancelled() { throw CancellationError() }
          return false
        } catch {
          thrown = error
          return true
        }
      }
    }
    if let thrown { throw thrown }
  }
}

extension Realm.Error {
  init(_ error: SyncError) {
    if let cause = error.cause {
      self.init(cause)
      return
    }
    switch error.reason {
    case .configuration: self.init(.invalidInput, error.description)
    case .offline: self.init(.offline, error.description)
    case .timeout: self.init(.timedOut, error.description)
    case .refused: self.init(.refusedByServer, error.description)
    case .certificate, .token, .unsupported, .reset, .protocolBroken: self.init(.syncFailed, error.description)
    case .mirror: self.init(.fileAccess, error.description)
    case .file(let code): self.init(code.map(Self.code) ?? .fail, error.description)
    case .cancelled: self.init(.fail, error.description)
    }
  }
}
