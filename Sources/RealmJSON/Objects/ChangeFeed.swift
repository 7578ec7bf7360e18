// Streams the changes of a realm to one reader with bounded memory. It never holds old versions for long: changes that
// the reader does not read in time are dropped, and a gap line marks the loss.

public import RealmPages
import Threads

/// A stream of JSON lines that describe what commits change, starting at some version, regardless of the committing
/// process. Commits that arrive faster than lines are rendered are merged.
///
/// The feed holds the version up to which it has rendered lines. When a newer version exists, `advance` renders the
/// lines between the two, as far as the buffer has room, and releases the older version after the last line. A reader
/// that drains a full buffer too slowly loses the rest, so it never keeps a version held for more than two seconds.
///
/// Not thread-safe: one thread at a time.
public final class ChangeFeed {
  private struct Step {
    let to: VersionHold
    let lines: ChangeLines
    /// When the buffer became full with lines still to be rendered, and how long full buffers have already delayed this
    /// step.
    var fullSince: MonotonicTime?
    var waited: Int64 = 0
  }

  private let realm: Realm
  private let classes: [String]?
  private let style: JSONStyle
  /// The version up to which lines were rendered; nil after a loss, until there is room to continue.
  private var from: VersionHold?
  private var file: Int
  private var step: Step?
  /// Rendered lines. The bytes from `start` on have not been taken yet.
  private let buffer = OutputBuffer()
  private var start = 0

  /// Rendering pauses while the buffer holds this many bytes.
  private static let room = 256 << 10
  /// The total time, in nanoseconds, that a slow reader may keep a version held.
  private let holdLimit: Int64

  /// The total time for which a slow reader may keep a version held.
  package static let holdLimit = Duration.milliseconds(1500)

  /// Creates a feed that starts at the newest version.
  public convenience init(_ realm: Realm, classes: [String]? = nil, style: JSONStyle = .plain) throws(EngineError) {
    try self.init(realm, classes: classes, style: style, holdLimit: Self.holdLimit)
  }

  /// Like `init(_:classes:style:)`, but with a longer or no wait for a slow reader.
  package init(
    _ realm: Realm,
    classes: [String]? = nil,
    style: JSONStyle = .plain,
    holdLimit: Duration
  ) throws(EngineError) {
    (self.realm, self.classes, self.style) = (realm, classes, style)
    self.holdLimit = Int64(holdLimit / .nanoseconds(1))
    from = try realm.hold()
    file = realm.location.generation
  }

  /// The version up to which lines were rendered; nil after a loss.
  public var version: UInt64? { from?.snapshot.version }

  /// The number of bytes in the buffer, including those already taken.
  var size: Int { buffer.count }

  /// The number of bytes that can be taken.
  public var count: Int { buffer.count - start }

  /// True if there may be changes that have not been rendered yet.
  public var isBehind: Bool { step != nil || from.map { realm.hasChanged(since: $0.snapshot) } ?? true }

  /// Waits, for at most `timeout`, until there is a version newer than `version`.
  public func waitForChange(timeout: Duration) {
    if let from, step == nil { _ = realm.waitForChange(since: from.snapshot, timeout: timeout) }
  }

  /// Removes up to `count` bytes from the front and returns them.
  public func take(_ count: Int) -> [UInt8] {
    let end = min(start + count, buffer.count)
    let bytes = unsafe Array(buffer.unsafeBytes[start..<end])
    start = end
    // Compact the buffer, so that a reader that never drains it fully does not make it grow.
    if start == buffer.count || start >= Self.room {
      let rest = unsafe Array(buffer.unsafeBytes[start...])
      buffer.reset()
      buffer.append(rest)
      start = 0
    }
    return bytes
  }

  /// Renders the changes since `old` all at once. Returns false if they exceed the buffer limit.
  ///
  /// The caller holds `old`, or knows that it cannot be overwritten during the call.
  public func begin(from old: Snapshot) throws(EngineError) -> Bool {
    guard let from else { return false }
    let lines = try ChangeLines(
      from: old,
      to: from.snapshot,
      time: Self.now(),
      classes: classes,
      style: style
    )
    while buffer.count < Self.room << 6 {
      switch lines.next(into: buffer) {
      case .line, .damage: continue
      case .end: return true
      }
    }
    buffer.reset()
    return false
  }

  /// Appends the line that reports missing changes, up to the version of the feed.
  public func addGap() {
    if let version { ChangeLines.gap(upTo: version, time: Self.now(), into: buffer) }
  }

  private static func now() -> Timestamp {
    let time = Timestamp.now
    // Whole milliseconds: the time of a version is not known more precisely.
    return Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds / 1_000_000 * 1_000_000)
  }

  /// Renders lines for new versions, as far as the buffer has room.
  public func advance() throws(EngineError) {
    while count < Self.room {
      if step != nil {
        make()
      } else if let from {
        guard try begin(after: from) else { return }
      } else {
        from = try realm.hold()
        file = realm.location.generation
        addGap()
      }
    }
    noteFull()
    // Without a hold, refresh the realm, since it pins the last version it returned until it finds a newer one.
    if from == nil { _ = try realm.latest() }
  }

  /// Measures how long the reader has left the buffer full, and drops the remaining changes after too long.
  private func noteFull() {
    guard var step else { return }
    let now = MonotonicTime.now
    let since = step.fullSince ?? now
    if step.waited + (now.nanoseconds - since.nanoseconds) > holdLimit { return lose() }
    step.fullSince = since
    self.step = step
  }

  private func lose() {
    step = nil
    from = nil
  }

  /// Starts a step to the newest version; returns false if there is none.
  private func begin(after from: VersionHold) throws(EngineError) -> Bool {
    // Unlike `hasChanged`, `latest` also checks the path.
    if try realm.latest() === from.snapshot { return false }
    let to = try realm.hold()
    let isOtherFile = realm.location.generation != file
    if to.snapshot.version == from.snapshot.version && !isOtherFile {
      self.from = to
      return false
    }
    let lines: ChangeLines?
    do {
      lines = try ChangeLines(from: from.snapshot, to: to.snapshot, time: Self.now(), classes: classes, style: style)
    } catch { lines = nil }
    // Keys of a different file are unrelated, and damaged versions cannot be compared.
    guard let lines, !isOtherFile, to.snapshot.version > from.snapshot.version, areCurrent(from, to) else {
      lose()
      return true
    }
    step = Step(to: to, lines: lines)
    return true
  }

  private func areCurrent(_ from: VersionHold, _ to: VersionHold) -> Bool {
    realm.isCurrent(from.snapshot) && realm.isCurrent(to.snapshot)
  }

  /// Renders lines of the current step until the buffer is full or the step ends.
  private func make() {
    guard let from, var step else { return lose() }
    if let since = step.fullSince {
      step.waited += MonotonicTime.now.nanoseconds - since.nanoseconds
      step.fullSince = nil
      self.step = step
    }
    let before = buffer.count
    var hasEnded = false, isDamaged = false
    while count < Self.room && !hasEnded {
      switch step.lines.next(into: buffer) {
      case .line: break
      case .damage: isDamaged = true
      case .end: hasEnded = true
      }
    }
    // Discard the lines if either version was overwritten while they were rendered.
    if !areCurrent(from, step.to) {
      buffer.truncate(to: before)
      return lose()
    }
    if hasEnded {
      self.from = step.to
      self.step = nil
    }
    if isDamaged { addGap() }
  }
}
