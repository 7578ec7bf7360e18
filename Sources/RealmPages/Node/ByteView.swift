// Borrowed bytes: how texts and binaries leave the engine without a copy.

/// Bytes inside a snapshot: a string or a binary. Valid while the snapshot (or the reader that produced it) is alive;
/// copy what must live longer.
@safe public struct ByteView: @unchecked Sendable {
  // Unchecked: the bytes belong to an immutable snapshot.
  // Safe: the `count` bytes at `base` were checked to lie in the snapshot, which the user of a view holds.
  let base: UnsafeRawPointer
  /// The number of bytes.
  public let count: Int

  init(base: UnsafeRawPointer, count: Int) {
    unsafe self.base = base
    self.count = count
  }

  /// Calls `body` with the bytes; the pointer must not escape.
  @inlinable
  public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try unsafe body(unsafeBytes)
  }

  /// The bytes; the caller keeps the snapshot alive while it uses them.
  public var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  /// Whether these are the bytes.
  package func equals(_ other: [UInt8]) -> Bool { unsafe count == other.count && unsafeBytes.elementsEqual(other) }

  /// A copy of the bytes.
  public var bytes: [UInt8] { unsafe [UInt8](unsafeBytes) }

  /// The bytes as text, with U+FFFD in place of what is not UTF-8.
  public var string: String { unsafe String(decoding: unsafeBytes, as: UTF8.self) }

  /// The bytes in `range`, which lie within.
  func extracting(_ range: Range<Int>) -> ByteView {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return unsafe ByteView(base: base + range.lowerBound, count: range.count)
  }

  /// No bytes at all.
  static let empty = unsafe ByteView(base: UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped, count: 0)
}
