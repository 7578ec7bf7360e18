// Which objects this mount's own commits changed, and the times that follow from that or that the user set. Commits of
// others are known by table only, so times of those objects are the table's.

import RealmPages
import Synchronization

/// The commits of this mount, until a view was made that shows them.
final class OwnChanges: Sendable {
  private struct State {
    /// By version; nil for a commit whose objects are not known.
    var commits: [UInt64: [ObjectReference]?] = [:]
  }

  private let state = Mutex(State())

  /// More commits than that between two views are not told apart.
  private static let limit = 10_000

  /// Notes a commit that is about to be made, so that nobody sees the version and takes it for somebody else's.
  func note(_ version: UInt64, _ objects: [ObjectReference]?) {
    state.withLock { state in
      if state.commits.count >= Self.limit { state.commits.removeAll() }
      state.commits[version] = objects
    }
  }

  /// Notes that a commit was not made after all.
  func forget(_ version: UInt64) { state.withLock { $0.commits[version] = nil } }

  /// The objects that all commits after `old` up to `new` changed; nil if one of them is not known. Forgets those
  /// before.
  func objects(after old: UInt64, upTo new: UInt64) -> Set<ObjectReference>? {
    state.withLock { state in
      if state.commits.isEmpty { return nil }
      state.commits = state.commits.filter { $0.key > old }
      guard new > old, new - old <= UInt64(state.commits.count) else { return nil }
      var all: Set<ObjectReference> = []
      for version in (old + 1)...new {
        guard let known = state.commits[version], let objects = known else { return nil }
        all.formUnion(objects)
      }
      return all
    }
  }
}

/// Times of single objects.
final class ObjectTimes: Sendable {
  private struct Entry {
    let time: Timestamp
    /// The version of the realm when the time was set.
    let version: UInt64
  }

  private let times = Mutex<[InodeNumber: Entry]>([:])
  private let isUsed = Atomic<Bool>(false)

  /// Beyond this many, objects have the time of their table again.
  private static let limit = 100_000

  /// Sets the time of an object.
  func set(_ time: Timestamp, of inode: InodeNumber, version: UInt64) {
    isUsed.store(true, ordering: .releasing)
    times.withLock { times in
      if times.count >= Self.limit { times.removeAll() }
      times[inode] = Entry(time: time, version: version)
    }
  }

  /// The time of an object, if it was set since `version`.
  func time(of inode: InodeNumber, since version: UInt64) -> Timestamp? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return times.withLock { times in
      guard let entry = times[inode], entry.version >= version else { return nil }
      return entry.time
    }
  }
}
