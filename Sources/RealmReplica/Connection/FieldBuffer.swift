// Raw memory for the fields of rows in PostgreSQL's binary format: numbers in network order, each field preceded by its
// length. COPY, statement parameters and verification hashes all use these bytes.
//
// Invariant: `count <= capacity`, and every append reserves before it stores.

import Glibc
import RealmPages

/// A growable buffer of fields. Not thread-safe: one thread at a time.
@safe final class FieldBuffer {
  // Safe: it owns its memory, and reserves before it writes; views of it document how long they are valid.
  @exclusivity(unchecked) private var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private(set) var count = 0

  init() {
    unsafe capacity = 1 << 12
    unsafe base = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { unsafe base.deallocate() }

  /// Valid until the next append.
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  func copy(_ range: Range<Int>) -> [UInt8] { unsafe [UInt8](UnsafeRawBufferPointer(rebasing: bytes[range])) }

  func reset() { unsafe count = 0 }
  func truncate(to newCount: Int) { unsafe count = unsafe min(count, newCount) }

  @inline(__always)
  func append(byte: UInt8) {
    reserve(1)
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    unsafe count += 1
  }

  @inline(__always)
  func append<T: FixedWidthInteger>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    unsafe base.storeBytes(of: value.bigEndian, toByteOffset: count, as: T.self)
    unsafe count += MemoryLayout<T>.size
  }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
    unsafe count += bytes.count
  }

  func append(_ bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe append($0) } }

  // MARK: fields

  /// Begins a field whose length is not known yet; `endField` fills it in.
  @inline(__always)
  func beginField() -> Int {
    append(Int32(0))
    return unsafe count
  }

  @inline(__always)
  func endField(_ start: Int) {
    unsafe base.storeBytes(
      of: Int32(truncatingIfNeeded: count - start).bigEndian,
      toByteOffset: start - 4,
      as: Int32.self
    )
  }

  func store(_ value: Int32, at offset: Int) {
    unsafe base.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Int32.self)
  }

  func appendNull() { append(Int32(-1)) }

  func append(field bytes: [UInt8]) {
    append(Int32(truncatingIfNeeded: bytes.count))
    append(bytes)
  }

  /// Returns the field whose length is at `offset`; nil for null.
  func field(at offset: Int) -> UnsafeRawBufferPointer? {
    let length = unsafe Int32(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    if length < 0 { return nil }
    return unsafe UnsafeRawBufferPointer(start: base + offset + 4, count: Int(length))
  }

  // MARK: memory

  @inline(__always)
  private func reserve(_ extra: Int) { if unsafe extra > capacity &- count { grow(by: extra) } }

  @inline(never)
  private func grow(by extra: Int) {
    let newCapacity = unsafe max(capacity * 2, count + extra)
    let new = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    unsafe new.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe (base, capacity) = unsafe (new, newCapacity)
  }
}
