// Access to the versions of a file before the newest one. A later commit may overwrite them, so they are read while no
// program can commit.
import Glibc
import RealmPages

extension RealmSource {
  /// Runs `body` on the newest version while no other program can commit: it is locked out, or none has the realm open.
  /// The content that `body` reads is valid while `isUnchanged` is true; if it is false afterwards, this throws. If
  /// `touchesNothing`, joins no session and creates no file.
  ///
  /// Throws if another program has the realm open that cannot be locked out.
  static func withoutCommits<R>(
    _ configuration: Configuration,
    touchesNothing: Bool = false,
    _ body: (RealmSource, Snapshot, _ isUnchanged: @escaping @Sendable () -> Bool) throws -> R
  ) throws -> R {
    let path = configuration.path
    if !touchesNothing, hasLockFile(path), let result = try locked(configuration, body) { return result }
    try checkUnused(path)
    let source = try RealmSource(configuration), newest = try source.latest(), realm = source.realm
    let isUnchanged: @Sendable () -> Bool = { realm.isCurrent(newest) && LockHolders.ofRealm(at: path).isEmpty }
    let outcome = Result { try body(source, newest, isUnchanged) }
    if !isUnchanged() { throw committedMeanwhile(path) }
    return try outcome.get()
  }

  /// Throws if another program has the realm open.
  private static func checkUnused(_ path: String) throws {
    if !LockHolders.ofRealm(at: path).isEmpty { throw committedMeanwhile(path) }
  }

  private static func committedMeanwhile(_ path: String) -> CommandFailure {
    CommandFailure(inUse: path, "\(path) is in use by another program; it must be closed there first")
  }

  /// Runs `body` while the writers of all programs are locked out; nil if the realm cannot be opened for writing.
  private static func locked<R>(
    _ configuration: Configuration,
    _ body: (RealmSource, Snapshot, _ isUnchanged: @escaping @Sendable () -> Bool) throws -> R
  ) throws -> R? {
    var shared = configuration
    shared.mode = .shared
    shared.idleTime = nil
    // A realm that cannot be opened for writing can still be read.
    guard let writer = try? RealmWriter(shared) else { return nil }
    // An interruption must not leave the version pinned.
    Interruption.watch()
    let source = RealmSource(path: configuration.path, realm: writer.realm)
    let outcome: Result<R, any Error>
    do {
      outcome = try writer.withWriterLock { newest in
        Result { try body(source, newest) { true } }
      }
    } catch {
      if error.reason == .readOnly { return nil }
      throw CommandFailure(error, path: configuration.path)
    }
    return try outcome.get()
  }

  // MARK: versions

  /// Runs `body` with the versions of a file while no other program can commit. A file that does not open as a realm is
  /// searched for versions; then `body` also gets the reason.
  static func withTimeline<R>(
    _ configuration: Configuration,
    touchesNothing: Bool = false,
    _ body: (
      VersionTimeline, CommandFailure?, _ isUnchanged: @escaping @Sendable () -> Bool
    ) throws -> R
  ) throws -> R {
    let path = configuration.path
    guard let failure = try damage(configuration) else {
      return try withoutCommits(configuration, touchesNothing: touchesNothing) {
        (source, newest, isUnchanged) in
        try body(VersionTimeline.of(newest, source.realm, path), nil, isUnchanged)
      }
    }
    try checkUnused(path)
    let isUnchanged: @Sendable () -> Bool = { LockHolders.ofRealm(at: path).isEmpty }
    let timeline = try located(path) { try VersionTimeline(damaged: configuration) }
    let outcome = Result { try body(timeline, failure, isUnchanged) }
    try checkUnused(path)
    return try outcome.get()
  }

  /// Returns the reason why a damaged file does not open; nil if it opens.
  private static func damage(_ configuration: Configuration) throws -> CommandFailure? {
    do {
      _ = try RealmSource(configuration)
      return nil
    } catch {
      let failure = CommandFailure(error)
      if failure.code == .damaged { return failure }
      throw failure
    }
  }

  /// Opens the realm as of the version called `text`, read-only. Warns of a version that is not proven to be whole.
  ///
  /// Throws if the file does not hold the version, or only a part of it.
  static func former(_ configuration: Configuration, version text: String) throws -> RealmSource {
    let path = configuration.path
    let number = try number(text, path)
    return try withTimeline(configuration) { timeline, _, isUnchanged in
      let version = try readable(number, of: timeline, path)
      return try located(path) {
        RealmSource(path: path, realm: try timeline.realm(asOf: version, isUnchanged: isUnchanged))
      }
    }
  }

  /// Returns the version number that --version names.
  static func number(_ text: String, _ path: String) throws -> UInt64 {
    if let number = UInt64(text) { return number }
    throw CommandFailure(.usage, "--version \(text): expected a version number; 'realmfs versions \(path)' lists them")
  }

  /// Returns the version with this number, after a warning if it is not proven to be whole.
  static func readable(
    _ number: UInt64,
    of timeline: VersionTimeline,
    _ path: String
  ) throws -> RemainingVersion {
    guard let version = timeline.version(number) else {
      let known = timeline.versions.map { "\($0.version)" }
      let held =
        known.isEmpty ? "no version" : (known.count == 1 ? "version " : "versions ") + known.joined(separator: ", ")
      throw CommandFailure(.unreadable, "\(path): no version \(number); the file holds \(held)")
    }
    switch timeline.state(of: version) {
    case .whole: break
    case .unproven:
      Log.notice(
        "\(path): version \(number) is unproven: a check finds no fault, but later commits may have overwritten values"
      )
    case .partial(let fault):
      throw CommandFailure(
        .damaged,
        "\(path): version \(number) is not whole: \(fault); 'realmfs recover' saves what is left of the file"
      )
    }
    return version
  }
}

extension VersionTimeline {
  /// Finds the versions before the newest one of the realm at `path`.
  static func of(_ newest: Snapshot, _ realm: Realm, _ path: String) throws -> VersionTimeline {
    try located(path) { try VersionTimeline(newest, of: realm) }
  }
}
