// The bytes of a realm as one contiguous address range, whether plain or encrypted: the seam between the file layer and
// the nodes. A plain file is mapped; an encrypted one gets reserved memory that fills with decrypted pages on demand.
// Offsets here are those of docs/format/1-storage.md: of the decrypted file.

import CLinux
import Glibc
import Synchronization

/// Contiguous, read-only bytes of one state of a realm file.
///
/// `base ..< base + size` is readable memory for as long as the object lives, whatever happens to the file: pages that
/// another process cuts off read as zeros. Before bytes are read, `require` must have been called for them.
@safe class PageSpace: @unchecked Sendable {
  // Unchecked: immutable after init; subclasses synchronise what they change.
  // Safe: `base ..< base + size` stays readable; who follows the pointer stays within.
  let base: UnsafeRawPointer
  /// Readable bytes: the logical file size, rounded as the file has it.
  let size: Int

  /// Whether `require` has work to do.
  let fillsOnDemand: Bool

  init(base: UnsafeRawPointer, size: Int, fillsOnDemand: Bool) {
    unsafe self.base = base
    self.size = size
    self.fillsOnDemand = fillsOnDemand
  }

  /// The byte at `offset`; 0 where there is none.
  func byte(at offset: Int) -> UInt8 {
    if offset < 0 || offset >= size { return 0 }
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// The eight bytes at `offset` as a number; 0 where they are not there.
  func word(at offset: Int) -> UInt64 {
    if offset < 0 || offset > size - 8 { return 0 }
    return unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// What a branch has beyond `size`; nil for the bytes of a file.
  var annex: Annex? { nil }

  /// Makes `count` bytes at `offset` valid; both lie within `size`.
  func require(_ offset: Int, _ count: Int) throws(EngineError) {}

  /// Gives back memory that can be filled again. Only for the one who has the space alone, and holds no view of a node:
  /// what is there is valid again after the next `require`.
  func dropPages() {}

  /// Keeps what is mapped of the file, and counts as memory of the process, below some 24 MiB. Views of nodes stay
  /// valid.
  func limitResidentPages() {}

  /// Notes that `count` bytes at `offset` are about to be read, and now and then limits what is resident. For what is
  /// read seldom enough: clusters, and values of some size.
  func noteRead(_ offset: Int, _ count: Int) {}

  /// Bytes that were filled in memory of the process and not given back.
  var filledBytes: Int { 0 }

  /// Whether `other` shows the same file, perhaps another state of it. Not so for a file that took the other's path.
  func isOfSameFile(as other: PageSpace) -> Bool { self === other }

  /// Where there may be anything but zeros. Costs some system calls.
  var dataRanges: [Range<Int>] { size > 0 ? [0..<size] : [] }

  /// Whether the memory no longer shows the file, or holds so much that it should be replaced by a fresh one.
  var isSpent: Bool { false }
}

/// A mapping of a plain file.
@safe final class MappedFile: PageSpace, @unchecked Sendable {
  // Safe: owns the mapping and `pieces`, of which each place is below `pieceCount`.
  private let file: FileHandle
  /// Pieces that were read lately, counted from 1, each at the place of its lowest bits; none are known to be resident
  /// after pages were dropped.
  private let pieces: UnsafeMutablePointer<Atomic<Int>>
  /// How many came since what is resident was looked at.
  private let newPieces = Atomic<Int>(0)

  /// What may be resident of all mapped files and the program together, in bytes.
  private static let mostResident = 24 << 20
  /// The bytes that come into memory with a page that is needed, as a shift; more where the page cache has large ones.
  private static let pieceShift = 16
  private static let pieceCount = 256
  /// So many new pieces make some megabytes resident.
  private static let piecesBetweenLooks = 16

  /// Maps the whole file of `size` bytes (greater than 0).
  init(_ file: FileHandle, size: Int) throws(EngineError) {
    guard let base = unsafe clinux_map_shared(file.descriptor, size) else { throw .failed("mmap", file.path, errno) }
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
    if size > Self.mostResident, clinux_resident_file_bytes() > Self.mostResident { dropResidentPages() }
  }

  override func noteRead(_ offset: Int, _ count: Int) {
    if size <= Self.mostResident { return }
    let piece = offset >> Self.pieceShift + 1, place = piece & (Self.pieceCount - 1)
    if unsafe pieces[place].load(ordering: .relaxed) == piece { return }
    unsafe pieces[place].store(piece, ordering: .relaxed)
    let sum = newPieces.wrappingAdd(1 + count >> Self.pieceShift, ordering: .relaxed).newValue
    if sum >= Self.piecesBetweenLooks { limitResidentPages() }
  }

  /// Gives resident memory back; the page cache keeps the content.
  func dropResidentPages() {
    for place in 0..<Self.pieceCount { unsafe pieces[place].store(0, ordering: .relaxed) }
    unsafe clinux_drop_pages(UnsafeMutableRawPointer(mutating: base), size)
  }
}
