// `realmfs query`: the objects of a class that pass a query, as JSON Lines.
import RealmJSON
import RealmPages
import RealmQuery

/// The command `query`.
enum QueryCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let style = try arguments.jsonStyle()
    let source = try RealmSource.pinned(arguments)
    let (className, text) = (arguments.operands[1], arguments.operands[2])
    let output = StandardOutput()
    for _ in 0..<RealmSource.attempts {
      let snapshot = try source.latest()
      let found = Result { () throws(CommandFailure) in try hits(text, className, snapshot, source.path) }
      // What was read from a version that was overtaken may be anything, also an error.
      guard source.realm.isCurrent(snapshot) else { continue }
      let (table, keys) = try found.get()
      if arguments.has(.count) {
        output.print("\(keys.count)\n")
        try output.flush()
        return .done
      }
      if let code = try print(keys, table, ObjectRenderer(snapshot, style: style), source, output) { return code }
    }
    throw source.tooBusy
  }

  private static func hits(
    _ text: String,
    _ className: String,
    _ snapshot: Snapshot,
    _ path: String
  ) throws(CommandFailure) -> (Table, [ObjKey]) {
    let table = try snapshot.table(ofClass: className, in: path)
    let query: Query
    do throws(QueryError) { query = try Query(text, of: table, in: snapshot) } catch {
      throw CommandFailure(error, in: text)
    }
    do throws(FormatError) { return (table, try query.keys()) } catch { throw CommandFailure(error, reading: path) }
  }

  /// Prints the objects; nil if the version was overtaken before anything was printed.
  private static func print(
    _ keys: [ObjKey],
    _ table: Table,
    _ renderer: ObjectRenderer,
    _ source: RealmSource,
    _ output: StandardOutput
  ) throws(CommandFailure) -> ExitCode? {
    var complaints: [String] = [], problems = 0, hasPrinted = false
    func flush() throws(CommandFailure) -> Bool {
      guard source.realm.isCurrent(renderer.snapshot) else {
        if hasPrinted { throw source.tooBusy }
        output.buffer.reset()
        return false
      }
      for complaint in complaints { Log.error("\(source.path): \(complaint)") }
      problems += complaints.count
      complaints = []
      hasPrinted = true
      try output.flush()
      return true
    }
    for key in keys {
      do throws(RenderError) {
        _ = try renderer.render(table, key, layout: .compact, into: output.buffer)
      } catch {
        complaints.append(error.description)
      }
      if output.isFull, try !flush() { return nil }
    }
    return try flush() ? (problems == 0 ? .done : .damaged) : nil
  }
}

extension CommandFailure {
  /// What is wrong with a query, with a mark under the place.
  init(_ error: QueryError, in text: String) {
    let line = text.split(omittingEmptySubsequences: false) { $0.isNewline }.joined(separator: " ")
    let before = String(String.UnicodeScalarView(line.unicodeScalars.prefix(max(0, error.column - 1))))
    let mark = String(repeating: " ", count: before.printable.unicodeScalars.count) + "^"
    self.init(.usage, "query: \(error)", more: ["  \(line)", "  \(mark)"])
  }
}
