// A mounted realm of a sync server: its mirror, the session that keeps the mirror up to date, and `.realm/sync.json`,
// which reports on both.
import FileTree
import Glibc
import RealmJSON
import RealmPages
import RealmSync
import Synchronization
import Threads

/// The realm that `mount --sync` mounts.
final class SyncedRealm: Sendable {
  private let url: SyncURL
  private let path: String
  private let options: SyncOptions
  private let timeout: Duration
  private let isReadOnly: Bool
  private let session = Mutex<SyncClient?>(nil)

  /// Creates the realm; nil if the arguments do not specify a sync server.
  init?(_ arguments: Arguments, path: String) throws {
    guard let text = arguments.value(.sync) else { return nil }
    url = try arguments.syncURL(text)
    timeout = try arguments.syncTimeout()
    isReadOnly = arguments.wantsNoChanges
    self.path = path
    var options = try arguments.syncOptions()
    if !isReadOnly { options.uploadTimeout = timeout }
    options.waitsForSpace = true
    self.options = options
    if arguments.value(.mirror) == nil {
      try Mirror.makeFolder(of: path)
    }
  }

  /// Downloads the realm if it was never downloaded completely, and builds its tree. A complete mirror is shown at
  /// once, even without the server.
  func makeTree(_ configuration: Configuration, _ treeOptions: TreeOptions) throws -> FileTree {
    let mirror: Mirror
    // The session writes to the mirror even if the user only reads the realm.
    var configuration = configuration
    configuration.isReadOnly = false
    do {
      mirror = try Mirror(configuration, of: url)
      let session = try SyncClient(mirror, options)
      self.session.withLock { $0 = session }
      try session.start()
      if !mirror.state.isComplete { _ = try Download.finish(session, timeout) }
    } catch {
      stop()
      session.withLock { $0 }?.mirror.removeUnlessBegun()
      throw CommandFailure(error)
    }
    if mirror.state.isComplete && mirror.state.version == 0 { Log.notice(url.isNew) }
    if !treeOptions.queries.isEmpty {
      Log.notice("\(url): the whole realm is downloaded and followed; --query chooses what the directories list")
    }
    var treeOptions = treeOptions
    treeOptions.syncReport = { [self] in report }
    do {
      if isReadOnly { return try FileTree(mirror.writer.realm, options: treeOptions) }
      return try FileTree(mirror.writer, options: treeOptions)
    } catch {
      // The process must not exit while threads are running.
      stop()
      throw CommandFailure(error, path: path)
    }
  }

  /// Ends the connection.
  func stop() { session.withLock { $0 }?.stop() }

  private var report: String {
    guard let session = session.withLock({ $0 }) else { return "" }
    session.checkMirror()
    let status = session.status, state = session.mirror.state
    func number(_ value: Int64?) -> JSONValue { value.map { .number(Int($0)) } ?? .null }
    let facts: [(String, JSONValue)] = [
      ("url", .string(url.description)), ("mirror", .string(path)), ("state", .string(status.state.rawValue)),
      ("complete", .bool(status.isComplete)), ("version", number(status.version)),
      ("serverVersion", number(state.latest.version)), ("downloadedBytes", number(status.downloaded)),
      ("bytesLeft", number(status.bytesLeft)), ("uploads", .number(status.uploads)),
      ("uploadingBytes", number(status.uploading)), ("canSave", .bool(status.canUpload)),
      ("latencyMilliseconds", number(status.latency)),
      ("protocolVersion", number(status.protocolVersion.map(Int64.init))),
      ("connections", .number(status.connections)), ("error", status.error.map { .string($0) } ?? .null),
      ("refused", state.refused.map { .string($0) } ?? .null), ("nextAttemptSeconds", number(status.nextAttempt)),
    ]
    return JSONValue.object(facts).text
  }
}

extension SyncURL {
  /// A notice for a realm without any change, whose path may be mistyped.
  var isNew: String { "\(self): the realm is new and empty; a server creates one for each path that is requested" }
}

/// Waits for a download and shows its progress on a terminal.
enum Download {
  /// Waits until all data of the server is downloaded. Gives up if nothing arrives for `timeout`.
  static func finish(_ session: SyncClient, _ timeout: Duration) throws(SyncError) -> SyncStatus {
    let line = ProgressLine("downloading")
    defer { line.end() }
    var reported: String?
    return try session.wait(timeout: timeout) { status in
      if status.state == .live { return true }
      if status.state == .offline, let error = status.error, error != reported {
        reported = error
        line.end()
        Log.error("\(error); trying again, for up to \(timeout.components.seconds) s")
      }
      line.show(Int(status.downloaded), of: Int(status.downloaded + status.bytesLeft))
      return false
    }
  }
}
