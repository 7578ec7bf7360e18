// `realmfs insert`: creates objects in one transaction.
import Glibc
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `insert`.
enum InsertCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let texts = arguments.operands.dropFirst(2)
    let first = texts.first?.first { !$0.isWhitespace }
    if let first, first != "{", first != "[" { return try insertAssignments(arguments) }
    if texts.isEmpty && isatty(STDIN_FILENO) != 0 {
      throw arguments.usage("no object given: write it as JSON or as PROPERTY=VALUE, or pass it on standard input")
    }
    if texts.isEmpty { try StandardInput.take(as: "the object") }
    try arguments.checkEncoding()
    let typed = arguments.operands[1]
    let realm = try EditedRealm(arguments)
    var progress = Progress("insert")
    let name = try className(typed, in: realm)
    defer { progress.clear() }
    let summary = try realm.change {
      let source =
        texts.isEmpty
        ? try ImportSource("-", format: .json, className: name)
        : ImportSource(
          objects: Array(texts.joined(separator: "\n").utf8),
          name: texts.count == 1 ? "the object" : "the objects",
          className: name
        )
      var importer = Importer(realm.writer, from: source, defaultClass: name)
      importer.createsOnly = true
      importer.preview = realm.preview
      importer.onProgress = { (done) in progress.show(done, of: 0) }
      return try importer.run()
    }
    progress.clear()
    try report(realm, arguments, summary.created, summary.last, summary.defaulted)
    return .done
  }

  /// Returns the stored name of the class, which the importer needs.
  static func className(_ name: String, in realm: EditedRealm) throws -> String {
    try realm.newest().table(ofClass: name, in: realm.path).className ?? name
  }

  private static func insertAssignments(_ arguments: Arguments) throws -> ExitCode {
    let assignments = try arguments.assignments(from: 2)
    let realm = try EditedRealm(arguments)
    var edit = RealmEdit(realm.writer)
    edit.preview = realm.preview
    let name = try className(arguments.operands[1], in: realm)
    let (object, defaulted) = try realm.change { try edit.insert(into: name, assignments) }
    try report(realm, arguments, 1, object, defaulted)
    return .done
  }

  /// Reports the result. The name of a single object is reported, because the realm may have chosen its key.
  private static func report(
    _ realm: EditedRealm,
    _ arguments: Arguments,
    _ count: Int,
    _ last: ObjectReference?,
    _ defaulted: [DefaultedProperty]
  ) throws {
    var words = counted(count, "object") + " created"
    if count == 1, let last, !arguments.has(.dryRun) {
      let newest = try realm.newest()
      words = try realm.change { try ObjectName.text(of: last, in: newest) } + " created"
    }
    try realm.report(words, [("created", .number(count))] + defaulted.json)
    if !arguments.has(.quiet), arguments.has(.dryRun) || !arguments.has(.json) { defaulted.report(realm.path) }
  }
}
