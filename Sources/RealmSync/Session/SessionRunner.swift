// Runs a session on its thread: connects repeatedly, and reacts to each error. Source: docs/format/7-sync.md 7.4, 7.5.

import Glibc
import RealmPages
import Threads

/// The work of a session's thread.
final class SessionRunner: Sendable {
  private let session: SyncClient

  init(_ session: SyncClient) { self.session = session }

  /// Runs until the session is stopped or has failed.
  func run() {
    var backoff = Backoff(first: session.options.firstWait), hasRetried = false, hasReset = false
    while !session.isStopping {
      let connection = Connection(session)
      if let intrusion = session.intrusion { return session.fail(intrusion) }
      do {
        session.change { ($0.state, $0.nextAttempt, $0.canUpload) = (.connecting, nil, false) }
        try connection.run()
        if session.isStopping { break }
        waitWhileSuspended()
        continue
      } catch {
        if session.isStopping { break }
        if session.isSuspended {
          waitWhileSuspended()
          continue
        }
        // The program requested something of the connection and woke it before it was open.
        if error.reason == .cancelled { continue }
        // An error that repeats without progress is not retried forever.
        if connection.hasAdvanced { hasRetried = false }
        if connection.hasAdvanced || connection.isComplete { backoff.reset() }
        if connection.isComplete { hasReset = false }
        switch error.reason {
        case .offline, .timeout: break
        case .file(ENOSPC), .file(EDQUOT):
          let waits = session.options.waitsForSpace && session.mirror.state.isComplete
          if !waits { return session.fail(error) }
        case .protocolBroken where !hasRetried: hasRetried = true
        case .reset where !hasReset && session.options.mayReplace:
          // The server was restored or emptied: download its current content from scratch.
          hasReset = true
          session.change { ($0.error, $0.canUpload) = (error.description, false) }
          do {
            try session.mirror.replace(session.options) { !session.isStopping }
            continue
          } catch {
            if error.reason == .cancelled { continue }
            if error.reason == .reset {
              let text = "\(error); it answers the same to a new client, too, so nothing can be downloaded"
              return session.fail(SyncError(.reset, text))
            }
            if !error.isTransient { return session.fail(error) }
          }
        default: return session.fail(error)
        }
        let wait = backoff.wait()
        session.change {
          $0.state = .offline
          $0.error = error.description
          ($0.protocolVersion, $0.latency, $0.nextAttempt) = (nil, nil, max(1, wait.components.seconds))
          $0.canUpload = false
        }
        let end = MonotonicTime.now.advanced(by: wait)
        while !session.isPausing, session.intrusion == nil, .now < end, !session.takeReconnectRequest() {
          session.wakeup.wait(until: end)
        }
        waitWhileSuspended()
      }
    }
    session.change { ($0.state, $0.canUpload) = (.stopped, false) }
  }

  private func waitWhileSuspended() {
    if !session.isSuspended || session.isStopping { return }
    session.change {
      ($0.state, $0.canUpload) = (.suspended, false)
      ($0.protocolVersion, $0.latency, $0.nextAttempt, $0.error) = (nil, nil, nil, nil)
    }
    while session.isSuspended, !session.isStopping {
      session.wakeup.wait(until: .now.advanced(by: .seconds(3600)))
    }
  }
}
