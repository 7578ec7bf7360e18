// Realms of actors: opening and writing without blocking a task.

public import Dispatch
import RealmPages
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
  public init<A: Actor>(configuration: Configuration = .defaultConfiguration, actor: isolated A) async throws {
    // Held until the realm holds it.
    let file = try await Background.result { try RealmOpening.open(configuration) }
    // The main actor too: where `dispatchMain` runs it, each of its jobs may have another thread.
    self.init(try Realm.Error.translating { try RealmOpening.context(configuration, .actor(actor)) })
    withExtendedLifetime(file) {}
  }

  /// Opens a realm for the main actor.
  @MainActor
  public init(configuration: Configuration = .defaultConfiguration) async throws {
    try await self.init(configuration: configuration, actor: MainActor.shared)
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
    let begun = try await Background.result { try Realm.Error.translating { OpenTransaction(try writer.begin()) } }
    try context.enter(begun)
    let result: Result
    do { result = try block() } catch {
      context.cancel()
      throw error
    }
    if let finished = context.leave() {
      try await Background.result { try Realm.Error.translating { try finished.commit() } }
      try context.didCommit()
    }
    return result
  }
}

/// Work beside the threads that tasks share.
enum Background {
  /// What `body` returns or throws, on a thread of its own.
  static func result<R: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    let result: Result<R, any Error> = await withCheckedContinuation { continuation in
      let run: @Sendable () -> Void = { continuation.resume(returning: Result { try body() }) }
      // Without a thread to be had, the caller waits.
      if let thread = Threads.Thread(run) { thread.detach() } else { run() }
    }
    return try result.get()
  }
}
