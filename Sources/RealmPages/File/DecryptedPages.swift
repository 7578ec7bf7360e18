// The decrypted bytes of an encrypted file, page by page on demand. Source: docs/format/4-encryption.md 4.2 to 4.5.

import CLinux
import Glibc
import Synchronization

/// The layout of pages and their metadata in an encrypted file. Source: docs/format/4-encryption.md 4.2.
enum EncryptedLayout {
  static let page = PageCipher.pageSize
  static let slotSize = 64
  static let pagesPerGroup = 64

  /// The byte offset in the file of logical page `n`.
  static func dataOffset(_ n: Int) -> Int { (n + n / pagesPerGroup + 1) * page }

  /// The byte offset in the file of the metadata slot of logical page `n`.
  static func slotOffset(_ n: Int) -> Int {
    n / pagesPerGroup * (pagesPerGroup + 1) * page + n % pagesPerGroup * slotSize
  }

  /// The logical page whose data is at a byte offset in the file; in a metadata page, the first page after it.
  static func page(at offset: Int) -> Int {
    let (group, rest) = (offset / page).quotientAndRemainder(dividingBy: pagesPerGroup + 1)
    return group * pagesPerGroup + max(0, rest - 1)
  }

  /// The logical size of a file of `physical` bytes, a multiple of the page size.
  static func logicalSize(_ physical: Int) -> Int {
    let pages = physical / page
    return max(0, (pages - (pages + pagesPerGroup) / (pagesPerGroup + 1)) * page)
  }

  /// The size of a file with `logical` bytes of content.
  static func physicalSize(_ logical: Int) -> Int {
    let pages = (logical + page - 1) / page
    return (pages + pages / pagesPerGroup + 1) * page
  }
}

/// The counter and MAC of the half slot that fits a page on disk. Pages with equal marks are equal.
private struct PageMark: Equatable {
  private let words: (UInt64, UInt64, UInt64, UInt64)

  init(_ slot: UnsafeRawPointer) {
    let words = unsafe slot.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
    self.words = words
  }

  static func == (a: PageMark, b: PageMark) -> Bool { a.words == b.words }
}

/// Memory into which pages are decrypted on demand. Thread-safe.
///
/// A space for a later version copies unchanged pages from the space before it, at a tenth of the cost of decryption.
@safe final class DecryptedPages: PageSpace, @unchecked Sendable {
  // Unchecked: `present` is atomic per page, and a page's bytes are written under the lock of `worker` before it is
  // marked present. Safe: `present` has an element for each of the `pageCount` pages; `require` checks its arguments.

  /// The state in which a page was found. Source: docs/format/4-encryption.md 4.3.
  enum PageState: Hashable, Sendable {
    case good, previousContent, neverWritten, beyondEnd, interrupted, zeroed, bad
  }

  @safe private struct Worker: ~Copyable {
    // Safe: owns `buffer`, which has room for `longestRun` pages and their slots.
    let cipher: PageCipher
    let buffer: UnsafeMutableRawPointer
    /// Pages that could not be decrypted despite waiting. Later requests do not wait for them again.
    var failed: Set<Int> = []
    /// Pages that are present and can be dropped.
    var filled: [Int] = []
    /// The ranges, in whole pages, that keep the content that they had when the space was created.
    var kept = ByteRanges()
    /// The pages of `kept` that could not be read then, with their states.
    var lost: [Int: PageState] = [:]
    /// The marks of pages that were decrypted from their current content.
    var marks: [Int: PageMark] = [:]
    /// The space of an earlier version, while its pages may be useful.
    var former: DecryptedPages?
    /// Pages that were decrypted although their slot is lost, by how much of them is known.
    var rescued: [Int: LostSlot.Finding] = [:]
    /// The page after the last one filled. A request for it indicates sequential reading, so more pages are read at
    /// once.
    var next = -1

    init?(_ key: EncryptionKey) {
      guard let cipher = PageCipher(key) else { return nil }
      self.cipher = cipher
      let size = DecryptedPages.longestRun * (PageCipher.pageSize + EncryptedLayout.slotSize)
      unsafe buffer = .allocate(byteCount: size, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }
  }

  /// The maximum number of pages read with one call.
  private static let longestRun = 16
  /// Microseconds between retries of a page that a writer may be writing, and the maximum number of retries: 5 seconds.
  private static let pause: useconds_t = 500
  private static let maxAttempts = 10_000
  /// The number of pages held before the space is to be replaced: 24 MiB.
  private static let residentLimit = 6144

  private let file: FileHandle
  private let key: EncryptionKey
  /// Shows whether a writer is active; nil if that is unknown.
  private let marker: (any WriterMarker)?
  private let worker: Mutex<Worker>
  private let present: UnsafeMutablePointer<Atomic<Bool>>
  private let pageCount: Int
  /// True if pages whose slots are lost are decrypted as far as possible, for a damaged file without writers.
  private let rescues: Bool
  private let resident = Atomic<Int>(0)

  /// Reserves memory for the pages of a file of `physicalSize` bytes (at least two pages). `former` has pages of an
  /// earlier version of the same file. With `rescues`, pages whose metadata slots are lost are read without them.
  init(
    _ file: FileHandle,
    key: EncryptionKey,
    physicalSize: Int,
    marker: (any WriterMarker)? = nil,
    after former: PageSpace? = nil,
    rescues: Bool = false
  ) throws(EngineError) {
    let size = EncryptedLayout.logicalSize(physicalSize)
    guard size > 0 else { throw .failed("read", file.path, EINVAL) }
    guard let base = unsafe clinux_reserve(size) else { throw .failed("mmap", file.path, errno) }
    guard let flags = unsafe clinux_reserve(size / PageCipher.pageSize) else {
      unsafe clinux_unreserve(base, size)
      throw .failed("mmap", file.path, errno)
    }
    guard var worker = Worker(key) else {
      unsafe clinux_unreserve(base, size)
      unsafe clinux_unreserve(flags, size / PageCipher.pageSize)
      throw .failed("EVP_CIPHER_CTX_new", file.path, ENOMEM)
    }
    // Do not keep a space that should be released.
    if let former = former as? DecryptedPages, !former.isSpent {
      former.worker.withLock { $0.former = nil }
      worker.former = former
    }
    (self.file, self.key) = (file, key)
    self.marker = marker
    self.rescues = rescues
    self.worker = Mutex(worker)
    pageCount = size / PageCipher.pageSize
    // Zeroed memory, which uses no RAM until a page is marked.
    unsafe present = flags.bindMemory(to: Atomic<Bool>.self, capacity: pageCount)
    unsafe super.init(base: UnsafeRawPointer(base), size: size, fillsOnDemand: true)
  }

  deinit {
    unsafe clinux_unreserve(present, pageCount)
    unsafe clinux_unreserve(UnsafeMutableRawPointer(mutating: base), size)
  }

  override var isSpent: Bool { resident.load(ordering: .relaxed) > Self.residentLimit }

  override var filledBytes: Int { resident.load(ordering: .relaxed) * PageCipher.pageSize }

  override func isOfSameFile(as other: PageSpace) -> Bool {
    (other as? DecryptedPages).map { file.isSame(as: $0.file) } ?? false
  }

  override var dataRanges: [Range<Int>] {
    let physical = EncryptedLayout.physicalSize(size)
    return file.dataRanges(below: physical).compactMap { range in
      let first = EncryptedLayout.page(at: range.lowerBound) * PageCipher.pageSize
      let end = (EncryptedLayout.page(at: range.upperBound - 1) + 1) * PageCipher.pageSize
      return first < min(end, size) ? first..<min(end, size) : nil
    }
  }

  override func copy(keeping kept: [Range<Int>]) throws(EngineError) -> PageSpace {
    // The pages that this space keeps may have changed in the file since.
    let (older, lost) = worker.withLock { ($0.kept, $0.lost) }
    let copy = try DecryptedPages(
      file,
      key: key,
      physicalSize: EncryptedLayout.physicalSize(size),
      marker: marker,
      after: self
    )
    let all = ByteRanges(kept.map { $0.clamped(to: 0..<size) }).encryptedPages.union(older)
    var failures: [Int: PageState] = [:]
    for number in all.ranges.flatMap({ $0.lowerBound / PageCipher.pageSize..<$0.upperBound / PageCipher.pageSize }) {
      if let state = lost[number] {
        failures[number] = state
      } else if older.overlaps(number * PageCipher.pageSize..<number * PageCipher.pageSize + 1) {
        copy.take(number, from: self)
      } else if case let state = copy.fill(number), Self.refusal(state, number, 0) != nil {
        failures[number] = state
      }
    }
    copy.keepPages(all, lost: failures)
    return copy
  }

  /// Copies a page that `other`, a space of the same size, keeps.
  private func take(_ page: Int, from other: DecryptedPages) {
    worker.withLock { worker in
      let offset = page * PageCipher.pageSize
      unsafe UnsafeMutableRawPointer(mutating: base + offset)
        .copyMemory(from: other.base + offset, byteCount: PageCipher.pageSize)
      markPresent(page, &worker)
    }
  }

  /// Keeps `pages`, so that `dropPages` does not drop them. All except those in `lost` have been filled.
  private func keepPages(_ pages: ByteRanges, lost: [Int: PageState]) {
    worker.withLock { worker in
      (worker.kept, worker.lost) = (pages, lost)
      let others = worker.filled.filter {
        !pages.overlaps($0 * PageCipher.pageSize..<$0 * PageCipher.pageSize + 1)
      }
      worker.filled = others
      resident.store(others.count, ordering: .relaxed)
    }
  }

  override func dropPages() {
    worker.withLock { worker in
      for page in worker.filled { unsafe present[page].store(false, ordering: .relaxed) }
      worker.filled.removeAll(keepingCapacity: true)
      worker.marks.removeAll(keepingCapacity: true)
      worker.former = nil
      resident.store(0, ordering: .relaxed)
      var start = 0
      for range in worker.kept.ranges + [size..<size] {
        // The ranges are whole pages of the space.
        let gap = unsafe UnsafeMutableRawPointer(mutating: base) + start
        if range.lowerBound > start { unsafe clinux_drop_pages(gap, range.lowerBound - start) }
        start = range.upperBound
      }
    }
  }

  override func require(_ offset: Int, _ count: Int) throws(EngineError) {
    let first = offset / PageCipher.pageSize, last = (offset + max(count, 1) - 1) / PageCipher.pageSize
    guard first >= 0, last < pageCount else { throw .damaged("bytes beyond the end of the file", ref: offset) }
    if rescues { return try rescue(first...last, offset, count) }
    for page in first...last where unsafe !present[page].load(ordering: .acquiring) {
      let state = fill(page)
      if let refusal = Self.refusal(state, page, offset) { throw refusal }
    }
  }

  /// The error for a page in a state without content; nil for the other states.
  private static func refusal(_ state: PageState, _ page: Int, _ offset: Int) -> EngineError? {
    switch state {
    case .good, .previousContent, .zeroed: nil
    case .neverWritten: .damaged("encrypted page \(page) has never been written", ref: offset)
    case .beyondEnd: .damaged("encrypted page \(page) is beyond the end of the file", ref: offset)
    case .interrupted: .damaged("the first write of encrypted page \(page) was interrupted", ref: offset)
    case .bad: .damaged("encrypted page \(page) fails its HMAC check: it is damaged", ref: offset)
    }
  }

  /// Decrypts one page into place and returns its state. A writer in another process replaces slot and data with two
  /// writes, so a mismatch is retried until five attempts saw no active writer, for at most 5 seconds. The limit counts
  /// attempts because the clock also advances while the program is stopped.
  func fill(_ page: Int) -> PageState {
    worker.withLock { worker in
      if unsafe present[page].load(ordering: .acquiring) { return .good }
      if let state = worker.lost[page] { return state }
      var attempts = worker.failed.contains(page) ? 1 : 5, left = Self.maxAttempts
      var seen = marker?.quietCount
      while true {
        let state = load(page, &worker, run: page == worker.next ? Self.longestRun : 1)
        switch state {
        case .good, .previousContent, .zeroed:
          markPresent(page, &worker)
          return state
        case .neverWritten, .beyondEnd: return state
        case .interrupted, .bad: break
        }
        let count = marker?.quietCount
        if marker == nil || count != nil && count == seen { attempts -= 1 }
        seen = count
        left -= 1
        if attempts == 0 || left == 0 {
          worker.failed.insert(page)
          return state
        }
        usleep(Self.pause)
      }
    }
  }

  /// True if any of the first 256 pages passes its HMAC check, or has a damaged slot and decrypts to nodes: then the
  /// key is right, and failing pages are damaged.
  func showsRightKey() -> Bool {
    worker.withLock { worker in
      (0..<min(pageCount, 256)).contains { page in
        switch load(page, &worker) {
        case .good, .previousContent: return true
        case .zeroed, .beyondEnd: return false
        case .neverWritten, .interrupted, .bad:
          let start = page * PageCipher.pageSize
          return decryptWithoutSlot(page, &worker) != nil
            && stride(from: start, to: start + PageCipher.pageSize, by: Node.alignment)
              .contains { UInt32(truncatingIfNeeded: word(at: $0)) == LostSlot.nodeMark }
        }
      }
    }
  }

  // MARK: pages without slots

  /// The pages that were read although their metadata slots are lost.
  var lostSlots: LostSlots {
    worker.withLock { worker in
      LostSlots(
        count: worker.rescued.count,
        unverified: worker.rescued.values.count { !$0.isAuthentic },
        withoutStart: worker.rescued.values.count { $0.start == nil }
      )
    }
  }

  /// `require` for pages that may have lost their slots. Throws if the range contains the lost bytes of such a page,
  /// except those of the header.
  private func rescue(_ pages: ClosedRange<Int>, _ offset: Int, _ count: Int) throws(EngineError) {
    for page in pages {
      var finding: LostSlot.Finding?
      if unsafe !present[page].load(ordering: .acquiring) {
        let state = fill(page)
        if let refusal = Self.refusal(state, page, offset) {
          finding = worker.withLock { worker in
            guard let finding = decryptWithoutSlot(page, &worker) else { return nil }
            worker.rescued[page] = finding
            markPresent(page, &worker)
            return finding
          }
          if finding == nil { throw refusal }
        }
      } else {
        finding = worker.withLock { $0.rescued[page] }
      }
      if let finding, finding.start == nil, page > 0, offset < page * PageCipher.pageSize + 4 {
        throw .damaged("the first four bytes of encrypted page \(page) are lost with its metadata slot", ref: offset)
      }
    }
  }

  /// Decrypts a page into place whose slot is lost; nil if the page itself is damaged, or was never written.
  private func decryptWithoutSlot(_ page: Int, _ worker: inout Worker) -> LostSlot.Finding? {
    let pageSize = PageCipher.pageSize, offset = page * pageSize, data = unsafe worker.buffer
    var slot = [UInt8](repeating: 0, count: EncryptedLayout.slotSize)
    let slotBytes = unsafe slot.withUnsafeMutableBytes { bytes in
      // A slot that cannot be read is a lost one.
      unsafe (try? file.read(into: bytes, at: EncryptedLayout.slotOffset(page))) ?? 0
    }
    let target = unsafe UnsafeMutableRawPointer(mutating: base) + offset
    guard slotBytes == slot.count, unsafe read(pageSize, into: data, at: EncryptedLayout.dataOffset(page)) == pageSize,
      unsafe !UnsafeRawBufferPointer(start: data, count: pageSize).allSatisfy({ $0 == 0 }),
      unsafe worker.cipher.decrypt(data, into: target, counter: 0, pageOffset: offset)
    else { return nil }
    let mac = unsafe worker.cipher.mac(of: data)
    let finding = LostSlot(slot).finding(mac: mac, page: page, start: word(at: offset), size: size)
    // A start that is not known becomes one that cannot be a ref.
    if let finding { unsafe target.storeBytes(of: (finding.start ?? 1).littleEndian, as: UInt32.self) }
    return finding
  }

  private func markPresent(_ page: Int, _ worker: inout Worker) {
    resident.add(1, ordering: .relaxed)
    worker.filled.append(page)
    if worker.filled.count > Self.residentLimit / 2 { worker.former = nil }
    unsafe present[page].store(true, ordering: .releasing)
  }

  /// Decrypts a page into place, and up to `run - 1` pages after it while they are valid and not present.
  private func load(_ page: Int, _ worker: inout Worker, run: Int = 1) -> PageState {
    let pageSize = PageCipher.pageSize, slotSize = EncryptedLayout.slotSize
    // The slots of one group are adjacent, and so are its pages.
    let run = min(run, EncryptedLayout.pagesPerGroup - page % EncryptedLayout.pagesPerGroup, pageCount - page)
    let slots = unsafe worker.buffer, data = unsafe worker.buffer + Self.longestRun * slotSize
    let slotBytes = unsafe read(run * slotSize, into: slots, at: EncryptedLayout.slotOffset(page))
    if slotBytes < slotSize { return .beyondEnd }
    if unsafe slots.loadUnaligned(as: UInt32.self) == 0 { return .neverWritten }
    worker.next = page + 1
    if let former = worker.former, unsafe former.copy(page, PageMark(slots), into: base) {
      worker.marks[page] = unsafe PageMark(slots)
      return .good
    }
    let dataBytes = unsafe read(run * pageSize, into: data, at: EncryptedLayout.dataOffset(page))
    if dataBytes < pageSize { return .beyondEnd }
    let state = unsafe decrypt(page, data: data, slot: slots, worker.cipher)
    guard state == .good else { return state }
    worker.marks[page] = unsafe PageMark(slots)
    for index in 1..<max(1, min(run, slotBytes / slotSize, dataBytes / pageSize)) {
      if unsafe present[page + index].load(ordering: .relaxed) || worker.lost[page + index] != nil { break }
      // A page that fails now may be in the middle of a write; it is retried when it is required.
      let slot = unsafe slots + index * slotSize
      if unsafe slot.loadUnaligned(as: UInt32.self) == 0 { break }
      if unsafe decrypt(page + index, data: data + index * pageSize, slot: slot, worker.cipher) != .good { break }
      worker.marks[page + index] = unsafe PageMark(slot)
      markPresent(page + index, &worker)
      worker.next = page + index + 1
    }
    return state
  }

  /// Copies a page into another space if it is present and has this mark.
  private func copy(_ page: Int, _ mark: PageMark, into other: UnsafeRawPointer) -> Bool {
    worker.withLock { worker in
      guard page < pageCount, worker.marks[page] == mark, unsafe present[page].load(ordering: .relaxed) else {
        return false
      }
      let offset = page * PageCipher.pageSize
      unsafe UnsafeMutableRawPointer(mutating: other + offset)
        .copyMemory(from: base + offset, byteCount: PageCipher.pageSize)
      return true
    }
  }

  /// Reads up to `count` bytes; none if the file cannot be read, which is treated as its end.
  private func read(_ count: Int, into buffer: UnsafeMutableRawPointer, at offset: Int) -> Int {
    // Callers that need a page do not use the reason.
    unsafe (try? file.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: count), at: offset)) ?? 0
  }

  private func decrypt(
    _ page: Int,
    data: UnsafeRawPointer,
    slot: UnsafeRawPointer,
    _ cipher: PageCipher
  ) -> PageState {
    let offset = page * PageCipher.pageSize, target = unsafe UnsafeMutableRawPointer(mutating: base) + offset
    let counter = unsafe UInt32(littleEndian: slot.loadUnaligned(as: UInt32.self))
    let previousCounter = unsafe UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: 32, as: UInt32.self))
    if unsafe cipher.authenticates(data, mac: slot + 4) {
      return unsafe cipher.decrypt(data, into: target, counter: counter, pageOffset: offset) ? .good : .bad
    }
    if previousCounter == 0 { return .interrupted }
    if unsafe cipher.authenticates(data, mac: slot + 36) {
      return unsafe cipher.decrypt(data, into: target, counter: previousCounter, pageOffset: offset)
        ? .previousContent : .bad
    }
    return unsafe UnsafeRawBufferPointer(start: data, count: PageCipher.pageSize).allSatisfy { $0 == 0 }
      ? .zeroed : .bad
  }
}
