// Calls an observer, on any thread, when something happened.

import Synchronization

/// The observer; none at first.
final class Observer: Sendable {
  /// A function that is read out of a generic container is wrapped once more and put back so: after a million times it
  /// would be called through a million wrappers. In a structure it stays as it is.
  private struct Action {
    let run: @Sendable (Bool) -> Void
  }

  private let action = Mutex<Action?>(nil)

  /// Sets what is called, with whether all names still lead to what they led to before.
  func set(_ run: @escaping @Sendable (_ namesStay: Bool) -> Void) { action.withLock { $0 = Action(run: run) } }

  /// Calls it.
  func notify(namesStay: Bool = false) { action.withLock { $0 }?.run(namesStay) }
}
