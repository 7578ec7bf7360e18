// A mutex with a condition variable, for use within this process; the standard library has none.

import Glibc

/// A mutex that a thread can wait in.
@safe package final class Monitor: @unchecked Sendable {
  // Unchecked: both objects are designed for use by several threads.
  // Safe: both objects are created and destroyed with this one and never move.
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

  /// Releases the lock until `wakeAll` or `wakeOne` is called, or until `deadline`. Returns false if the deadline has
  /// passed. May also return spuriously.
  @discardableResult
  package func wait(until deadline: MonotonicTime? = nil) -> Bool {
    guard let deadline else { return unsafe pthread_cond_wait(condition, mutex) == 0 }
    var time = deadline.timespec
    return unsafe pthread_cond_timedwait(condition, mutex, &time) == 0
  }

  /// Wakes one waiting thread.
  package func wakeOne() { unsafe pthread_cond_signal(condition) }

  /// Wakes all waiting threads.
  package func wakeAll() { unsafe pthread_cond_broadcast(condition) }
}
