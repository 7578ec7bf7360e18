// `realmfs pull`: downloads the current state of a synced realm to a file, and exits.
import RealmJSON
import RealmPages
import RealmSync

/// The command `pull`.
enum PullCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let url = try arguments.syncURL(arguments.operands[0]), path = System.absolute(arguments.operands[1])
    let timeout = try arguments.syncTimeout(), options = try arguments.syncOptions()
    let configuration = try RealmSource.configuration(path: path, arguments, .shared)
    Interruption.watch()
    let report: SyncStatus
    let mirror = try Mirror(configuration, of: url)
    let cleanup = Interruption.cleaning { mirror.removeUnlessBegun() }
    defer {
      mirror.removeUnlessBegun()
      withExtendedLifetime(cleanup) {}
    }
    let session = try SyncClient(mirror, options)
    try session.start()
    defer { session.stop() }
    report = try Download.finish(session, timeout)
    try print(report, path, url, arguments)
    return .done
  }

  private static func print(
    _ status: SyncStatus,
    _ path: String,
    _ url: SyncURL,
    _ arguments: Arguments
  ) throws {
    if arguments.has(.quiet) && !arguments.has(.json) { return }
    if status.version == 0 { Log.notice(url.isNew) }
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
