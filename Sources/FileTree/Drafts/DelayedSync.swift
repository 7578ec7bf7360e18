// Syncs commits after a short delay, all commits of that period at once: `-o group_commit=MS`.

import RealmPages
import Synchronization
import Threads

/// A thread that syncs a realm a fixed delay after the oldest commit that is not yet on disk.
final class DelayedSync: @unchecked Sendable {
  // Unchecked: `monitor` guards the variables.
  private let writer: RealmWriter
  private let delay: Duration
  private let timeout: Duration
  private let onFailure: @Sendable (EngineError) -> Void
  private let monitor = Monitor()
  private var thread: Thread?
  /// The time of the next sync; nil if all commits are on disk.
  private var due: MonotonicTime?
  private var isStopping = false

  /// Syncs `writer` `delay` after a commit. Calls `onFailure` on the thread that syncs if a sync fails.
  init(
    _ writer: RealmWriter,
    delay: Duration,
    timeout: Duration,
    onFailure: @escaping @Sendable (EngineError) -> Void
  ) {
    (self.writer, self.delay, self.timeout, self.onFailure) = (writer, delay, timeout, onFailure)
  }

  /// Schedules a sync for a commit that is not on disk. Returns false if no thread can be created; the caller must then
  /// sync itself.
  func noteCommit() -> Bool {
    let hasThread = monitor.locked {
      plan()
      if thread == nil { thread = Thread { [self] in run() } }
      return thread != nil
    }
    monitor.wakeAll()
    return hasThread
  }

  /// Ends the thread. The caller must sync the remaining commits.
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
      do { try writer.sync(timeout: timeout) } catch {
        onFailure(error)
        // Retries only if another program was writing; other failures are permanent.
        if error.reason == .busy { monitor.locked { plan() } }
      }
    }
  }

  private func plan() {
    if due == nil { due = .now.advanced(by: delay) }
  }

  /// Waits for the next sync. Returns false if the thread must end.
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
