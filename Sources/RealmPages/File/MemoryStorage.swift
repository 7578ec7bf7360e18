// A realm in memory: an address range that commits grow into and readers access directly.

import CLinux
import Glibc
import Synchronization

/// Memory that commits are written to. It is released with its last view and writer.
@safe package final class MemoryStorage: Storage, @unchecked Sendable {
  // Unchecked: a commit writes only to space that no version in use refers to, and to the header, which one writer
  // changes.
  // Safe: owns the range; no access goes beyond `used`, which never exceeds `capacity`.
  package let name: String
  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  private let used = Atomic<Int>(0)

  /// Reserves address space for `capacity` bytes; memory is allocated as it is written.
  package init(name: String, capacity: Int = 1 << 36) throws(EngineError) {
    guard let base = unsafe clinux_reserve(capacity) else { throw .failed("mmap", name, errno) }
    self.name = name
    unsafe self.base = base
    self.capacity = capacity
  }

  deinit { unsafe clinux_unreserve(base, capacity) }

  package func size() throws(EngineError) -> Int { used.load(ordering: .acquiring) }

  package func grow(to size: Int) throws(EngineError) {
    guard size <= capacity else { throw .failed("grow", name, ENOSPC) }
    if size > used.load(ordering: .relaxed) { used.store(size, ordering: .releasing) }
  }

  package func shrink(to size: Int) throws(EngineError) {
    let former = used.load(ordering: .relaxed), page = PageCipher.pageSize
    let first = (size + page - 1) / page * page
    used.store(min(size, former), ordering: .releasing)
    if first < former { unsafe clinux_drop_pages(base + first, former - first) }
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    guard offset >= 0 else { throw .failed("read", name, EFAULT) }
    let count = max(0, min(buffer.count, try size() - offset))
    unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(start: base + offset, count: count))
    return count
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    guard offset >= 0, bytes.count <= (try size()) - offset else { throw .failed("write", name, EFAULT) }
    if let start = bytes.baseAddress { unsafe (base + offset).copyMemory(from: start, byteCount: bytes.count) }
  }

  package func sync() throws(EngineError) {}

  /// Returns the current bytes. Later writes are visible in them.
  func pages() throws(EngineError) -> PageSpace {
    unsafe MemoryView(self, base: UnsafeRawPointer(base), size: try size())
  }
}

/// The bytes of a `MemoryStorage` up to its size at the time.
private final class MemoryView: PageSpace, @unchecked Sendable {
  // Unchecked: immutable after init.
  private let storage: MemoryStorage

  init(_ storage: MemoryStorage, base: UnsafeRawPointer, size: Int) {
    self.storage = storage
    unsafe super.init(base: base, size: size, fillsOnDemand: false)
  }

  override func isOfSameFile(as other: PageSpace) -> Bool {
    (other as? MemoryView).map { $0.storage === storage } ?? false
  }
}
