// A text of any length that is rendered while it is read: lines about one or two versions, which are held until the
// handle is closed. Most readers read forward. For one that seeks back, rendering restarts at the last recorded place
// before its offset, so memory grows by only one place per megabyte.

import RealmJSON
import RealmPages
import Synchronization

/// Lines that are rendered one after another, starting from any recorded place.
protocol LineSource: AnyObject {
  /// The versions that the lines are rendered from.
  var snapshots: [Snapshot] { get }
  /// The place after the last line.
  var place: LinePlace { get }
  /// Moves to a recorded place.
  func go(to place: LinePlace)
  /// Appends the next line to `out`.
  func next(into out: OutputBuffer) -> LineStep
}

/// A place between two lines.
enum LinePlace: Hashable {
  /// The number of selected objects rendered, or for a class, the key of the last one.
  case object(Int64)
  case change(ChangeLines.Place)
}

/// The outcome of rendering the next line.
enum LineStep {
  case line
  /// An object or a change could not be rendered.
  case damage(String)
  case end
}

/// A text that is rendered while it is read. Safe for use by any number of threads; their reads are serialized.
public final class StreamedText: @unchecked Sendable {
  // Unchecked: `state` guards the lines and the buffer.
  private struct State {
    let lines: any LineSource
    let buffer = OutputBuffer()
    /// The offset of the buffer in the text.
    var start = 0
    /// Recorded places, by ascending offset.
    var marks: [(offset: Int, place: LinePlace)]
    var hasEnded = false
    /// The error reported at the end of a text in which objects are missing.
    var failure: FileTreeError?
    /// True if the version was overwritten, so that nothing more can be rendered.
    var isStale = false
  }

  private let state: Mutex<State>
  private let measure: (@Sendable () -> Int?)?
  /// The size, once it was measured.
  private let measured = Mutex<Int?>(nil)
  private let realm: Realm
  private let log: DamageLog
  private let name: String

  /// Bytes between two marks.
  private static let markDistance = 1 << 20
  /// The maximum number of bytes rendered at a time.
  private static let batch = 256 << 10
  private static let maxDamage = 100

  /// Creates a text of `lines`. `measure` returns the size without reading the text; nil if that is not possible.
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

  /// Returns up to `count` bytes from `offset` on; none at the end.
  ///
  /// - Throws: at the end, `damaged` if an object could not be rendered; `stale` if the version was overwritten, which
  ///   can happen where versions cannot be held.
  public func read(from offset: Int, count: Int) throws(FileTreeError) -> [UInt8] {
    try state.withLock { state throws(FileTreeError) in
      if state.isStale { throw .stale }
      var result: [UInt8] = []
      let offset = max(0, offset)
      if offset < state.start || offset > state.start + state.buffer.count + Self.markDistance {
        rewind(&state, to: offset)
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

  /// The size of the complete text; nil if it cannot be measured. Cost: up to that of rendering the text, once.
  var size: Int? {
    measured.withLock { known in
      if known == nil { known = measure?() }
      return known
    }
  }

  /// The size, if it was measured before.
  var knownSize: Int? { measured.withLockIfAvailable { $0 } ?? nil }

  /// Renders the complete text and returns its size, plus 1 if objects are missing, so that a program that reads that
  /// many bytes receives the error at the end of the text.
  ///
  /// - Throws: `stale` if the version was overwritten, which can happen where versions cannot be held; if the text
  ///   `mustBeWhole`, the error that `read` throws at its end.
  func makeAll(mustBeWhole: Bool) throws(FileTreeError) -> Int {
    try state.withLock { state throws(FileTreeError) in
      while !state.hasEnded { fill(&state) }
      if state.isStale { throw .stale }
      if mustBeWhole, let failure = state.failure { throw failure }
      return state.start + state.buffer.count + (state.failure == nil ? 0 : 1)
    }
  }

  /// If all rendered lines are before `offset`, renders the next ones while the reader processes those.
  public func readAhead(from offset: Int) {
    state.withLock { state in
      if !state.hasEnded, offset == state.start + state.buffer.count { fill(&state) }
    }
  }

  /// Replaces the lines in the buffer with those that follow.
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
        // If the tree itself is damaged, the next object cannot be found.
        if state.lines.place == before || damaged > Self.maxDamage { state.hasEnded = true }
      }
    }
    for snapshot in state.lines.snapshots {
      snapshot.limitResidentPages()
      if realm.isCurrent(snapshot) { continue }
      state.buffer.reset()
      (state.failure, state.isStale, state.hasEnded) = (.stale, true, true)
    }
  }

  private func rewind(_ state: inout State, to offset: Int) {
    guard let mark = state.marks.last(where: { $0.offset <= offset }) else { return }
    // A mark before the buffer does not help a reader that reads forward.
    if offset > state.start, mark.offset <= state.start { return }
    state.lines.go(to: mark.place)
    state.buffer.reset()
    state.start = mark.offset
    state.hasEnded = false
  }
}
