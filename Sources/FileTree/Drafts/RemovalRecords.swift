// Removals that make room for a new text. Many programs replace a file by unlinking it and writing a new one
// (mv between file systems, install, tar, git checkout). That must not cut the links to an object, nor cost the object
// if the new text is refused. So a removal is remembered as long as the process runs that made it. If that process
// makes a file of the name, its text gives the object its key and the links to it again; if the text is refused, the
// object comes back as it was.
//
// Invariant: what is remembered takes `room` bytes at most. The oldest content is dropped first, but not its record.

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
  /// Nil if there was no room for it.
  fileprivate(set) var content: Content?

  init(_ key: ObjKey, _ content: Content?) { (self.key, self.content) = (key, content) }
}

/// Removals, by the place where the object or property was.
final class RemovalRecords: Sendable {
  fileprivate struct Record {
    var removal: Removal
    let remover: Caller.Moment
    let number: UInt64
  }

  fileprivate struct State {
    var records: [Overlay.Place: Record] = [:]
    /// The places in the order of their removals, from `first` on; some are forgotten or were removed again since.
    var queue: [(place: Overlay.Place, number: UInt64)] = []
    var first = 0
    /// The first of the queue that may have content.
    var firstWithContent = 0
    var lastNumber: UInt64 = 0
    var cost = 0
    /// How many records there are of each thread.
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
  /// True if there is anything, so that saving costs nothing where nothing was removed.
  private let isUsed = Atomic<Bool>(false)

  /// Remembers up to `room` bytes.
  init(room: Int = RemovalRecords.room) { self.room = room }

  /// How many links are remembered of one object.
  var mostLinks: Int { room / Self.linkCost }

  /// The bytes in use.
  var usage: Int { state.withLock { $0.cost } }

  /// Remembers what `caller` removed at `place`.
  func note(_ place: Overlay.Place, _ removal: Removal, by caller: Caller) {
    isUsed.store(true, ordering: .releasing)
    if state.withLock({ $0.threads[caller.process] == nil }) { forgetEnded() }
    state.withLock { state in
      state.forget(place)
      state.lastNumber += 1
      var removal = removal
      if let content = removal.content, content.cost > room { removal.content = nil }
      state.cost += removal.content?.cost ?? 0
      state.threads[caller.process, default: 0] += 1
      state.records[place] = Record(removal: removal, remover: caller.now, number: state.lastNumber)
      state.queue.append((place, state.lastNumber))
      while state.cost > room, state.dropOldestContent() {}
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
    cost -= record.removal.content?.cost ?? 0
    let left = (threads[record.remover.thread] ?? 1) - 1
    threads[record.remover.thread] = left > 0 ? left : nil
    return record
  }

  /// False if there is none.
  fileprivate mutating func dropOldestContent() -> Bool {
    firstWithContent = max(first, firstWithContent)
    guard firstWithContent < queue.count else { return false }
    let (place, number) = queue[firstWithContent]
    firstWithContent += 1
    guard let record = records[place], record.number == number else { return true }
    cost -= record.removal.content?.cost ?? 0
    records[place]?.removal.content = nil
    return true
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
    firstWithContent = max(0, firstWithContent - first)
    first = 0
  }
}
