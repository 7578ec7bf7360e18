// A lock with a condition, which the standard library does not have, and threads.

import Glibc

/// A mutual exclusion that can be waited in.
package final class Monitor: @unchecked Sendable {
  // Unchecked: the two objects exist to be shared.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` with the lock held.
  package func locked<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Lets go of the lock until somebody calls `wakeAll`, or until `deadline` (nanoseconds of the monotonic clock). May
  /// also return without either.
  package func wait(until deadline: UInt64? = nil) {
    guard let deadline else {
      pthread_cond_wait(condition, mutex)
      return
    }
    var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    pthread_cond_timedwait(condition, mutex, &time)
  }

  /// Wakes everybody that waits.
  package func wakeAll() { pthread_cond_broadcast(condition) }
}

/// A thread that runs one function.
package struct Thread {
  private let id: pthread_t

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread, which does not receive signals from outside; nil if the system has none to give.
  package init?(_ run: @escaping @Sendable () -> Void) {
    var id = pthread_t()
    let body = Unmanaged.passRetained(Body(run))
    var all = sigset_t(), old = sigset_t()
    sigfillset(&all)
    // A fault is the thread's own: reading a realm file that was cut raises SIGBUS, which is handled
    // (CLinux/mapping.c), but ends the process where it is blocked.
    for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL] { sigdelset(&all, fault) }
    pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
    let error = pthread_create(
      &id,
      nil,
      { argument in
        if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      },
      body.toOpaque()
    )
    if error != 0 {
      body.release()
      return nil
    }
    self.id = id
  }

  /// Waits until the function has returned.
  package func join() { pthread_join(id, nil) }
}
