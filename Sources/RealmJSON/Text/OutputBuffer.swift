// Growable raw memory for rendered text. The only file of this module that handles raw pointers.
//
// Invariant: `count <= capacity`, and the first `count` bytes at `base` are initialized. Every append reserves room
// before it stores, so no store exceeds the capacity.

import Glibc
public import RealmPages

/// A reusable byte buffer for rendering: it keeps its memory between objects.
///
/// Not thread-safe: one thread at a time.
@safe public final class OutputBuffer {
  // Safe: the invariant above holds for each method, and the buffer owns its memory. Exclusive access is not checked at
  // run time: one thread uses a buffer and no method exposes a property for writing, and the checks would account for a
  // quarter of the time needed to print a class.
  @exclusivity(unchecked) private var base: UnsafeMutableRawPointer
  @safe @exclusivity(unchecked) private var capacity: Int
  /// The number of bytes written.
  @safe @exclusivity(unchecked) public private(set) var count = 0

  /// `reset()` frees memory beyond this many bytes.
  private static let keptCapacity = 1 << 20
  private static let firstCapacity = 4096

  /// Creates an empty buffer with room for a small object.
  public init() {
    capacity = Self.firstCapacity
    unsafe base = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { unsafe base.deallocate() }

  /// Removes all bytes. Keeps the memory, unless it is more than 1 MiB.
  public func reset() {
    count = 0
    if capacity > Self.keptCapacity { move(toCapacity: Self.firstCapacity) }
  }

  /// Removes the bytes from `newCount` on. Does nothing if `count` is not larger.
  public func truncate(to newCount: Int) {
    count = min(count, max(newCount, 0))
  }

  // MARK: reading

  /// The bytes. Valid until the next append or reset, or until the buffer is deallocated.
  public var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  /// Calls `body` with the bytes. The pointer must not escape, and `body` must not write to the buffer.
  public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try unsafe body(unsafeBytes)
  }

  /// True if the buffer contains exactly these bytes.
  public func equals(_ other: [UInt8]) -> Bool { unsafe count == other.count && unsafeBytes.elementsEqual(other) }

  /// True if both buffers contain the same bytes.
  public func equals(_ other: OutputBuffer) -> Bool {
    unsafe count == other.count && unsafeBytes.elementsEqual(other.unsafeBytes)
  }

  /// A copy of the bytes.
  public var bytes: [UInt8] { unsafe [UInt8](unsafeBytes) }

  /// A copy of the bytes from an offset on; empty if the offset is at or past the end.
  func bytes(from offset: Int) -> [UInt8] { unsafe [UInt8](unsafeBytes.dropFirst(offset)) }

  /// The bytes as text, with U+FFFD in place of invalid UTF-8.
  public var string: String { unsafe String(decoding: unsafeBytes, as: UTF8.self) }

  // MARK: writing

  /// Appends one byte.
  public func append(_ byte: UInt8) {
    store(byte)
  }

  /// Appends the bytes of a literal.
  public func append(_ literal: StaticString) {
    unsafe append(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Appends a copy of `bytes`.
  public func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    unsafe copy(from: source, count: bytes.count)
  }

  /// Appends a copy of `bytes`.
  public func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  /// Appends a copy of bytes in the snapshot.
  public func append(_ view: ByteView) {
    unsafe append(view.unsafeBytes)
  }

  /// Appends a copy of the bytes of `span` in `range`, which must be inside the span.
  public func append(_ span: RawSpan, in range: Range<Int>) {
    unsafe span.extracting(range).withUnsafeBytes { unsafe append($0) }
  }

  /// Appends a copy of a part of another buffer.
  public func append(_ other: OutputBuffer, in range: Range<Int>) {
    unsafe append(UnsafeRawBufferPointer(rebasing: other.unsafeBytes[range]))
  }

  /// Appends two bytes, low byte first.
  func append(pair: UInt16) { store(pair.littleEndian) }

  /// Appends four bytes, low byte first.
  func append(four: UInt32) { store(four.littleEndian) }

  /// Appends `count` spaces.
  func append(spaces count: Int) {
    reserve(count)
    unsafe memset(base + self.count, 0x20, count)
    self.count += count
  }

  /// Appends a signed number in decimal digits.
  public func append(decimal value: Int64) {
    if value < 0 { store(UInt8(ascii: "-")) }
    append(decimal: value.magnitude)
  }

  /// Appends an unsigned number in decimal digits.
  public func append(decimal value: UInt64) {
    let digits = Self.digitCount(value)
    reserve(digits)
    var end = count + digits
    count = end
    var rest = value
    while rest >= 10 {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      end -= 1
      unsafe base.storeBytes(
        of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit),
        toByteOffset: end,
        as: UInt8.self
      )
      rest = quotient
    }
    unsafe base.storeBytes(
      of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest),
      toByteOffset: end - 1,
      as: UInt8.self
    )
  }

  /// Appends the lowest `width` decimal digits of `value`, with leading zeros.
  func append(decimal value: UInt64, width: Int) {
    reserve(width)
    var rest = value
    for offset in stride(from: count + width - 1, through: count, by: -1) {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      unsafe base.storeBytes(
        of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit),
        toByteOffset: offset,
        as: UInt8.self
      )
      rest = quotient
    }
    count += width
  }

  // MARK: memory

  /// Ensures room for `extra` more bytes.
  @inline(__always)
  func reserve(_ extra: Int) {
    if extra > capacity &- count { grow(by: extra) }
  }

  @inline(__always)
  private func store<T: FixedWidthInteger>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    unsafe base.storeBytes(of: value, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  @inline(__always)
  private func copy(from source: UnsafeRawPointer, count length: Int) {
    reserve(length)
    unsafe (base + count).copyMemory(from: source, byteCount: length)
    count += length
  }

  @inline(never)
  private func grow(by extra: Int) {
    move(toCapacity: max(capacity * 2, count + extra))
  }

  private func move(toCapacity newCapacity: Int) {
    let new = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    unsafe new.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe base = new
    capacity = newCapacity
  }

  private static func digitCount(_ value: UInt64) -> Int {
    var count = 1
    var limit: UInt64 = 10
    while value >= limit {
      count += 1
      let (next, overflow) = limit.multipliedReportingOverflow(by: 10)
      if overflow { break }
      limit = next
    }
    return count
  }
}

extension ByteView {
  /// Calls `body` with the bytes as a bounds-checked span.
  @inline(__always)
  func withSpan<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    let pointer = unsafe unsafeBytes
    return try unsafe body(pointer.bytes)
  }
}
