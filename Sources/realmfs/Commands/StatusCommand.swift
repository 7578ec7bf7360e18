// `realmfs status`: lists the realm mounts on this machine.
import FileTree
import RealmJSON
import RealmPages

/// The command `status`.
enum StatusCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    guard System.hasProcesses else {
      throw CommandFailure(
        .mountPoint,
        "mounts cannot be listed, because /proc is missing: mount it ('mount -t proc proc /proc')"
      )
    }
    let mounts = RealmMount.all() + RealmMount.inOtherNamespaces(), output = StandardOutput()
    if arguments.has(.json) {
      output.print(JSONValue.array(mounts.map(\.json)).text)
    } else if mounts.isEmpty {
      output.line("no realm is mounted")
    } else {
      // Values are not truncated, so that they can be copied into commands.
      let titles = ["FILE", "MOUNT POINT", "PROCESS", "MODE", "IDLE", "SNAPSHOTS"]
      let table = RowPrinter(.table, titles.map { ($0, false) }, output, cuts: false)
      for mount in mounts { table.add(mount.cells.map { $0.isEmpty ? .null : .text(Array($0.utf8)) }) }
      try table.finish()
    }
    try output.flush()
    return .done
  }
}

extension RealmMount {
  /// The cells of a row. Without a report, the last cell contains the reason.
  fileprivate var cells: [String] {
    guard let report else { return [source, shownPoint, problem ?? ""] }
    let idle = report.idleSeconds.map(Self.duration) ?? "-"
    let number = process.map { "\($0)" } ?? "\(report.process) in another PID namespace"
    return [report.file, shownPoint, number, report.mode.rawValue, idle, "\(report.snapshots)"]
  }

  /// The mount point, with a hint on how to reach or end it if it is not visible to this process.
  private var shownPoint: String {
    guard let member = seenBy.first else { return point }
    if let server = process, seenBy.contains(server), seenBy.allSatisfy(MountServer.isServer) {
      return "\(point) (no other process sees it; 'kill \(server)' ends it)"
    }
    return "\(point) (in another mount namespace; 'nsenter -t \(member) -m' enters it)"
  }

  fileprivate var json: JSONValue {
    var place: [(String, JSONValue)] = [("mountPoint", .string(point))]
    if !seenBy.isEmpty { place.append(("seenBy", .array(seenBy.map { .number(Int($0)) }))) }
    guard let report else {
      return .object([("file", .string(source))] + place + [("problem", problem.map { .string($0) } ?? .null)])
    }
    let facts = report.facts.map { $0.0 == "pid" ? ("pid", process.map { .number(Int($0)) } ?? .null) : $0 }
    return .object(facts.prefix(1) + place + facts.dropFirst())
  }

  /// Returns a duration such as `5 s`, `12 min`, `3 h` or `2 d`.
  private static func duration(_ seconds: Int) -> String {
    switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3600: "\(seconds / 60) min"
    case ..<86400: "\(seconds / 3600) h"
    default: "\(seconds / 86400) d"
    }
  }
}
