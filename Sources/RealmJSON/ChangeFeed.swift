// The changes of a realm as they come, for one reader, with bounded memory and without keeping versions for long: what
// a reader does not take in time is lost to it, and a gap tells so.

public import RealmPages
import Threads

/// Lines of what commits change from some version on, whoever commits. Commits that follow each other faster than lines
/// are made come together.
///
/// It holds the version up to which it has made lines. When a newer one has come, `advance` makes the lines between
/// both, as many as there is room for, and lets go of the older one at their end. A reader that takes too long with
/// what does not fit loses the rest, so that no version is held for more than two seconds because of it.
///
/// One thread at a time.
public final class ChangeFeed {
  private struct Step {
    let to: VersionHold
    let lines: ChangeLines
    /// When the buffer became full with more to come; how long the reader has let it be so before.
    var fullSince: MonotonicTime?
    var waited: Int64 = 0
  }

  private let realm: Realm
  private let classes: [String]?
  private let style: JSONStyle
  /// Up to here lines were made; nil after a loss, until there is room to go on.
  private var from: VersionHold?
  private var file: Int
  private var step: Step?
  /// What was made and not yet taken, from `start` on.
  private let buffer = OutputBuffer()
  private var start = 0

  /// No more is made while the buffer holds this much.
  private static let room = 256 << 10
  /// How long a reader may keep versions waiting in all, in nanoseconds.
  private let patience: Int64

  /// Lines from the newest version on.
  public convenience init(_ realm: Realm, classes: [String]? = nil, style: JSONStyle = .plain) throws(EngineError) {
    try self.init(realm, classes: classes, style: style, patience: .milliseconds(1500))
  }

  init(
    _ realm: Realm,
    classes: [String]? = nil,
    style: JSONStyle = .plain,
    patience: Duration
  ) throws(EngineError) {
    (self.realm, self.classes, self.style) = (realm, classes, style)
    self.patience = Int64(patience / .nanoseconds(1))
    from = try realm.hold()
    file = realm.standing.file
  }

  /// The version up to which lines were made; nil after a loss.
  public var version: UInt64? { from?.snapshot.version }

  /// The bytes that are kept.
  var size: Int { buffer.count }

  /// The bytes that can be taken.
  public var count: Int { buffer.count - start }

  /// Whether there may be something to make.
  public var isBehind: Bool { step != nil || from.map { realm.hasChanged(since: $0.snapshot) } ?? true }

  /// Waits until there is a newer version than lines were made of, at most for `timeout`.
  public func waitForChange(timeout: Duration) {
    if let from, step == nil { _ = realm.waitForChange(since: from.snapshot, timeout: timeout) }
  }

  /// Takes up to `count` bytes.
  public func take(_ count: Int) -> [UInt8] {
    let end = min(start + count, buffer.count)
    let bytes = unsafe Array(buffer.unsafeBytes[start..<end])
    start = end
    // A reader that never takes all of it must not make it grow.
    if start == buffer.count || start >= Self.room {
      let rest = unsafe Array(buffer.unsafeBytes[start...])
      buffer.reset()
      buffer.append(rest)
      start = 0
    }
    return bytes
  }

  /// Begins with the changes from `old` on, which is held, or cannot be overwritten during the call: all lines are made
  /// at once. False if they are too many.
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

  /// Adds the line that tells that changes are missing, up to the version of the feed.
  public func addGap() {
    if let version { ChangeLines.gap(upTo: version, time: Self.now(), into: buffer) }
  }

  private static func now() -> Timestamp {
    let time = Timestamp.now
    // Whole milliseconds: when a version came is not known better than that.
    return Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds / 1_000_000 * 1_000_000)
  }

  /// Makes the lines of what has come, as many as there is room for.
  public func advance() throws(EngineError) {
    while count < Self.room {
      if step != nil {
        make()
      } else if let from {
        guard try begin(after: from) else { return }
      } else {
        from = try realm.hold()
        file = realm.standing.file
        addGap()
      }
    }
    noteFull()
    // The version that the realm showed last is pinned until it shows a newer one.
    if from == nil { _ = try realm.latest() }
  }

  /// Notes how long the reader lets a full buffer be, and gives up what does not fit in time.
  private func noteFull() {
    guard var step else { return }
    let now = MonotonicTime.now
    let since = step.fullSince ?? now
    if step.waited + (now.nanoseconds - since.nanoseconds) > patience { return lose() }
    step.fullSince = since
    self.step = step
  }

  private func lose() {
    step = nil
    from = nil
  }

  /// Takes up what a newer version changes; false if there is none.
  private func begin(after from: VersionHold) throws(EngineError) -> Bool {
    // Unlike `hasChanged` this looks at the path, too.
    if try realm.latest() === from.snapshot { return false }
    let to = try realm.hold()
    let isOtherFile = realm.standing.file != file
    if to.snapshot.version == from.snapshot.version && !isOtherFile {
      self.from = to
      return false
    }
    let lines: ChangeLines?
    do throws(EngineError) {
      lines = try ChangeLines(from: from.snapshot, to: to.snapshot, time: Self.now(), classes: classes, style: style)
    } catch { lines = nil }
    // Keys of another file mean something else, and what is damaged cannot be compared.
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

  /// Makes lines of the present step until there are enough.
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
    // Lines that were made from what was overwritten meanwhile do not count.
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
