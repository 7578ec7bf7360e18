// A text of any length that is made while it is read: lines about one or two versions, which are held until the handle
// is closed. Readers go forward as a rule; one that goes back starts again from the last place that was noted before
// it, so memory does not grow with the text but by one place for each megabyte.

import RealmJSON
import RealmPages
import RealmTransfer
import Synchronization

/// Lines that are made one after another, from any place on where they were before.
protocol LineSource: AnyObject {
  /// The versions that the lines are made from.
  var snapshots: [Snapshot] { get }
  /// Behind the last line.
  var place: LinePlace { get }
  /// Goes to a place that was noted.
  func go(to place: LinePlace)
  /// Appends the next line.
  func next(into out: OutputBuffer) -> LineStep
}

/// A place between two lines.
enum LinePlace: Hashable {
  /// How many of certain objects were shown, or the key of the last one of a class.
  case object(Int64)
  case change(ChangeLines.Place)
}

/// What came of the next line.
enum LineStep {
  case line
  /// Something cannot be shown.
  case damage(String)
  case end
}

/// Lines of objects.
final class ObjectLines: LineSource {
  /// What the lines are.
  enum Form {
    /// The objects as JSON.
    case jsonl
    /// The names of the properties, then the objects as records.
    case csv
  }

  let snapshots: [Snapshot]
  private let hold: VersionHold
  private let cursor: ObjectCursor
  private let renderer: ObjectRenderer
  /// Renders the lines of CSV.
  private let records: CSVRenderer?
  /// The objects to show; nil for all.
  private let keys: [ObjKey]?
  /// How many of `keys` were shown, or the key that was shown last; `beforeHeader` before the names of the properties.
  private var last: Int64

  var place: LinePlace { .object(last) }

  private static let beforeHeader = Int64.min

  /// The lines of the objects `keys`, or of all, in a version that is held.
  init(
    _ hold: VersionHold,
    _ table: Table,
    _ keys: [ObjKey]?,
    _ form: Form,
    _ style: JSONStyle
  ) throws(FileTreeError) {
    self.hold = hold
    self.keys = keys
    snapshots = [hold.snapshot]
    cursor = ObjectCursor(table)
    renderer = ObjectRenderer(hold.snapshot, style: style)
    switch form {
    case .jsonl: records = nil
    case .csv:
      do throws(TransferError) { try CSVRenderer.check([table]) } catch {
        throw .refused(.invalid, "\(table.className ?? table.name)/.all.csv: \(error)")
      }
      records = CSVRenderer(table)
    }
    last = form == .csv ? Self.beforeHeader : keys == nil ? ObjKey.none.value : 0
  }

  func go(to place: LinePlace) { if case .object(let last) = place { self.last = last } }

  func next(into out: OutputBuffer) -> LineStep {
    if let records, last == Self.beforeHeader {
      records.appendHeader(to: out)
      last = keys == nil ? ObjKey.none.value : 0
      return .line
    }
    while true {
      do throws(FormatError) {
        if let keys {
          guard last < keys.count else { return .end }
          last += 1
          guard try cursor.seek(keys[Int(last) - 1]) else { continue }
        } else {
          // Where reading goes on in order, the cursor stands on the last object already.
          let exists =
            cursor.key.value == last && last >= 0 ? try cursor.next() : try cursor.seek(after: ObjKey(last))
          guard exists else { return .end }
          last = cursor.key.value
        }
      } catch { return .damage(error.description) }
      do throws(RenderError) {
        if let records {
          try records.append(cursor, renderer, to: out)
        } else {
          try renderer.render(cursor, layout: .compact, into: out)
        }
      } catch { return .damage(error.description) }
      return .line
    }
  }
}

/// Lines of what differs between two versions.
final class DifferenceLines: LineSource {
  let snapshots: [Snapshot]
  private let holds: [VersionHold]
  private let lines: ChangeLines

  var place: LinePlace { .change(lines.place) }

  /// The lines between two versions that are held.
  init(_ old: VersionHold, _ new: VersionHold, _ lines: ChangeLines) {
    holds = [old, new]
    snapshots = [old.snapshot, new.snapshot]
    self.lines = lines
  }

  func go(to place: LinePlace) { if case .change(let place) = place { lines.go(to: place) } }

  func next(into out: OutputBuffer) -> LineStep {
    switch lines.next(into: out) {
    case .line: .line
    case .damage(let problem): .damage(problem)
    case .end: .end
    }
  }
}

/// A text that is made while it is read. Any number of threads may read; they take turns.
public final class StreamedText: @unchecked Sendable {
  // Unchecked: `state` guards the lines and the buffer.
  private struct State {
    let lines: any LineSource
    let buffer = OutputBuffer()
    /// Where the buffer begins in the text.
    var start = 0
    /// Places of the text, by offset, ascending.
    var marks: [(offset: Int, place: LinePlace)]
    var hasEnded = false
    /// What is thrown at the end of a text that is not whole.
    var failure: FileTreeError?
    /// Whether the version was overwritten, so that no more can be made.
    var isStale = false
  }

  private let state: Mutex<State>
  private let realm: Realm
  private let log: DamageLog
  private let name: String

  /// Bytes between two marks.
  private static let markDistance = 1 << 20
  /// The most that is made at a time.
  private static let batch = 256 << 10
  private static let mostDamage = 100

  init(_ lines: sending any LineSource, place: String, _ realm: Realm, log: DamageLog) {
    self.realm = realm
    self.log = log
    name = place
    let first = lines.place
    state = Mutex(State(lines: lines, marks: [(0, first)]))
  }

  /// Up to `count` bytes from `offset` on; none at the end.
  ///
  /// - Throws: at the end `damaged` if an object could not be shown; `stale` if the version was overwritten, which
  ///   happens where it cannot be held.
  public func read(from offset: Int, count: Int) throws(FileTreeError) -> [UInt8] {
    try state.withLock { state throws(FileTreeError) in
      if state.isStale { throw .stale }
      var result: [UInt8] = []
      let offset = max(0, offset)
      if offset < state.start || offset > state.start + state.buffer.count + Self.markDistance {
        goBack(&state, to: offset)
      }
      while result.count < count {
        let position = offset + result.count, end = state.start + state.buffer.count
        if position < end {
          let first = position - state.start
          let length = min(count - result.count, end - position)
          result += state.buffer.unsafeBytes[first..<first + length]
        } else if state.hasEnded {
          break
        } else {
          fill(&state)
        }
      }
      if result.isEmpty, count > 0, let failure = state.failure, state.hasEnded { throw failure }
      return result
    }
  }

  /// Makes what comes next if all that was made is before `offset`: while a reader who goes on is busy with the rest.
  public func readAhead(from offset: Int) {
    state.withLock { state in
      if !state.hasEnded, offset == state.start + state.buffer.count { fill(&state) }
    }
  }

  /// Makes the lines behind those in the buffer, in place of them.
  private func fill(_ state: inout State) {
    state.start += state.buffer.count
    state.buffer.reset()
    if let last = state.marks.last, state.start - last.offset >= Self.markDistance {
      state.marks.append((state.start, state.lines.place))
    }
    var damaged = 0
    while state.buffer.count < Self.batch, !state.hasEnded {
      let before = state.lines.place
      switch state.lines.next(into: state.buffer) {
      case .line: break
      case .end: state.hasEnded = true
      case .damage(let problem):
        let failure = FileTreeError.damaged(place: name, problem: problem)
        if state.failure == nil { state.failure = failure }
        log.note(failure)
        damaged += 1
        // Behind damage of the tree itself there is no next object.
        if state.lines.place == before || damaged > Self.mostDamage { state.hasEnded = true }
      }
    }
    for snapshot in state.lines.snapshots {
      snapshot.limitResidentPages()
      if realm.isCurrent(snapshot) { continue }
      state.buffer.reset()
      (state.failure, state.isStale, state.hasEnded) = (.stale, true, true)
    }
  }

  private func goBack(_ state: inout State, to offset: Int) {
    guard let mark = state.marks.last(where: { $0.offset <= offset }) else { return }
    // A mark before what is in the buffer is of no use to a reader that goes forward.
    if offset > state.start, mark.offset <= state.start { return }
    state.lines.go(to: mark.place)
    state.buffer.reset()
    state.start = mark.offset
    state.hasEnded = false
  }
}
