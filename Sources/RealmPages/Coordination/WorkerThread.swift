// A thread that runs queued work, one job at a time. A robust mutex must be unlocked by the thread that locked it, and
// a transaction may move from thread to thread: so a permanent thread does the locking.

import Threads

/// A thread with a queue of work. It lives until `stop`.
final class WorkerThread: @unchecked Sendable {
  // Unchecked: `queue` guards the jobs.

  private final class Job: @unchecked Sendable {
    // Unchecked: `isDone` is guarded by `completion`; the body belongs to the thread until then.
    private var body: (() -> Void)?
    var isDone = false
    init(_ body: @escaping () -> Void) { self.body = body }

    /// Runs the body and releases it: a caller that waits for the job expects the closure to be released afterwards.
    func run() {
      body?()
      body = nil
    }
  }

  private let queue = Monitor()
  private let completion = Monitor()
  private var jobs: [Job] = []
  private var isStopping = false
  private var thread: Thread?

  /// Starts the thread; nil if the system cannot create one. Calls `whenIdle` whenever no work arrived for `interval`.
  init?(interval: Duration? = nil, whenIdle: @escaping @Sendable () -> Void = {}) {
    let thread = Thread { [self] in
      while true {
        let next = queue.locked { () -> Job?? in
          if jobs.isEmpty && !isStopping {
            queue.wait(until: interval.map { MonotonicTime.now.advanced(by: $0) })
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
        completion.locked { job.isDone = true }
        completion.wakeAll()
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
      add(job)
      completion.locked {
        while !job.isDone { completion.wait() }
      }
    }
    guard let result else { preconditionFailure("the work was not done") }
    return try result.get()
  }

  /// Queues `body` to run on the thread.
  func post(_ body: @escaping @Sendable () -> Void) { add(Job(body)) }

  private func add(_ job: Job) {
    queue.locked { jobs.append(job) }
    queue.wakeAll()
  }

  /// Ends the thread when the queue is empty; does not wait for that.
  func stop() {
    queue.locked { isStopping = true }
    queue.wakeAll()
  }
}
