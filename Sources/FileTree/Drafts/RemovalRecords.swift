// Removals that make room for a new text. Many programs replace a file by unlinking it and writing a new one
// (mv between file systems, install, tar, git checkout). That must not cut the links to an object, nor cost the object
// if the new text is refused. So a removal is remembered as long as the process runs that made it. If that process
// makes a file of the name, its text gives the object its key and the links to it again; if the text is refused, the
// object comes back as it was.
//
// Invariant: the content of all removals takes `room` bytes at most, also of those that a new file has taken. The oldest
// content is dropped first, but not its record.

import Glibc
import RealmPages
import Synchronization

/// A removed object or property, which can be brought back.
struct Removal: Sendable {
  /// Its former content.
  struct Content: Sendable {
    /// Its text; nil if it could not be read.
    let text: [UInt8]?
    /// The links to it; nil if there were too many.
    let links: [IncomingLink]?

    fileprivate var cost: Int { (text?.count ?? 0) + (links?.count ?? 0) * RemovalRecords.linkCost }
  }

  let key: ObjKey
  fileprivate let kept: KeptContent

  /// Nil if there was no room for it.
  var content: Content? { kept.content }

  init(_ key: ObjKey, _ content: Content) { (self.key, kept) = (key, KeptContent(content)) }
}

/// The content of a removal, until the removal is gone or the records drop the content to make room.
private final class KeptContent: Sendable {
  private struct State {
    var content: Removal.Content?
    /// What counts its bytes.
    var usage: Usage?
  }

  /// The bytes of all content.
  final class Usage: Sendable {
    private let bytes = Atomic<Int>(0)

    var count: Int { bytes.load(ordering: .relaxed) }
    func add(_ count: Int) { bytes.wrappingAdd(count, ordering: .relaxed) }
  }

  private let state: Mutex<State>

  init(_ content: Removal.Content) { state = Mutex(State(content: content)) }

  deinit { drop() }

  var content: Removal.Content? { state.withLock { $0.content } }

  /// Counts the bytes in `usage`; false if they are counted already, or dropped.
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

/// Removals, by the place where the object or property was.
final class RemovalRecords: Sendable {
  fileprivate struct Record {
    var removal: Removal
    let remover: Caller.Moment
    let number: UInt64
  }

  fileprivate struct WeakContent {
    weak var kept: KeptContent?
  }

  fileprivate struct State {
    var records: [Overlay.Place: Record] = [:]
    /// The places in the order of their removals, from `first` on; some are forgotten or were removed again since.
    var queue: [(place: Overlay.Place, number: UInt64)] = []
    var first = 0
    /// The content of removals in their order, from `firstContent` on; of some the removal is gone.
    var contents: [WeakContent] = []
    var firstContent = 0
    var trimAt = 1024
    var lastNumber: UInt64 = 0
    /// How many records there are of each process, by its first thread.
    var threads: [Int32: Int] = [:]
    /// Removals that could not be undone, and are tried again.
    var kept: [(place: Overlay.Place, removal: Removal)] = []
  }

  /// The bytes that all of them take together.
  static let room = 64 << 20
  /// The bytes of a link, its path and its share of the array included.
  static let linkCost = 128
  private static let mostRecords = 100_000

  private let state = Mutex(State())
  private let room: Int
  private let bytes = KeptContent.Usage()
  /// True if there is anything, so that saving costs nothing where nothing was removed.
  private let isUsed = Atomic<Bool>(false)

  /// Remembers up to `room` bytes.
  init(room: Int = RemovalRecords.room) { self.room = room }

  /// How many links are remembered of one object.
  var mostLinks: Int { room / Self.linkCost }

  /// The bytes in use.
  var usage: Int { bytes.count }

  /// Remembers what `caller` removed at `place`.
  func note(_ place: Overlay.Place, _ removal: Removal, by caller: Caller) {
    isUsed.store(true, ordering: .releasing)
    let remover = caller.now
    if state.withLock({ $0.threads[remover.thread] == nil }) { forgetEnded() }
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
      while state.queue.count - state.first > Self.mostRecords { state.dropOldest() }
    }
  }

  /// Returns what the process of `caller` removed at `place`, and forgets it: the name is in use again.
  func take(_ place: Overlay.Place, by caller: Caller) -> Removal? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    guard let record = state.withLock({ $0.forget(place) }), caller.isProcess(of: record.remover) else { return nil }
    return record.removal
  }

  /// Forgets what processes removed that have ended.
  func forgetEnded() {
    if !isUsed.load(ordering: .acquiring) { return }
    let ended = state.withLock { $0.threads.keys }.filter { !Caller.isRunning($0) }
    if ended.isEmpty { return }
    state.withLock { state in
      for (place, record) in state.records where ended.contains(record.remover.thread) { state.forget(place) }
      state.dropForgotten()
    }
  }

  /// Remembers what could not be brought back.
  func keep(_ place: Overlay.Place, _ removal: Removal) {
    isUsed.store(true, ordering: .releasing)
    state.withLock { $0.kept.append((place, removal)) }
  }

  /// Takes what could not be brought back.
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

  /// False if there is none.
  fileprivate mutating func dropOldestContent() -> Bool {
    guard firstContent < contents.count else { return false }
    contents[firstContent].kept?.drop()
    firstContent += 1
    return true
  }

  /// Forgets content whose removal is gone, each time that there is twice as much as was left the last time.
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

  /// Lets the queue begin with something that is remembered.
  fileprivate mutating func dropForgotten() {
    while first < queue.count, records[queue[first].place]?.number != queue[first].number { first += 1 }
    trim()
  }

  /// Gives the front of the queue back once it is the larger part.
  private mutating func trim() {
    if first * 2 < queue.count { return }
    queue.removeFirst(first)
    first = 0
  }
}
