// The connection of a synced realm as programs see it: its state, its progress, and waiting for it.

public import Dispatch
import RealmSync
import Synchronization

/// The connection of a synced realm to its server: `Realm.syncSession`. There is one for each realm of a process; it
/// ends with the last `Realm`.
public final class SyncSession: Sendable {
  /// Whether the session connects.
  public enum State: Sendable {
    /// It is connected, or connects when it can.
    case active
    /// It was suspended.
    case inactive
    /// It has ended: with the last `Realm`, or with an error that waiting does not mend.
    case invalid
  }

  /// Whether there is a connection.
  public enum ConnectionState: Sendable {
    /// There is none.
    case disconnected
    /// It is being made.
    case connecting
    /// There is one.
    case connected
  }

  /// What is transferred.
  public enum ProgressDirection: Sendable {
    /// Changes to the server.
    case upload
    /// Changes from the server.
    case download
  }

  /// How long a block is called.
  public enum ProgressMode: Sendable {
    /// Until its token is invalidated.
    case reportIndefinitely
    /// Until what is to be transferred now has been transferred.
    case forCurrentlyOutstandingWork
  }

  private let core: RealmSync.SyncSession
  private let sync: SyncConfiguration
  private let queue = DispatchQueue(label: "realm.sync.progress")

  init(_ core: RealmSync.SyncSession, _ sync: SyncConfiguration) { (self.core, self.sync) = (core, sync) }

  /// What the session does.
  public var state: State {
    switch core.status.state {
    case .connecting, .downloading, .live, .offline: .active
    case .suspended: .inactive
    case .failed, .stopped: .invalid
    }
  }

  /// Whether there is a connection.
  public var connectionState: ConnectionState {
    switch core.status.state {
    case .connecting: .connecting
    case .downloading, .live: .connected
    case .offline, .suspended, .failed, .stopped: .disconnected
    }
  }

  /// Why there is no connection; nil if there is one, or none is wanted.
  public var error: Realm.Error? {
    if let failure = core.failure { return Realm.Error(failure) }
    return core.status.error.map { Realm.Error(.offline, $0) }
  }

  /// How the realm is synced.
  public func configuration() -> SyncConfiguration? { sync }

  /// The user of the realm.
  public func parentUser() -> SyncUser? { sync.user }

  /// Ends the connection, until `resume`. The realm can be read meanwhile, and not be written.
  public func suspend() { core.suspend() }

  /// Connects again: after `suspend`, or now instead of after the wait between attempts.
  public func resume() { core.resume() }

  // MARK: progress

  /// How far a transfer is.
  public struct Progress: Sendable, Equatable {
    /// The bytes that were transferred.
    public let transferredBytes: Int
    /// The bytes that were transferred and those that are to come. A first download counts the whole history of the
    /// realm, which is larger than the realm.
    public let transferrableBytes: Int
    /// From 0 to 1; 1 only when nothing is to come.
    public let progressEstimate: Double
    /// The same as `progressEstimate`.
    public var fractionTransferred: Double { progressEstimate }
    /// Whether nothing is to come.
    public var isTransferComplete: Bool { progressEstimate == 1 }

    init(_ transferred: Int64, of transferrable: Int64, isComplete: Bool) {
      (transferredBytes, transferrableBytes) = (Int(transferred), Int(max(transferrable, transferred)))
      let part = transferrable <= 0 ? 0 : Double(transferred) / Double(transferrable)
      progressEstimate = isComplete ? 1 : min(part, 1.0.nextDown)
    }

    /// The progress of a download.
    init(download status: SyncStatus) {
      self.init(status.downloaded, of: status.downloaded + status.bytesLeft, isComplete: status.state == .live)
    }
  }

  /// Ends the calls of a progress block.
  public final class ProgressNotificationToken: Sendable {
    private let core: RealmSync.SyncSession
    private let observer: Int

    fileprivate init(_ core: RealmSync.SyncSession, _ observer: Int) { (self.core, self.observer) = (core, observer) }

    /// Ends the calls; also when the token goes.
    public func invalidate() { core.removeObserver(observer) }

    deinit { invalidate() }
  }

  /// Calls `block` on a queue of the session, now and whenever more was transferred. Nil if it is not called again.
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

  /// Calls `block` on a queue when all changes were uploaded, or everything was downloaded that the server has now;
  /// with the error that ends the wait otherwise. A server that is away is waited for.
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

  /// Returns when all changes were uploaded, or everything was downloaded that the server has now.
  public func wait(for direction: ProgressDirection) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      wait(for: direction) { error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }
}

/// Turns the status of a session into progress, and calls a block where it differs. Used on the queue of the session.
private final class ProgressReporter: @unchecked Sendable {
  // Unchecked: the queue is serial.
  private let direction: SyncSession.ProgressDirection
  private let mode: SyncSession.ProgressMode
  private let block: @Sendable (SyncSession.Progress) -> Void
  private var last: SyncSession.Progress?
  private var isOver = false
  /// The bytes that were uploaded, and those that are on their way.
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

/// What concerns all sessions.
public final class SyncManager: Sendable {
  /// The one of the process.
  public static let shared = SyncManager()

  /// Called with an error that ends a session, on a thread of the session.
  public typealias ErrorHandler = @Sendable (any Error, SyncSession?) -> Void

  private struct Handler { var call: ErrorHandler? }
  private let handler = Mutex(Handler())

  private init() {}

  /// Called with an error that waiting does not mend: the session has ended then, the realm is not kept up to date any
  /// more, and cannot be written.
  public var errorHandler: ErrorHandler? {
    get { handler.withLock { $0.call } }
    set { handler.withLock { $0.call = newValue } }
  }
}

extension Realm {
  /// The connection of a synced realm; nil for a local one.
  public var syncSession: SyncSession? { context.file.synced?.session }
}
