// Asynchronous write transactions: a background thread waits for other writers, then the block runs where the realm is
// confined.

import Dispatch
import RealmPages

/// The asynchronous write transactions that have not finished. Used only where the realm is confined.
final class AsyncWrites: @unchecked Sendable {
  // Unchecked: only an `Acquisition` crosses threads, and a semaphore guards it.

  /// A transaction that another thread begins.
  private final class Acquisition: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)
    private var result: Result<OpenTransaction, any Error>?

    func fill(_ result: Result<OpenTransaction, any Error>) {
      self.result = result
      done.signal()
    }

    /// Waits until the transaction has begun. May be called once.
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

  /// True if a block is pending or running, or a completion has not been called yet.
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

  /// Schedules a call to `onComplete`.
  func complete(_ onComplete: (() -> Void)?) -> AsyncTransactionId {
    let id = makeID()
    completions.append(id)
    // Safe: used only where `schedule` runs its block, which is where the realm is confined.
    @safe nonisolated(unsafe) let onComplete = onComplete, context = context
    schedule {
      context.asyncWrites.completions.removeAll { $0 == id }
      onComplete?()
    }
    return id
  }

  /// Commits the transaction of a synced realm: a background thread waits for the server.
  func commit(_ onComplete: (((any Error)?) -> Void)?) -> AsyncTransactionId {
    let finished: OpenTransaction?
    do { finished = try context.leave() } catch {
      context.cancel()
      return complete(onComplete.map { block in { block(error) } })
    }
    guard let finished else { return complete(onComplete.map { block in { block(nil) } }) }
    let id = makeID(), schedule = schedule
    completions.append(id)
    // Safe: used only where `schedule` runs its block, which is where the realm is confined.
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

  /// Removes a block that has not run yet.
  func cancel(_ id: AsyncTransactionId) { pending.removeAll { $0.id == id } }

  /// Starts a thread that begins the next transaction, if a block is pending and the realm is not in a transaction.
  func next() {
    guard acquisition == nil, !pending.isEmpty, !isRunning, !context.isInTransaction, let writer = context.file.writer
    else { return }
    let acquisition = Acquisition(), schedule = schedule
    self.acquisition = acquisition
    // The realm stays open until its writes have finished. Safe: used only where `schedule` runs its block.
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

  /// Hands the transaction acquired for a pending block to a synchronous write, which would otherwise wait for a lock
  /// that only this thread can release.
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
    // Roll back a transaction that the block left open.
    if context.isInTransaction { context.cancel() }
    isRunning = false
    next()
  }
}

/// Identifies an asynchronous write of a realm.
public typealias AsyncTransactionId = UInt32

extension Realm {
  /// Runs `block` asynchronously in a write transaction and commits it, then calls `onComplete` with nil or with the
  /// error that prevented the commit. Waits for other writers without blocking the calling thread. The realm must be
  /// confined to a queue, an actor or a thread with a run loop.
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

  /// Runs `asyncWriteBlock` asynchronously in a write transaction. Changes that the block does not commit are rolled
  /// back.
  @discardableResult
  public func beginAsyncWrite(_ asyncWriteBlock: @escaping () -> Void) -> AsyncTransactionId {
    context.checkThread()
    if context.isFrozen || context.file.writer == nil {
      Misuse.stop("Read-only and frozen realms have no write transactions.")
    }
    return context.asyncWrites.begin(asyncWriteBlock)
  }

  /// Commits the write transaction and schedules a call to `onComplete` with nil or with the error that prevented the
  /// commit. Commits are never grouped: each is durable, and `allowGrouping` has no effect.
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

  /// Cancels the block of a `beginAsyncWrite` or `writeAsync` call, if it has not run yet.
  public func cancelAsyncWrite(_ asyncTransactionId: AsyncTransactionId) throws {
    context.checkThread()
    context.asyncWrites.cancel(asyncTransactionId)
  }

  /// True if asynchronous writes have not finished.
  public var isPerformingAsynchronousWriteOperations: Bool {
    context.checkThread()
    return context.asyncWriteDepth > 0 || context.asyncWrites.isBusy
  }

  /// Moves the realm to the newest version, as `refresh` does. Returns true if that version differs from the previous
  /// one. Does nothing in a cancelled task.
  @discardableResult
  public func asyncRefresh(_isolation: isolated any Actor = #isolation) async -> Bool {
    context.checkThread()
    return Task.isCancelled ? false : refresh()
  }
}
