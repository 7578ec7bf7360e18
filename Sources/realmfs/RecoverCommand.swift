// `realmfs recover`: what is left of a damaged file, and what is not.
import RealmJSON
import RealmPages

/// The command `recover`.
enum RecoverCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let path = arguments.operands[0], target = arguments.operands[1]
    let key = try KeySource(arguments).map { (source) throws(CommandFailure) in
      try source.read(verbose: arguments.has(.verbose))
    }
    if key != nil, FileDiagnosis.isPlain(path) { throw CommandFailure(.wrongKey, "\(path) is not encrypted") }
    let configuration = Configuration(path: path, encryptionKey: key)
    let (report, isRestored) = try LineEndings.restoring(configuration, for: target) {
      (source, isRestored) throws(CommandFailure) in
      let report = try ProgressLine.during("saving", path) { (observer) throws(EngineError) in
        try RealmRecovery.run(source, to: target, verifies: !arguments.has(.noVerify), observer: observer)
      }
      return (report, isRestored)
    }
    let output = StandardOutput()
    if arguments.has(.json) {
      output.print(report.json(path, target, isRestored: isRestored).text)
    } else {
      if isRestored {
        output.line(
          "\(path): a carriage return stood before every line feed, as if it were a text; they were taken out"
        )
      }
      for line in report.lines(path, target) { output.line(line) }
    }
    try output.flush()
    return report.isWhole ? .done : .damaged
  }
}

extension RealmRecovery.Report {
  fileprivate func lines(_ path: String, _ target: String) -> [String] {
    var lines = ["\(path): version \(version), format \(format), found through \(origin)"]
    if isUnreached { lines.append("the header leads to no version; whether this is the newest is not known") }
    if isOutdated { lines.append("lost: the newest version; this is an older one") }
    lines += problems.map { "lost: \($0)" } + parts.map { "\($0.name): \($0.inWords)" }
    return lines + ["\(target): \(sizes.after) bytes; \(verdict)"]
  }

  private var verdict: String {
    if !isWhole { return "the rest is lost" }
    return isUnreached ? "this version is whole" : "nothing is lost"
  }

  fileprivate func json(_ path: String, _ target: String, isRestored: Bool) -> JSONValue {
    .object([
      ("file", .string(path)), ("output", .string(target)), ("origin", .string(origin)),
      ("version", .number(Int(clamping: version))), ("format", .number(format)), ("whole", .bool(isWhole)),
      ("outdated", .bool(isOutdated)), ("unreached", .bool(isUnreached)),
      ("lineEndingsRestored", .bool(isRestored)),
      ("problems", .array(problems.map { .string($0) })), ("classes", .array(parts.map(\.json))),
      ("sizeBefore", .number(sizes.before)), ("sizeAfter", .number(sizes.after)),
    ])
  }
}

extension RealmRecovery.Part {
  fileprivate var inWords: String {
    func count(_ number: Int, _ word: String) -> String? {
      number == 0 ? nil : "\(number) \(word)\(number == 1 ? "" : "s")"
    }
    let losses =
      [
        count(lostObjects, "object"), count(lostValues, "value"), count(lostLinks, "link"),
        lostProperties.isEmpty ? nil : "properties \(lostProperties.joined(separator: ", "))",
      ].compactMap { $0 }
    var text = (count(objects, "object") ?? "no objects") + " saved"
    if !losses.isEmpty { text += "; lost: \(losses.joined(separator: ", "))" }
    if let made = count(madeUpKeys, "key") { text += "; \(made) made up" }
    if let leftovers = count(leftovers, "leftover object") { text += "; \(leftovers) without owner left out" }
    if let damage { text += " (first damage: \(damage))" }
    return ([text] + notes).joined(separator: "; ")
  }

  fileprivate var json: JSONValue {
    .object([
      ("name", .string(name)), ("objects", .number(objects)), ("lostObjects", .number(lostObjects)),
      ("lostValues", .number(lostValues)), ("lostLinks", .number(lostLinks)),
      ("lostProperties", .array(lostProperties.map { .string($0) })), ("madeUpKeys", .number(madeUpKeys)),
      ("leftovers", .number(leftovers)),
      ("notes", .array(notes.map { .string($0) })), ("damage", damage.map { .string($0) } ?? .null),
    ])
  }
}
