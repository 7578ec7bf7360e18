// The objects that this mount's own commits changed, and the times of individual objects, which commits or the user
// set.

import RealmPages
import Synchronization

/// The commits of this mount that are not yet in a view.
final class OwnChanges: Sendable {
  private struct Commit {
    /// Nil if the objects are not known.
    let objects: [ObjectReference]?
    let namesStay: Bool
  }

  private struct State {
    /// The commits, by version.
    var commits: [UInt64: Commit] = [:]
  }

  private let state = Mutex(State())

  /// The maximum number of commits tracked between two views.
  private static let limit = 10_000

  /// Records a commit that is about to be made, so that no reader attributes the version to another program.
  func note(_ version: UInt64, _ objects: [ObjectReference]?, namesStay: Bool) {
    state.withLock { state in
      if state.commits.count >= Self.limit { state.commits.removeAll() }
      state.commits[version] = Commit(objects: objects, namesStay: namesStay)
    }
  }

  /// Records that a commit failed.
  func forget(_ version: UInt64) { state.withLock { $0.commits[version] = nil } }

  /// The objects changed by the commits after `old` up to `new`, once for each commit; nil if the objects of any commit
  /// are unknown. Discards the commits up to `old`.
  func changes(after old: UInt64, upTo new: UInt64) -> ChangedTexts? {
    state.withLock { state in
      if state.commits.isEmpty { return nil }
      state.commits = state.commits.filter { $0.key > old }
      guard new > old, new - old <= UInt64(state.commits.count) else { return nil }
      var all = ChangedTexts(namesStay: true)
      for version in (old + 1)...new {
        guard let commit = state.commits[version], let objects = commit.objects else { return nil }
        all.objects += objects
        if !commit.namesStay { all.namesStay = false }
      }
      return all
    }
  }
}

/// Times of individual objects.
final class ObjectTimes: Sendable {
  private struct Entry {
    let time: Timestamp
    /// The version of the realm when the time was set.
    let version: UInt64
  }

  private struct State {
    var times: [InodeNumber: Entry] = [:]
    /// The time of objects without an entry, once entries have been discarded.
    var others: Entry?
  }

  private let state = Mutex(State())
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Creates a store for the times of up to `limit` objects. With one more, all entries are discarded and all objects
  /// receive the last time set, so that no time goes backwards.
  init(limit: Int = 100_000) { self.limit = limit }

  /// Sets the time of objects.
  func set(_ time: Timestamp, of inodes: [InodeNumber], version: UInt64) {
    isUsed.store(true, ordering: .releasing)
    state.withLock { state in
      if inodes.count > 1 { state.times.reserveCapacity(min(limit, state.times.count + inodes.count)) }
      for inode in inodes { set(time, of: inode, version, &state) }
    }
  }

  /// Sets the time of an object, or the next nanosecond after its current time if that is later.
  func move(_ inode: InodeNumber, to time: Timestamp, version: UInt64) {
    isUsed.store(true, ordering: .releasing)
    state.withLock { state in
      let former = (state.times[inode] ?? state.others)?.time
      let later = former.flatMap { $0 < time ? nil : $0.nextNanosecond } ?? time
      set(later, of: inode, version, &state)
    }
  }

  private func set(_ time: Timestamp, of inode: InodeNumber, _ version: UInt64, _ state: inout State) {
    let entry = Entry(time: time, version: version)
    if state.times.count >= limit, state.times[inode] == nil {
      state.times.removeAll()
      state.others = entry
    }
    state.times[inode] = entry
  }

  /// The time of an object, if it was set since `version`.
  func time(of inode: InodeNumber, since version: UInt64) -> Timestamp? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { state in
      guard let entry = state.times[inode] ?? state.others, entry.version >= version else { return nil }
      return entry.time
    }
  }
}
