// The sizes of `.all.jsonl` and `.all.csv` of whole classes, kept up to date: objects are counted in groups of
// neighbours, and a commit makes only those groups be counted anew in which something changed.
//
// Each view that is made says which objects changed (`note`); where that is not known, the class is counted from the
// start when somebody asks again. Invariant: a class is counted right as of the generation of its stamp, but for the
// groups of the objects in `changed`.

import RealmPages
import Synchronization

/// The sizes of all lines of classes.
final class LineSizes: Sendable {
  /// A text of a class.
  struct Text: Hashable, Sendable {
    let ordinal: TableOrdinal
    let form: ObjectLines.Form
  }

  /// Objects whose keys lie behind those of the group before.
  struct Group {
    /// No object of the group has a larger key.
    let last: Int64
    let objects: Int
    /// Of their lines.
    let bytes: Int
  }

  private struct Counted {
    /// In the order of their keys; the last one ends at the largest key.
    var groups = [Group(last: .max, objects: 0, bytes: 0)]
    /// Keys of objects in groups that are to be counted anew.
    var changed: Set<Int64> = [.max]
    var generation: UInt64
    /// Held while groups are counted, which is done once.
    let turn = Turn()
  }

  private final class Turn: Sendable {
    let mutex = Mutex<Void>(())
  }

  private struct State {
    var newest: VersionView?
    var counted: [Text: Counted] = [:]
  }

  private let state = Mutex(State())
  private let rendered = Atomic<Int>(0)

  /// How many objects were rendered to be counted.
  var renderedCount: Int { rendered.load(ordering: .relaxed) }

  /// The objects of a group. An object that changes makes so many be rendered.
  private static let groupCount = 256
  /// The most changed objects recorded for a class before its count is dropped.
  private static let mostChanged = 100_000
  /// The most texts counted at once.
  private static let mostTexts = 64

  /// Notes that `view` is the newest, and what changed since the one before; nil if that is not known. Calls come in
  /// the order of the versions.
  func note(_ view: VersionView, _ changes: ChangedObjects?) {
    state.withLock { state in
      state.newest = view
      for (text, counted) in state.counted {
        let directory = view.directory(text.ordinal)
        if directory?.stamp.generation == counted.generation { continue }
        state.counted[text] = nil
        guard let directory, let changes, changes.tellsAll(of: directory.table.key) else { continue }
        var counted = counted
        counted.generation = directory.stamp.generation
        for object in changes.objects + changes.removed where object.table == directory.table.key {
          counted.changed.insert(object.key.value)
        }
        if counted.changed.count <= Self.mostChanged { state.counted[text] = counted }
      }
    }
  }

  /// True if somebody has asked for the size of a text, so that it is known or being found.
  func isCounted(_ text: Text) -> Bool { state.withLock { $0.counted[text] != nil } }

  /// The size of a text in a version in which its table has the stamp of `generation`. Nil if an object is damaged, or
  /// the newest version has another stamp and nobody asked before it came.
  ///
  /// `lines` are those of the version; `isGood` tells afterwards whether they could be trusted. Cost: that of rendering
  /// the groups in which something changed since the last call.
  func size(of text: Text, _ generation: UInt64, _ lines: ObjectLines, isGood: () -> Bool) -> Int? {
    guard let turn = begin(text, generation) else { return nil }
    return turn.mutex.withLock { _ in
      // What changes from here on is counted next time.
      guard let (known, changed) = take(text, generation, turn) else { return nil }
      var groups = known
      if !changed.isEmpty {
        guard let counted = count(groups, changed, lines), isGood() else {
          change(text, turn) { $0.changed.formUnion(changed) }
          return nil
        }
        groups = counted
        change(text, turn) { $0.groups = counted }
      }
      return groups.reduce(lines.headerSize) { $0 + $1.bytes }
    }
  }

  /// The turn at counting a text; nil if that would be for nothing.
  private func begin(_ text: Text, _ generation: UInt64) -> Turn? {
    state.withLock { state in
      if let counted = state.counted[text] { return counted.generation == generation ? counted.turn : nil }
      guard state.newest?.directory(text.ordinal)?.stamp.generation == generation else { return nil }
      if state.counted.count >= Self.mostTexts { state.counted = [:] }
      let new = Counted(generation: generation)
      state.counted[text] = new
      return new.turn
    }
  }

  private func take(_ text: Text, _ generation: UInt64, _ turn: Turn) -> (groups: [Group], changed: Set<Int64>)? {
    state.withLock { state in
      guard let counted = state.counted[text], counted.turn === turn, counted.generation == generation else {
        return nil
      }
      state.counted[text]?.changed = []
      return (counted.groups, counted.changed)
    }
  }

  /// Changes what is known of a text, unless that was forgotten meanwhile.
  private func change(_ text: Text, _ turn: Turn, _ body: (inout Counted) -> Void) {
    state.withLock { state in
      guard var counted = state.counted[text], counted.turn === turn else { return }
      body(&counted)
      state.counted[text] = counted
    }
  }

  /// The groups after those with changed objects were counted anew; nil if an object is damaged.
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
