// Serves the requests of a session with a number of threads that grows with the load, until `end` is called.
//
// At most one thread, the listener, waits at the device, so a request wakes one thread or none. Before it sleeps, the
// listener polls for some microseconds while requests arrive at such intervals: a program that receives a reply usually
// sends its next request at once, and waking a thread takes longer than most replies.
//
// Invariant: while a request waits at the device, a listener exists or the watcher calls one within two milliseconds,
// unless all threads are busy.
//
// The thread that receives a request serves it. It first calls another thread to listen if more requests are waiting,
// or if the request may wait for the disk or other writers and requests of several programs have overlapped recently.
// Otherwise it listens again after its reply, and the watcher steps in if that takes long: a second thread does not
// help a single program, and waking it would cost as much as a request.

import CFuse
import Glibc
import Synchronization
import Threads

/// The threads that serve a session. `end` may be called at any time and from any thread.
@safe public final class ServingLoop: @unchecked Sendable {
  // Unchecked: `session`, `limits` and `wakeUp` are set before other threads exist; the counts are accessed under the
  // monitor's lock.
  // Safe: `run` returns only when no thread uses the session any more, and its caller keeps the session until then.

  /// The numbers of threads and the polling time.
  struct Limits {
    /// The maximum number of threads.
    var most = 1
    /// The maximum number of idle threads, without the listener.
    var idle = 1
    /// The time for which the listener polls before it sleeps.
    var pollTime = Duration.zero
  }

  private let monitor = Monitor()
  /// Woken when a thread ends, to wait for `threads` to become 0; `monitor` wakes parked threads.
  private let ending = Monitor()
  private var threads = 0
  /// The number of parked threads, and of calls that no thread has responded to yet.
  private var parked = 0, called = 0
  /// The error of the device as -errno; 0 if none.
  private var failure: Int32 = 0

  private let isOver = Atomic(false)
  private let hasListener = Atomic(false)
  /// The number of requests received from the device.
  private let taken = Atomic<UInt64>(0)
  /// The time until which overlapping requests of several programs are expected, on the coarse monotonic clock.
  private let concurrentUntil = Atomic<Int64>(0)
  private let isWatcherIdle = Atomic(false)
  private let watch = Monitor()

  private var session: OpaquePointer?
  private var limits = Limits()
  /// Both ends of a pipe; a byte in it wakes threads that wait at the device.
  private var wakeUp: [Int32] = [-1, -1]

  /// True for each of the last two requests that arrived within `Limits.pollTime`; accessed only by the listener.
  private var cameSoon = (last: true, before: true)

  init() {
    _ = unsafe pipe(&wakeUp)
    for end in wakeUp { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  deinit { for end in wakeUp { close(end) } }

  /// Ends the loop or prevents it from starting. Returns after the loop has ended.
  public func end() {
    finish()
    waitForThreads()
  }

  /// Serves on this thread and others until the tree is unmounted or `end` is called. Returns 0 or -errno.
  func run(_ session: OpaquePointer, _ limits: Limits) -> Int32 {
    unsafe (self.session, self.limits) = (session, limits)
    let device = unsafe fuse_session_fd(session), flags = fcntl(device, F_GETFL)
    guard wakeUp[0] >= 0, fcntl(device, F_SETFL, flags | O_NONBLOCK) == 0 else { return -errno }
    // Code that runs after the loop uses blocking reads.
    defer { _ = fcntl(device, F_SETFL, flags) }
    monitor.locked { threads = 1 }
    let watcher = limits.most > 1 ? Thread { [self] in watchListeners() } : nil
    work()
    watcher?.join()
    waitForThreads()
    return monitor.locked { failure }
  }

  /// Makes all threads end after their current requests.
  private func finish() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    // The byte stays in the pipe and wakes every thread that waits at the device later.
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
      // Another thread may be listening, but any thread may receive requests that are already waiting.
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

  /// Removes this thread from the count.
  private func leave() {
    monitor.locked { threads -= 1 }
    ending.locked { ending.wakeAll() }
  }

  private func waitForThreads() {
    ending.locked { while monitor.locked({ threads }) > 0 { ending.wait() } }
  }

  /// Serves a request, and first calls another thread if more requests are waiting or expected in the meantime.
  ///
  /// `former` is the caller of the request that this thread answered last, or 0 if the device has been empty since. If
  /// this request is from another program, it arrived in the meantime, so requests overlap: requests that a program
  /// sends without waiting for a reply are in `brief` and do not count.
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

  /// Receives a request from the device without waiting. Returns its size in bytes, 0 if the tree is unmounted, or
  /// -errno.
  private func receive(_ buffer: inout fuse_buf) -> Int32 {
    let count = unsafe fuse_session_receive_buf(session, &buffer)
    // The tree was unmounted after the kernel had dequeued a request but before it copied the request.
    return count == -ECONNABORTED ? 0 : count
  }

  /// Waits for a request and receives it. Returns -EAGAIN if the loop ends or there is no request after all.
  private func listen(_ buffer: inout fuse_buf) -> Int32 {
    let start = MonotonicTime.now, end = start.advanced(by: limits.pollTime)
    if cameSoon.last || cameSoon.before {
      while MonotonicTime.now < end {
        let count = unsafe receive(&buffer)
        if count != -EAGAIN {
          cameSoon = (true, cameSoon.last)
          return count
        }
        // Let a program that shares the processor run first.
        sched_yield()
      }
    }
    let ready = wait()
    cameSoon = (MonotonicTime.now < end, cameSoon.last)
    if isWatcherIdle.load(ordering: .sequentiallyConsistent) { watch.locked { watch.wakeAll() } }
    return unsafe ready ? receive(&buffer) : -EAGAIN
  }

  /// Waits until a request arrives or the loop ends. Returns true if there is a request.
  private func wait() -> Bool {
    let events = Int16(POLLIN), device = unsafe fuse_session_fd(session)
    var places = [device, wakeUp[0]].map { pollfd(fd: $0, events: events, revents: 0) }
    return unsafe poll(&places, 2, -1) > 0 && places[0].revents != 0
  }

  /// True if more requests wait at the device.
  private var areMoreWaiting: Bool {
    var device = unsafe pollfd(fd: fuse_session_fd(session), events: Int16(POLLIN), revents: 0)
    return unsafe poll(&device, 1, 0) > 0
  }

  /// Records that requests of several programs have overlapped, so that more are expected for a while.
  private func noteConcurrency() {
    let until = MonotonicTime.coarse.advanced(by: Self.concurrency).nanoseconds
    concurrentUntil.store(until, ordering: .relaxed)
  }

  /// The time after an overlap during which more are expected.
  private static let concurrency = Duration.milliseconds(200)

  // MARK: other threads

  /// Waits to be called. Returns false if the thread must end because enough others are parked.
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

  /// Calls another thread to the device because this one will be busy.
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

  /// Calls a thread to the device if the thread that received the last request is slow.
  private func watchListeners() {
    var quiet = 0
    while !isOver.load(ordering: .sequentiallyConsistent) {
      let before = taken.load(ordering: .sequentiallyConsistent)
      watch.locked {
        if quiet < Self.idleChecks { return _ = watch.wait(until: .now.advanced(by: Self.lookInterval)) }
        isWatcherIdle.store(true, ordering: .sequentiallyConsistent)
        let isUnchanged = taken.load(ordering: .sequentiallyConsistent) == before
        let isListening = hasListener.load(ordering: .sequentiallyConsistent)
        if isUnchanged, isListening, !isOver.load(ordering: .sequentiallyConsistent) { watch.wait() }
        isWatcherIdle.store(false, ordering: .sequentiallyConsistent)
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
  /// The number of checks that find a waiting listener before the watcher sleeps until it is needed.
  private static let idleChecks = 20

  // MARK: requests

  /// The opcode of a request, as in <linux/fuse.h>; 0 if there is none.
  private static func operation(_ buffer: fuse_buf) -> UInt32 {
    guard let start = unsafe buffer.mem, unsafe buffer.size >= 8 else { return 0 }
    return unsafe start.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
  }

  /// The thread that sent a request, as in <linux/fuse.h>; 0 if no thread waits for the reply.
  private typealias Caller = UInt32

  private static func caller(_ buffer: fuse_buf) -> Caller {
    guard let start = unsafe buffer.mem, unsafe buffer.size >= 36 else { return 0 }
    return unsafe start.loadUnaligned(fromByteOffset: 32, as: Caller.self)
  }

  /// Operations that may wait for the disk or other writers: setattr, mkdir, unlink, rmdir, rename, fsync, flush,
  /// fsyncdir, rename2.
  private static let slow: Set<UInt32> = [4, 9, 10, 11, 12, 20, 25, 30, 45]

  /// Operations that no program waits for and that take less time than calling a thread: forget, release, releasedir,
  /// batch_forget. The request after one of these at the device usually comes from the same program.
  private static let brief: Set<UInt32> = [2, 18, 29, 42]
}
