// `realmfs query`: prints the objects of a class that match a query, or all, as rows; or aggregates over them.
import RealmJSON
import RealmQuery
import RealmPages

/// The command `query`.
enum QueryCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let query = try arguments.condition(at: 2)
    if query == nil, arguments.has(.argument) { throw arguments.usage("--arg needs a QUERY that uses its value") }
    for note in query?.notes ?? [] { Log.notice("query: note: \(note)") }
    let source = try RealmSource.pinned(arguments)
    return try ObjectRows(source, arguments, className: arguments.operands[1], query: query).run()
  }
}

extension Arguments {
  /// Returns the query in the operand at `index` or in --where, with --sort and --limit added to it; nil without any of
  /// them.
  func condition(at index: Int?) throws -> QueryCondition? {
    var query: [String] = []
    if let index, operands.count > index {
      if has(.filter) { throw usage("--where and QUERY are the same; give one of them") }
      query.append(operands[index])
    }
    if let text = value(.filter) { query.append(text) }
    if has(.sort) { query.append("SORT(\(allValues(.sort).joined(separator: ", ")))") }
    if let text = value(.limit) {
      guard let count = Int(text), count >= 0 else { throw usage("--limit \(text): expected a number from 0") }
      query.append("LIMIT(\(count))")
    }
    return query.isEmpty ? nil : condition(query.joined(separator: " "))
  }

  /// Returns the query with the values given by --arg.
  func condition(_ query: String) -> QueryCondition { .given(query, texts: allValues(.argument)) }
}

extension CommandFailure {
  /// Converts a query error to a message with a mark below its position in the query.
  init(_ error: InputError, in text: String) {
    let line = text.split(omittingEmptySubsequences: false) { $0.isNewline }.joined(separator: " ")
    let before = String(String.UnicodeScalarView(line.unicodeScalars.prefix(max(0, error.column - 1))))
    let mark = String(repeating: " ", count: before.printable.unicodeScalars.count) + "^"
    self.init(.usage, "query: \(error)", more: ["  \(line)", "  \(mark)"])
  }

  /// Converts the error that ended a query.
  init(_ failure: QueryFailure, of text: String, in path: String) {
    switch failure {
    case .damaged(let error): self.init(error, path: path)
    case .refused(let error): self.init(error, in: text)
    case .timedOut: self.init(.failure, "\(path): the query took too long")
    }
  }
}
