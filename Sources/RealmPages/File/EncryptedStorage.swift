// Encryption between a commit and the file. Pages are gathered in memory and written whole, metadata first with a
// sync of its own, so that a power cut at any moment leaves each page readable in its old or its new content, as
// long as the disk writes a page of 4096 bytes whole or not at all. Source: docs/format/4-encryption.md 4.4.

import Glibc

/// The decrypted bytes of an encrypted file.
final class EncryptedStorage: Storage, @unchecked Sendable {
  // Unchecked: one committer at a time.

  /// A page that a commit has written to.
  private struct Pending {
    var plain: [UInt8]
    /// Its metadata slot, the first half of which fits what is on disk.
    var slot: [UInt8]
    /// What is in the file, if some version needs it.
    let former: [UInt8]?
    /// Whether the disk may still hold what was in the file before that.
    var isUncertain = false
  }

  private static let pageSize = PageCipher.pageSize

  private let base: any Storage
  private let cipher: PageCipher
  private var pages: [Int: Pending] = [:]
  /// Metadata pages by group, as they are on disk.
  private var metadata: [Int: [UInt8]] = [:]
  private var reusable: [Range<Int>] = []
  /// Tells readers in other processes that pages are being written; nil if there are none.
  var marker: (any WriterMarker)?

  /// Encrypts onto `base`; nil if libcrypto has no memory.
  init?(_ base: any Storage, key: EncryptionKey) {
    guard let cipher = PageCipher(key) else { return nil }
    self.base = base
    self.cipher = cipher
  }

  var name: String { base.name }

  func size() throws(EngineError) -> Int { EncryptedLayout.logicalSize(try base.size()) }

  func grow(to size: Int) throws(EngineError) {
    let physicalSize = EncryptedLayout.physicalSize(size)
    if try base.size() >= physicalSize { return }
    try base.grow(to: physicalSize)
    // A file that only its first writes had made longer would not be a whole number of pages.
    try base.sync()
  }

  func shrink(to size: Int) throws(EngineError) { try base.shrink(to: EncryptedLayout.physicalSize(size)) }

  func begin(reusable: () -> [Range<Int>]) {
    forget()
    self.reusable = reusable()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    var done = 0
    while done < buffer.count, offset + done < (try size()) {
      let (page, start) = (offset + done).quotientAndRemainder(dividingBy: Self.pageSize)
      let count = min(buffer.count - done, Self.pageSize - start)
      let plain = if let pending = pages[page] { pending.plain } else { try load(page).plain }
      unsafe plain.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
      }
      done += count
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    var done = 0
    while done < bytes.count {
      let (page, start) = (offset + done).quotientAndRemainder(dividingBy: Self.pageSize)
      let count = min(bytes.count - done, Self.pageSize - start)
      if pages[page] == nil { pages[page] = try isReusable(page) ? blank(page) : load(page) }
      unsafe pages[page]?.plain.withUnsafeMutableBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[done..<done + count]))
      }
      done += count
    }
  }

  /// Whether nothing on the page is part of any version.
  private func isReusable(_ page: Int) -> Bool {
    let start = page * Self.pageSize
    let index = bisect(reusable.count) { reusable[$0].upperBound <= start }
    return index < reusable.count && reusable[index].lowerBound <= start
      && reusable[index].upperBound >= start + Self.pageSize
  }

  /// A page whose present content does not matter: zeros.
  private func blank(_ page: Int) throws(EngineError) -> Pending {
    Pending(plain: [UInt8](repeating: 0, count: Self.pageSize), slot: try slot(page), former: nil)
  }

  private func slot(_ page: Int) throws(EngineError) -> [UInt8] {
    let (group, index) = page.quotientAndRemainder(dividingBy: EncryptedLayout.pagesPerGroup)
    if metadata[group] == nil {
      let first = EncryptedLayout.slotOffset(group * EncryptedLayout.pagesPerGroup)
      metadata[group] = try base.read(Self.pageSize, at: first)
    }
    var slot = Array(
      (metadata[group] ?? []).dropFirst(index * EncryptedLayout.slotSize).prefix(EncryptedLayout.slotSize)
    )
    while slot.count < EncryptedLayout.slotSize { slot.append(0) }
    return slot
  }

  private func forget() {
    pages.removeAll(keepingCapacity: true)
    metadata.removeAll(keepingCapacity: true)
    reusable = []
  }

  /// The present content of a page. Source: docs/format/4-encryption.md 4.3.
  private func load(_ page: Int) throws(EngineError) -> Pending {
    var pending = try blank(page)
    // Never written: zeros.
    if pending.slot[0..<4].allSatisfy({ $0 == 0 }) { return pending }
    let data = try base.read(Self.pageSize, at: EncryptedLayout.dataOffset(page))
    if data.count < Self.pageSize { return pending }
    if let half = cipher.open(data: data, slot: pending.slot, page: page, into: &pending.plain) {
      let isUncertain = Self.isUncertain(pending.slot)
      // After a crash between slot and data it is the former half that fits; it must survive the next write.
      if half != 0 { pending.slot.replaceSubrange(0..<32, with: Array(pending.slot[half..<half + 32])) }
      return Pending(plain: pending.plain, slot: pending.slot, former: data, isUncertain: isUncertain)
    }
    // The first write did not come to the page, or the file was cut and grew again: nothing was ever there.
    if data.allSatisfy({ $0 == 0 }) {
      pending.slot = [UInt8](repeating: 0, count: EncryptedLayout.slotSize)
      return pending
    }
    throw .failed("verify page \(page)", name, EIO)
  }

  /// Whether the page of a slot may be another one on disk than in the file: its last writer died, or a sync failed,
  /// before it could say that the page is there. Of a page that was never written before, no version needs either.
  private static func isUncertain(_ slot: [UInt8]) -> Bool {
    slot[0..<32] != slot[32..<64] && !slot[32..<36].allSatisfy { $0 == 0 }
  }

  /// Brings pages to disk that others may not have brought there. Otherwise the slots to come, which fit what is in the
  /// file, could reach the disk before it. They are written once more, as after a failed sync the system takes them for
  /// written.
  private func makeCertain(_ order: [Int]) throws(EngineError) {
    let uncertain = order.filter { pages[$0]?.isUncertain == true }
    if uncertain.isEmpty { return }
    for page in uncertain {
      if let former = pages[page]?.former { try base.write(former, at: EncryptedLayout.dataOffset(page)) }
    }
    try base.sync()
    for page in uncertain { pages[page]?.isUncertain = false }
  }

  /// Brings the first page to disk, with the header, if that may not have been done.
  func secureHeader() throws(EngineError) {
    let page = try load(0)
    guard page.isUncertain, let former = page.former else { return }
    try base.write(former, at: EncryptedLayout.dataOffset(0))
    try base.sync()
  }

  func flush() throws(EngineError) {
    if !pages.isEmpty { try sync() }
  }

  func sync() throws(EngineError) {
    if pages.isEmpty { return try base.sync() }
    let order = pages.keys.sorted()
    try makeCertain(order)
    var slots: [[UInt8]] = [], data: [[UInt8]] = []
    for page in order {
      guard var pending = pages[page], let sealed = cipher.seal(pending.plain, slot: &pending.slot, page: page) else {
        throw .failed("EVP_EncryptUpdate", name, EIO)
      }
      slots.append(pending.slot)
      data.append(sealed)
    }
    // Each slot now fits the page on disk with one half and the page to come with the other.
    try inRuns(order) { (run) throws(EngineError) in
      marker?.beginWriting(at: order[run.lowerBound] * Self.pageSize)
      defer { marker?.endWriting() }
      let place = EncryptedLayout.slotOffset(order[run.lowerBound])
      try write(slots[run], at: place, orRestore: order[run].map { pages[$0]?.slot })
    }
    try base.sync()
    try inRuns(order) { (run) throws(EngineError) in
      marker?.beginWriting(at: order[run.lowerBound] * Self.pageSize)
      defer { marker?.endWriting() }
      let place = EncryptedLayout.dataOffset(order[run.lowerBound])
      try write(data[run], at: place, orRestore: order[run].map { pages[$0]?.former })
    }
    try base.sync()
    // What was to be written is on disk, so a commit that ends here is a fact.
    try? settle(order, slots)
    forget()
  }

  /// Makes each slot say twice what is on the page now, and on disk: so the next writer need not doubt it. A realm-core
  /// process that read a page after its slot was written and before its data was keeps the former content, and takes it
  /// for the new one as long as the slot stays the same; this makes it look again. Either form fits the page, so a
  /// crash may leave some of both. Source: docs/format/4-encryption.md 4.5.
  private func settle(_ order: [Int], _ slots: [[UInt8]]) throws(EngineError) {
    let settled = slots.map { slot in Array(slot[0..<32] + slot[0..<32]) }
    try inRuns(order) { (run) throws(EngineError) in
      marker?.beginWriting(at: order[run.lowerBound] * Self.pageSize)
      defer { marker?.endWriting() }
      try write(settled[run], at: EncryptedLayout.slotOffset(order[run.lowerBound]), orRestore: Array(slots[run]))
    }
  }

  /// Writes neighbouring parts of the file. A failure may leave one of them in part: those that were there are put
  /// back.
  private func write(
    _ parts: ArraySlice<[UInt8]>,
    at offset: Int,
    orRestore former: [[UInt8]?]
  ) throws(EngineError) {
    do throws(EngineError) { try base.write(Array(parts.joined()), at: offset) } catch {
      var place = offset
      for (part, former) in zip(parts, former) {
        // The error that led here is the one to report.
        if let former { try? base.write(former, at: place) }
        place += part.count
      }
      throw error
    }
  }

  /// Calls `body` with each run of neighbouring pages of one group, as indices into `order`.
  private func inRuns(_ order: [Int], _ body: (Range<Int>) throws(EngineError) -> Void) throws(EngineError) {
    var start = 0
    for end in 1...order.count
    where end == order.count || order[end] != order[end - 1] + 1
      || order[end] % EncryptedLayout.pagesPerGroup == 0
    {
      try body(start..<end)
      start = end
    }
  }
}
