// `realmfs deleted`: prints the objects that were deleted and whose last state is still in the file.
import Glibc
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `deleted`. The rows are kept in memory until the search has ended, because other programs cannot commit
/// during the search, and must not wait for a reader of the output.
struct DeletedCommand {
  private let arguments: Arguments
  private let path: String
  private let className: String?
  private let style: JSONStyle
  private let printer: RowPrinter
  private let showsNodes: Bool

  static func run(_ arguments: Arguments) throws -> ExitCode {
    if arguments.has(.restore) { return try restore(arguments) }
    let configuration = try RealmSource.configuration(path: arguments.operands[0], arguments, .immutable)
    let command = try DeletedCommand(arguments)
    let joins = !arguments.has(.immutable) && RealmSource.hasLockFile(configuration.path)
    let source = try joins ? RealmSource.pinned(configuration) : RealmSource(configuration)
    let outcome = try source.realm.withWriterLock { newest, _ in
      Result { try command.collect(newest) }
    }
    return try outcome.get().finish(command.printer)
  }

  /// Creates the objects again that --restore names.
  private static func restore(_ arguments: Arguments) throws -> ExitCode {
    var names: [ObjectName] = []
    for text in arguments.allValues(.restore) {
      guard let name = ObjectName(text) else {
        throw arguments.usage("option --restore: '\(text)' is not an object; write CLASS/NAME")
      }
      names.append(name)
    }
    let realm = try EditedRealm(arguments)
    var edit = RealmEdit(realm.writer)
    edit.preview = realm.preview
    let restored = try realm.change { try edit.restore(deleted: names) }
    let links = restored.missingLinks
    let left = links == 0 ? "" : "; left out \(counted(links, "link")) to objects that do not exist"
    let older = restored.perhapsOlder.map(\.description)
    let doubt = older.isEmpty ? "" : "; may be an older state: \(older.joined(separator: ", "))"
    try realm.report(
      "\(counted(restored.objects, "object")) restored\(left)\(doubt)",
      [
        ("restored", .number(restored.objects)), ("missingLinks", .number(links)),
        ("perhapsOlder", .array(older.map { .string($0) })),
      ]
    )
    return .done
  }

  private init(_ arguments: Arguments) throws {
    self.arguments = arguments
    path = arguments.operands[0]
    className = arguments.operands.count > 1 ? arguments.operands[1] : nil
    style = try arguments.jsonStyle()
    let chosen = arguments.value(.format).flatMap { RowFormat(rawValue: $0) }
    let format = chosen ?? (isatty(STDOUT_FILENO) == 0 ? .jsonl : .table)
    // A table is for a first look.
    showsNodes = format != .table
    let names = [
      ("class", false), ("key", false), ("object", true), ("state", false), ("confidence", false), ("version", true),
      ("freed", true),
      ("value", false),
    ]
    printer = RowPrinter(format, names + (showsNodes ? [("nodes", false)] : []), StandardOutput())
  }

  /// The outcome of a search: the rows are in the printer.
  private struct Outcome {
    var count = 0
    var notes: [String] = []

    func finish(_ printer: RowPrinter) throws -> ExitCode {
      try printer.finish()
      for note in notes { Log.notice(note) }
      return .done
    }
  }

  private func collect(_ newest: Snapshot) throws -> Outcome {
    var outcome = Outcome()
    let before = try hash()
    let search = try located(path) { try DeletedObjects(in: newest, former: arguments.has(.former)) }
    var known: Set<String> = [], hashes: [ObjectReference: Int] = [:]
    search.forEach { object in
      known.insert(object.table.className ?? "")
      if let className, object.table.className?.isExactly(className) != true { return false }
      guard let text = DeletedObjectText(object, style: style) else { return false }
      if arguments.has(.former) {
        let reference = ObjectReference(table: object.table.key, key: object.key), hash = text.value.hashValue
        let known = hashes[reference] ?? presentText(reference, newest)?.hashValue
        hashes[reference] = hash
        // A state that equals the next one is the same state.
        if known == hash { return true }
      }
      add(text)
      outcome.count += 1
      return true
    }
    if let className, !known.contains(className) { _ = try newest.table(ofClass: className, in: path) }
    if !arguments.has(.quiet) { outcome.notes = notes(search, newest, count: outcome.count) }
    if let before, let after = try hash() {
      let verdict = before == after ? "unchanged" : "CHANGED"
      outcome.notes.append("\(path): SHA-256 before \(before), after \(after): \(verdict)")
    }
    return outcome
  }

  private func notes(_ search: DeletedObjects, _ newest: Snapshot, count: Int) -> [String] {
    let what = counted(count, arguments.has(.former) ? "state" : "deleted object")
    let versions = counted(search.versions.count, "version")
    let found = "\(path): \(what); searched \(versions) before version \(newest.version)"
    let lost = search.overwritten.filter { name, _ in className.map { $0.isExactly(name) } ?? true }
    if lost.isEmpty { return [found] }
    let words = lost.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return [found, "found only in part, and not printed: \(words.joined(separator: ", "))"]
  }

  /// The object in the newest version, on one line; nil if it does not exist or cannot be read.
  private func presentText(_ object: ObjectReference, _ newest: Snapshot) -> [UInt8]? {
    let out = OutputBuffer(), renderer = ObjectRenderer(newest, style: style)
    do {
      guard let table = try newest.table(object.table),
        try renderer.render(table, object.key, layout: .compact, into: out)
      else { return nil }
    } catch {
      // A state that cannot be compared is printed.
      return nil
    }
    return Array(out.bytes.dropLast())
  }

  /// The SHA-256 of the file; nil without --hash.
  private func hash() throws -> String? {
    guard arguments.has(.hash) else { return nil }
    return try FileSeal.sha256(of: path)
  }

  private func add(_ text: DeletedObjectText) {
    let object = text.object
    var cells: [RowCell] = [
      .text(Array(text.className.utf8)),
      text.primaryKey.map { .json($0) } ?? .null,
      .json(Array("\(object.key.value)".utf8)),
      .text(Array(object.state.rawValue.utf8)),
      .text(Array(object.confidence.rawValue.utf8)),
      .json(Array("\(object.version)".utf8)),
      object.freed.map { .json(Array("\($0)".utf8)) } ?? .null,
      .json(text.value),
    ]
    if showsNodes { cells.append(.json(text.nodesText)) }
    printer.add(cells)
  }
}
