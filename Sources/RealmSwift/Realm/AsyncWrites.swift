// Write transactions that a program asks for and that run later: a thread of its own waits for other writers, the block
// runs where the realm is confined.

import Dispatch
import RealmPages

/// The write transactions that were asked for and have not run yet. Used where the realm is confined.
final class AsyncWrites: @unchecked Sendable {
  // Unchecked: only an acquisition is handed over, and it has a semaphore.

  /// A transaction that another thread begins.
  private final class Acquisition: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)
    private var result: Result<OpenTransaction, any Error>?

    func fill(_ result: Result<OpenTransaction, any Error>) {
      self.result = result
      done.signal()
    }

    /// Waits until the transaction has begun; once.
    func take() throws -> OpenTransaction {
      done.wait()
      defer { result = nil }
      guard let result else { throw Realm.Error(.fail, "the write transaction was taken already") }
      return try result.get()
    }
  }

  private struct Pending {
    let id: AsyncTransactionId
    let block: () -> Void
  }

  private unowned let context: RealmContext
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
  private var pending: [Pending] = []
  private var completions: [AsyncTransactionId] = []
  private var acquisition: Acquisition?
  private var lastID: AsyncTransactionId = 0
  private var isRunning = false

  init(_ context: RealmContext) {
    self.context = context
    schedule = context.confinement.scheduler()
  }

  /// Whether anything was asked for that is not over.
  var isBusy: Bool { !pending.isEmpty || !completions.isEmpty || isRunning }

  private func makeID() -> AsyncTransactionId {
    lastID += 1
    return lastID
  }

  func begin(_ block: @escaping () -> Void) -> AsyncTransactionId {
    let id = makeID()
    pending.append(Pending(id: id, block: block))
    next()
    return id
  }

  /// Calls `onComplete` soon.
  func complete(_ onComplete: (() -> Void)?) -> AsyncTransactionId {
    let id = makeID()
    completions.append(id)
    // Safe: used where `schedule` runs it, where the realm is confined to.
    @safe nonisolated(unsafe) let onComplete = onComplete, context = context
    schedule {
      context.asyncWrites.completions.removeAll { $0 == id }
      onComplete?()
    }
    return id
  }

  /// Commits the transaction of a synced realm: a thread of its own waits for the server.
  func commit(_ onComplete: (((any Error)?) -> Void)?) -> AsyncTransactionId {
    let finished: OpenTransaction?
    do { finished = try context.leave() } catch {
      context.cancel()
      return complete(onComplete.map { block in { block(error) } })
    }
    guard let finished else { return complete(onComplete.map { block in { block(nil) } }) }
    let id = makeID(), schedule = schedule
    completions.append(id)
    // Safe: used where `schedule` runs it, where the realm is confined to.
    @safe nonisolated(unsafe) let onComplete = onComplete, context = context
    Background.run {
      let result = Result { try Realm.Error.translating { try finished.commit() } }
      schedule {
        var problem: (any Error)?
        do {
          _ = try result.get()
          try context.didCommit()
        } catch { problem = error }
        if case .failure(let error) = result { do { try context.didCommit(error) } catch { problem = error } }
        context.asyncWrites.completions.removeAll { $0 == id }
        onComplete?(problem)
        context.asyncWrites.next()
      }
    }
    return id
  }

  /// Forgets a block that did not run yet.
  func cancel(_ id: AsyncTransactionId) { pending.removeAll { $0.id == id } }

  /// Has a thread wait for the next transaction, if one is asked for and the realm is in none.
  func next() {
    guard acquisition == nil, !pending.isEmpty, !isRunning, !context.isInTransaction, let writer = context.file.writer
    else { return }
    let acquisition = Acquisition(), schedule = schedule
    self.acquisition = acquisition
    // The realm stays open until its writes are over. Safe: used where `schedule` runs it.
    @safe nonisolated(unsafe) let context = context
    Background.run {
      acquisition.fill(
        Result {
          try Realm.Error.translating { OpenTransaction(try writer.beginUnready(timeout: RealmContext.endless)) }
        }
      )
      schedule { context.asyncWrites.run(acquisition) }
    }
  }

  /// The transaction that was acquired for a block, for one that does not wait: else that would wait for this thread.
  func takeAcquired() throws -> OpenTransaction? {
    guard let acquisition else { return nil }
    self.acquisition = nil
    return try acquisition.take()
  }

  private func run(_ acquisition: Acquisition) {
    guard acquisition === self.acquisition else { return }
    self.acquisition = nil
    let begun = Misuse.unwrap { try acquisition.take() }
    if pending.isEmpty { return begun.rollback() }
    let first = pending.removeFirst()
    isRunning = true
    Misuse.unwrap { try context.enter(begun) }
    first.block()
    // What was not committed is taken back.
    if context.isInTransaction { context.cancel() }
    isRunning = false
    next()
  }
}

/// Tells the asynchronous writes of a realm apart.
public typealias AsyncTransactionId = UInt32

extension Realm {
  /// Runs `block` later in a write transaction and commits it, then calls `onComplete` with nil, or with why it could
  /// not be committed. Waits for other writers without blocking the thread, which needs a run loop, or is a queue.
  ///
  /// ```swift
  /// realm.writeAsync {
  ///   realm.create(Dog.self, value: ["name": "Rex"])
  /// } onComplete: { error in
  ///   if let error { print(error) }
  /// }
  /// ```
  @discardableResult
  public func writeAsync(
    _ block: @escaping () -> Void,
    onComplete: (((any Swift.Error)?) -> Void)? = nil
  ) -> AsyncTransactionId {
    beginAsyncWrite {
      block()
      if context.isInTransaction { commitAsyncWrite(onComplete) }
    }
  }

  /// Runs `asyncWriteBlock` later in a write transaction. What it does not commit is taken back.
  @discardableResult
  public func beginAsyncWrite(_ asyncWriteBlock: @escaping () -> Void) -> AsyncTransactionId {
    context.checkThread()
    if context.isFrozen || context.file.writer == nil {
      Misuse.stop("Read-only and frozen realms have no write transactions.")
    }
    return context.asyncWrites.begin(asyncWriteBlock)
  }

  /// Commits the write transaction and calls `onComplete` soon with nil, or with why it could not be committed. Every
  /// commit is on disk of its own: `allowGrouping` changes nothing.
  @discardableResult
  public func commitAsyncWrite(
    allowGrouping: Bool = false,
    _ onComplete: (((any Swift.Error)?) -> Void)? = nil
  ) -> AsyncTransactionId {
    context.checkWrite()
    if context.file.synced != nil { return context.asyncWrites.commit(onComplete) }
    var problem: (any Swift.Error)?
    do { try context.commit() } catch { problem = error }
    return context.asyncWrites.complete(onComplete.map { block in { block(problem) } })
  }

  /// Has a block of `beginAsyncWrite` or `writeAsync` not run, if it did not yet.
  public func cancelAsyncWrite(_ asyncTransactionId: AsyncTransactionId) throws {
    context.checkThread()
    context.asyncWrites.cancel(asyncTransactionId)
  }

  /// Whether asynchronous writes are not over.
  public var isPerformingAsynchronousWriteOperations: Bool {
    context.checkThread()
    return context.asyncWriteDepth > 0 || context.asyncWrites.isBusy
  }

  /// Reads the newest version from now on, as `refresh` does; whether it differs from the one before. A task that was
  /// cancelled changes nothing.
  @discardableResult
  public func asyncRefresh(_isolation: isolated any Actor = #isolation) async -> Bool {
    context.checkThread()
    return Task.isCancelled ? false : refresh()
  }
}
