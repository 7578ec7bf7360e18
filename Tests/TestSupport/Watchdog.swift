// A step of a test that never ends.

import Foundation
import Synchronization

/// Ends the process, with a word on what it was doing, when a step takes too long: a hang cannot be ended otherwise.
public final class Watchdog: Sendable {
  private let step = Mutex<(name: String, start: ContinuousClock.Instant)?>(nil)
  private let isDone = Atomic<Bool>(false)

  /// Time that one mutant may take: far more than any needs, far less than for ever.
  private static let limit = Duration.seconds(60)

  /// Watches until it is ended.
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

  /// A step begins.
  public func start(_ name: String) { step.withLock { $0 = (name, .now) } }

  /// No step will come any more.
  public func stop() {
    step.withLock { $0 = nil }
    isDone.store(true, ordering: .relaxed)
  }
}
