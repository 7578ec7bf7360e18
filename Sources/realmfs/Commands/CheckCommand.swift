// `realmfs check`: verifies every structure of a file and prints the problems.
import RealmJSON
import RealmPages

/// The command `check`.
enum CheckCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let limit = try limit(arguments)
    if arguments.operands.count > 1 {
      if arguments.has(.seal) { throw arguments.usage("--seal checks one file") }
      return try arguments.reportEach { configuration in
        let report = try examine(try RealmSource(configuration), limit)
        let lines = report.warnings.map { "\(report.path): \($0)" } + [report.verdict]
        return FileReport(lines: lines, json: report.json, code: report.code)
      }
    }
    if arguments.has(.seal) { return try SealCommand.check(arguments) }
    let report = try examine(try RealmSource(arguments), limit)
    let output = StandardOutput()
    if arguments.has(.json) { output.print(report.json.text) } else { report.lines.forEach { output.line($0) } }
    try output.flush()
    return report.code
  }

  private static func examine(_ source: RealmSource, _ limit: Int) throws -> CheckReport {
    // A check takes a long time, and its result is of little use while another program writes: retry only a few times.
    try source.onNewest(attempts: 5) { snapshot in
      var problems: [Verifier.Problem] = []
      let summary = Verifier(snapshot).run(limit: limit) { problems.append($0) }
      return CheckReport(
        path: source.path,
        version: snapshot.version,
        unreached: snapshot.unreached,
        unselectedVersion: snapshot.unselectedVersion,
        hasUnreadableSlot: snapshot.hasUnreadableSlot,
        summary: summary,
        problems: problems
      )
    }
  }

  private static func limit(_ arguments: Arguments) throws -> Int {
    guard let text = arguments.value(.limit) else { return 1000 }
    guard let limit = Int(text), limit > 0 else {
      throw arguments.usage("option --limit: '\(text)' is not a number above 0")
    }
    return limit
  }
}

/// The verdict on one version.
private struct CheckReport {
  let path: String
  let version: UInt64
  let unreached: UnreachedContent?
  let unselectedVersion: UInt64?
  let hasUnreadableSlot: Bool
  let summary: Verifier.Summary
  let problems: [Verifier.Problem]

  var code: ExitCode { summary.isSound ? .done : .damaged }

  var lines: [String] {
    let damage = problems.filter { !$0.isLeftover }, leftovers = problems.filter(\.isLeftover)
    var lines = damage.map { "\($0)" } + more(summary.problems - damage.count)
    lines += leftovers.map { "leftover: \($0)" } + more(summary.leftovers - leftovers.count)
    return lines + warnings + [verdict]
  }

  /// The warnings about versions other than the checked one, to which the header points.
  var warnings: [String] {
    var warnings: [String] = []
    if let unreached { warnings.append("warning: \(unreached.description)") }
    if let unselectedVersion {
      warnings.append(
        "warning: the other slot of the header points to version \(unselectedVersion), newer than this one: a crash "
          + "interrupted its commit, or the header is damaged; 'realmfs recover' saves that version"
      )
    }
    if hasUnreadableSlot {
      warnings.append(
        "warning: the header points to no version, and its other slot to nothing that can be read: a crash interrupted "
          + "the first commit, or the file is damaged"
      )
    }
    return warnings
  }

  /// The result, with the numbers of what was checked.
  var verdict: String {
    var verdict = summary.isSound ? "sound" : counted(summary.problems, "problem")
    if summary.leftovers > 0 {
      verdict += ", \(counted(summary.leftovers, "harmless leftover"))"
    }
    let tables = counted(summary.tables, "table"), objects = counted(summary.objects, "object")
    let counts = "\(tables), \(objects), \(counted(summary.nodes, "node"))"
    return "\(path): \(verdict): \(counts) with \(summary.bytes) bytes, \(summary.freeBytes) bytes free"
  }

  private func more(_ count: Int) -> [String] { count > 0 ? ["and \(count) more; --limit shows them"] : [] }

  var json: JSONValue {
    .object([
      ("file", .string(path)),
      ("version", .number(Int(clamping: version))),
      ("sound", .bool(summary.isSound)),
      ("unreachedVersion", (unreached?.version).map { .number(Int(clamping: $0)) } ?? .null),
      ("unselectedVersion", unselectedVersion.map { .number(Int(clamping: $0)) } ?? .null),
      ("tables", .number(summary.tables)),
      ("objects", .number(summary.objects)),
      ("nodes", .number(summary.nodes)),
      ("bytes", .number(summary.bytes)),
      ("freeBytes", .number(summary.freeBytes)),
      ("problemCount", .number(summary.problems)),
      ("problems", list(problems.filter { !$0.isLeftover })),
      ("leftoverCount", .number(summary.leftovers)),
      ("leftovers", list(problems.filter(\.isLeftover))),
    ])
  }

  private func list(_ problems: [Verifier.Problem]) -> JSONValue {
    .array(
      problems.map { problem in
        .object([
          ("place", .string(problem.place)), ("ref", problem.ref.map { .number($0) } ?? .null),
          ("text", .string(problem.text)),
        ])
      }
    )
  }
}
