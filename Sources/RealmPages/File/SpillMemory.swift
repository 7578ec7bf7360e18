// Memory of a transaction that is too large for RAM: a mapping of a file without a name beside the realm. Pages of it
// that are not resident are in the page cache or on disk, so the process stays small however much it changes.
//
// Blocks never move, as nodes are used by address. What is allocated has its place on disk already: access to a page
// cannot fail because the disk is full.

import CLinux
import Glibc

/// Blocks of memory in a file without a name. One thread at a time.
@safe final class SpillMemory {
  // Safe: owns the mapping; blocks lie between its begin and `end`, which the file has room for.
  private let file: FileHandle
  private let base: UnsafeMutableRawPointer
  /// Below it, blocks were made.
  private var end = 0
  /// Below it, the file has its place on disk.
  private var limit = 0
  /// The offsets of blocks that are free again, by class of size.
  private var unused: [[Int]] = []
  /// The bytes of blocks that were made since pages were dropped.
  private var made = 0

  /// Address space, of which only what the file has is used.
  private static let reserved = 1 << 38
  /// The file grows by so much.
  private static let step = 4 << 20
  /// So much of the disk is left to others: to the commit, above all.
  private static let spare = 256 << 20
  /// After so many bytes of new blocks, no page stays resident.
  private static let mostMade = 4 << 20

  /// Memory beside the realm at `path`; nil where the folder takes no files.
  init?(besideRealm path: String) {
    // The transaction then has to be content with ordinary memory.
    guard let file = try? SpoolFile.unnamed(besideRealm: path),
      let base = unsafe clinux_map_writable(file.descriptor, Self.reserved)
    else { return nil }
    self.file = file
    unsafe self.base = base
  }

  deinit { unsafe clinux_unmap(base, Self.reserved) }

  /// Whether the disk did not keep what was written to it.
  var isLost: Bool { unsafe clinux_mapping_was_cut(base) }

  /// Whether a block is one of these.
  func contains(_ block: UnsafeMutableRawPointer) -> Bool { unsafe block >= base && block < base + Self.reserved }

  /// A block of at least `size` bytes, and its size; nil if the disk has no room for it.
  func allocate(_ size: Int) -> (block: UnsafeMutableRawPointer, size: Int)? {
    let (index, size) = Self.sizeClass(size)
    if index < unused.count, let offset = unused[index].popLast() { return unsafe (base + offset, size) }
    while end + size > limit { if !grow() { return nil } }
    made += size
    if made >= Self.mostMade { dropPages() }
    defer { end += size }
    return unsafe (base + end, size)
  }

  /// Gives a block back.
  func release(_ block: UnsafeMutableRawPointer, size: Int) {
    let (index, _) = Self.sizeClass(size)
    while unused.count <= index { unused.append([]) }
    unsafe unused[index].append(block - base)
  }

  /// Lets no page be resident. The next access to one maps it again.
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

  /// The class of blocks that hold `size` bytes, and their size: eight classes between powers of two.
  static func sizeClass(_ size: Int) -> (index: Int, size: Int) {
    let units = (size + 15) >> 4
    if units <= 16 { return (units, units << 4) }
    let shift = Int.bitWidth - 1 - (units - 1).leadingZeroBitCount - 3
    let steps = ((units - 1) >> shift) + 1
    return (16 + shift * 8 + steps - 8, (steps << shift) << 4)
  }
}
