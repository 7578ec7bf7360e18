// The public interface to the connection of a synced realm: its state, its progress, and waiting for transfers.

public import Dispatch
import RealmSync
import Synchronization

/// The connection of a synced realm to its server, available as `Realm.syncSession`. A process has one session per
/// realm; it ends with the last `Realm`.
public final class SyncSession: Sendable {
  /// The state of a session.
  public enum State: Sendable {
    /// The session is connected, or connects as soon as it can.
    case active
    /// The session was suspended.
    case inactive
    /// The session has ended: its last `Realm` was released, or an error occurred that retrying cannot fix.
    case invalid
  }

  /// The state of the network connection.
  public enum ConnectionState: Sendable {
    /// There is no connection.
    case disconnected
    /// The connection is being established.
    case connecting
    /// The connection is established.
    case connected
  }

  /// The direction of a transfer.
  public enum ProgressDirection: Sendable {
    /// Uploads to the server.
    case upload
    /// Downloads from the server.
    case download
  }

  /// The lifetime of a progress block.
  public enum ProgressMode: Sendable {
    /// The block is called until its token is invalidated.
    case reportIndefinitely
    /// The block is called until the currently outstanding changes have been transferred.
    case forCurrentlyOutstandingWork
  }

  private let core: RealmSync.SyncClient
  private let sync: SyncConfiguration
  private let queue = DispatchQueue(label: "realm.sync.progress")

  init(_ core: RealmSync.SyncClient, _ sync: SyncConfiguration) { (self.core, self.sync) = (core, sync) }

  /// The state of the session.
  public var state: State {
    switch core.status.state {
    case .connecting, .downloading, .live, .offline: .active
    case .suspended: .inactive
    case .failed, .stopped: .invalid
    }
  }

  /// The state of the network connection.
  public var connectionState: ConnectionState {
    switch core.status.state {
    case .connecting: .connecting
    case .downloading, .live: .connected
    case .offline, .suspended, .failed, .stopped: .disconnected
    }
  }

  /// The reason why there is no connection; nil if there is one, or none is wanted.
  public var error: Realm.Error? {
    if let failure = core.failure { return Realm.Error(failure) }
    return core.status.error.map { Realm.Error(.offline, $0) }
  }

  /// Returns the sync configuration of the realm.
  public func configuration() -> SyncConfiguration? { sync }

  /// Returns the user of the realm.
  public func parentUser() -> SyncUser? { sync.user }

  /// Closes the connection until `resume` is called. The realm can still be read, but not written.
  public func suspend() { core.suspend() }

  /// Reconnects after `suspend`, or ends the delay between connection attempts.
  public func resume() { core.resume() }

  // MARK: progress

  /// The progress of a transfer.
  public struct Progress: Sendable, Equatable {
    /// The number of bytes transferred.
    public let transferredBytes: Int
    /// The number of bytes transferred plus those still to be transferred. A first download counts the whole history of
    /// the realm, which is larger than the realm.
    public let transferrableBytes: Int
    /// The fraction transferred, from 0 to 1. It is 1 only when the transfer is complete.
    public let progressEstimate: Double
    /// Equal to `progressEstimate`.
    public var fractionTransferred: Double { progressEstimate }
    /// True if nothing remains to be transferred.
    public var isTransferComplete: Bool { progressEstimate == 1 }

    init(_ transferred: Int64, of transferrable: Int64, isComplete: Bool) {
      (transferredBytes, transferrableBytes) = (Int(transferred), Int(max(transferrable, transferred)))
      let part = transferrable <= 0 ? 0 : Double(transferred) / Double(transferrable)
      progressEstimate = isComplete ? 1 : min(part, 1.0.nextDown)
    }

    /// Creates the progress of a download.
    init(download status: SyncStatus) {
      self.init(status.downloaded, of: status.downloaded + status.bytesLeft, isComplete: status.state == .live)
    }
  }

  /// A token that stops the calls to a progress block when it is invalidated or released.
  public final class ProgressNotificationToken: Sendable {
    private let core: RealmSync.SyncClient
    private let observer: Int

    fileprivate init(_ core: RealmSync.SyncClient, _ observer: Int) { (self.core, self.observer) = (core, observer) }

    /// Stops the calls to the block. Releasing the token has the same effect.
    public func invalidate() { core.removeObserver(observer) }

    deinit { invalidate() }
  }

  /// Calls `block` on a queue of the session, now and whenever more has been transferred. Returns nil if it will not be
  /// called again.
  public func addProgressNotification(
    for direction: ProgressDirection,
    mode: ProgressMode,
    block: @Sendable @escaping (Progress) -> Void
  ) -> ProgressNotificationToken? {
    let reporter = ProgressReporter(direction, mode, block), queue = queue
    let observer = core.addObserver { status in queue.async { reporter.take(status) } }
    let token = ProgressNotificationToken(core, observer), status = core.status
    queue.async { reporter.take(status) }
    let isOver = state == .invalid || mode == .forCurrentlyOutstandingWork && reporter.isComplete(status)
    return isOver ? nil : token
  }

  // MARK: waiting

  /// Calls `block` on a queue when all changes have been uploaded, or when everything that the server now has has been
  /// downloaded, or with the error that ended the wait. A server that cannot be reached does not end the wait.
  public func wait(
    for direction: ProgressDirection,
    queue: DispatchQueue? = nil,
    block: @Sendable @escaping ((any Error)?) -> Void
  ) {
    let number = direction == .download ? core.requestMark() : 0, core = core, queue = queue ?? self.queue
    Background.run {
      let status = core.wait(until: nil) { direction == .download ? $0.mark >= number : $0.canUpload }
      let isDone = direction == .download ? status.mark >= number : status.canUpload
      let error =
        core.failure.map { Realm.Error($0) } ?? Realm.Error(.fail, "\(core.mirror.url): the session has ended")
      queue.async { block(isDone ? nil : error) }
    }
  }

  /// Returns when all changes have been uploaded, or when everything that the server now has has been downloaded.
  public func wait(for direction: ProgressDirection) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      wait(for: direction) { error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }
}

/// Turns the status of a session into progress, and calls a block when it changes. Used on the queue of the session.
private final class ProgressReporter: @unchecked Sendable {
  // Unchecked: the queue is serial.
  private let direction: SyncSession.ProgressDirection
  private let mode: SyncSession.ProgressMode
  private let block: @Sendable (SyncSession.Progress) -> Void
  private var last: SyncSession.Progress?
  private var isOver = false
  /// The number of bytes uploaded, and of bytes being uploaded.
  private var uploaded: Int64 = 0, uploading: Int64 = 0

  init(
    _ direction: SyncSession.ProgressDirection,
    _ mode: SyncSession.ProgressMode,
    _ block: @Sendable @escaping (SyncSession.Progress) -> Void
  ) { (self.direction, self.mode, self.block) = (direction, mode, block) }

  func isComplete(_ status: SyncStatus) -> Bool {
    direction == .download ? status.state == .live : status.uploading == 0
  }

  func take(_ status: SyncStatus) {
    if isOver { return }
    let progress: SyncSession.Progress
    switch direction {
    case .download: progress = SyncSession.Progress(download: status)
    case .upload:
      if uploading != status.uploading {
        uploaded += uploading
        uploading = status.uploading
      }
      progress = SyncSession.Progress(uploaded, of: uploaded + uploading, isComplete: uploading == 0)
    }
    if progress == last { return }
    last = progress
    isOver = mode == .forCurrentlyOutstandingWork && progress.isTransferComplete
    block(progress)
  }
}

/// Settings that all sync sessions share.
public final class SyncManager: Sendable {
  /// The shared instance.
  public static let shared = SyncManager()

  /// A block that is called with an error that ends a session, on a thread of the session.
  public typealias ErrorHandler = @Sendable (any Error, SyncSession?) -> Void

  private struct Handler { var call: ErrorHandler? }
  private let handler = Mutex(Handler())

  private init() {}

  /// Called with an error that retrying cannot fix. The session has then ended: the realm is no longer kept up to date
  /// and cannot be written.
  public var errorHandler: ErrorHandler? {
    get { handler.withLock { $0.call } }
    set { handler.withLock { $0.call = newValue } }
  }
}

extension Realm {
  /// The sync session of the realm; nil for a local realm.
  public var syncSession: SyncSession? { context.file.synced?.session }
}
