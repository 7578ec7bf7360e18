// Detects a step of a test that never ends.

import Foundation
import Synchronization

/// Ends the process with a message about the current step when the step takes too long: a hang cannot be ended
/// otherwise.
public final class Watchdog: Sendable {
  private let step = Mutex<(name: String, start: ContinuousClock.Instant)?>(nil)
  private let isDone = Atomic<Bool>(false)

  /// The maximum time for one mutant: far more than any needs.
  private static let limit = Duration.seconds(60)

  /// Begins to watch.
  public init() {
    Thread.detachNewThread { [self] in
      while !isDone.load(ordering: .relaxed) {
        usleep(200_000)
        let late = step.withLock { step in step.flatMap { ContinuousClock.now - $0.start > Self.limit ? $0.name : nil }
        }
        if let late {
          FileHandle.standardError.write(Data("a mutant hangs: \(late)\n".utf8))
          exit(1)
        }
      }
    }
  }

  /// Begins a step.
  public func start(_ name: String) { step.withLock { $0 = (name, .now) } }

  /// Ends the watch: there are no further steps.
  public func stop() {
    step.withLock { $0 = nil }
    isDone.store(true, ordering: .relaxed)
  }
}
