// A thread that works off what others give it, one thing after the other. A robust mutex must be unlocked by the thread
// that locked it, and a transaction may go from thread to thread: so one thread does all locking.

import Glibc
import Synchronization

/// A thread of its own for a queue of work. It lives until `stop`.
final class WorkerThread: @unchecked Sendable {
  // Unchecked: `signal` guards the queue.

  private final class Job: @unchecked Sendable {
    // Unchecked: `isDone` is guarded by `signal`; the body belongs to the thread until then.
    private var body: (() -> Void)?
    var isDone = false
    init(_ body: @escaping () -> Void) { self.body = body }

    /// Runs the body and lets go of it: who waits for the end does not expect it to live any longer.
    func run() {
      body?()
      body = nil
    }
  }

  private let signal = Signal()
  private var jobs: [Job] = []
  private var isStopping = false
  private var thread = pthread_t()

  /// Starts the thread; nil if the system has none to give. When there was nothing to do for `interval`, it calls
  /// `whenIdle`.
  init?(interval: Duration? = nil, whenIdle: @escaping @Sendable () -> Void = {}) {
    let loop = Loop { [signal] in
      while true {
        let next = signal.locked { () -> Job?? in
          if self.jobs.isEmpty && !self.isStopping { signal.wait(for: interval) }
          if !self.jobs.isEmpty { return .some(self.jobs.removeFirst()) }
          return self.isStopping ? nil : .some(nil)
        }
        guard let next else { return }
        guard let job = next else {
          whenIdle()
          continue
        }
        job.run()
        signal.locked {
          job.isDone = true
          signal.wakeAll()
        }
      }
    }
    let context = Unmanaged.passRetained(loop)
    var all = sigset_t(), former = sigset_t()
    sigfillset(&all)
    // A fault is the thread's own: see CLinux/mapping.c.
    for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL] { sigdelset(&all, fault) }
    pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    let error = pthread_create(
      &thread,
      nil,
      { context in
        if let context { Unmanaged<Loop>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      },
      context.toOpaque()
    )
    if error != 0 {
      context.release()
      return nil
    }
    pthread_detach(thread)
  }

  private final class Loop {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// Runs `body` on the thread and waits for its result.
  func run<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    if pthread_equal(pthread_self(), thread) != 0 { return try body() }
    var result: Result<R, E>?
    withoutActuallyEscaping({ () -> Void in
      do throws(E) { result = .success(try body()) } catch { result = .failure(error) }
    }) { body in
      let job = Job(body)
      signal.locked {
        jobs.append(job)
        signal.wakeAll()
        while !job.isDone { signal.wait(for: nil) }
      }
    }
    guard let result else { preconditionFailure("the work was not done") }
    return try result.get()
  }

  /// Has `body` run on the thread some time later.
  func post(_ body: @escaping @Sendable () -> Void) {
    signal.locked {
      jobs.append(Job(body))
      signal.wakeAll()
    }
  }

  /// Ends the thread when the queue is empty; does not wait for that.
  func stop() {
    signal.locked {
      isStopping = true
      signal.wakeAll()
    }
  }
}
