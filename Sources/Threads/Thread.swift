// Starts and joins POSIX threads.

import Glibc

/// A thread that runs one function.
///
/// It continues to run when this value is discarded; `join` waits for it.
package struct Thread {
  private let id: pthread_t

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread that does not receive signals from outside; nil if the system cannot create one.
  package init?(_ run: @escaping @Sendable () -> Void) {
    var id = pthread_t()
    let body = unsafe Unmanaged.passRetained(Body(run))
    var all = sigset_t(), old = sigset_t()
    unsafe sigfillset(&all)
    // Signals of faults in the thread itself must remain unblocked: reading a truncated realm file raises SIGBUS, which
    // has a handler (CLinux/mapping.c), but terminates the process if blocked.
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

  /// Makes the system release the thread when its function returns. It cannot be joined afterwards.
  package func detach() { pthread_detach(id) }

  /// True if the caller runs on this thread.
  package var isCurrent: Bool { pthread_equal(pthread_self(), id) != 0 }
}

extension Thread? {
  /// Starts a thread unless there is one. Returns false if the system cannot create one.
  package mutating func start(_ run: @escaping @Sendable () -> Void) -> Bool {
    if self == nil { self = Thread(run) }
    return self != nil
  }
}
