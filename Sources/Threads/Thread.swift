// A thread: what runs beside the caller until its function returns.

import Glibc

/// A thread that runs one function.
///
/// It goes on when the value is forgotten; `join` waits for it.
package struct Thread {
  private let id: pthread_t

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread, which does not receive signals from outside; nil if the system has none to give.
  package init?(_ run: @escaping @Sendable () -> Void) {
    var id = pthread_t()
    let body = unsafe Unmanaged.passRetained(Body(run))
    var all = sigset_t(), old = sigset_t()
    unsafe sigfillset(&all)
    // A fault is the thread's own: reading a realm file that was cut raises SIGBUS, which is handled
    // (CLinux/mapping.c), but ends the process where it is blocked.
    for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL] { unsafe sigdelset(&all, fault) }
    unsafe pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }
    let error = unsafe pthread_create(
      &id,
      nil,
      { argument in
        if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      },
      unsafe body.toOpaque()
    )
    if error != 0 {
      unsafe body.release()
      return nil
    }
    self.id = id
  }

  /// Waits until the function has returned.
  package func join() { pthread_join(id, nil) }

  /// Has the system forget the thread when its function has returned; it cannot be joined then.
  package func detach() { pthread_detach(id) }

  /// Whether the caller runs on it.
  package var isCurrent: Bool { pthread_equal(pthread_self(), id) != 0 }
}
