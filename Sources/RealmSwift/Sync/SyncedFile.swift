// A synced realm that this process has open: its mirror and the session that keeps the mirror up to date.

import RealmPages
import RealmSync
import Synchronization
import Threads

/// The sync part of a realm file. Releasing it closes the connection.
final class SyncedFile: Sendable {
  let mirror: Mirror
  /// The public interface to the connection.
  let session: SyncSession
  private let core: RealmSync.SyncClient
  /// How long the server may be silent.
  private let timeout: Duration

  /// Opens the mirror and starts to connect. Does not wait for the server or the download.
  init(_ sync: SyncConfiguration, _ configuration: RealmPages.Configuration, isReadOnly: Bool) throws {
    let address = try sync.address(), options = try sync.options(isReadOnly: isReadOnly)
    timeout = .seconds(sync.timeout)
    (mirror, core) = try Realm.Error.translating {
      if sync.fileURL == nil { try Mirror.makeFolder(of: configuration.path) }
      let mirror = try Mirror(configuration, of: address)
      return (mirror, try RealmSync.SyncClient(mirror, options))
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

  /// The file identifier that the server assigned, used in the keys of new objects; 0 until it is assigned.
  var writerFile: Int64 { mirror.state.writer.file }

  /// True if everything has been downloaded at least once.
  var isComplete: Bool { core.status.isComplete }

  // MARK: waiting

  /// The caller of a wait for a download.
  struct Waiting: Sendable {
    /// Returns true to end the wait.
    var isCancelled: @Sendable () -> Bool = { false }
    /// Called with the progress of the download.
    var report: @Sendable (SyncSession.Progress) -> Void = { _ in }
  }

  /// Waits until everything that the server now has has been downloaded.
  func download(_ waiting: Waiting = Waiting()) throws {
    let number = core.requestMark()
    try wait(waiting) { status in status.mark >= number }
  }

  /// Waits until `isDone` returns true. Throws if nothing arrives within the timeout.
  func wait(_ waiting: Waiting = Waiting(), _ isDone: (SyncStatus) throws -> Bool) throws {
    var last: SyncStatus?, thrown: (any Error)?
    _ = try Realm.Error.translating {
      try core.wait(timeout: timeout) { status in
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
