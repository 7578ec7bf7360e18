// Raw memory for the fields of rows in PostgreSQL's binary form: numbers in network order, fields behind their lengths.
// COPY, parameters of statements, and the hashes of verification are made of the same bytes.
//
// Invariant: `count <= capacity`, and every append reserves before it stores.

import Glibc
import RealmPages

/// A growable buffer of fields. One thread at a time.
final class FieldBuffer {
  @exclusivity(unchecked) private var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private(set) var count = 0

  init() {
    capacity = 1 << 12
    base = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { base.deallocate() }

  /// Valid until the next append.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  func copy(_ range: Range<Int>) -> [UInt8] { [UInt8](UnsafeRawBufferPointer(rebasing: bytes[range])) }

  func reset() { count = 0 }
  func truncate(to newCount: Int) { count = min(count, newCount) }

  @inline(__always)
  func append(byte: UInt8) {
    reserve(1)
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  @inline(__always)
  func append<T: FixedWidthInteger>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    base.storeBytes(of: value.bigEndian, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  // MARK: fields

  /// Begins a field whose length is not known yet; `end` fills it in.
  @inline(__always)
  func beginField() -> Int {
    append(Int32(0))
    return count
  }

  @inline(__always)
  func endField(_ start: Int) {
    base.storeBytes(of: Int32(truncatingIfNeeded: count - start).bigEndian, toByteOffset: start - 4, as: Int32.self)
  }

  func store(_ value: Int32, at offset: Int) {
    base.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Int32.self)
  }

  func appendNull() { append(Int32(-1)) }

  func append(field bytes: [UInt8]) {
    append(Int32(truncatingIfNeeded: bytes.count))
    append(bytes)
  }

  /// The field that begins with its length at `offset`; nil for null.
  func field(at offset: Int) -> UnsafeRawBufferPointer? {
    let length = Int32(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    if length < 0 { return nil }
    return UnsafeRawBufferPointer(start: base + offset + 4, count: Int(length))
  }

  // MARK: memory

  @inline(__always)
  private func reserve(_ extra: Int) { if extra > capacity &- count { grow(by: extra) } }

  @inline(never)
  private func grow(by extra: Int) {
    let newCapacity = max(capacity * 2, count + extra)
    let new = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    new.copyMemory(from: base, byteCount: count)
    base.deallocate()
    (base, capacity) = (new, newCapacity)
  }
}
