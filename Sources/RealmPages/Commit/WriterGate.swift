// One writer at a time within the process.

import Threads

/// A gate that lets one in; from any thread, and out from any other.
final class WriterGate: @unchecked Sendable {
  // Unchecked: `monitor` guards `isTaken`.
  private let monitor = Monitor()
  private var isTaken = false

  /// Enters when no other writer is inside; false if one stays there until `deadline`.
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

  /// Lets the next one in.
  func leave() {
    monitor.locked {
      isTaken = false
      monitor.wakeAll()
    }
  }
}
