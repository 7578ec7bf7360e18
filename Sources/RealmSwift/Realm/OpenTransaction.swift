// Boxes a write transaction in a class: the engine's transaction cannot be copied, and a class property cannot be
// consumed.

import RealmPages

/// A write transaction that has not ended.
@safe final class OpenTransaction: @unchecked Sendable {
  // Unchecked: passed from one thread to the next, never used by two at a time.
  // Safe: owns the transaction; the context releases this object when it ends the transaction.
  private let place: UnsafeMutablePointer<WriteTransaction>
  private var isOver = false

  init(_ transaction: consuming WriteTransaction) {
    unsafe place = .allocate(capacity: 1)
    unsafe place.initialize(to: transaction)
  }

  /// Rolls back a transaction that has not ended.
  deinit {
    if !isOver { unsafe place.deinitialize(count: 1) }
    unsafe place.deallocate()
  }

  /// The transaction; must not be used after it has ended.
  var engine: WriteTransaction {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(place) }
  }

  /// Commits the transaction, if it contains changes.
  func commit() throws(EngineError) {
    isOver = true
    _ = try unsafe place.move().commit()
  }

  func rollback() {
    isOver = true
    unsafe place.move().rollback()
  }
}
