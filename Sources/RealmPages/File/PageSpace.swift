// The bytes of a realm as one contiguous address range: the interface between the file layer and the nodes. A plain
// file is mapped; an encrypted one gets reserved memory that is filled with decrypted pages on demand. Offsets are
// those of docs/format/1-storage.md, in the decrypted file.

import CLinux
import COpenSSL
import Glibc
import Synchronization

/// Contiguous, read-only bytes of one state of a realm file.
///
/// `base ..< base + size` is readable while the object exists, even if another process truncates the file: the lost
/// pages read as zeros. Call `require` for a range before reading it.
@safe class PageSpace: @unchecked Sendable {
  // Unchecked: immutable after init; subclasses synchronize their own changes. Safe: `base ..< base + size` stays
  // readable; code that uses the pointer stays within.
  let base: UnsafeRawPointer
  /// The readable bytes: the logical file size, rounded as in the file.
  let size: Int

  /// True if `require` has work to do.
  let fillsOnDemand: Bool

  init(base: UnsafeRawPointer, size: Int, fillsOnDemand: Bool) {
    unsafe self.base = base
    self.size = size
    self.fillsOnDemand = fillsOnDemand
  }

  /// The byte at `offset`; 0 outside of the space.
  func byte(at offset: Int) -> UInt8 {
    if offset < 0 || offset >= size { return 0 }
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// The eight bytes at `offset` as a number; 0 if they are not all within the space.
  func word(at offset: Int) -> UInt64 {
    if offset < 0 || offset > size - 8 { return 0 }
    return unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// The SHA-256 of a range of required bytes, in hexadecimal.
  func sha256(of range: Range<Int>) -> String {
    var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    let range = range.clamped(to: 0..<size)
    let start = unsafe base.assumingMemoryBound(to: UInt8.self) + range.lowerBound
    _ = unsafe SHA256(start, range.count, &hash)
    return hash.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }

  /// The memory of a branch beyond `size`; nil for a file.
  var branchMemory: BranchMemory? { nil }

  /// Makes the `count` bytes at `offset` valid; they must be within `size`.
  func require(_ offset: Int, _ count: Int) throws(EngineError) {}

  /// Releases memory that can be filled again. Only for the sole user of the space, without any view of a node: bytes
  /// are valid again after the next `require`.
  func dropPages() {}

  /// Keeps the resident part of a mapped file, which counts as memory of the process, below about 24 MiB. Views of
  /// nodes stay valid.
  func limitResidentPages() {}

  /// Records that `count` bytes at `offset` are about to be read, and occasionally limits resident memory. Call it only
  /// for infrequent reads: of clusters and of large values.
  func noteRead(_ offset: Int, _ count: Int) {}

  /// The bytes filled in memory of the process and not released.
  var filledBytes: Int { 0 }

  /// True if `other` shows the same file, perhaps in another state. False for a file that replaced the other at its
  /// path.
  func isOfSameFile(as other: PageSpace) -> Bool { self === other }

  /// Returns the same bytes for another user, whose `dropPages` does not affect this space. Copies the pages of `kept`
  /// into memory, so that later writes to the file do not change them.
  func copy(keeping kept: [Range<Int>]) throws(EngineError) -> PageSpace { self }

  /// The ranges that may contain anything but zeros. Costs some system calls.
  var dataRanges: [Range<Int>] { size > 0 ? [0..<size] : [] }

  /// True if the memory no longer shows the file, or holds so much that it should be replaced.
  var isSpent: Bool { false }
}

/// A mapping of a plain file.
@safe final class MappedFile: PageSpace, @unchecked Sendable {
  // Safe: owns the mapping and `pieces`, whose indices are always below `pieceCount`.
  private let file: FileHandle
  /// A direct-mapped cache of recently read pieces, numbered from 1 and indexed by their lowest bits. Zero means
  /// unknown, as after pages were dropped.
  private let pieces: UnsafeMutablePointer<Atomic<Int>>
  /// The number of new pieces since resident memory was last checked.
  private let newPieces = Atomic<Int>(0)
  /// The ranges that are private copies, in ascending order.
  private let kept: [Range<Int>]

  /// The limit for resident memory of all mapped files and the program together, in bytes.
  private static let maxResident = 24 << 20
  /// The bytes that become resident with one page, as a shift; more if the page cache has large folios.
  private static let pieceShift = 16
  private static let pieceCount = 256
  /// The number of new pieces between checks: some megabytes.
  private static let piecesBetweenLooks = 16

  /// Maps the whole file of `size` bytes (greater than 0). The pages of `kept` are copied.
  init(_ file: FileHandle, size: Int, keeping kept: [Range<Int>] = []) throws(EngineError) {
    guard let base = unsafe clinux_map_shared(file.descriptor, size) else { throw .failed("mmap", file.path, errno) }
    self.kept = kept.wholePages(of: Int(getpagesize()), below: size)
    for range in self.kept {
      // The ranges are within the pages of the mapping.
      if unsafe clinux_keep_pages(base + range.lowerBound, range.count) { continue }
      let code = errno
      unsafe clinux_unmap(base, size)
      throw .failed("mmap", file.path, code)
    }
    self.file = file
    unsafe pieces = .allocate(capacity: Self.pieceCount)
    for place in 0..<Self.pieceCount { unsafe (pieces + place).initialize(to: Atomic(0)) }
    unsafe super.init(base: UnsafeRawPointer(base), size: size, fillsOnDemand: false)
  }

  deinit {
    unsafe pieces.deinitialize(count: Self.pieceCount)
    unsafe pieces.deallocate()
    unsafe clinux_unmap(UnsafeMutableRawPointer(mutating: base), size)
  }

  override var isSpent: Bool { unsafe clinux_mapping_was_cut(base) }

  override func isOfSameFile(as other: PageSpace) -> Bool {
    (other as? MappedFile).map { file.isSame(as: $0.file) } ?? false
  }

  override var dataRanges: [Range<Int>] { file.dataRanges(below: size) }

  override func dropPages() { dropResidentPages() }

  override func limitResidentPages() {
    newPieces.store(0, ordering: .relaxed)
    if size > Self.maxResident, clinux_resident_file_bytes() > Self.maxResident { dropResidentPages() }
  }

  override func noteRead(_ offset: Int, _ count: Int) {
    if size <= Self.maxResident { return }
    let piece = offset >> Self.pieceShift + 1, place = piece & (Self.pieceCount - 1)
    if unsafe pieces[place].load(ordering: .relaxed) == piece { return }
    unsafe pieces[place].store(piece, ordering: .relaxed)
    let sum = newPieces.wrappingAdd(1 + count >> Self.pieceShift, ordering: .relaxed).newValue
    if sum >= Self.piecesBetweenLooks { limitResidentPages() }
  }

  /// Releases resident memory; the page cache keeps the content.
  func dropResidentPages() {
    for place in 0..<Self.pieceCount { unsafe pieces[place].store(0, ordering: .relaxed) }
    var start = 0
    for range in kept + [size..<size] {
      // The ranges are within the pages of the mapping.
      let gap = unsafe UnsafeMutableRawPointer(mutating: base) + start
      if range.lowerBound > start { unsafe clinux_drop_pages(gap, range.lowerBound - start) }
      start = range.upperBound
    }
  }

  override func copy(keeping kept: [Range<Int>]) throws(EngineError) -> PageSpace {
    try MappedFile(file, size: size, keeping: kept)
  }
}

extension [Range<Int>] {
  /// These ranges below `size`, extended to whole pages, in ascending order. Ranges with few pages between them are
  /// joined, because the kernel limits the number of mappings.
  fileprivate func wholePages(of page: Int, below size: Int) -> [Range<Int>] {
    let maxBetween = 16 * page
    var ranges: [Range<Int>] = []
    for range in sorted(by: { $0.lowerBound < $1.lowerBound }) where range.lowerBound < size && !range.isEmpty {
      let start = range.lowerBound / page * page
      let end = (Swift.min(range.upperBound, size) + page - 1) / page * page
      if let last = ranges.last, start <= last.upperBound + maxBetween {
        ranges[ranges.count - 1] = last.lowerBound..<Swift.max(last.upperBound, end)
      } else {
        ranges.append(start..<end)
      }
    }
    return ranges
  }
}
