// A thread that works off what others give it, one thing after the other. A robust mutex must be unlocked by the thread
// that locked it, and a transaction may go from thread to thread: so one thread does all locking.

import Threads

/// A thread of its own for a queue of work. It lives until `stop`.
final class WorkerThread: @unchecked Sendable {
  // Unchecked: `monitor` guards the queue.

  private final class Job: @unchecked Sendable {
    // Unchecked: `isDone` is guarded by `monitor`; the body belongs to the thread until then.
    private var body: (() -> Void)?
    var isDone = false
    init(_ body: @escaping () -> Void) { self.body = body }

    /// Runs the body and lets go of it: who waits for the end does not expect it to live any longer.
    func run() {
      body?()
      body = nil
    }
  }

  private let monitor = Monitor()
  private var jobs: [Job] = []
  private var isStopping = false
  private var thread: Thread?

  /// Starts the thread; nil if the system has none to give. When there was nothing to do for `interval`, it calls
  /// `whenIdle`.
  init?(interval: Duration? = nil, whenIdle: @escaping @Sendable () -> Void = {}) {
    let thread = Thread { [self] in
      while true {
        let next = monitor.locked { () -> Job?? in
          if jobs.isEmpty && !isStopping {
            monitor.wait(until: interval.map { MonotonicTime.now.advanced(by: $0) })
          }
          if !jobs.isEmpty { return .some(jobs.removeFirst()) }
          return isStopping ? nil : .some(nil)
        }
        guard let next else { return }
        guard let job = next else {
          whenIdle()
          continue
        }
        job.run()
        monitor.locked {
          job.isDone = true
          monitor.wakeAll()
        }
      }
    }
    guard let thread else { return nil }
    thread.detach()
    self.thread = thread
  }

  /// Runs `body` on the thread and waits for its result.
  func run<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    if thread?.isCurrent == true { return try body() }
    var result: Result<R, E>?
    withoutActuallyEscaping({ () -> Void in
      do throws(E) { result = .success(try body()) } catch { result = .failure(error) }
    }) { body in
      let job = Job(body)
      monitor.locked {
        jobs.append(job)
        monitor.wakeAll()
        while !job.isDone { monitor.wait() }
      }
    }
    guard let result else { preconditionFailure("the work was not done") }
    return try result.get()
  }

  /// Has `body` run on the thread some time later.
  func post(_ body: @escaping @Sendable () -> Void) {
    monitor.locked {
      jobs.append(Job(body))
      monitor.wakeAll()
    }
  }

  /// Ends the thread when the queue is empty; does not wait for that.
  func stop() {
    monitor.locked {
      isStopping = true
      monitor.wakeAll()
    }
  }
}
