// A lock with a condition, within this process; the standard library has none.

import Glibc

/// A mutual exclusion that can be waited in.
@safe package final class Monitor: @unchecked Sendable {
  // Unchecked: the two objects exist to be shared.
  // Safe: the two objects are made and destroyed with this one and never move.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  /// Runs `body` with the lock held.
  package func locked<R>(_ body: () -> R) -> R {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Releases the lock until `wakeAll` is called, or until `deadline`; false if that has passed. May also return
  /// without either.
  @discardableResult
  package func wait(until deadline: MonotonicTime? = nil) -> Bool {
    guard let deadline else { return unsafe pthread_cond_wait(condition, mutex) == 0 }
    var time = deadline.timespec
    return unsafe pthread_cond_timedwait(condition, mutex, &time) == 0
  }

  /// Wakes one of those that wait.
  package func wakeOne() { unsafe pthread_cond_signal(condition) }

  /// Wakes everybody who waits.
  package func wakeAll() { unsafe pthread_cond_broadcast(condition) }
}
