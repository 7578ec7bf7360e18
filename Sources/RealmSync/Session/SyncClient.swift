// Keeps a mirror up to date: connects, downloads, applies, and reconnects when the connection is lost. One thread does
// all of this; other threads read the status and wait for it. Source: docs/format/7-sync.md 7.4, 7.5.

import Glibc
import RealmPages
import Synchronization
package import Threads

/// A sync client for one mirror. Its thread runs from `start` to `stop` and keeps the session alive.
public final class SyncClient: Sendable {
  /// The local copy.
  public let mirror: Mirror

  let options: SyncOptions
  let wakeup: Wakeup
  private let monitor = Monitor()
  private let shared = Mutex(Shared())
  private let thread = Mutex<Threads.Thread?>(nil)

  private struct Shared {
    var status = SyncStatus()
    var isStopping = false
    var isSuspended = false
    var mustConnectNow = false
    /// The number of the last requested MARK; each connection begins with 1.
    var wantedMark: Int64 = 1
    var observers: [Int: StatusObserver] = [:]
    var lastObserver = 0
    var failure: SyncError?
    var intrusion: SyncError?
    var uploader: Uploader?
    var hasRetriedUpload = false
  }

  /// A callback for changes of the status.
  private struct StatusObserver {
    let call: @Sendable (SyncStatus) -> Void
  }

  /// Creates a session that is not started.
  public init(_ mirror: Mirror, _ options: SyncOptions) throws(SyncError) {
    (self.mirror, self.options) = (mirror, options)
    wakeup = try Wakeup()
    let state = mirror.state
    shared.withLock { ($0.status.version, $0.status.isComplete) = (state.version, state.isComplete) }
    guard let timeout = options.uploadTimeout else { return }
    let uploader = Uploader(self, timeout: timeout)
    shared.withLock { $0.uploader = uploader }
    mirror.writer.uplink = uploader
  }

  /// Sends changes; nil if the mirror is read-only.
  var uploader: Uploader? { shared.withLock { $0.uploader } }
  /// True if the session has stopped or failed.
  var isEnded: Bool { shared.withLock { $0.status.state == .failed || $0.status.state == .stopped } }

  /// Starts the session. It runs until `stop`, or until an error that does not resolve itself.
  public func start() throws(SyncError) {
    let runner = SessionRunner(self)
    guard let thread = Threads.Thread({ runner.run() }) else {
      throw SyncError(.file(EAGAIN), "cannot create a thread for the connection to \(mirror.url)")
    }
    self.thread.withLock { $0 = thread }
  }

  /// Ends the session; returns once the mirror is no longer accessed.
  public func stop() {
    shared.withLock { $0.isStopping = true }
    wakeup.end()
    monitor.locked { monitor.wakeAll() }
    mirror.abandon()
    mirror.writer.uplink = nil
    let thread = thread.withLock { $0.take() }
    // If the last reference is released on the session's own thread, the thread cannot join itself.
    if let thread, !thread.isCurrent { thread.join() } else { thread?.detach() }
    // Breaks the reference cycle of uploader and session.
    shared.withLock { $0.uploader = nil }
  }

  /// Closes the connection and opens no other until `resume`. The mirror cannot be written meanwhile.
  package func suspend() {
    shared.withLock { $0.isSuspended = true }
    wakeup.wake()
  }

  /// Connects again after `suspend`, or immediately if the session is waiting between attempts.
  package func resume() {
    shared.withLock { ($0.isSuspended, $0.mustConnectNow) = (false, true) }
    wakeup.wake()
  }

  // MARK: status

  /// The current state and progress.
  public var status: SyncStatus { shared.withLock { $0.status } }
  /// The error that ended the session.
  public var failure: SyncError? { shared.withLock { $0.failure } }
  /// The error to end with because another program has written to the mirror; otherwise nil.
  var intrusion: SyncError? { shared.withLock { $0.intrusion } }
  var isStopping: Bool { shared.withLock { $0.isStopping } }
  var isSuspended: Bool { shared.withLock { $0.isSuspended } }
  /// True if there should be no connection.
  var isPausing: Bool { shared.withLock { $0.isStopping || $0.isSuspended } }
  /// True if the program has requested an immediate attempt to connect; resets the request.
  func takeReconnectRequest() -> Bool {
    shared.withLock { shared in
      defer { shared.mustConnectNow = false }
      return shared.mustConnectNow
    }
  }
  var wantedMark: Int64 { shared.withLock { $0.wantedMark } }

  /// Requests everything that the server has now. Returns the number that `status.mark` reaches once it has been
  /// downloaded.
  package func requestMark() -> Int64 {
    let number = shared.withLock { shared in
      shared.wantedMark += 1
      return shared.wantedMark
    }
    wakeup.wake()
    return number
  }

  /// Calls `call` with each new status, on the thread of the session. Returns an identifier for `removeObserver`.
  package func addObserver(_ call: @escaping @Sendable (SyncStatus) -> Void) -> Int {
    shared.withLock { shared in
      shared.lastObserver += 1
      shared.observers[shared.lastObserver] = StatusObserver(call: call)
      return shared.lastObserver
    }
  }

  /// Removes an observer.
  package func removeObserver(_ id: Int) { _ = shared.withLock { $0.observers.removeValue(forKey: id) } }

  /// Waits until `isDone` returns true for the status, and returns that status. Checks after each change and several
  /// times per second.
  ///
  /// - Throws: a timeout if no changes of the realm arrive for `timeout`, or the error that ended the session.
  package func wait(
    timeout: Duration,
    _ isDone: (SyncStatus) -> Bool
  ) throws(SyncError) -> SyncStatus {
    var last = status, deadline = MonotonicTime.now.advanced(by: timeout)
    while true {
      let status = wait(until: min(deadline, .now.advanced(by: .milliseconds(100)))) { $0 != last }
      if isDone(status) { return status }
      if let failure { throw failure }
      let hasProgress = status.downloaded > last.downloaded || status.version > last.version
      if status.isApplying || hasProgress { deadline = .now.advanced(by: timeout) }
      last = status
      if deadline <= .now {
        throw SyncError(
          .timeout,
          (status.error ?? "\(mirror.url): no answer") + "; gave up after \(timeout.components.seconds) s"
            + (mirror.state.hasBegun ? "; the data downloaded so far is kept, and the next download resumes there" : "")
        )
      }
    }
  }

  /// Waits until `isWanted` returns true for the status, the session ends, or `deadline` passes; returns the last
  /// status. Calls `observe` for each status on the way.
  package func wait(
    until deadline: MonotonicTime?,
    _ observe: (SyncStatus) -> Void = { _ in },
    _ isWanted: (SyncStatus) -> Bool
  ) -> SyncStatus {
    var seen: SyncStatus?
    while true {
      let status = self.status
      if status != seen {
        observe(status)
        seen = status
      }
      if isWanted(status) || status.state == .failed || status.state == .stopped { return status }
      if let deadline, deadline <= .now { return status }
      let pause = MonotonicTime.now.advanced(by: .milliseconds(250))
      monitor.locked {
        if self.status == status { _ = monitor.wait(until: min(deadline ?? pause, pause)) }
      }
    }
  }

  // MARK: called by the session's thread

  /// True if the server has rejected the numbers of an upload once; a second rejection renews the client identity.
  var hasRetriedUpload: Bool {
    get { shared.withLock { $0.hasRetriedUpload } }
    set { shared.withLock { $0.hasRetriedUpload = newValue } }
  }

  /// Changes the status and wakes waiting threads.
  func change(_ body: (inout SyncStatus) -> Void) {
    shared.withLock { body(&$0.status) }
    announce()
  }

  private func announce() {
    monitor.locked { monitor.wakeAll() }
    let (status, observers) = shared.withLock { ($0.status, $0.observers) }
    for observer in observers.values { observer.call(status) }
  }

  /// Ends the session if another program has written to the mirror. Cost: reads the newest version.
  public func checkMirror() {
    do { try mirror.checkLatest() } catch { noteForeignWrite(error) }
  }

  /// Ends the session if `error` reports that another program has written to the mirror.
  func noteForeignWrite(_ error: SyncError) {
    if error.reason != .mirror { return }
    shared.withLock { $0.intrusion = error }
    fail(error)
    wakeup.wake()
  }

  func fail(_ error: SyncError) {
    shared.withLock {
      $0.failure = error
      ($0.status.state, $0.status.error, $0.status.nextAttempt) = (.failed, error.description, nil)
      $0.status.canUpload = false
    }
    announce()
  }
}
