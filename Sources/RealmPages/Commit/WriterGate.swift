// Ensures that one writer at a time is active within the process.

import Threads

/// A lock that one thread may acquire and another may release.
final class WriterGate: @unchecked Sendable {
  // Unchecked: `monitor` guards `isTaken`.
  private let monitor = Monitor()
  private var isTaken = false

  /// Acquires the lock; false if another writer still holds it at `deadline`.
  func enter(until deadline: MonotonicTime? = nil) -> Bool {
    monitor.locked {
      while isTaken {
        if let deadline, deadline <= .now { return false }
        monitor.wait(until: deadline)
      }
      isTaken = true
      return true
    }
  }

  /// Releases the lock.
  func leave() {
    monitor.locked {
      isTaken = false
      monitor.wakeAll()
    }
  }
}
