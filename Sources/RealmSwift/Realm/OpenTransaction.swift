// A transaction that a class holds: the engine's cannot be copied, and properties of classes cannot be consumed.

import RealmPages

/// A write transaction until it is ended.
@safe final class OpenTransaction: @unchecked Sendable {
  // Unchecked: handed from one thread to the next, never used by two.
  // Safe: owns the transaction; its context lets go of it when it ends it.
  private let place: UnsafeMutablePointer<WriteTransaction>
  private var isOver = false

  init(_ transaction: consuming WriteTransaction) {
    unsafe place = .allocate(capacity: 1)
    unsafe place.initialize(to: transaction)
  }

  /// Rolls back what was not ended.
  deinit {
    if !isOver { unsafe place.deinitialize(count: 1) }
    unsafe place.deallocate()
  }

  /// The transaction; not after it was ended.
  var engine: WriteTransaction {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(place) }
  }

  /// Commits; only if something was changed.
  func commit() throws(EngineError) {
    isOver = true
    _ = try unsafe place.move().commit()
  }

  func rollback() {
    isOver = true
    unsafe place.move().rollback()
  }
}
