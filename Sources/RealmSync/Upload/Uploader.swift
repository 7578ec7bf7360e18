// Sends the changes of transactions to the server, one changeset at a time, and returns once the server has sent the
// changeset back. Invariant: a changeset is stored before it is sent, and never changes after that. However the
// connection or the process ends, the server receives it at most once. Source: docs/format/7-sync.md 7.9.

import Glibc
import RealmPages
import Synchronization
import Threads

/// The uplink of a session.
final class Uploader: Uplink {
  /// The maximum time for a change to reach the server and return.
  private let timeout: Duration
  private let session: SyncClient
  private let monitor = Monitor()
  private let state = Mutex(State())

  private struct State {
    var isTaken = false
    var current: Transfer?
    var version: Int64 = 0
  }

  /// The state of a changeset's upload.
  enum Transfer: Sendable {
    case waiting, sent, done
    case failed(SyncError)

    fileprivate var hasEnded: Bool {
      switch self {
      case .waiting, .sent: false
      case .done, .failed: true
      }
    }
  }

  init(_ session: SyncClient, timeout: Duration) { (self.session, self.timeout) = (session, timeout) }

  // MARK: turns

  func enter(until deadline: MonotonicTime, reportsLater: Bool) throws(EngineError) {
    let isOurs = monitor.locked {
      while state.withLock({ $0.isTaken }) {
        if !monitor.wait(until: deadline), deadline <= .now { return false }
      }
      state.withLock { $0.isTaken = true }
      return true
    }
    if !isOurs { throw EngineError(.busy, "\(session.mirror.path): another change is being sent to the server") }
    do { try checkReadiness(until: deadline) } catch {
      if reportsLater { return }
      leave()
      throw error
    }
  }

  func leave() {
    state.withLock { $0.isTaken = false }
    monitor.locked { monitor.wakeAll() }
  }

  /// Throws unless the server is connected and has acknowledged all uploads.
  func checkReadiness(until deadline: MonotonicTime) throws(EngineError) {
    if let intrusion = session.intrusion { throw intrusion.engineError }
    let status = session.wait(until: min(deadline, .now.advanced(by: .seconds(2)))) { $0.canUpload }
    if status.canUpload { return }
    let problem = status.error.map { ": \($0)" } ?? ""
    let state = status.state == .downloading ? "not completely downloaded yet" : "not connected"
    throw EngineError(
      .offline,
      "\(session.mirror.url): \(state), so nothing can be changed\(problem); see .realm/sync.json"
    )
  }

  // MARK: sending

  func prepare(
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> (@Sendable () throws(EngineError) -> UInt64)? {
    // While the transaction is open, changes of other clients cannot be applied, so waiting would not help.
    try checkReadiness(until: .now)
    let base: Int64
    do throws(SyncError) {
      guard let known = try MirrorState(in: transaction.former) else {
        throw SyncError(.mirror, "\(session.mirror.path): no longer a mirror")
      }
      try session.mirror.check(transaction.former, known)
      base = known.version
    } catch {
      session.noteForeignWrite(error)
      throw error.engineError
    }
    let changeset = try ChangesetBuilder.changeset(of: transaction, writer: session.mirror.state.writer.file)
    if changeset.isEmpty { return nil }
    if changeset.count > ClientMessage.maximumChangeset {
      throw EngineError(
        .overLimit,
        "\(session.mirror.url): the change has \(changeset.count) bytes, and a server accepts at most "
          + "\(ClientMessage.maximumChangeset) at once; divide it"
      )
    }
    return { () throws(EngineError) in
      do throws(SyncError) { return try self.send(changeset, base) } catch { throw error.engineError }
    }
  }

  private func send(_ changeset: [UInt8], _ base: Int64) throws(SyncError) -> UInt64 {
    // Store the changeset first: after a failure it must be sent again unchanged.
    state.withLock { ($0.current, $0.version) = (.waiting, session.mirror.state.writerVersion + 1) }
    try session.mirror.update { state in
      state.writerVersion += 1
      state.writerTime = max(Self.now, state.writerTime)
      state.pending = PendingUpload(
        version: state.writerVersion,
        base: base,
        time: state.writerTime,
        changeset: changeset
      )
      state.refused = nil
    }
    session.change { $0.uploading = Int64(changeset.count) }
    defer { session.change { $0.uploading = 0 } }
    session.wakeup.wake()
    let deadline = MonotonicTime.now.advanced(by: timeout)
    monitor.locked {
      while !(state.withLock { $0.current?.hasEnded } ?? true), !session.isEnded, .now < deadline {
        _ = monitor.wait(until: min(deadline, .now.advanced(by: .milliseconds(500))))
      }
    }
    switch state.withLock({ $0.current }) {
    case .done, nil:
      session.change { $0.uploads += 1 }
      return UInt64(bitPattern: session.mirror.state.fileVersion)
    case .failed(let error): throw error
    case .waiting, .sent: throw try withdraw()
    }
  }

  /// Milliseconds since 2015-01-01T00:00:00Z.
  private static var now: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000 - 1_420_070_400_000
  }

  /// Withdraws a changeset that was not sent; if it was sent, the server may have it. Returns the error to throw.
  private func withdraw() throws(SyncError) -> SyncError {
    let isSent = state.withLock { state in
      if case .waiting = state.current {
        state.current = nil
        return false
      }
      return true
    }
    if isSent {
      return SyncError(
        .timeout,
        "\(session.mirror.url): the change was sent, but not acknowledged within \(timeout.components.seconds) s; it "
          + "may be there, and is sent again when the server answers"
      )
    }
    try session.mirror.update { $0.pending = nil }
    return SyncError(.offline, "\(session.mirror.url): the connection was closed; the change was not sent")
  }

  // MARK: called by the connection

  /// Returns the pending upload, and marks it as sent; nil if the connection has already sent it.
  func take(sentBefore version: Int64) -> PendingUpload? {
    guard let pending = session.mirror.state.pending, pending.version > version else { return nil }
    let isWanted = state.withLock { state in
      // It was withdrawn.
      if state.current == nil, state.version == pending.version { return false }
      if case .waiting = state.current { state.current = .sent }
      return true
    }
    return isWanted ? pending : nil
  }

  /// True if the upload with this number was not sent yet.
  func isWaiting(_ version: Int64) -> Bool {
    state.withLock { state in if case .waiting = state.current { state.version == version } else { false } }
  }

  /// Records the outcome of the upload with this number.
  func end(_ transfer: Transfer, of version: Int64) {
    state.withLock { if $0.current != nil, $0.version == version { $0.current = transfer } }
    monitor.locked { monitor.wakeAll() }
  }
}

extension SyncError {
  /// The error as the engine reports it to writers.
  var engineError: EngineError {
    switch reason {
    case .offline, .cancelled, .certificate, .token, .unsupported, .configuration: EngineError(.offline, description)
    case .timeout, .protocolBroken, .reset: EngineError(.unacknowledged, description)
    case .refused: EngineError(.refusedByServer, description)
    case .mirror: EngineError(.readOnly, description)
    case .file(let code): EngineError(code.map { .file($0) } ?? .damaged, description)
    }
  }
}
