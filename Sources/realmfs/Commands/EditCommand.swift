// Shared by the commands that change a realm without a mount: opening the realm, showing what would change, asking for
// confirmation, and reporting the result.
import Glibc
import RealmJSON
import RealmPages
import RealmTransfer

/// A realm that a command changes.
struct EditedRealm {
  let path: String
  let writer: RealmWriter
  private let arguments: Arguments

  /// Opens the first operand.
  init(_ arguments: Arguments) throws {
    try self.init(RealmSource.configuration(path: arguments.operands[0], arguments, .immutable), arguments)
  }

  /// Opens a realm. One that cannot be written is rejected before any file is created beside it.
  init(_ configuration: Configuration, _ arguments: Arguments) throws {
    self.arguments = arguments
    path = configuration.path
    let source = try RealmSource(configuration)
    let newest = try source.latest()
    if newest.historyType > 2 {
      throw CommandFailure(
        .failure,
        "\(path): has sync history, which only a sync client may write; 'realmfs convert --local' makes a copy that "
          + "can be changed"
      )
    }
    if newest.fileFormat != RealmUpgrade.format, newest.fileFormat != 0 {
      throw CommandFailure(
        .upgradeNeeded,
        "\(path): file format \(newest.fileFormat) is read-only; 'realmfs upgrade \(path)' converts it to "
          + "format \(RealmUpgrade.format)"
      )
    }
    Interruption.watch()
    var configuration = source.realm.configuration
    configuration.mode = .shared
    writer = try located(path) { try RealmWriter.ofCommand(configuration) }
  }

  /// Prints the differences between two versions of the realm.
  func show(_ before: Snapshot, _ after: Snapshot) throws {
    let comparison = RealmComparison(before, after, classes: nil, areVersions: true)
    try show(comparison) { add in try comparison.run(add) }
  }

  private func show(
    _ comparison: RealmComparison,
    _ run: (_ add: (Difference) throws -> Void) throws -> Void
  ) throws {
    let printer = DifferencePrinter(isJSON: arguments.has(.json))
    comparison.onComplaint = { Log.error("\(path): \($0)") }
    try run { difference in
      printer.add(difference)
      if printer.isFull { try printer.flush() }
    }
    try printer.flush()
  }

  /// The newest version.
  func newest() throws -> Snapshot {
    try writer.realm.latest()
  }

  /// The preview that prints differences; nil without --dry-run.
  var preview: Preview? {
    guard arguments.has(.dryRun) else { return nil }
    return { before, after, objects in
      let comparison = RealmComparison(before, after, classes: nil)
      try show(comparison) { add in try comparison.run(objects: objects, add) }
    }
  }

  /// Runs a change and converts its errors to command failures.
  func change<R>(_ body: () throws -> R) throws -> R {
    try located(path) {
      do { return try body() } catch TransferError.unsuitable(let text) {
        throw CommandFailure(.failure, "\(path): \(text)")
      }
    }
  }

  /// Reports the result: `words` on standard error, or with --json `facts` on standard output.
  func report(_ words: String, _ facts: [(String, JSONValue)]) throws {
    if arguments.has(.dryRun) {
      if !arguments.has(.quiet) { Log.notice("\(path): \(Options.dryRunLead)\(words)") }
      return
    }
    if arguments.has(.json) {
      let output = StandardOutput()
      output.print(JSONValue.object(facts).text)
      try output.flush()
    } else if !arguments.has(.quiet) {
      Log.notice("\(path): \(words)")
    }
  }
}

extension Arguments {
  /// True if a command asks before it changes anything: on a terminal, without --yes and --dry-run.
  var asksFirst: Bool { !has(.yes) && !has(.dryRun) && isatty(STDIN_FILENO) != 0 }

  /// Parses the operands from `first` on as assignments.
  func assignments(from first: Int) throws -> [Assignment] {
    var assignments: [Assignment] = []
    for text in operands[first...] {
      guard let assignment = Assignment(text) else {
        throw usage("'\(text)' is not an assignment; write PROPERTY=VALUE")
      }
      if assignments.contains(where: { $0.property.isExactly(assignment.property) }) {
        throw usage("\(assignment.property) is given twice")
      }
      assignments.append(assignment)
    }
    try checkEncoding()
    return assignments
  }

  /// Rejects arguments that are not UTF-8, which are stored in `operands` with replacement characters.
  func checkEncoding() throws {
    for (index, argument) in CommandLine.arguments.enumerated() where argument.contains("\u{FFFD}") {
      guard let bytes = unsafe CommandLine.unsafeArgv[index], unsafe String(validatingCString: bytes) == nil else {
        continue
      }
      throw usage("argument \(index): '\(argument)' is not UTF-8")
    }
  }
}

/// Asks a question on standard error; true if the answer is yes.
func isConfirmed(_ question: String) -> Bool {
  _ = StandardOutput.write(Array("\(question) [y/N] ".utf8), to: STDERR_FILENO)
  return ["y", "yes"].contains(readLine(strippingNewline: true)?.lowercased() ?? "")
}

extension [DefaultedProperty] {
  /// The `defaults` member of a report in JSON; empty if there are no such properties.
  var json: [(String, JSONValue)] {
    isEmpty ? [] : [("defaults", .object(map { ($0.name, .number($0.objects)) }))]
  }

  /// Reports each property on standard error.
  func report(_ path: String) {
    for property in self {
      let objects = counted(property.objects, "object has", "objects have")
      Log.notice("\(path): \(property.name) is required and was not given: \(objects) \(property.value)")
    }
  }
}
