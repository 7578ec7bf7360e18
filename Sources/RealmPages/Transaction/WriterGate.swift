// One writer at a time within the process.

/// A gate that lets one in; from any thread, and out from any other.
final class WriterGate: @unchecked Sendable {
  // Unchecked: `signal` guards `isTaken`.
  private let signal = Signal()
  private var isTaken = false

  /// Goes in when nobody else is; false if somebody stays there until `deadline`.
  func enter(until deadline: MonotonicTime? = nil) -> Bool {
    signal.locked {
      while isTaken {
        let left = deadline.map { Duration.milliseconds($0.milliseconds) }
        if left == .zero { return false }
        signal.wait(for: left)
      }
      isTaken = true
      return true
    }
  }

  /// Lets the next one in.
  func leave() {
    signal.locked {
      isTaken = false
      signal.wakeAll()
    }
  }
}
