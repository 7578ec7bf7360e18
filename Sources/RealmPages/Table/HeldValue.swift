// Values supplied by a program, for comparison with values of a snapshot. Views do not own their bytes, so this object
// keeps the bytes at one address for its lifetime.

/// A value owned by a program, with a view of it that is valid for the lifetime of this object.
@safe public final class HeldValue {
  // Safe: owns the bytes that `view` borrows.
  /// The value; a list or dictionary appears as an empty one.
  public let view: ValueView
  private let bytes: UnsafeMutableBufferPointer<UInt8>?

  /// Copies a value.
  public init(_ value: Value) {
    switch value {
    case .string(let text), .data(let text):
      let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(text.count, 1))
      _ = unsafe buffer.initialize(from: text)
      let base = unsafe buffer.baseAddress.map { UnsafeRawPointer($0) } ?? ByteView.empty.base
      let copy = unsafe ByteView(base: base, count: text.count)
      unsafe bytes = buffer
      if case .data = value { view = .data(copy) } else { view = .string(copy) }
    default:
      unsafe bytes = nil
      view = value.withView { $0 }
    }
  }

  deinit { unsafe bytes?.deallocate() }
}
