// Memory for a transaction that is too large for RAM: a mapping of an unnamed file beside the realm. Pages that are not
// resident are in the page cache or on disk, so the process stays small regardless of the size of the transaction.
//
// Blocks never move, as nodes are used by address. Allocated memory already has disk space: access to a page cannot
// fail because the disk is full.

import CLinux
import Glibc

/// Blocks of memory in an unnamed file. Not thread-safe.
@safe final class SpillMemory {
  // Safe: owns the mapping; blocks are between its start and `end`, for which the file has room.
  private let file: FileHandle
  private let base: UnsafeMutableRawPointer
  /// The end of allocated blocks.
  private var end = 0
  /// The end of the file's disk space.
  private var limit = 0
  /// The offsets of released blocks, by size class.
  private var unused: [[Int]] = []
  /// The bytes of blocks allocated since pages were last dropped.
  private var made = 0

  /// The reserved address space. Only the part covered by the file is used.
  private static let reserved = 1 << 38
  /// The step by which the file grows.
  private static let step = 4 << 20
  /// The disk space left free for others, above all for the commit.
  private static let spare = 256 << 20
  /// The bytes of new blocks after which pages are dropped.
  private static let maxMade = 4 << 20

  /// Creates memory beside the realm at `path`; nil if no file can be created in the directory.
  init?(besideRealm path: String) {
    // The transaction then uses ordinary memory.
    guard let file = try? SpoolFile.unnamed(besideRealm: path),
      let base = unsafe clinux_map_writable(file.descriptor, Self.reserved)
    else { return nil }
    self.file = file
    unsafe self.base = base
  }

  deinit { unsafe clinux_unmap(base, Self.reserved) }

  /// True if the disk lost data written to it.
  var isLost: Bool { unsafe clinux_mapping_was_cut(base) }

  /// True if the block is in this memory.
  func contains(_ block: UnsafeMutableRawPointer) -> Bool { unsafe block >= base && block < base + Self.reserved }

  /// Allocates a block of at least `size` bytes and returns it with its size; nil if the disk has no room.
  func allocate(_ size: Int) -> (block: UnsafeMutableRawPointer, size: Int)? {
    let (index, size) = Self.sizeClass(size)
    if index < unused.count, let offset = unused[index].popLast() { return unsafe (base + offset, size) }
    while end + size > limit { if !grow() { return nil } }
    made += size
    if made >= Self.maxMade { dropPages() }
    defer { end += size }
    return unsafe (base + end, size)
  }

  /// Releases a block.
  func release(_ block: UnsafeMutableRawPointer, size: Int) {
    let (index, _) = Self.sizeClass(size)
    while unused.count <= index { unused.append([]) }
    unsafe unused[index].append(block - base)
  }

  /// Drops all resident pages. The next access to a page maps it again.
  func dropPages() {
    made = 0
    unsafe clinux_drop_pages(base, limit)
  }

  private func grow() -> Bool {
    var room = statvfs()
    guard limit + Self.step <= Self.reserved, unsafe fstatvfs(file.descriptor, &room) == 0,
      Int(clamping: room.f_bavail) > (Self.spare + Self.step) / max(1, Int(room.f_frsize)),
      posix_fallocate(file.descriptor, limit, Self.step) == 0
    else { return false }
    limit += Self.step
    return true
  }

  /// The class of blocks for `size` bytes, and their size: eight classes between powers of two.
  static func sizeClass(_ size: Int) -> (index: Int, size: Int) {
    let units = (size + 15) >> 4
    if units <= 16 { return (units, units << 4) }
    let shift = Int.bitWidth - 1 - (units - 1).leadingZeroBitCount - 3
    let steps = ((units - 1) >> shift) + 1
    return (16 + shift * 8 + steps - 8, (steps << shift) << 4)
  }
}
