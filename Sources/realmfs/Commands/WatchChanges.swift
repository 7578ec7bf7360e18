// `realmfs watch --changes`: prints a line for each object that a commit changes, until the reader closes the output or
// a signal arrives.
import CLinux
import Glibc
import RealmJSON
import RealmPages

/// The command `watch --changes`.
enum WatchChanges {
  /// The number of bytes that a writable pipe accepts without blocking.
  private static let pieceSize = 4096
  private static let pause = Duration.milliseconds(250)

  static func run(_ arguments: Arguments) throws -> ExitCode {
    let source = try source(arguments)
    Interruption.watch()
    signal(SIGPIPE, SIG_IGN)
    let feed = try ChangeFeed(source.realm, classes: arguments.chosenClasses())
    if let since = arguments.value(.since) { try begin(feed, since: since, source.realm.configuration) }
    while true {
      try feed.advance()
      if feed.count > 0 {
        try write(feed)
      } else {
        if hasLostReader(waiting: 0) { exitWithoutReader() }
        feed.waitForChange(timeout: pause)
      }
    }
  }

  /// Opens the realm, and remains in its session while idle, so that no version is missed.
  static func source(_ arguments: Arguments) throws -> RealmSource {
    var configuration = try RealmSource.configuration(path: arguments.operands[0], arguments, .shared)
    configuration.idleTime = nil
    let path = configuration.path
    return try RealmSource(configuration) { code in
      Log.notice("\(path): read without its lock file (\(System.message(code))), so changes may be missed")
    }
  }

  /// Begins at an older version. The version before the newest one remains in the file until the next commit.
  private static func begin(
    _ feed: ChangeFeed,
    since text: String,
    _ configuration: Configuration
  ) throws {
    guard let since = UInt64(text) else { throw CommandFailure(.usage, "--since \(text): expected a version number") }
    guard let newest = feed.version, since != newest else { return }
    if newest > 0, since == newest - 1, begins(feed, before: newest, configuration) { return }
    Log.notice("\(configuration.path): version \(since) is no longer there; the changes begin at version \(newest)")
    feed.addGap()
  }

  /// True if the feed begins at the version before the newest one. False if that version cannot be read, or if the
  /// writer lock is unavailable, since the version may then be overwritten at any moment.
  private static func begins(_ feed: ChangeFeed, before newest: UInt64, _ configuration: Configuration) -> Bool {
    do {
      return try RealmWriter(configuration).withWriterLock { snapshot in
        do {
          guard snapshot.version == newest, let previous = try snapshot.previous(),
            previous.version == newest - 1
          else { return false }
          return try feed.begin(from: previous)
        } catch { return false }
      }
    } catch { return false }
  }

  /// Writes pending output, as much as the reader accepts without blocking.
  private static func write(_ feed: ChangeFeed) throws {
    if hasLostReader(waiting: 200) { exitWithoutReader() }
    var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
    guard unsafe poll(&output, 1, 0) > 0 else { return }
    let failure = StandardOutput.write(feed.take(pieceSize), to: STDOUT_FILENO)
    if failure == EPIPE { exitWithoutReader() }
    if failure != 0 { throw CommandFailure(.failure, "cannot write the output: \(System.message(failure))") }
  }

  /// Waits up to `milliseconds` for the reader to accept output. True if the reader has closed the output.
  private static func hasLostReader(waiting milliseconds: Int32) -> Bool {
    var output = pollfd(fd: STDOUT_FILENO, events: milliseconds > 0 ? Int16(POLLOUT) : 0, revents: 0)
    return unsafe poll(&output, 1, milliseconds) > 0 && output.revents & Int16(POLLERR) != 0
  }

  /// Ends the process as one whose output has no reader, without leaving a version pinned.
  static func exitWithoutReader() -> Never {
    Realm.leaveSessions()
    signal(SIGPIPE, SIG_DFL)
    raise(SIGPIPE)
    exit(128 + SIGPIPE)
  }
}
