// `realmfs check`: verifies every structure of a file and prints the problems.
import RealmJSON
import RealmPages

/// The command `check`.
enum CheckCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    if arguments.has(.seal) { return try SealCommand.check(arguments) }
    let limit = try limit(arguments)
    let source = try RealmSource(arguments)
    // A check takes a long time, and its result is of little use while another program writes: retry only a few times.
    let report = try source.onNewest(attempts: 5) { snapshot in
      var problems: [Verifier.Problem] = []
      let summary = Verifier(snapshot).run(limit: limit) { problems.append($0) }
      return CheckReport(
        path: source.path,
        version: snapshot.version,
        unreached: snapshot.unreached,
        summary: summary,
        problems: problems
      )
    }
    let output = StandardOutput()
    if arguments.has(.json) { output.print(report.json.text) } else { report.lines.forEach { output.line($0) } }
    try output.flush()
    return report.summary.isSound ? .done : .damaged
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
  let summary: Verifier.Summary
  let problems: [Verifier.Problem]

  var lines: [String] {
    let damage = problems.filter { !$0.isLeftover }, leftovers = problems.filter(\.isLeftover)
    var lines = damage.map { "\($0)" } + more(summary.problems - damage.count)
    lines += leftovers.map { "leftover: \($0)" } + more(summary.leftovers - leftovers.count)
    if let unreached { lines.append("warning: \(unreached.description)") }
    var verdict = summary.isSound ? "sound" : counted(summary.problems, "problem")
    if summary.leftovers > 0 {
      verdict += ", \(counted(summary.leftovers, "harmless leftover"))"
    }
    let tables = counted(summary.tables, "table"), objects = counted(summary.objects, "object")
    let counts = "\(tables), \(objects), \(counted(summary.nodes, "node"))"
    return lines + ["\(path): \(verdict): \(counts) with \(summary.bytes) bytes, \(summary.freeBytes) bytes free"]
  }

  private func more(_ count: Int) -> [String] { count > 0 ? ["and \(count) more; --limit shows them"] : [] }

  var json: JSONValue {
    .object([
      ("file", .string(path)),
      ("version", .number(Int(clamping: version))),
      ("sound", .bool(summary.isSound)),
      ("unreachedVersion", (unreached?.version).map { .number(Int(clamping: $0)) } ?? .null),
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
