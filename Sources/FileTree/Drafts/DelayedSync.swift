// Brings commits to disk a short while after they were made, all that came meanwhile at once: `-o group_commit=MS`.

import RealmPages
import Synchronization
import Threads

/// A thread that syncs a realm when it is time to.
final class DelayedSync: @unchecked Sendable {
  // Unchecked: `monitor` guards the variables.
  private let writer: RealmWriter
  private let delay: Duration
  private let timeout: Duration
  private let onFailure: @Sendable (EngineError) -> Void
  private let monitor = Monitor()
  private var thread: Thread?
  /// When the oldest commit that is not on disk has waited long enough.
  private var due: MonotonicTime?
  private var isStopping = false

  /// Syncs `writer` `delay` after a commit; `onFailure` learns why one could not be, on a thread of its own.
  init(
    _ writer: RealmWriter,
    delay: Duration,
    timeout: Duration,
    onFailure: @escaping @Sendable (EngineError) -> Void
  ) {
    (self.writer, self.delay, self.timeout, self.onFailure) = (writer, delay, timeout, onFailure)
  }

  /// Notes a commit that is not on disk. False if the system has no thread to give: then the caller must sync.
  func noteCommit() -> Bool {
    let hasThread = monitor.locked {
      plan()
      if thread == nil { thread = Thread { [self] in run() } }
      return thread != nil
    }
    monitor.wakeAll()
    return hasThread
  }

  /// Ends the thread. What was not synced is left to the caller.
  func stop() {
    let thread = monitor.locked {
      isStopping = true
      return self.thread
    }
    monitor.wakeAll()
    thread?.join()
  }

  private func run() {
    while isDue() {
      do throws(EngineError) { try writer.sync(timeout: timeout) } catch {
        onFailure(error)
        // Another program was writing; other failures do not go away by themselves.
        if error.reason == .busy { monitor.locked { plan() } }
      }
    }
  }

  private func plan() {
    if due == nil { due = .now.advanced(by: delay) }
  }

  /// Waits until it is time; false when the thread must end.
  private func isDue() -> Bool {
    monitor.locked {
      while !isStopping {
        if let due, due <= .now {
          self.due = nil
          return true
        }
        monitor.wait(until: due)
      }
      return false
    }
  }
}
