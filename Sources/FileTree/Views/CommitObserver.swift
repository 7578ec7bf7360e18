// A thread-safe holder of one callback, which is called on any thread.

import Synchronization

/// Holds the observer, initially none.
final class CommitObserver: Sendable {
  /// A closure that is read from a generic container and stored back is wrapped in another reabstraction thunk each
  /// time; after a million times, a call would pass through a million thunks. A struct member avoids this.
  private struct Action {
    let run: @Sendable (Bool) -> Void
  }

  private let action = Mutex<Action?>(nil)

  /// Sets the observer. `namesStay` is true if all names still refer to the same inodes.
  func set(_ run: @escaping @Sendable (_ namesStay: Bool) -> Void) { action.withLock { $0 = Action(run: run) } }

  /// Calls the observer.
  func notify(namesStay: Bool = false) { action.withLock { $0 }?.run(namesStay) }
}
