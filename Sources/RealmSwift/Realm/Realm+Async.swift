// Opens realms for actors and queues, and writes without blocking a task.

public import Dispatch
import RealmPages
import Synchronization
import Threads

extension Realm {
  /// Opens a realm that only the given actor uses.
  ///
  /// ```swift
  /// actor Store {
  ///   var realm: Realm!
  ///   init() async throws { realm = try await Realm(actor: self) }
  /// }
  /// ```
  ///
  /// `downloadBeforeOpen` applies to synced realms. Throws `CancellationError` if the task is cancelled during the
  /// opening.
  public init<A: Actor>(
    configuration: Configuration = .defaultConfiguration,
    actor: isolated A,
    downloadBeforeOpen: OpenBehavior = .never
  ) async throws {
    self = try await Realm.open(
      configuration: configuration,
      downloadBeforeOpen: downloadBeforeOpen,
      _isolation: actor
    )
  }

  /// Opens a realm for the calling actor.
  ///
  /// ```swift
  /// @MainActor func show() async throws {
  ///   let realm = try await Realm.open()
  ///   print(realm.objects(Dog.self).count)
  /// }
  /// ```
  public static func open(
    configuration: Configuration = .defaultConfiguration,
    downloadBeforeOpen: OpenBehavior = .never,
    _isolation actor: isolated any Actor = #isolation
  ) async throws -> Realm {
    let ended = Ended()
    var waiting = SyncedFile.Waiting()
    waiting.isCancelled = { ended.isOver }
    // Retained until the realm retains it.
    let file = try await withTaskCancellationHandler {
      try await Background.result { [waiting] in try RealmOpening.open(configuration, downloadBeforeOpen, waiting) }
    } onCancel: {
      ended.end()
    }
    // Confined to the actor even for the main actor: under `dispatchMain`, each of its jobs may run on another thread.
    return try withExtendedLifetime(file) {
      Realm(try Realm.Error.translating { try RealmOpening.context(configuration, .actor(actor)) })
    }
  }

  /// Opens a realm for the main actor.
  @MainActor
  public init(
    configuration: Configuration = .defaultConfiguration,
    downloadBeforeOpen: OpenBehavior = .never
  ) async throws {
    try await self.init(
      configuration: configuration,
      actor: MainActor.shared,
      downloadBeforeOpen: downloadBeforeOpen
    )
  }

  /// Opens a realm for a serial queue. Must be called on that queue.
  public init(configuration: Configuration = .defaultConfiguration, queue: DispatchQueue) throws {
    self.init(try Realm.Error.translating { try RealmOpening.context(configuration, .queue(queue)) })
  }

  /// Runs `block` in a write transaction, as `write` does, but does not block the actor while it waits for other
  /// writers and for the disk.
  @discardableResult
  public func asyncWrite<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ block: () throws -> Result
  ) async throws -> Result {
    context.checkThread()
    guard let writer = context.file.writer, !context.isFrozen else {
      throw Error(.fail, "\(context.file.path) was opened read-only: there are no write transactions")
    }
    context.asyncWriteDepth += 1
    defer { context.asyncWriteDepth -= 1 }
    // A cancelled task does not wait for the other writer; a transaction begun for it is rolled back.
    let begun = try await Background.cancellableResult {
      try Realm.Error.translating { OpenTransaction(try writer.begin()) }
    }
    try Task.checkCancellation()
    try context.enter(begun)
    let result: Result
    do { result = try block() } catch {
      context.cancel()
      throw error
    }
    if let finished = try context.leave() {
      do { try await Background.result { try Realm.Error.translating { try finished.commit() } } } catch {
        try context.didCommit(error)
      }
      try context.didCommit()
    }
    return result
  }
}

extension Realm {
  /// Opens a realm on a background thread, migration included. Calls `callback` on a serial queue, with the realm,
  /// which is confined to that queue, or with the error. A synced realm first downloads everything that the server has
  /// when the opening begins.
  ///
  /// ```swift
  /// Realm.asyncOpen { result in
  ///   if case .success(let realm) = result { print(realm.objects(Dog.self).count) }
  /// }
  /// ```
  @discardableResult
  public static func asyncOpen(
    configuration: Configuration = .defaultConfiguration,
    callbackQueue: DispatchQueue = .main,
    callback: @escaping (Result<Realm, any Swift.Error>) -> Void
  ) -> AsyncOpenTask {
    let task = AsyncOpenTask()
    // Safe: called once, on the queue.
    @safe nonisolated(unsafe) let callback = callback
    Background.run {
      var waiting = SyncedFile.Waiting()
      waiting.isCancelled = { task.isCancelled }
      waiting.report = { task.report($0) }
      let file = Result { [waiting] in try RealmOpening.open(configuration, .always, waiting) }
      callbackQueue.async {
        callback(
          Result {
            if task.isCancelled { throw CancellationError() }
            // Retained until the realm retains it.
            return try withExtendedLifetime(try file.get()) {
              try Realm(configuration: configuration, queue: callbackQueue)
            }
          }
        )
      }
    }
    return task
  }

  /// Like the overload with a `Result`, but calls back with a realm and an error, one of which is nil.
  @discardableResult
  public static func asyncOpen(
    configuration: Configuration = .defaultConfiguration,
    callbackQueue: DispatchQueue = .main,
    callback: @escaping (Realm?, (any Swift.Error)?) -> Void
  ) -> AsyncOpenTask {
    asyncOpen(configuration: configuration, callbackQueue: callbackQueue) { (result: Result<Realm, any Swift.Error>) in
      switch result {
      case .success(let realm): callback(realm, nil)
      case .failure(let error): callback(nil, error)
      }
    }
  }

  /// A realm opening started by `asyncOpen`.
  public final class AsyncOpenTask: Sendable {
    private let ended = Ended()
    private let listeners = Mutex(Listeners())

    private struct Listeners {
      var last: SyncSession.Progress?
      var all: [Listener] = []
    }
    private struct Listener: @unchecked Sendable {
      // Unchecked: the block is called only on the queue.
      let queue: DispatchQueue
      let block: (SyncSession.Progress) -> Void

      func call(_ progress: SyncSession.Progress) { queue.async { block(progress) } }
    }

    fileprivate init() {}

    fileprivate var isCancelled: Bool { ended.isOver }

    /// Cancels the download. The callback receives a `CancellationError`, unless it has already been called.
    public func cancel() { ended.end() }

    /// Calls `block` on a queue with the download progress of a synced realm, until `asyncOpen` calls back.
    public func addProgressNotification(
      queue: DispatchQueue = .main,
      block: @escaping (SyncSession.Progress) -> Void
    ) {
      let listener = Listener(queue: queue, block: block)
      let last = listeners.withLock { listeners in
        listeners.all.append(listener)
        return listeners.last
      }
      if let last { listener.call(last) }
    }

    fileprivate func report(_ progress: SyncSession.Progress) {
      let all = listeners.withLock { listeners -> [Listener] in
        if listeners.last == progress { return [] }
        listeners.last = progress
        return listeners.all
      }
      for listener in all { listener.call(progress) }
    }
  }

  /// A flag that is set when an opening is cancelled.
  fileprivate final class Ended: Sendable {
    private let ended = Atomic(false)
    var isOver: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }
  }
}

/// Blocking work, kept off the threads that tasks share.
enum Background {
  /// Runs `body` on a new thread, or on the calling thread if none can be created.
  static func run(_ body: @escaping @Sendable () -> Void) {
    if let thread = Threads.Thread(body) { thread.detach() } else { body() }
  }

  /// Runs `body` on a new thread and returns or throws its result.
  static func result<R: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    let result: Result<R, any Error> = await withCheckedContinuation { continuation in
      run { continuation.resume(returning: Result { try body() }) }
    }
    return try result.get()
  }

  /// Like `result`, but throws `CancellationError` at once when the task is cancelled, and drops the result of `body`.
  static func cancellableResult<R: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    let answer = Answer<R>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard answer.wait(continuation) else { return continuation.resume(throwing: CancellationError()) }
        run { answer.give(Result { try body() }) }
      }
    } onCancel: {
      answer.give(.failure(CancellationError()))
    }
  }

  /// The first result delivered to a waiting task.
  private final class Answer<R: Sendable>: Sendable {
    private enum State {
      case asked
      case waiting(CheckedContinuation<R, any Error>)
      case given
    }
    private let state = Mutex(State.asked)

    /// Stores the continuation. Returns false if a result was delivered already.
    func wait(_ continuation: CheckedContinuation<R, any Error>) -> Bool {
      state.withLock { state in
        guard case .asked = state else { return false }
        state = .waiting(continuation)
        return true
      }
    }

    func give(_ result: Result<R, any Error>) {
      let continuation = state.withLock { state -> CheckedContinuation<R, any Error>? in
        defer { state = .given }
        return if case .waiting(let continuation) = state { continuation } else { nil }
      }
      continuation?.resume(with: result)
    }
  }
}
