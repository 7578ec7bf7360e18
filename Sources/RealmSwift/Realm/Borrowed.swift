// References without reference counting: a retain takes as long as reading a number from the realm.

/// A reference to an object that another reference keeps alive while this one is used.
@unsafe struct Borrowed<Object: AnyObject> {
  // Unsafe: the type cannot check that the object is still alive; each user states what keeps it alive.
  private let reference: Unmanaged<Object>

  /// Refers to an object without retaining it.
  init(_ object: Object) { unsafe reference = .passUnretained(object) }

  /// The object, retained.
  var object: Object { unsafe reference.takeUnretainedValue() }

  /// Calls `body` with the object, which is not retained.
  @inline(__always)
  func with<R>(_ body: (Object) -> R) -> R { unsafe reference._withUnsafeGuaranteedRef(body) }
}
