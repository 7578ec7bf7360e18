// A text of any length that is made while it is read: lines about one or two versions, which are held until the handle
// is closed. Readers go forward as a rule; one that goes back starts again from the last place that was noted before
// it, so memory does not grow with the text but by one place for each megabyte.

import RealmJSON
import RealmPages
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
  private let measure: (@Sendable () -> Int?)?
  /// The size once it was measured.
  private let measured = Mutex<Int?>(nil)
  private let realm: Realm
  private let log: DamageLog
  private let name: String

  /// Bytes between two marks.
  private static let markDistance = 1 << 20
  /// The most that is made at a time.
  private static let batch = 256 << 10
  private static let mostDamage = 100

  /// `measure` finds the size without reading the text; nil if that cannot be done.
  init(
    _ lines: sending any LineSource,
    place: String,
    _ realm: Realm,
    log: DamageLog,
    measure: (@Sendable () -> Int?)? = nil
  ) {
    self.realm = realm
    self.log = log
    self.measure = measure
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
          unsafe result += state.buffer.unsafeBytes[first..<first + length]
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

  /// The size of the whole text; nil if it cannot be measured. Cost: up to that of making the text, once.
  var size: Int? {
    measured.withLock { known in
      if known == nil { known = measure?() }
      return known
    }
  }

  /// The size if it was measured before.
  var knownSize: Int? { measured.withLockIfAvailable { $0 } ?? nil }

  /// Makes all of the text and returns its size. One byte more if objects are missing in it: a program that reads as
  /// many bytes as that meets the error at the end of the text.
  ///
  /// - Throws: `stale` if the version was overwritten, which happens where it cannot be held; if it `mustBeWhole`,
  ///   what `read` throws at the end of the text.
  func makeAll(mustBeWhole: Bool) throws(FileTreeError) -> Int {
    try state.withLock { state throws(FileTreeError) in
      while !state.hasEnded { fill(&state) }
      if state.isStale { throw .stale }
      if mustBeWhole, let failure = state.failure { throw failure }
      return state.start + state.buffer.count + (state.failure == nil ? 0 : 1)
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
