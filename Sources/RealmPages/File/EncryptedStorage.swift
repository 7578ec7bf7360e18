// Encryption between a commit and the file. Pages are gathered in memory and written whole, after their metadata has
// been written and synced, so that after a power failure each page is readable in its old or new content, provided that
// the disk writes a page of 4096 bytes atomically. Source: docs/format/4-encryption.md 4.4.

import Glibc

/// The decrypted bytes of an encrypted file.
final class EncryptedStorage: Storage, @unchecked Sendable {
  // Unchecked: one committer at a time.

  /// A page that a commit has written to.
  private struct Pending {
    var plain: [UInt8]
    /// Its metadata slot. The first half fits the page on disk.
    var slot: [UInt8]
    /// The page in the file, if any version needs it.
    let former: [UInt8]?
    /// True if the disk may still hold the content before that of the file.
    var isUncertain = false
  }

  private static let pageSize = PageCipher.pageSize

  private let base: any Storage
  private let cipher: PageCipher
  private var pages: [Int: Pending] = [:]
  /// Metadata pages by group, as on disk.
  private var metadata: [Int: [UInt8]] = [:]
  private var reusable: [Range<Int>] = []
  /// Shows readers in other processes that pages are being written; nil if there are none.
  var marker: (any WriterMarker)?

  /// Encrypts onto `base`; nil if libcrypto is out of memory.
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
    // If only the first writes had extended the file, its size might not be a whole number of pages after a crash.
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

  /// True if no part of the page belongs to any version.
  private func isReusable(_ page: Int) -> Bool {
    let start = page * Self.pageSize
    let index = bisect(reusable.count) { reusable[$0].upperBound <= start }
    return index < reusable.count && reusable[index].lowerBound <= start
      && reusable[index].upperBound >= start + Self.pageSize
  }

  /// Returns a zeroed page in place of one whose current content does not matter.
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

  /// Returns the current content of a page. Source: docs/format/4-encryption.md 4.3.
  private func load(_ page: Int) throws(EngineError) -> Pending {
    var pending = try blank(page)
    // Never written: zeros.
    if pending.slot[0..<4].allSatisfy({ $0 == 0 }) { return pending }
    let data = try base.read(Self.pageSize, at: EncryptedLayout.dataOffset(page))
    if data.count < Self.pageSize { return pending }
    if let half = cipher.open(data: data, slot: pending.slot, page: page, into: &pending.plain) {
      let isUncertain = Self.isUncertain(pending.slot)
      // After a crash between slot and data, the half for the previous content fits; it must survive the next write.
      if half != 0 { pending.slot.replaceSubrange(0..<32, with: Array(pending.slot[half..<half + 32])) }
      return Pending(plain: pending.plain, slot: pending.slot, former: data, isUncertain: isUncertain)
    }
    // The first write did not reach the page, or the file was truncated and grew again: the page never had content.
    if data.allSatisfy({ $0 == 0 }) {
      pending.slot = [UInt8](repeating: 0, count: EncryptedLayout.slotSize)
      return pending
    }
    throw .failed("verify page \(page)", name, EIO)
  }

  /// True if the page of a slot may differ between disk and file: its last writer died, or a sync failed, before
  /// confirming that the page is on disk. A page that was never written before is certain, as no version needs either
  /// content.
  private static func isUncertain(_ slot: [UInt8]) -> Bool {
    slot[0..<32] != slot[32..<64] && !slot[32..<36].allSatisfy { $0 == 0 }
  }

  /// Writes pages to disk that earlier writers may not have synced. Otherwise the new slots, which fit the content of
  /// the file, could reach the disk before that content. The pages are rewritten first, as after a failed sync the
  /// kernel considers them written.
  private func makeCertain(_ order: [Int]) throws(EngineError) {
    let uncertain = order.filter { pages[$0]?.isUncertain == true }
    if uncertain.isEmpty { return }
    for page in uncertain {
      if let former = pages[page]?.former { try base.write(former, at: EncryptedLayout.dataOffset(page)) }
    }
    try base.sync()
    for page in uncertain { pages[page]?.isUncertain = false }
  }

  /// Syncs the first page, which contains the header, if an earlier writer may not have done so.
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
    // Each slot now fits the page on disk with one half and the new page with the other.
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
    // The pages are on disk, so the commit stands even if this fails.
    try? settle(order, slots)
    forget()
  }

  /// Writes each slot with both halves equal, which marks its page as on disk, so the next writer need not resync it. A
  /// realm-core process that read a page after its slot was written but before its data was keeps the previous content,
  /// and considers it current until the slot changes; this write makes it read the page again. Either content of the
  /// slot fits the page, so a crash may leave a mixture. Source: docs/format/4-encryption.md 4.5.
  private func settle(_ order: [Int], _ slots: [[UInt8]]) throws(EngineError) {
    let settled = slots.map { slot in Array(slot[0..<32] + slot[0..<32]) }
    try inRuns(order) { (run) throws(EngineError) in
      marker?.beginWriting(at: order[run.lowerBound] * Self.pageSize)
      defer { marker?.endWriting() }
      try write(settled[run], at: EncryptedLayout.slotOffset(order[run.lowerBound]), orRestore: Array(slots[run]))
    }
  }

  /// Writes adjacent parts of the file. If that fails, restores the previous content, as a part may be incompletely
  /// overwritten.
  private func write(
    _ parts: ArraySlice<[UInt8]>,
    at offset: Int,
    orRestore former: [[UInt8]?]
  ) throws(EngineError) {
    do { try base.write(Array(parts.joined()), at: offset) } catch {
      var place = offset
      for (part, former) in zip(parts, former) {
        // Report the original error.
        if let former { try? base.write(former, at: place) }
        place += part.count
      }
      throw error
    }
  }

  /// Calls `body` with each run of adjacent pages of one group, as indices into `order`.
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
