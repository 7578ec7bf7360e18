// References that are not counted. Counting one takes as long as reading a number from the realm.

/// A reference to an object that another one keeps for as long as this is used.
@unsafe struct Borrowed<Object: AnyObject> {
  // Unsafe: nothing here knows whether the object still lives; each user says who keeps it.
  private let reference: Unmanaged<Object>

  /// Refers to an object without keeping it.
  init(_ object: Object) { unsafe reference = .passUnretained(object) }

  /// The object, counted.
  var object: Object { unsafe reference.takeUnretainedValue() }

  /// Calls `body` with the object, which is not counted.
  @inline(__always)
  func with<R>(_ body: (Object) -> R) -> R { unsafe reference._withUnsafeGuaranteedRef(body) }
}
