// `realmfs diff`: compares two realms, with the exit codes of diff(1).
import Glibc
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `diff`.
enum DiffCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    do {
      return try compare(arguments)
    } catch let error as CommandFailure where error.code == .failure {
      // Exit code 1 means that there are differences.
      throw CommandFailure(.usage, error.message)
    }
  }

  private static func compare(_ arguments: Arguments) throws -> ExitCode {
    if arguments.has(.previous) || arguments.has(.version) { return try compareVersions(arguments) }
    let key = try KeySource(arguments).map { source in
      try source.read(verbose: arguments.has(.verbose))
    }
    let old = try RealmSource(toRead: arguments.operands[0], key)
    let new = try RealmSource(toRead: arguments.operands[1], key)
    let printer = DifferencePrinter(isJSON: arguments.has(.json))
    for _ in 0..<RealmSource.attempts {
      let (before, after) = (try old.latest(), try new.latest())
      let outcome = Result {
        try run(before, after, arguments, printer) {
          old.realm.isCurrent(before) && new.realm.isCurrent(after)
        }
      }
      if old.realm.isCurrent(before), new.realm.isCurrent(after) { return try outcome.get() }
      if printer.hasPrinted { throw old.realm.isCurrent(before) ? new.tooBusy : old.tooBusy }
      printer.forget()
    }
    throw old.tooBusy
  }

  // MARK: versions of one file

  /// Compares the newest version of a file with an older one. That exists only until the next commit, so other writers
  /// are locked out during the comparison. If that is not possible, no other program may have the realm open.
  private static func compareVersions(_ arguments: Arguments) throws -> ExitCode {
    let path = arguments.operands[0]
    let configuration = try RealmSource.configuration(path: path, arguments, .immutable)
    return try RealmSource.withoutCommits(configuration) { source, newest, isUnchanged in
      let older: Snapshot, isWhole: Bool
      if let text = arguments.value(.version) {
        (older, isWhole) = try version(text, before: newest, of: source)
      } else {
        (older, isWhole) = (try previous(newest, path), true)
      }
      if arguments.has(.verbose) { Log.notice("\(path): version \(older.version) and version \(newest.version)") }
      let printer = DifferencePrinter(isJSON: arguments.has(.json))
      return try run(older, newest, arguments, printer, areVersions: isWhole, isCurrent: isUnchanged)
    }
  }

  /// Returns the version before the last commit.
  static func previous(_ newest: Snapshot, _ path: String) throws -> Snapshot {
    let previous = try located(path) { try newest.previous() }
    if let previous { return previous }
    throw CommandFailure(
      .unreadable,
      "\(path): contains only version \(newest.version): it was just created, compacted or copied"
    )
  }

  /// Returns the version called `text`, and true if it is proven to be whole.
  static func version(
    _ text: String,
    before newest: Snapshot,
    of source: RealmSource
  ) throws -> (Snapshot, isWhole: Bool) {
    let path = source.path, timeline = try VersionTimeline.of(newest, source.realm, path)
    let version = try RealmSource.readable(RealmSource.number(text, path), of: timeline, path)
    return try located(path) { (try timeline.snapshot(of: version), timeline.state(of: version) == .whole) }
  }

  // MARK: comparing

  private static func run(
    _ old: Snapshot,
    _ new: Snapshot,
    _ arguments: Arguments,
    _ printer: DifferencePrinter,
    areVersions: Bool = false,
    isCurrent: () -> Bool
  ) throws -> ExitCode {
    let comparison = RealmComparison(old, new, classes: arguments.chosenClasses(), areVersions: areVersions)
    var complaints = Complaints()
    comparison.onComplaint = { complaints.add($0) }
    let path = arguments.operands.joined(separator: ", ")
    try located(path) {
      try comparison.run { difference in
        printer.add(difference)
        if printer.isFull {
          if !isCurrent() { throw TransferError.busy }
          try printer.flush()
        }
      }
      if isCurrent() { try printer.flush() }
    }
    for line in complaints.lines { Log.error(line) }
    return complaints.isEmpty ? (printer.count == 0 ? .done : .failure) : .damaged
  }
}

/// Prints differences as lines of text or as JSON Lines.
final class DifferencePrinter {
  private let isJSON: Bool
  private let output = StandardOutput()
  private(set) var count = 0
  private(set) var hasPrinted = false

  init(isJSON: Bool) { self.isJSON = isJSON }

  var isFull: Bool { output.isFull }

  func forget() {
    count = 0
    output.buffer.reset()
  }

  func flush() throws {
    hasPrinted = hasPrinted || output.buffer.count > 0
    try output.flush()
  }

  func add(_ difference: Difference) {
    count += 1
    if isJSON {
      difference.append(to: output.buffer)
      output.buffer.append("\n")
    } else {
      output.line(Self.text(difference))
    }
  }

  private static func text(_ difference: Difference) -> String {
    switch difference {
    case .schema(let place, let old, nil): return "- schema \(place): \(old ?? "")"
    case .schema(let place, nil, let new?): return "+ schema \(place): \(new)"
    case .schema(let place, let old?, let new?): return "~ schema \(place): \(old) -> \(new)"
    case .removed(let className, let name, let text): return "- \(className)/\(name) \(text)"
    case .added(let className, let name, let text): return "+ \(className)/\(name) \(text)"
    case .changed(let className, let name, let properties):
      let changes = properties.map { "\($0.property): \($0.old) -> \($0.new)" }
      return "~ \(className)/\(name) \(changes.joined(separator: ", "))"
    }
  }
}

extension Difference {
  /// Appends the difference as JSON, on one line without a line break.
  func append(to out: OutputBuffer) {
    func add(_ name: StaticString, _ text: String) {
      out.append(name)
      out.append(Array(text.utf8))
    }
    func begin(_ change: String, _ className: String, _ name: String) {
      out.append("{\"change\":")
      out.append(quoted: change)
      out.append(",\"class\":")
      out.append(quoted: className)
      out.append(",\"name\":")
      out.append(quoted: name)
    }
    switch self {
    case .schema(let place, let old, let new):
      out.append("{\"change\":\"schema\",\"place\":")
      out.append(quoted: place)
      for (name, value) in [("old", old), ("new", new)] {
        out.append(",")
        out.append(quoted: name)
        out.append(":")
        if let value { out.append(quoted: value) } else { out.append("null") }
      }
    case .removed(let className, let name, let text):
      begin("removed", className, name)
      add(",\"old\":", text)
    case .added(let className, let name, let text):
      begin("added", className, name)
      add(",\"new\":", text)
    case .changed(let className, let name, let properties):
      begin("changed", className, name)
      out.append(",\"properties\":{")
      for (index, property) in properties.enumerated() {
        if index > 0 { out.append(",") }
        out.append(quoted: property.property)
        add(":{\"old\":", property.old)
        add(",\"new\":", property.new)
        out.append("}")
      }
      out.append("}")
    }
    out.append("}")
  }
}
