// A session keeps a mirror up to date: it connects, downloads, applies, and connects again when the connection is gone.
// One thread does all of it; other threads look at its status and wait for it. Source: docs/format/7-sync.md 7.4, 7.5.

import Glibc
import RealmPages
import Synchronization
package import Threads

/// A client of a sync server, for one mirror. From `start` on its thread keeps it alive, until `stop`.
public final class SyncSession: Sendable {
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
    var isHurried = false
    /// The number of the last MARK that is wanted; 1 is that of each connection's beginning.
    var wantedMark: Int64 = 1
    var observers: [Int: Observer] = [:]
    var lastObserver = 0
    var failure: SyncError?
    var intrusion: SyncError?
    var uploader: Uploader?
    var hasRetriedUpload = false
  }

  /// What is called at each change of the status.
  private struct Observer {
    let call: @Sendable (SyncStatus) -> Void
  }

  /// A session that has not begun.
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

  /// Sends changes; nil if the mirror is not to be written.
  var uploader: Uploader? { shared.withLock { $0.uploader } }
  /// Whether nothing more happens.
  var isEnded: Bool { shared.withLock { $0.status.state == .failed || $0.status.state == .stopped } }

  /// Begins. The session goes on until `stop`, or until an error that waiting does not mend.
  public func start() throws(SyncError) {
    let runner = SessionRunner(self)
    guard let thread = Threads.Thread({ runner.run() }) else {
      throw SyncError(.file(EAGAIN), "no thread for the connection to \(mirror.url)")
    }
    self.thread.withLock { $0 = thread }
  }

  /// Ends the session; returns when the mirror is not touched any more.
  public func stop() {
    shared.withLock { $0.isStopping = true }
    wakeup.end()
    monitor.locked { monitor.wakeAll() }
    mirror.abandon()
    mirror.writer.uplink = nil
    let thread = thread.withLock { $0.take() }
    // A session whose last user is its own thread cannot wait for itself.
    if let thread, !thread.isCurrent { thread.join() } else { thread?.detach() }
    // The uploader and the session hold each other.
    shared.withLock { $0.uploader = nil }
  }

  /// Ends the connection and makes no other until `resume`. Nothing can be written meanwhile.
  package func suspend() {
    shared.withLock { $0.isSuspended = true }
    wakeup.wake()
  }

  /// Connects again after `suspend`, or at once instead of after the wait between attempts.
  package func resume() {
    shared.withLock { ($0.isSuspended, $0.isHurried) = (false, true) }
    wakeup.wake()
  }

  // MARK: looking

  /// What the session does.
  public var status: SyncStatus { shared.withLock { $0.status } }
  /// The error that ended the session.
  public var failure: SyncError? { shared.withLock { $0.failure } }
  /// That another program has written the mirror, for the thread of the session, which ends with it.
  var intrusion: SyncError? { shared.withLock { $0.intrusion } }
  var isStopping: Bool { shared.withLock { $0.isStopping } }
  var isSuspended: Bool { shared.withLock { $0.isSuspended } }
  /// Whether no connection is wanted.
  var isPausing: Bool { shared.withLock { $0.isStopping || $0.isSuspended } }
  /// Whether the program wants an attempt to connect now; once.
  func takeHurry() -> Bool {
    shared.withLock { shared in
      defer { shared.isHurried = false }
      return shared.isHurried
    }
  }
  var wantedMark: Int64 { shared.withLock { $0.wantedMark } }

  /// Asks the server for all that it has now. The number that `status.mark` reaches when it is here.
  package func requestMark() -> Int64 {
    let number = shared.withLock { shared in
      shared.wantedMark += 1
      return shared.wantedMark
    }
    wakeup.wake()
    return number
  }

  /// Has `call` called with each new status, on the thread of the session. Returns what `removeObserver` takes.
  package func addObserver(_ call: @escaping @Sendable (SyncStatus) -> Void) -> Int {
    shared.withLock { shared in
      shared.lastObserver += 1
      shared.observers[shared.lastObserver] = Observer(call: call)
      return shared.lastObserver
    }
  }

  /// Ends the calls of an observer.
  package func removeObserver(_ id: Int) { _ = shared.withLock { $0.observers.removeValue(forKey: id) } }

  /// Waits until a look at the status says that it `isDone`; the last status. Gives up when no change of the realm has
  /// come for `timeout`, whatever else the server says, and throws what ended the session. It looks at each change, and
  /// some times a second.
  package func wait(
    patience timeout: Duration,
    _ isDone: (SyncStatus) -> Bool
  ) throws(SyncError) -> SyncStatus {
    var last = status, deadline = MonotonicTime.now.advanced(by: timeout)
    while true {
      let status = wait(until: min(deadline, .now.advanced(by: .milliseconds(100)))) { $0 != last }
      if isDone(status) { return status }
      if let failure { throw failure }
      let hasCome = status.downloaded > last.downloaded || status.version > last.version
      if status.isApplying || hasCome { deadline = .now.advanced(by: timeout) }
      last = status
      if deadline <= .now {
        throw SyncError(
          .timeout,
          (status.error ?? "\(mirror.url): no answer") + "; gave up after \(timeout.components.seconds) s"
            + (mirror.state.hasBegun ? "; what is there is kept, and the next download goes on from it" : "")
        )
      }
    }
  }

  /// Waits until the status is one that `isWanted`, or until `deadline`; the last status. Calls `observe` at each
  /// change on the way.
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

  // MARK: the thread's part

  /// Whether the server once found fault with the numbers of an upload: with a second time, the identity is given up.
  var hasRetriedUpload: Bool {
    get { shared.withLock { $0.hasRetriedUpload } }
    set { shared.withLock { $0.hasRetriedUpload = newValue } }
  }

  /// Changes the status and wakes those who wait.
  func change(_ body: (inout SyncStatus) -> Void) {
    shared.withLock { body(&$0.status) }
    announce()
  }

  private func announce() {
    monitor.locked { monitor.wakeAll() }
    let (status, observers) = shared.withLock { ($0.status, $0.observers) }
    for observer in observers.values { observer.call(status) }
  }

  /// Ends the session if another program has written the mirror. Costs a look at its newest version.
  public func checkMirror() {
    do throws(SyncError) { try mirror.checkLatest() } catch { noteIntrusion(error) }
  }

  /// Ends the session if `error` is that another program has written the mirror.
  func noteIntrusion(_ error: SyncError) {
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
