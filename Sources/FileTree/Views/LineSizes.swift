// The sizes of `.all.jsonl` and `.all.csv` of complete classes, kept up to date. Sizes are stored per group of
// neighbouring objects, and after a commit only the groups with changes are counted again.
//
// Each new view reports the changed objects (`note`); if those are unknown, the class is counted from scratch at the
// next request. Invariant: the sizes of a class are correct as of the generation of its stamp, except for groups with
// objects in `changed`.

import RealmPages
import Synchronization

/// The total sizes of the lines of classes.
final class LineSizes: Sendable {
  /// A text of a class.
  struct Text: Hashable, Sendable {
    let ordinal: TableOrdinal
    let form: ObjectLines.Form
  }

  /// A range of objects, whose keys follow those of the previous group.
  struct Group {
    /// The upper bound of the keys in the group.
    let last: Int64
    let objects: Int
    /// The size of their lines.
    let bytes: Int
  }

  private struct Counted {
    /// In key order; the last group ends at the largest key.
    var groups = [Group(last: .max, objects: 0, bytes: 0)]
    /// Keys of objects whose groups must be counted again.
    var changed: Set<Int64> = [.max]
    var generation: UInt64
    /// Held while groups are counted, so that they are counted once.
    let lock = CountLock()
  }

  private final class CountLock: Sendable {
    let mutex = Mutex<Void>(())
  }

  private struct State {
    var newest: VersionView?
    var counted: [Text: Counted] = [:]
  }

  private let state = Mutex(State())
  private let rendered = Atomic<Int>(0)

  /// The number of objects rendered for counting.
  var renderedCount: Int { rendered.load(ordering: .relaxed) }

  /// The number of objects in a group, and thus the number rendered for each changed object.
  private static let groupCount = 256
  /// The maximum number of changed objects recorded for a class; with more, its count is dropped.
  private static let maxChanged = 100_000
  /// The maximum number of texts with counts.
  private static let maxTexts = 64

  /// Records the newest view and the changes since the previous one; nil if those are unknown. Must be called in
  /// version order.
  func note(_ view: VersionView, _ changes: ChangedTexts?) {
    state.withLock { state in
      state.newest = view
      for (text, counted) in state.counted {
        let directory = view.directory(text.ordinal)
        if directory?.stamp.generation == counted.generation { continue }
        state.counted[text] = nil
        guard let directory, let changes, changes.isComplete(of: directory.table.key) else { continue }
        var counted = counted
        counted.generation = directory.stamp.generation
        for object in changes.objects + changes.removed where object.table == directory.table.key {
          counted.changed.insert(object.key.value)
        }
        if counted.changed.count <= Self.maxChanged { state.counted[text] = counted }
      }
    }
  }

  /// True if the size of a text was requested before, so that it is known or being computed.
  func isCounted(_ text: Text) -> Bool { state.withLock { $0.counted[text] != nil } }

  /// The size of a text in a version in which its table has the stamp of `generation`. Returns nil if an object is
  /// damaged, `isGood` returns false, or the table has another stamp in the newest version.
  ///
  /// `lines` are the lines of that version; `isGood` is called afterwards and returns true if they were valid. Cost:
  /// that of rendering the groups that changed since the last call.
  func size(of text: Text, _ generation: UInt64, _ lines: ObjectLines, isGood: () -> Bool) -> Int? {
    guard let lock = begin(text, generation) else { return nil }
    return lock.mutex.withLock { _ in
      // Later changes are counted next time.
      guard let (known, changed) = take(text, generation, lock) else { return nil }
      var groups = known
      if !changed.isEmpty {
        guard let counted = count(groups, changed, lines), isGood() else {
          change(text, lock) { $0.changed.formUnion(changed) }
          return nil
        }
        groups = counted
        change(text, lock) { $0.groups = counted }
      }
      return groups.reduce(lines.headerSize) { $0 + $1.bytes }
    }
  }

  /// The lock for counting a text; nil if the table has another stamp in the newest version.
  private func begin(_ text: Text, _ generation: UInt64) -> CountLock? {
    state.withLock { state in
      if let counted = state.counted[text] { return counted.generation == generation ? counted.lock : nil }
      guard state.newest?.directory(text.ordinal)?.stamp.generation == generation else { return nil }
      if state.counted.count >= Self.maxTexts { state.counted = [:] }
      let new = Counted(generation: generation)
      state.counted[text] = new
      return new.lock
    }
  }

  private func take(_ text: Text, _ generation: UInt64, _ lock: CountLock) -> (groups: [Group], changed: Set<Int64>)? {
    state.withLock { state in
      guard let counted = state.counted[text], counted.lock === lock, counted.generation == generation else {
        return nil
      }
      state.counted[text]?.changed = []
      return (counted.groups, counted.changed)
    }
  }

  /// Updates the counts of a text, unless they were dropped in the meantime.
  private func change(_ text: Text, _ lock: CountLock, _ body: (inout Counted) -> Void) {
    state.withLock { state in
      guard var counted = state.counted[text], counted.lock === lock else { return }
      body(&counted)
      state.counted[text] = counted
    }
  }

  /// The groups, with those that contain changed objects counted again; nil if an object is damaged.
  private func count(_ groups: [Group], _ changed: Set<Int64>, _ lines: ObjectLines) -> [Group]? {
    var result: [Group] = [], first = ObjKey.none.value
    let changed = changed.sorted()
    var next = 0
    for group in groups {
      if next < changed.count, changed[next] <= group.last {
        while next < changed.count, changed[next] <= group.last { next += 1 }
        guard let new = lines.groups(behind: first, upTo: group.last, of: Self.groupCount) else { return nil }
        result += new
        rendered.add(new.reduce(0) { $0 + $1.objects }, ordering: .relaxed)
      } else {
        result.append(group)
      }
      first = group.last
    }
    return result
  }
}
