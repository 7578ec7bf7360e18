// `realmfs pull`: a synced realm as a file. It downloads what there is, and ends.
import Glibc
import RealmJSON
import RealmPages
import RealmSync
import Threads

/// The command `pull`.
enum PullCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let url = try arguments.syncURL(arguments.operands[0]), path = System.absolute(arguments.operands[1])
    let timeout = try arguments.syncTimeout(), options = try arguments.syncOptions()
    let configuration = try RealmSource.configuration(path: path, arguments, .shared)
    Interruption.watch()
    let line = ProgressLine("downloading"), report: SyncStatus
    do throws(SyncError) {
      let session = try SyncSession(Mirror(configuration, of: url), options)
      try session.start()
      defer { session.stop() }
      report = try Self.wait(for: session, timeout, line)
    } catch {
      line.end()
      throw CommandFailure(error)
    }
    line.end()
    try print(report, path, url, arguments)
    return .done
  }

  /// Waits until everything is there. Gives up when nothing has come for `timeout`.
  private static func wait(
    for session: SyncSession,
    _ timeout: Duration,
    _ line: ProgressLine
  ) throws(SyncError) -> SyncStatus {
    var last = session.status, deadline = MonotonicTime.now.advanced(by: timeout)
    while true {
      let status = session.wait(until: min(deadline, .now.advanced(by: .milliseconds(200)))) { $0.state == .live }
      if let failure = session.failure { throw failure }
      if status.state == .live { return status }
      if status.downloaded != last.downloaded || status.connections != last.connections {
        deadline = MonotonicTime.now.advanced(by: timeout)
      }
      last = status
      line.show(Int(status.downloaded), of: Int(status.downloaded + status.bytesLeft))
      if deadline <= .now {
        throw SyncError(
          .timeout,
          "\(session.mirror.url): nothing came for \(timeout.components.seconds) s: \(status.error ?? "no answer"); what "
            + "is there is kept, and the next pull goes on from it"
        )
      }
    }
  }

  private static func print(
    _ status: SyncStatus,
    _ path: String,
    _ url: SyncURL,
    _ arguments: Arguments
  ) throws(CommandFailure) {
    if arguments.has(.quiet) && !arguments.has(.json) { return }
    let output = StandardOutput()
    if arguments.has(.json) {
      let members: [(String, JSONValue)] = [
        ("file", .string(path)), ("url", .string(url.description)), ("version", .number(Int(status.version))),
        ("downloadedBytes", .number(Int(status.downloaded))),
        ("protocolVersion", status.protocolVersion.map { .number($0) } ?? .null),
      ]
      output.print(JSONValue.object(members).text)
    } else {
      output.line("\(path): version \(status.version) of \(url), \(status.downloaded) bytes of changes downloaded")
    }
    try output.flush()
  }
}
