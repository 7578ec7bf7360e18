// Realms of actors: opening and writing without blocking a task.

public import Dispatch
import RealmPages
import Synchronization
import Threads

extension Realm {
  /// Opens a realm for an actor, which alone uses it.
  ///
  /// ```swift
  /// actor Store {
  ///   var realm: Realm!
  ///   init() async throws { realm = try await Realm(actor: self) }
  /// }
  /// ```
  ///
  /// `downloadBeforeOpen` is for synced realms. A task that is cancelled meanwhile gets a `CancellationError`.
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

  /// Opens a realm for the actor that calls this.
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
    // Held until the realm holds it.
    let file = try await withTaskCancellationHandler {
      try await Background.result { [waiting] in try RealmOpening.open(configuration, downloadBeforeOpen, waiting) }
    } onCancel: {
      ended.end()
    }
    // The main actor too: where `dispatchMain` runs it, each of its jobs may have another thread.
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

  /// Opens a realm for a serial queue; to be called there.
  public init(configuration: Configuration = .defaultConfiguration, queue: DispatchQueue) throws {
    self.init(try Realm.Error.translating { try RealmOpening.context(configuration, .queue(queue)) })
  }

  /// Runs `block` in a write transaction, as `write` does, but waits for other writers and for the disk without
  /// blocking the actor.
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
    // A task that is cancelled does not wait for the other writer; what was begun for it is taken back.
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
  /// Opens a realm on a thread of its own, migration included, and calls `callback` on a serial queue with the realm,
  /// which belongs to the queue, or with why there is none. A synced realm is downloaded first: everything that the
  /// server has when the opening begins.
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
            // Held until the realm holds it.
            return try withExtendedLifetime(try file.get()) {
              try Realm(configuration: configuration, queue: callbackQueue)
            }
          }
        )
      }
    }
    return task
  }

  /// The same for a callback that takes the realm and the error apart: one of them is nil.
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

  /// The opening of a realm that `asyncOpen` began.
  public final class AsyncOpenTask: Sendable {
    private let ended = Ended()
    private let listeners = Mutex(Listeners())

    private struct Listeners {
      var last: SyncSession.Progress?
      var all: [Listener] = []
    }
    private struct Listener: @unchecked Sendable {
      // Unchecked: the block is called on the queue.
      let queue: DispatchQueue
      let block: (SyncSession.Progress) -> Void

      func call(_ progress: SyncSession.Progress) { queue.async { block(progress) } }
    }

    fileprivate init() {}

    fileprivate var isCancelled: Bool { ended.isOver }

    /// Ends the download, and has the callback get a `CancellationError`, unless it was called already.
    public func cancel() { ended.end() }

    /// Has `block` called on a queue with the progress of the download of a synced realm, until `asyncOpen` calls back.
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

  /// Whether an opening is not wanted any more.
  fileprivate final class Ended: Sendable {
    private let ended = Atomic(false)
    var isOver: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }
  }
}

/// Work beside the threads that tasks share.
enum Background {
  /// Runs `body` on a thread of its own; without a thread to be had, the caller waits.
  static func run(_ body: @escaping @Sendable () -> Void) {
    if let thread = Threads.Thread(body) { thread.detach() } else { body() }
  }

  /// What `body` returns or throws, on a thread of its own.
  static func result<R: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    let result: Result<R, any Error> = await withCheckedContinuation { continuation in
      run { continuation.resume(returning: Result { try body() }) }
    }
    return try result.get()
  }

  /// The same, but a task that is cancelled gets a `CancellationError` at once; what `body` returns is dropped then.
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

  /// What a task waits for: the first result that is given.
  private final class Answer<R: Sendable>: Sendable {
    private enum State {
      case asked
      case waiting(CheckedContinuation<R, any Error>)
      case given
    }
    private let state = Mutex(State.asked)

    /// Whether nothing was given yet.
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
