// `realmfs recover`: saves the remaining content of a damaged file, and lists what is lost.
import RealmJSON
import RealmPages

/// The command `recover`.
enum RecoverCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let path = arguments.operands[0], target = arguments.operands[1]
    let key = try KeySource(arguments).map { source in
      try source.read(verbose: arguments.has(.verbose))
    }
    if key != nil, FileDiagnosis.isPlain(path) { throw CommandFailure(.wrongKey, "\(path) is not encrypted") }
    let configuration = Configuration(path: path, encryptionKey: key)
    let offset = try arguments.offset()
    let schema = try schema(arguments, target)
    let realms = offset == nil ? try rangeOfRealm(in: path) : nil
    let (report, transfer) = try Transfer.undoing(configuration, offset: offset, realms: realms, for: target) {
      (source, transfer) in
      let report = try ProgressLine.during("saving", path) { (observer) throws(EngineError) in
        try RealmRecovery.run(
          source,
          named: path,
          to: target,
          schema: schema,
          verifies: !arguments.has(.noVerify),
          observer: observer
        )
      }
      return (report, transfer)
    }
    let output = StandardOutput()
    if arguments.has(.json) {
      output.print(report.json(path, target, transfer).text)
    } else {
      if let transfer { output.line("\(path): \(transfer.description); this was undone first") }
      for line in report.lines(path, target) { output.line(line) }
    }
    try output.flush()
    return report.isWhole ? .done : .damaged
  }

  /// Returns a version of a temporary realm, already unlinked, with the classes of the schema file; nil without
  /// --schema.
  private static func schema(_ arguments: Arguments, _ target: String) throws -> Snapshot? {
    guard let schema = try arguments.schema(.schemaFile) else { return nil }
    let staging = try Staging(for: target)
    let path = staging.anchoredPath, name = arguments.value(.schemaFile) ?? ""
    try CreateCommand.make(Configuration(path: path), schema, shownPath: name)
    return try located(name) { try Realm(Configuration(path: path, mode: .immutable)).latest() }
  }

  /// Returns the range of the realm in a file that does not begin with one; none for other files. Throws if the file
  /// contains several realms, from which the user must choose one.
  private static func rangeOfRealm(in path: String) throws -> [Range<Int>] {
    let realms = Transfer.realms(in: path), starts = realms.map { "\($0.lowerBound)" }
    if starts.count < 2 { return realms }
    throw CommandFailure(
      .damaged,
      "\(path): \(starts.count) realms begin in this file, at bytes \(starts.joined(separator: ", ")): choose one, for "
        + "example with --offset \(starts[0])"
    )
  }
}

extension Arguments {
  /// Returns the offset in the file at which the realm begins; nil if it is not given.
  fileprivate func offset() throws -> Int? {
    guard let text = value(.offset) else { return nil }
    guard let offset = Int(text), offset >= 0 else {
      throw usage("option --offset: '\(text)' is not a number of bytes")
    }
    return offset
  }
}

extension RealmRecovery.Report {
  fileprivate func lines(_ path: String, _ target: String) -> [String] {
    let which = version == 0 ? "an unknown version" : "version \(version)"
    var lines = ["\(path): \(which), format \(format), found via \(origin)"]
    if let headerNote { lines.append(headerNote) }
    if lostSlots.count > 0 {
      lines.append(
        "the key is right, but the table of initialization vectors is overwritten for "
          + "\(counted(lostSlots.count, "page")): \(lostSlots.unverified) read without verification, "
          + "\(lostSlots.withoutStart) without their first four bytes"
      )
    }
    if isUnreached {
      lines.append("this may not be the newest version: the header is damaged or points to another one")
    }
    if isOutdated { lines.append("lost: the newest version; this is an older one") }
    if let firstProblem { lines.append("a check of this version finds damage: \(firstProblem)") }
    if unreachedNodes > 0 {
      lines.append(
        "found \(counted(unreachedNodes, "node")) that no version reaches; their content is not saved and may be of "
          + "older versions"
      )
    }
    if ambiguousClusters > 0 {
      lines.append("not saved: \(counted(ambiguousClusters, "cluster")) of objects that may belong to several classes")
    }
    if isSearchIncomplete {
      lines.append("the search for tables ended early: too many nodes only look like parts of tables")
    }
    lines += problems.map { "lost: \($0)" } + parts.map { "\($0.name): \($0.inWords)" }
    return lines + ["wrote \(target) (\(sizes.after) bytes): \(verdict)"]
  }

  private var verdict: String {
    if isWhole {
      let isSound = headerNote == nil && lostSlots.count == 0
      return "everything in this version is saved\(isSound ? ", and no damage was found" : "")"
    }
    let isSaved = problems.isEmpty && parts.allSatisfy(\.isWhole)
    return isSaved ? "everything that this version reaches is saved" : "the rest is lost"
  }

  fileprivate func json(_ path: String, _ target: String, _ transfer: Transfer?) -> JSONValue {
    .object([
      ("file", .string(path)), ("output", .string(target)), ("origin", .string(origin)),
      ("version", .number(Int(clamping: version))), ("format", .number(format)), ("whole", .bool(isWhole)),
      ("outdated", .bool(isOutdated)), ("unreached", .bool(isUnreached)),
      ("lineEndingsRestored", .bool(transfer == .lineEndings)),
      ("undone", transfer.map { .string($0.description) } ?? .null),
      ("unreachedNodes", .number(unreachedNodes)),
      ("ambiguousClusters", .number(ambiguousClusters)), ("searchIncomplete", .bool(isSearchIncomplete)),
      ("lostSlots", .number(lostSlots.count)), ("unverifiedPages", .number(lostSlots.unverified)),
      ("pagesWithoutStart", .number(lostSlots.withoutStart)),
      ("firstProblem", firstProblem.map { .string($0) } ?? .null),
      ("headerNote", headerNote.map { .string($0) } ?? .null),
      ("problems", .array(problems.map { .string($0) })), ("classes", .array(parts.map(\.json))),
      ("sizeBefore", .number(sizes.before)), ("sizeAfter", .number(sizes.after)),
    ])
  }
}

extension RealmRecovery.Part {
  fileprivate var inWords: String {
    func count(_ number: Int, _ word: String) -> String? {
      number == 0 ? nil : counted(number, word)
    }
    let losses =
      [
        count(lostObjects, "object"), count(lostValues, "value"), count(lostLinks, "link"),
        lostProperties.isEmpty ? nil : "properties \(lostProperties.joined(separator: ", "))",
      ].compactMap { $0 }
    var text = (count(objects, "object") ?? "no objects") + " saved"
    for (provenance, number) in objectsFromElsewhere.sorted(by: { $0.key < $1.key }) {
      text += ", \(number) of them from \(provenance.inWords)"
    }
    for (provenance, number) in valuesFromElsewhere.sorted(by: { $0.key < $1.key }) {
      text += ", \(counted(number, "value")) from \(provenance.inWords)"
    }
    if !losses.isEmpty { text += "; lost: \(losses.joined(separator: ", "))" }
    if let made = count(madeUpKeys, "key") { text += "; \(made) made up" }
    if madeUpNames > 0 { text += "; \(counted(madeUpNames, "name")) made up" }
    if let damage { text += " (first damage: \(damage))" }
    return ([text] + notes).joined(separator: "; ")
  }

  fileprivate var json: JSONValue {
    .object([
      ("name", .string(name)), ("objects", .number(objects)), ("lostObjects", .number(lostObjects)),
      ("lostValues", .number(lostValues)), ("lostLinks", .number(lostLinks)),
      ("lostProperties", .array(lostProperties.map { .string($0) })), ("madeUpKeys", .number(madeUpKeys)),
      ("madeUpNames", .number(madeUpNames)),
      ("objectsFromElsewhere", .object(Provenance.json(objectsFromElsewhere))),
      ("valuesFromElsewhere", .object(Provenance.json(valuesFromElsewhere))),
      ("notes", .array(notes.map { .string($0) })), ("damage", damage.map { .string($0) } ?? .null),
    ])
  }
}

extension Provenance {
  fileprivate var inWords: String {
    switch self {
    case .version(let number): "version \(number)"
    case .table: "tables that no version reaches"
    case .clusters: "clusters that no table reaches"
    }
  }

  /// The numbers by provenance, with the keys "version N", "table" and "clusters".
  fileprivate static func json(_ numbers: [Provenance: Int]) -> [(String, JSONValue)] {
    numbers.sorted { $0.key < $1.key }.map { provenance, number in
      switch provenance {
      case .version(let version): ("version \(version)", .number(number))
      case .table: ("table", .number(number))
      case .clusters: ("clusters", .number(number))
      }
    }
  }
}
