// `.realm/changes` while it is open: reading it waits for the next commit. A read that must wait is parked, so that it
// occupies no thread; one thread looks for commits and answers what is parked. Each handle has a feed, so readers do
// not depend on each other.

import RealmJSON
import RealmPages
import Synchronization
import Threads

/// What one handle reads.
public final class ChangeStream: Sendable {
  /// An answer: bytes, none at the end, or an error.
  public typealias Answer = @Sendable (Result<[UInt8], FileTreeError>) -> Void

  fileprivate struct State: ~Copyable {
    let feed: ChangeFeed
    var parked: [(id: UInt64, count: Int, answer: Answer)] = []
    var onReadable: (@Sendable () -> Void)?
    /// Whether a program looks at the size to learn that there is more, as tail -f does: then reads do not wait.
    var isFollowed = false
    /// The bytes that were read.
    var taken = 0
  }

  fileprivate let state: Mutex<State>
  private let streams: ChangeStreams

  fileprivate init(_ feed: sending ChangeFeed, _ streams: ChangeStreams) {
    state = Mutex(State(feed: feed))
    self.streams = streams
  }

  /// Answers with up to `count` bytes, as soon as there are some, on whichever thread. `id` is one for `interrupt`.
  public func read(_ count: Int, waits: Bool, id: UInt64, _ answer: @escaping Answer) {
    let now: Result<[UInt8], FileTreeError>? = state.withLock { state in
      do throws(EngineError) { try state.feed.advance() } catch { return .failure(.unavailable(error)) }
      if state.feed.count > 0 {
        let bytes = state.feed.take(count)
        state.taken += bytes.count
        return .success(bytes)
      }
      if !waits { return .failure(.busy) }
      if state.isFollowed || streams.isStopped { return .success([]) }
      state.parked.append((id, count, answer))
      return nil
    }
    if let now {
      streams.forget([id])
      return answer(now)
    }
    streams.wake()
  }

  /// Whether there is something to read; if not, `body` is called once when there is.
  public func isReadable(orElse body: (@Sendable () -> Void)?) -> Bool {
    let isReadable = state.withLock { state in
      // What cannot be read now is found out by reading.
      try? state.feed.advance()
      if state.feed.count > 0 || streams.isStopped { return true }
      state.onReadable = body ?? state.onReadable
      return false
    }
    if !isReadable { streams.wake() }
    return isReadable
  }

  /// The program looks where the file ends. It will not wait in reads, but look at the size.
  public func follow() { state.withLock { $0.isFollowed = true } }

  /// The size that tells a program that follows it how much there is.
  var followedSize: Int {
    state.withLock { state in
      if !state.isFollowed { return 0 }
      // What cannot be read now is found out by reading.
      try? state.feed.advance()
      return state.taken + state.feed.count
    }
  }

  /// Makes the lines of what has come, and answers what waits for them.
  fileprivate func serve(interrupted: Set<UInt64>, isEnding: Bool) {
    var answers: [(id: UInt64, Answer, Result<[UInt8], FileTreeError>)] = []
    let notify: (@Sendable () -> Void)? = state.withLock { state in
      var failure: FileTreeError?
      do throws(EngineError) { try state.feed.advance() } catch { failure = .unavailable(error) }
      state.parked.removeAll { read in
        if isEnding {
          answers.append((read.id, read.answer, .success([])))
        } else if interrupted.contains(read.id) {
          answers.append((read.id, read.answer, .failure(.refused(.interrupted, "interrupted by a signal"))))
        } else if state.feed.count > 0 {
          let bytes = state.feed.take(read.count)
          state.taken += bytes.count
          answers.append((read.id, read.answer, .success(bytes)))
        } else if let failure {
          answers.append((read.id, read.answer, .failure(failure)))
        } else {
          return false
        }
        return true
      }
      guard isEnding || failure != nil || state.feed.count > 0 else { return nil }
      return state.onReadable.take()
    }
    streams.forget(answers.map(\.id))
    for (_, answer, result) in answers { answer(result) }
    notify?()
  }
}

/// All open handles of `.realm/changes`, and the thread that serves them.
final class ChangeStreams: @unchecked Sendable {
  // Unchecked: variables are touched under the monitor's lock.
  private let monitor = Monitor()
  private var open: [ObjectIdentifier: ChangeStream] = [:]
  private var interrupted: Set<UInt64> = []
  private var thread: Thread?
  private var isEnding = false
  private var hasNews = false

  /// How often the thread looks for commits while handles are open: a look at shared memory.
  private static let interval = Duration.milliseconds(20)

  /// Opens a handle; `noSpace` if there is no thread to serve it.
  func open(_ feed: sending ChangeFeed) throws(FileTreeError) -> ChangeStream {
    let stream = ChangeStream(feed, self)
    let isServed = monitor.locked {
      if thread == nil && !isEnding { thread = Thread { [self] in run() } }
      open[ObjectIdentifier(stream)] = stream
      monitor.wakeAll()
      return thread != nil
    }
    if isServed { return stream }
    close(stream)
    throw .refused(.noSpace, "there is no thread for .realm/changes")
  }

  func close(_ stream: ChangeStream) { monitor.locked { _ = open.removeValue(forKey: ObjectIdentifier(stream)) } }

  var isStopped: Bool { monitor.locked { isEnding } }

  /// Whether there are open handles.
  var areOpen: Bool { monitor.locked { !open.isEmpty } }

  /// The size of the file for programs that follow it.
  var size: Int { monitor.locked { Array(open.values) }.map(\.followedSize).max() ?? 0 }

  func wake() {
    monitor.locked {
      hasNews = true
      monitor.wakeAll()
    }
  }

  /// Has the read `id` answered without bytes. It may come before the read is parked.
  func interrupt(_ id: UInt64) {
    monitor.locked {
      interrupted.insert(id)
      hasNews = true
      monitor.wakeAll()
    }
  }

  /// Notes that reads were answered.
  func forget(_ ids: [UInt64]) { monitor.locked { interrupted.subtract(ids) } }

  /// Answers everything that waits, with the end of the file, and ends the thread.
  func stop() {
    let (thread, streams) = monitor.locked {
      isEnding = true
      monitor.wakeAll()
      return (self.thread.take(), Array(open.values))
    }
    thread?.join()
    for stream in streams { stream.serve(interrupted: [], isEnding: true) }
  }

  private func run() {
    while true {
      let work: (streams: [ChangeStream], interrupted: Set<UInt64>)? = monitor.locked {
        if !isEnding && !hasNews {
          monitor.wait(until: open.isEmpty ? nil : MonotonicTime.now.advanced(by: Self.interval))
        }
        hasNews = false
        return isEnding ? nil : (Array(open.values), interrupted)
      }
      guard let work else { return }
      for stream in work.streams { stream.serve(interrupted: work.interrupted, isEnding: false) }
    }
  }
}
