// Objects that were deleted a moment ago. Many programs replace a file by unlinking it and writing it anew (mv between
// file systems, install, tar, git checkout). That must not cut the links to an object, nor cost the object if the new
// text is refused. So what was deleted is remembered for a moment: an object that comes back under its name gets its
// object key and the links to it again, and one whose new text is refused comes back as it was.
//
// Invariant: what is remembered takes `room` bytes at most. The oldest goes first; of it stays that it was there.

import RealmPages
import Synchronization
import Threads

/// What is needed to bring deleted objects back.
final class RecentDeletions: Sendable {
  /// What an object was.
  struct Content: Sendable {
    /// Its text; nil if it could not be read.
    let text: [UInt8]?
    /// The links to it; nil if there were too many.
    let links: [IncomingLink]?

    fileprivate var cost: Int { (text?.count ?? 0) + (links?.count ?? 0) * RecentDeletions.linkCost }
  }

  /// A deleted object.
  struct Deletion: Sendable {
    let key: ObjKey
    /// Nil if there was no room for it.
    fileprivate(set) var content: Content?
    /// Whether it is remembered until it is back.
    fileprivate var isKept = false
    fileprivate let time: MonotonicTime
    fileprivate let number: UInt64
  }

  fileprivate struct State {
    var deletions: [Overlay.Place: Deletion] = [:]
    /// The places in the order of their deletions, from `first` on; some are forgotten or were deleted again since.
    var queue: [(place: Overlay.Place, number: UInt64)] = []
    var first = 0
    /// The first of the queue that may have content.
    var firstWithContent = 0
    var lastNumber: UInt64 = 0
    var keptCount = 0
    var cost = 0
    /// What the clock is ahead of the system's.
    var age = Duration.zero
    var now: MonotonicTime { .now.advanced(by: age) }
  }

  /// How long an object can come back.
  static let memory = Duration.seconds(3)
  /// The bytes that all of them take together.
  static let room = 64 << 20
  /// The bytes of a link, its path and its share of the array included.
  static let linkCost = 128
  private static let mostDeletions = 100_000

  private let state = Mutex(State())
  private let room: Int
  private let lifetime: Duration
  /// Whether there is anything, so that saving costs nothing where nothing was deleted.
  private let isUsed = Atomic<Bool>(false)

  /// Remembers up to `room` bytes for the time `memory`.
  init(room: Int = RecentDeletions.room, memory: Duration = RecentDeletions.memory) {
    self.room = room
    lifetime = memory
  }

  /// How many links are remembered of one object.
  var mostLinks: Int { room / Self.linkCost }

  /// The bytes in use.
  var usage: Int { state.withLock { $0.cost } }

  /// Remembers the object that was at `place`.
  func note(_ place: Overlay.Place, _ key: ObjKey, _ content: Content) {
    isUsed.store(true, ordering: .releasing)
    state.withLock { state in
      state.forget(place)
      state.lastNumber += 1
      let fits = content.cost <= room
      state.deletions[place] = Deletion(
        key: key,
        content: fits ? content : nil,
        time: state.now,
        number: state.lastNumber
      )
      if fits { state.cost += content.cost }
      state.queue.append((place, state.lastNumber))
      while state.cost > room, state.dropOldestContent() {}
      while state.queue.count - state.first > Self.mostDeletions { state.dropOldest() }
    }
  }

  /// The object that was at `place` a moment ago, or before a file there was made that `isInUse`.
  func find(_ place: Overlay.Place, isInUse: Bool = false) -> Deletion? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    let (found, now) = state.withLock { ($0.deletions[place], $0.now) }
    guard let deletion = found else { return nil }
    let isRecent = now < deletion.time.advanced(by: lifetime)
    return isInUse || deletion.isKept || isRecent ? deletion : nil
  }

  /// Remembers what was at `place` until it is back, however long that takes.
  func keep(_ place: Overlay.Place) {
    state.withLock { state in
      state.deletions[place]?.isKept = true
      state.keptCount = state.deletions.values.count { $0.isKept }
    }
  }

  /// The places of what is remembered until it is back.
  var kept: [Overlay.Place] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in
      state.keptCount == 0 ? [] : state.deletions.filter { $0.value.isKept }.map(\.key)
    }
  }

  /// Forgets what was at `place`.
  func forget(_ place: Overlay.Place) {
    if !isUsed.load(ordering: .acquiring) { return }
    state.withLock { $0.forget(place) }
  }

  /// Lets time pass, for tests.
  func age(by duration: Duration) { state.withLock { $0.age = $0.age + duration } }

  /// Forgets what was deleted too long ago, unless a file at its place is in use.
  func forgetOld(except isInUse: (Overlay.Place) -> Bool) {
    if !isUsed.load(ordering: .acquiring) { return }
    let old = state.withLock { state in
      let now = state.now
      return state.queue[state.first...].prefix { item in
        guard let deletion = state.deletions[item.place], deletion.number == item.number else { return true }
        return deletion.time.advanced(by: lifetime) <= now
      }
    }
    for (place, number) in old where !isInUse(place) {
      state.withLock { state in
        if let deletion = state.deletions[place], deletion.number == number, !deletion.isKept { state.forget(place) }
      }
    }
    state.withLock { $0.dropForgotten() }
  }
}

extension RecentDeletions.State {
  fileprivate mutating func forget(_ place: Overlay.Place) {
    guard let deletion = deletions.removeValue(forKey: place) else { return }
    cost -= deletion.content?.cost ?? 0
    if deletion.isKept { keptCount -= 1 }
  }

  /// False if there is none.
  fileprivate mutating func dropOldestContent() -> Bool {
    firstWithContent = max(first, firstWithContent)
    guard firstWithContent < queue.count else { return false }
    let (place, number) = queue[firstWithContent]
    firstWithContent += 1
    guard let deletion = deletions[place], deletion.number == number, !deletion.isKept else { return true }
    cost -= deletion.content?.cost ?? 0
    deletions[place]?.content = nil
    return true
  }

  fileprivate mutating func dropOldest() {
    let (place, number) = queue[first]
    first += 1
    if deletions[place]?.number == number { forget(place) }
    trim()
  }

  /// Lets the queue begin with something that is remembered.
  fileprivate mutating func dropForgotten() {
    while first < queue.count, deletions[queue[first].place]?.number != queue[first].number { first += 1 }
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
