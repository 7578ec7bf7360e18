// A copy of a realm's bytes in memory.

/// Bytes in memory.
final class MemoryPages: PageSpace, @unchecked Sendable {
  // Unchecked: immutable after init.

  /// Copies `bytes`.
  init(_ bytes: UnsafeRawBufferPointer) {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 16)
    if let start = bytes.baseAddress { unsafe copy.copyMemory(from: start, byteCount: bytes.count) }
    unsafe super.init(base: UnsafeRawPointer(copy), size: bytes.count, fillsOnDemand: false)
  }

  deinit { unsafe base.deallocate() }
}
