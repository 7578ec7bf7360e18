// Borrowed bytes: strings and binaries without a copy.

/// Bytes of a string or a binary inside a snapshot. Valid while the snapshot (or the reader that produced it) exists;
/// copy bytes that are needed longer.
@safe public struct ByteView: @unchecked Sendable {
  // Unchecked: the bytes belong to an immutable snapshot.
  // Safe: the `count` bytes at `base` were checked to be in the snapshot, which the user of a view holds.
  let base: UnsafeRawPointer
  /// The number of bytes.
  public let count: Int

  init(base: UnsafeRawPointer, count: Int) {
    unsafe self.base = base
    self.count = count
  }

  /// Calls `body` with the bytes; the pointer must not escape.
  ///
  /// - Throws: the error of `body`.
  @inlinable
  public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try unsafe body(unsafeBytes)
  }

  /// The bytes; the caller must keep the snapshot alive while using them.
  public var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  /// True if the bytes are equal to `other`.
  package func equals(_ other: [UInt8]) -> Bool { unsafe count == other.count && unsafeBytes.elementsEqual(other) }

  /// A copy of the bytes.
  public var bytes: [UInt8] { unsafe [UInt8](unsafeBytes) }

  /// The bytes as text, with U+FFFD in place of invalid UTF-8.
  public var string: String { unsafe String(decoding: unsafeBytes, as: UTF8.self) }

  /// The bytes in `range`, which must be within this view.
  package func extracting(_ range: Range<Int>) -> ByteView {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return unsafe ByteView(base: base + range.lowerBound, count: range.count)
  }

  /// An empty view.
  static let empty = unsafe ByteView(base: UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped, count: 0)
}
