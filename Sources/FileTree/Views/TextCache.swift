// A cache of recently rendered texts of objects, so that stat, open and a second open render only once.
//
// Bounded in bytes and entries; the oldest text is evicted first, which suits scans. A text belongs to an inode and the
// generation of its table's last change, so commits to other tables leave it valid. Invariant: each used entry is in
// the chain of its inode's hash exactly once. The table of entries grows with their number.

import Synchronization

/// A text, or only its size if the text is too large to keep.
struct CachedText: Sendable {
  let size: Int
  let text: [UInt8]?
}

/// Texts by inode.
final class TextCache: Sendable {
  /// One text to cache.
  struct Item: Sendable {
    let inode: InodeNumber
    let generation: UInt64
    let text: [UInt8]
  }

  fileprivate struct Entry {
    var inode = InodeNumber(0)
    var generation: UInt64 = 0
    var size = 0
    var text: [UInt8]?
    /// The slot of the next entry in the chain; -1 at its end.
    var next: Int32 = -1
    var isUsed = false

    /// The number of bytes that the entry is counted as.
    var cost: Int { (text?.count ?? 0) + 64 }
  }

  fileprivate struct State {
    /// A ring: entries are added at `newest` and removed at `oldest`.
    var entries: [Entry]
    var oldest = 0
    var newest = 0
    /// The first slot of each chain. There are as many chains as slots.
    var chains: [Int32]
    var bytes = 0
    var count = 0
  }

  /// The size limit of a cached text in bytes; for larger texts, only the size is cached.
  static let largestText = 4 << 20

  /// The byte limit for rendering texts in one batch.
  static let maxAtOnce = 1 << 20

  private let state: Mutex<State>
  private let maximumBytes: Int
  private let maxSlots: Int

  /// The number of slots of an empty cache.
  private static let firstSlots = 16

  /// Creates a cache of at most `slots` texts, a power of 2.
  init(maximumBytes: Int = 8 << 20, slots: Int = 32_768) {
    self.maximumBytes = maximumBytes
    maxSlots = slots
    let first = min(slots, Self.firstSlots)
    state = Mutex(
      State(entries: Array(repeating: Entry(), count: first), chains: Array(repeating: -1, count: first))
    )
  }

  /// A cache for one of many trees, large enough for one program that reads a file.
  static var small: TextCache { TextCache(maximumBytes: 256 << 10, slots: 1024) }

  /// The text of `inode` as of `generation`, if it is cached.
  func find(_ inode: InodeNumber, _ generation: UInt64) -> CachedText? {
    state.withLock { state in
      guard let slot = state.slot(of: inode), state.entries[slot].generation == generation else { return nil }
      return CachedText(size: state.entries[slot].size, text: state.entries[slot].text)
    }
  }

  /// The size of the text of `inode` as of `generation`, if it is cached.
  func size(of inode: InodeNumber, _ generation: UInt64) -> Int? {
    state.withLock { state in
      guard let slot = state.slot(of: inode), state.entries[slot].generation == generation else { return nil }
      return state.entries[slot].size
    }
  }

  /// Adds texts, evicting old ones as needed.
  func insert(_ items: [Item]) {
    if items.isEmpty { return }
    state.withLock { state in
      for item in items { state.insert(item, maximumBytes: maximumBytes, maxSlots: maxSlots) }
    }
  }

  /// The number of bytes and entries held.
  var usage: (bytes: Int, count: Int) { state.withLock { ($0.bytes, $0.count) } }
}

extension TextCache.State {
  private func chain(of inode: InodeNumber) -> Int {
    Int((inode.value &* 0x9e37_79b9_7f4a_7c15) >> 40) & (chains.count - 1)
  }

  fileprivate func slot(of inode: InodeNumber) -> Int? {
    var slot = Int(chains[chain(of: inode)])
    while slot >= 0, entries[slot].inode != inode { slot = Int(entries[slot].next) }
    return slot >= 0 ? slot : nil
  }

  fileprivate mutating func insert(_ item: TextCache.Item, maximumBytes: Int, maxSlots: Int) {
    if let slot = slot(of: item.inode) { remove(slot) }
    if count > 0, oldest == newest, entries.count < maxSlots { grow() }
    let isKept = item.text.count <= min(TextCache.largestText, maximumBytes)
    var entry = TextCache.Entry()
    entry.inode = item.inode
    entry.generation = item.generation
    entry.size = item.text.count
    entry.text = isKept ? item.text : nil
    entry.isUsed = true
    if count == 0 { oldest = newest } else if oldest == newest { removeOldest() }  // the ring is full
    while count > 0, bytes + entry.cost > maximumBytes { removeOldest() }
    let chain = chain(of: item.inode)
    entry.next = chains[chain]
    chains[chain] = Int32(newest)
    bytes += entry.cost
    count += 1
    entries[newest] = entry
    newest = (newest + 1) & (entries.count - 1)
  }

  /// Doubles the number of slots of a full ring.
  private mutating func grow() {
    let kept = (entries[oldest...] + entries[..<oldest]).filter(\.isUsed)
    entries = kept + Array(repeating: TextCache.Entry(), count: 2 * entries.count - kept.count)
    chains = Array(repeating: -1, count: entries.count)
    for slot in kept.indices {
      let chain = chain(of: entries[slot].inode)
      entries[slot].next = chains[chain]
      chains[chain] = Int32(slot)
    }
    (oldest, newest) = (0, kept.count)
  }

  private mutating func removeOldest() {
    if entries[oldest].isUsed { remove(oldest) }
    oldest = (oldest + 1) & (entries.count - 1)
  }

  private mutating func remove(_ slot: Int) {
    let chain = chain(of: entries[slot].inode)
    let next = entries[slot].next
    if Int(chains[chain]) == slot {
      chains[chain] = next
    } else {
      var before = Int(chains[chain])
      while Int(entries[before].next) != slot { before = Int(entries[before].next) }
      entries[before].next = next
    }
    bytes -= entries[slot].cost
    count -= 1
    entries[slot] = TextCache.Entry()
  }
}
