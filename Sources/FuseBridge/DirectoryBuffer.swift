// Entries of a listing in the kernel's format, in a buffer of the size that the kernel requested.

import CFuse
import FileTree
import Glibc

/// Packs entries until the buffer is full.
@safe struct DirectoryBuffer: DirectorySink {
  // Safe: libfuse writes at most the remaining room; the creator of a buffer guarantees that the pointers are valid.
  /// The number of bytes filled.
  private(set) var count = 0

  private let request: fuse_req_t
  private let bridge: Bridge
  private let memory: UnsafeMutableRawPointer
  private let capacity: Int
  private let withAttributes: Bool
  /// Inodes that the kernel learns of through this listing, each with one lookup.
  private var references: [InodeNumber] = []

  /// Creates a buffer. `memory` must have `capacity` bytes and outlive the buffer.
  init(
    _ request: fuse_req_t,
    _ bridge: Bridge,
    _ memory: UnsafeMutableRawPointer,
    _ capacity: Int,
    withAttributes: Bool
  ) {
    unsafe self.request = request
    self.bridge = bridge
    unsafe self.memory = memory
    self.capacity = capacity
    self.withAttributes = withAttributes
  }

  mutating func add(
    _ name: RawSpan,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64
  ) -> Bool {
    let place = unsafe memory.advanced(by: count).assumingMemoryBound(to: CChar.self)
    let room = capacity - count
    var entry = fuse_entry_param()
    if let attributes {
      entry = bridge.entry(attributes)
    } else {
      // Node id 0 (which `entry.ino` still is) means that this entry has no attributes.
      entry.attr.st_ino = numericCast(inode.value)
      entry.attr.st_mode = fileType(kind)
    }
    let size = unsafe name.withUnsafeBytes { bytes in
      // The span is followed by a zero byte, so it is a C string.
      let text = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      return unsafe withAttributes
        ? fuse_add_direntry_plus(request, place, room, text, &entry, off_t(next))
        : fuse_add_direntry(request, place, room, text, &entry.attr, off_t(next))
    }
    if size > room { return false }
    count += size
    if attributes != nil { references.append(inode) }
    return true
  }

  mutating func reset() {
    count = 0
    references.removeAll(keepingCapacity: true)
  }

  /// Releases the lookups of entries that did not reach the kernel.
  func forgetReferences() {
    for inode in references { bridge.tree.forget(inode, lookups: 1) }
  }
}
