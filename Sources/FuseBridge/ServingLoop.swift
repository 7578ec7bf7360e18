// Serves the requests of a session with threads that come with the load, and ends when it is asked to.
//
// At most one thread, the listener, waits at the device, so a request wakes one thread, or none: before it sleeps, the
// listener asks again for some microseconds as long as requests come in such intervals. A program that gets an answer
// mostly asks again at once, and waking a thread takes longer than most answers do.
//
// Invariant: while a request waits at the device, there is a listener, or the watcher calls one within two
// milliseconds, unless all threads are busy.
//
// The thread that takes a request serves it. If more requests are there, or the request may wait for the disk or for
// other writers and requests of several programs have met lately, the thread first calls another one to listen.
// Otherwise it listens again when it has answered, and the watcher steps in if that takes long: to one program alone, a
// second thread is of no use, and waking it would cost as much as a request.

import CFuse
import Glibc
import Synchronization
import Threads

/// The threads that serve a session. `end` may be called at any time and from any thread.
@safe public final class ServingLoop: @unchecked Sendable {
  // Unchecked: `session`, `limits` and `wakeUp` are set before other threads exist; the counts are touched under the
  // monitor's lock.
  // Safe: `run` returns when no thread uses the session any more, and its caller keeps it until then.

  /// How many threads serve.
  struct Limits {
    /// The most there are.
    var most = 1
    /// How many may wait for work, the listener not counted.
    var idle = 1
    /// For how long the listener asks again before it sleeps.
    var patience = Duration.zero
  }

  private let monitor = Monitor()
  /// Woken when `threads` becomes 0; `monitor` wakes those that wait to be called.
  private let ending = Monitor()
  private var threads = 0
  /// Threads that wait to be called, and calls that no thread has followed yet.
  private var parked = 0, called = 0
  /// What the device failed with, as -errno.
  private var failure: Int32 = 0

  private let isOver = Atomic(false)
  private let hasListener = Atomic(false)
  /// Counts the requests that were taken from the device.
  private let taken = Atomic<UInt64>(0)
  /// Until when requests of several programs are expected, by the coarse monotonic clock.
  private let concurrentUntil = Atomic<Int64>(0)
  private let watcherSleeps = Atomic(false)
  private let watch = Monitor()

  private var session: OpaquePointer?
  private var limits = Limits()
  /// Both ends of a pipe; a byte in it ends the waiting at the device.
  private var wakeUp: [Int32] = [-1, -1]

  /// Whether the last two requests came within `Limits.patience`; touched by the listener alone.
  private var cameSoon = (last: true, before: true)

  init() {
    _ = unsafe pipe(&wakeUp)
    for end in wakeUp { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  deinit { for end in wakeUp { close(end) } }

  /// Ends the loop, or keeps it from beginning. Returns when it has ended.
  public func end() {
    finish()
    waitForThreads()
  }

  /// Serves on this thread and on others until the tree is unmounted or `end` is called. 0, or -errno.
  func run(_ session: OpaquePointer, _ limits: Limits) -> Int32 {
    unsafe (self.session, self.limits) = (session, limits)
    let device = unsafe fuse_session_fd(session), flags = fcntl(device, F_GETFL)
    guard wakeUp[0] >= 0, fcntl(device, F_SETFL, flags | O_NONBLOCK) == 0 else { return -errno }
    // What comes after the loop waits for requests.
    defer { _ = fcntl(device, F_SETFL, flags) }
    monitor.locked { threads = 1 }
    let watcher = limits.most > 1 ? Thread { [self] in watchListeners() } : nil
    work()
    watcher?.join()
    waitForThreads()
    return monitor.locked { failure }
  }

  /// Has all threads end when they have answered their requests.
  private func finish() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    // The byte stays there, for every thread that comes to the device later.
    var byte: UInt8 = 0
    _ = unsafe write(wakeUp[1], &byte, 1)
    monitor.locked { monitor.wakeAll() }
    watch.locked { watch.wakeAll() }
  }

  // MARK: a thread

  private func work() {
    var buffer = unsafe fuse_buf()
    defer { unsafe free(buffer.mem) }
    var former = Caller(0)
    while !isOver.load(ordering: .sequentiallyConsistent) {
      // Another thread may listen: what is there already is there for all.
      var count = unsafe receive(&buffer)
      if count == -EAGAIN {
        former = 0
        if hasListener.exchange(true, ordering: .sequentiallyConsistent) {
          if park() { continue }
          break
        }
        count = unsafe listen(&buffer)
        hasListener.store(false, ordering: .sequentiallyConsistent)
      }
      if count > 0 {
        taken.add(1, ordering: .sequentiallyConsistent)
        unsafe serve(&buffer, after: &former)
      } else if count != -EAGAIN && count != -EINTR {
        monitor.locked { failure = count }
        finish()
      }
    }
    leave()
  }

  /// Counts a thread less.
  private func leave() {
    monitor.locked { threads -= 1 }
    ending.locked { ending.wakeAll() }
  }

  private func waitForThreads() {
    ending.locked { while monitor.locked({ threads }) > 0 { ending.wait() } }
  }

  /// Serves a request, and calls another thread if more requests are there or have to be expected while it is served.
  ///
  /// `former` is whose request this thread has answered just now, without finding none at the device since. If this one
  /// is from another program, it came meanwhile: what a program leaves behind without waiting for it is brief.
  private func serve(_ buffer: inout fuse_buf, after former: inout Caller) {
    let operation = unsafe Self.operation(buffer)
    if limits.most == 1 || Self.brief.contains(operation) { return unsafe fuse_session_process_buf(session, &buffer) }
    let isSlow = Self.slow.contains(operation), caller = unsafe Self.caller(buffer)
    if former != 0, caller != 0, former != caller { noteConcurrency() }
    former = caller
    let isConcurrent = MonotonicTime.coarse.nanoseconds < concurrentUntil.load(ordering: .relaxed)
    if areMoreWaiting || isSlow && isConcurrent { call() }
    unsafe fuse_session_process_buf(session, &buffer)
  }

  /// Takes a request from the device without waiting: its bytes, 0 if the tree is unmounted, or -errno.
  private func receive(_ buffer: inout fuse_buf) -> Int32 {
    let count = unsafe fuse_session_receive_buf(session, &buffer)
    // The tree was unmounted between two steps of the kernel: it had taken a request, not yet handed it over.
    return count == -ECONNABORTED ? 0 : count
  }

  /// Waits for a request and takes it. -EAGAIN when the loop ends, or nothing is there after all.
  private func listen(_ buffer: inout fuse_buf) -> Int32 {
    let start = MonotonicTime.now, end = start.advanced(by: limits.patience)
    if cameSoon.last || cameSoon.before {
      while MonotonicTime.now < end {
        let count = unsafe receive(&buffer)
        if count != -EAGAIN {
          cameSoon = (true, cameSoon.last)
          return count
        }
        // A program that shares the processor with this thread goes first.
        sched_yield()
      }
    }
    let ready = wait()
    cameSoon = (MonotonicTime.now < end, cameSoon.last)
    if watcherSleeps.load(ordering: .sequentiallyConsistent) { watch.locked { watch.wakeAll() } }
    return unsafe ready ? receive(&buffer) : -EAGAIN
  }

  /// Waits until a request is at the device or the loop ends; whether there is one.
  private func wait() -> Bool {
    let events = Int16(POLLIN), device = unsafe fuse_session_fd(session)
    var places = [device, wakeUp[0]].map { pollfd(fd: $0, events: events, revents: 0) }
    return unsafe poll(&places, 2, -1) > 0 && places[0].revents != 0
  }

  /// Whether more requests wait at the device.
  private var areMoreWaiting: Bool {
    var device = unsafe pollfd(fd: fuse_session_fd(session), events: Int16(POLLIN), revents: 0)
    return unsafe poll(&device, 1, 0) > 0
  }

  /// Notes that requests of several programs have met: others will for a while.
  private func noteConcurrency() {
    let until = MonotonicTime.coarse.advanced(by: Self.concurrency).nanoseconds
    concurrentUntil.store(until, ordering: .relaxed)
  }

  /// For how long after requests have met others are expected to.
  private static let concurrency = Duration.milliseconds(200)

  // MARK: other threads

  /// Waits to be called. False if the thread has to leave, because enough others wait or the loop is over.
  private func park() -> Bool {
    monitor.locked {
      if parked >= limits.idle { return false }
      parked += 1
      while called == 0, !isOver.load(ordering: .sequentiallyConsistent) { monitor.wait() }
      parked -= 1
      if called > 0 { called -= 1 }
      return true
    }
  }

  /// Has another thread come to the device, because this one will be busy.
  func call() {
    if hasListener.load(ordering: .sequentiallyConsistent) { return }
    let isNew = monitor.locked {
      if called < parked {
        called += 1
        monitor.wakeOne()
      } else if threads < limits.most {
        threads += 1
        return true
      }
      return false
    }
    if !isNew { return }
    if let thread = Thread({ [self] in work() }) { thread.detach() } else { leave() }
  }

  /// Calls a thread to the device when the one that took the last request is long about it.
  private func watchListeners() {
    var quiet = 0
    while !isOver.load(ordering: .sequentiallyConsistent) {
      let before = taken.load(ordering: .sequentiallyConsistent)
      watch.locked {
        if quiet < Self.quietLooks { return _ = watch.wait(until: .now.advanced(by: Self.lookInterval)) }
        watcherSleeps.store(true, ordering: .sequentiallyConsistent)
        let isUnchanged = taken.load(ordering: .sequentiallyConsistent) == before
        let isListening = hasListener.load(ordering: .sequentiallyConsistent)
        if isUnchanged, isListening, !isOver.load(ordering: .sequentiallyConsistent) { watch.wait() }
        watcherSleeps.store(false, ordering: .sequentiallyConsistent)
        quiet = 0
      }
      if taken.load(ordering: .sequentiallyConsistent) != before {
        quiet = 0
      } else if hasListener.load(ordering: .sequentiallyConsistent) {
        quiet += 1
      } else {
        call()
      }
    }
  }

  private static let lookInterval = Duration.milliseconds(1)
  /// After so many looks at a listener that waits, the watcher sleeps until it has something to do.
  private static let quietLooks = 20

  // MARK: requests

  /// The number of a request's operation, as in <linux/fuse.h>; 0 if there is none.
  private static func operation(_ buffer: fuse_buf) -> UInt32 {
    guard let start = unsafe buffer.mem, unsafe buffer.size >= 8 else { return 0 }
    return unsafe start.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
  }

  /// The thread that a request is from, as in <linux/fuse.h>; 0 if none waits for the answer.
  private typealias Caller = UInt32

  private static func caller(_ buffer: fuse_buf) -> Caller {
    guard let start = unsafe buffer.mem, unsafe buffer.size >= 36 else { return 0 }
    return unsafe start.loadUnaligned(fromByteOffset: 32, as: Caller.self)
  }

  /// What may wait for the disk or for other writers: setattr, mkdir, unlink, rmdir, rename, fsync, flush, fsyncdir,
  /// rename2.
  private static let slow: Set<UInt32> = [4, 9, 10, 11, 12, 20, 25, 30, 45]

  /// What nobody waits for and takes less time than calling a thread: forget, release, releasedir, batch_forget. What
  /// stands behind one of these at the device mostly comes from the same program.
  private static let brief: Set<UInt32> = [2, 18, 29, 42]
}
