// The decrypted bytes of an encrypted file, page by page on demand. Source: format/4-encryption.md 4.2 to 4.5.

import CLinux
import Glibc
import Synchronization
import Threads

/// Where the pages of an encrypted file and their metadata lie. Source: format/4-encryption.md 4.2.
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

  /// The logical size, a multiple of a page, of a file of `physical` bytes.
  static func logicalSize(_ physical: Int) -> Int {
    let pages = physical / page
    return max(0, (pages - (pages + pagesPerGroup) / (pagesPerGroup + 1)) * page)
  }

  /// The size of a file that holds `logical` bytes.
  static func physicalSize(_ logical: Int) -> Int {
    let pages = (logical + page - 1) / page
    return (pages + pages / pagesPerGroup + 1) * page
  }
}

/// Memory that fills with decrypted pages as they are required. Safe for several threads.
final class DecryptedPages: PageSpace, @unchecked Sendable {
  // Unchecked: `present` is atomic per page, and a page's bytes are written under `lock` before it is marked present.

  /// What a page turned out to be. Source: format/4-encryption.md 4.3.
  enum PageState: Hashable, Sendable {
    case good, previousContent, neverWritten, beyondEnd, interrupted, zeroed, bad
  }

  private struct Worker: ~Copyable {
    let cipher: PageCipher
    let buffer: UnsafeMutableRawPointer
    /// Pages that could not be decrypted in spite of waiting: they are not waited for again.
    var failed: Set<Int> = []
    /// Pages that are present.
    var filled: [Int] = []

    init?(_ key: EncryptionKey) {
      guard let cipher = PageCipher(key) else { return nil }
      self.cipher = cipher
      buffer = .allocate(byteCount: PageCipher.pageSize + EncryptedLayout.slotSize, alignment: 16)
    }

    deinit { buffer.deallocate() }
  }

  /// Pages held before the space asks to be replaced: 24 MiB.
  private static let residentLimit = 6144

  private let file: FileHandle
  /// Tells whether somebody is writing; nil where nobody can tell.
  private let marker: (any WriterMarker)?
  private let worker: Mutex<Worker>
  private let present: UnsafeMutablePointer<Atomic<Bool>>
  private let pageCount: Int
  private let resident = Atomic<Int>(0)

  /// Reserves memory for the pages of a file of `physicalSize` bytes (two pages at least).
  init(
    _ file: FileHandle,
    key: EncryptionKey,
    physicalSize: Int,
    marker: (any WriterMarker)? = nil
  ) throws(FileError) {
    let size = EncryptedLayout.logicalSize(physicalSize)
    guard size > 0 else { throw FileError("read", file.path, EINVAL) }
    guard let base = clinux_reserve(size) else { throw FileError("mmap", file.path, errno) }
    guard let worker = Worker(key) else {
      clinux_unreserve(base, size)
      throw FileError("EVP_CIPHER_CTX_new", file.path, ENOMEM)
    }
    self.file = file
    self.marker = marker
    self.worker = Mutex(worker)
    pageCount = size / PageCipher.pageSize
    present = .allocate(capacity: pageCount)
    for i in 0..<pageCount { (present + i).initialize(to: Atomic(false)) }
    super.init(base: UnsafeRawPointer(base), size: size, fillsOnDemand: true)
  }

  deinit {
    present.deinitialize(count: pageCount)
    present.deallocate()
    clinux_unreserve(UnsafeMutableRawPointer(mutating: base), size)
  }

  override var isSpent: Bool { resident.load(ordering: .relaxed) > Self.residentLimit }

  override func dropPages() {
    worker.withLock { worker in
      for page in worker.filled { present[page].store(false, ordering: .relaxed) }
      worker.filled.removeAll(keepingCapacity: true)
      resident.store(0, ordering: .relaxed)
      clinux_drop_pages(UnsafeMutableRawPointer(mutating: base), size)
    }
  }

  override func require(_ offset: Int, _ count: Int) throws(FormatError) {
    let first = offset / PageCipher.pageSize, last = (offset + max(count, 1) - 1) / PageCipher.pageSize
    guard first >= 0, last < pageCount else { throw FormatError("bytes beyond the end of the file", ref: offset) }
    for page in first...last where !present[page].load(ordering: .acquiring) {
      let state = fill(page)
      switch state {
      case .good, .previousContent, .zeroed: continue
      case .neverWritten: throw FormatError("encrypted page \(page) has never been written", ref: offset)
      case .beyondEnd: throw FormatError("encrypted page \(page) lies beyond the end of the file", ref: offset)
      case .interrupted: throw FormatError("the first write of encrypted page \(page) was interrupted", ref: offset)
      case .bad:
        throw FormatError("encrypted page \(page) fails its HMAC check: it is damaged", ref: offset)
      }
    }
  }

  /// Decrypts one page into place and says what it found. A writer in another process replaces slot and data with two
  /// writes, so a mismatch is looked at again: until there was no writer to be seen five times, at most for 5 seconds.
  func fill(_ page: Int) -> PageState {
    worker.withLock { worker in
      if present[page].load(ordering: .acquiring) { return .good }
      let deadline = MonotonicTime.now.advanced(by: .seconds(5))
      var looks = worker.failed.contains(page) ? 1 : 5
      var seen = marker?.quietCount
      while true {
        let state = load(page, &worker)
        switch state {
        case .good, .previousContent, .zeroed:
          resident.add(1, ordering: .relaxed)
          worker.filled.append(page)
          present[page].store(true, ordering: .releasing)
          return state
        case .neverWritten, .beyondEnd: return state
        case .interrupted, .bad: break
        }
        let count = marker?.quietCount
        if marker == nil || count != nil && count == seen { looks -= 1 }
        seen = count
        if looks == 0 || MonotonicTime.now >= deadline {
          worker.failed.insert(page)
          return state
        }
        usleep(500)
      }
    }
  }

  /// Whether any of the first 256 pages passes its HMAC check: the key's second half fits, and others are damaged.
  func anyPageVerifies() -> Bool {
    worker.withLock { worker in
      (0..<min(pageCount, 256)).contains { page in
        switch load(page, &worker) {
        case .good, .previousContent: true
        default: false
        }
      }
    }
  }

  private func load(_ page: Int, _ worker: inout Worker) -> PageState {
    let pageSize = PageCipher.pageSize
    let data = worker.buffer, slot = worker.buffer + pageSize
    let target = UnsafeMutableRawPointer(mutating: base) + page * pageSize
    guard
      let slotBytes = try? file.read(  // unreadable metadata is treated as a page beyond the end
        into: UnsafeMutableRawBufferPointer(start: slot, count: EncryptedLayout.slotSize),
        at: EncryptedLayout.slotOffset(page)
      ), slotBytes == EncryptedLayout.slotSize
    else { return .beyondEnd }
    let counter = UInt32(littleEndian: slot.loadUnaligned(as: UInt32.self))
    let previousCounter = UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: 32, as: UInt32.self))
    if counter == 0 { return .neverWritten }
    guard
      let dataBytes = try? file.read(  // likewise
        into: UnsafeMutableRawBufferPointer(start: data, count: pageSize),
        at: EncryptedLayout.dataOffset(page)
      ),
      dataBytes == pageSize
    else { return .beyondEnd }
    if worker.cipher.authenticates(data, mac: slot + 4) {
      return worker.cipher.decrypt(data, into: target, counter: counter, pageOffset: page * pageSize) ? .good : .bad
    }
    if previousCounter == 0 { return .interrupted }
    if worker.cipher.authenticates(data, mac: slot + 36) {
      return worker.cipher.decrypt(data, into: target, counter: previousCounter, pageOffset: page * pageSize)
        ? .previousContent : .bad
    }
    return UnsafeRawBufferPointer(start: data, count: pageSize).allSatisfy { $0 == 0 } ? .zeroed : .bad
  }
}
