// Removals that make room for a new text. Many programs replace a file by unlinking it and writing a new one (mv
// between file systems, install, tar, git checkout). That must not break the links to an object, nor delete the object
// if the new text is refused. So a removal is remembered as long as the process that made it runs. If that process
// creates a file of the same name, the new object takes over the key and the links of the removed one; if the text is
// refused, the removed object is restored.
//
// Invariant: the content of all removals occupies at most `room` bytes, including removals that a new file has taken
// over. The oldest content is dropped first; its record stays.

import Glibc
import RealmPages
import Synchronization

/// A removed object or property that can be restored.
struct Removal: Sendable {
  /// The previous content.
  struct Content: Sendable {
    /// The text; nil if it could not be read.
    let text: [UInt8]?
    /// The links to the object; nil if there were too many.
    let links: [IncomingLink]?

    fileprivate var cost: Int { (text?.count ?? 0) + (links?.count ?? 0) * RemovalRecords.linkCost }
  }

  let key: ObjKey
  fileprivate let kept: KeptContent

  /// The previous content; nil if it was dropped to make room.
  var content: Content? { kept.content }

  init(_ key: ObjKey, _ content: Content) { (self.key, kept) = (key, KeptContent(content)) }
}

/// The content of a removal. Dropped with the removal, or earlier to make room for others.
private final class KeptContent: Sendable {
  private struct State {
    var content: Removal.Content?
    /// The counter that includes the bytes of `content`; nil if they are not counted.
    var usage: Usage?
  }

  /// A counter of the bytes of all content.
  final class Usage: Sendable {
    private let bytes = Atomic<Int>(0)

    var count: Int { bytes.load(ordering: .relaxed) }
    func add(_ count: Int) { bytes.wrappingAdd(count, ordering: .relaxed) }
  }

  private let state: Mutex<State>

  init(_ content: Removal.Content) { state = Mutex(State(content: content)) }

  deinit { drop() }

  var content: Removal.Content? { state.withLock { $0.content } }

  /// Adds the bytes to `usage`. Returns false if they are already counted, or were dropped.
  func count(in usage: Usage) -> Bool {
    state.withLock { state in
      guard state.usage == nil, let content = state.content else { return false }
      state.usage = usage
      usage.add(content.cost)
      return true
    }
  }

  func drop() {
    state.withLock { state in
      if let content = state.content { state.usage?.add(-content.cost) }
      state.content = nil
    }
  }
}

/// Removals by the place of the object or property.
final class RemovalRecords: Sendable {
  fileprivate struct Record {
    let removal: Removal
    let remover: Caller.ThreadTime
    let number: UInt64
  }

  fileprivate struct WeakContent {
    weak var kept: KeptContent?
  }

  fileprivate struct State {
    var records: [Overlay.Place: Record] = [:]
    /// The places in the order of their removals, from `first` on. Some may since have been forgotten or removed again.
    var queue: [(place: Overlay.Place, number: UInt64)] = []
    var first = 0
    /// The content of removals in their order, from `firstContent` on. Nil if the removal was dropped.
    var contents: [WeakContent] = []
    var firstContent = 0
    var trimAt = 1024
    var lastNumber: UInt64 = 0
    /// The number of records of each process, by its first thread.
    var threads: [Int32: Int] = [:]
    /// Removals that could not be undone. The next save retries them.
    var kept: [(place: Overlay.Place, removal: Removal)] = []
  }

  /// The maximum total size of the content in bytes.
  static let room = 64 << 20
  /// The number of bytes counted for a link, including its path and its array element.
  static let linkCost = 128
  private static let maxRecords = 100_000

  private let state = Mutex(State())
  private let room: Int
  private let bytes = KeptContent.Usage()
  /// False if there was never a removal, so that saving costs nothing.
  private let isUsed = Atomic<Bool>(false)

  /// Creates records with at most `room` bytes of content.
  init(room: Int = RemovalRecords.room) { self.room = room }

  /// The maximum number of links remembered for one object.
  var maxLinks: Int { room / Self.linkCost }

  /// The bytes in use.
  var usage: Int { bytes.count }

  /// Records a removal at `place` by `caller`.
  func note(_ place: Overlay.Place, _ removal: Removal, by caller: Caller) {
    isUsed.store(true, ordering: .releasing)
    // A process with removals is identified by its main thread; only other threads are looked up in /proc.
    let isKnown = state.withLock { $0.threads[caller.process] != nil }
    let remover = isKnown ? Caller.ThreadTime(thread: caller.process) : caller.now
    if !isKnown, state.withLock({ $0.threads[remover.thread] == nil }) { forgetEnded() }
    state.withLock { state in
      state.forget(place)
      state.lastNumber += 1
      if let content = removal.content, content.cost > room { removal.kept.drop() }
      if removal.kept.count(in: bytes) { state.contents.append(WeakContent(kept: removal.kept)) }
      state.threads[remover.thread, default: 0] += 1
      state.records[place] = Record(removal: removal, remover: remover, number: state.lastNumber)
      state.queue.append((place, state.lastNumber))
      while bytes.count > room, state.dropOldestContent() {}
      state.trimContents()
      while state.queue.count - state.first > Self.maxRecords { state.dropOldest() }
    }
  }

  /// Returns the removal that the process of `caller` made at `place`, and forgets it, because the name is now in use
  /// again.
  func take(_ place: Overlay.Place, by caller: Caller) -> Removal? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    guard let record = state.withLock({ $0.forget(place) }), caller.isProcess(of: record.remover) else { return nil }
    return record.removal
  }

  /// Forgets the removals of processes that have ended.
  func forgetEnded() {
    if !isUsed.load(ordering: .acquiring) { return }
    let ended = state.withLock { $0.threads.keys }.filter { !Caller.isRunning($0) }
    if ended.isEmpty { return }
    state.withLock { state in
      for (place, record) in state.records where ended.contains(record.remover.thread) { state.forget(place) }
      state.dropForgotten()
    }
  }

  /// Keeps a removal that could not be undone, for a retry.
  func keep(_ place: Overlay.Place, _ removal: Removal) {
    isUsed.store(true, ordering: .releasing)
    state.withLock { $0.kept.append((place, removal)) }
  }

  /// Returns and clears the removals that could not be undone.
  func takeKept() -> [(place: Overlay.Place, removal: Removal)] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in
      defer { state.kept = [] }
      return state.kept
    }
  }
}

extension RemovalRecords.State {
  @discardableResult
  fileprivate mutating func forget(_ place: Overlay.Place) -> RemovalRecords.Record? {
    guard let record = records.removeValue(forKey: place) else { return nil }
    let left = (threads[record.remover.thread] ?? 1) - 1
    threads[record.remover.thread] = left > 0 ? left : nil
    return record
  }

  /// Returns false if there is no content left.
  fileprivate mutating func dropOldestContent() -> Bool {
    guard firstContent < contents.count else { return false }
    contents[firstContent].kept?.drop()
    firstContent += 1
    return true
  }

  /// Removes content whose removal is gone from the array, whenever the array has doubled in size.
  fileprivate mutating func trimContents() {
    if contents.count < trimAt { return }
    contents = contents[firstContent...].filter { $0.kept != nil }
    firstContent = 0
    trimAt = max(1024, 2 * contents.count)
  }

  fileprivate mutating func dropOldest() {
    let (place, number) = queue[first]
    first += 1
    if records[place]?.number == number { forget(place) }
    trim()
  }

  /// Drops forgotten records from the front of the queue.
  fileprivate mutating func dropForgotten() {
    while first < queue.count, records[queue[first].place]?.number != queue[first].number { first += 1 }
    trim()
  }

  /// Frees the dropped front of the queue once it makes up at least half of the queue.
  private mutating func trim() {
    if first * 2 < queue.count { return }
    queue.removeFirst(first)
    first = 0
  }
}
