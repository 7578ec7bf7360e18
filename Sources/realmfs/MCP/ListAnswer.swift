// Answers of bounded size: lists of items with the place to go on, and objects whose long values are omitted.
import RealmJSON
import RealmPages
import RealmTransfer

/// An answer that lists items, as a JSON object: `{"version":6,"objects":[..],"next":"130"}`.
final class ListAnswer {
  /// The maximum size of the text of an answer in bytes.
  static let limit = 64 << 10
  /// The maximum size of an item in bytes. The rest of the answer fits into the difference.
  static let itemLimit = limit - (8 << 10)
  private static let maxProblems = 10, problemLimit = 300

  /// The item to add; tools render it here.
  let item = OutputBuffer()
  private let out = OutputBuffer()
  /// The number of items.
  private(set) var count = 0
  private var problems: [String] = []

  /// Begins an answer about a version, with these numbers and a list.
  init(_ version: UInt64?, _ numbers: [(String, Int)] = [], list: String) {
    out.append("{")
    if let version {
      out.append("\"version\":")
      out.append(decimal: version)
      out.append(",")
    }
    for (name, value) in numbers {
      out.append(quoted: name)
      out.append(":")
      out.append(decimal: Int64(value))
      out.append(",")
    }
    out.append(quoted: list)
    out.append(":[")
  }

  /// Adds `item` and resets it; returns false if the answer is full.
  func add() -> Bool {
    defer { item.reset() }
    if count > 0, out.count + item.count > Self.itemLimit { return false }
    if count > 0 { out.append(",") }
    out.append(item, in: 0..<item.count)
    count += 1
    return true
  }

  /// Adds a message about damage, unless there are many.
  func add(problem: String) {
    if problems.count < Self.maxProblems { problems.append(problem.shortened(to: Self.problemLimit)) }
  }

  /// Ends the answer. `next` is the place where the next call goes on; nil if the list is complete.
  func finish(next: String?) -> OutputBuffer {
    out.append("]")
    if !problems.isEmpty {
      out.append(",\"problems\":")
      out.append(Array(JSONValue.array(problems.map { .string($0) }).line.utf8.dropLast()))
    }
    if let next {
      out.append(",\"next\":")
      out.append(quoted: next)
    }
    out.append("}")
    return out
  }
}

/// Renders the objects of a version for answers.
struct ObjectItems {
  let snapshot: Snapshot
  private let renderer: ObjectRenderer
  private let text = OutputBuffer()
  /// The size in bytes above which a value is omitted from an object that is too large.
  private static let longValue = 4 << 10

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    renderer = ObjectRenderer(snapshot, limit: ListAnswer.itemLimit)
  }

  /// Appends `"object":"Person/4","value":{..}`. If the object is too large or damaged, some of its properties are in
  /// `"omitted"` instead, with the reasons.
  func append(_ cursor: ObjectCursor, to out: OutputBuffer, _ path: String) throws {
    let reference = ObjectReference(table: cursor.table.key, key: cursor.key)
    out.append("\"object\":")
    try located(path) { out.append(quoted: try ObjectName.text(of: reference, in: snapshot)) }
    out.append(",\"value\":")
    let start = out.count
    // After an error, each property is rendered again, which finds the error.
    if (try? renderer.render(cursor, layout: .compact, into: out)) != nil, out.count <= ListAnswer.itemLimit {
      // Remove the line feed.
      return out.truncate(to: out.count - 1)
    }
    out.truncate(to: start)
    appendShortValues(of: cursor, to: out)
  }

  private func appendShortValues(of cursor: ObjectCursor, to out: OutputBuffer) {
    var omitted: [(String, JSONValue)] = [], size = 0, isFirst = true
    out.append("{")
    for (index, column) in cursor.table.columns.enumerated() {
      // Names and reasons have the other half of the item.
      if size > ListAnswer.itemLimit / 2 {
        omitted.append(("...", .string("and further properties")))
        break
      }
      text.reset()
      var reason: String?
      do {
        try renderer.render(property: index, of: cursor, into: text)
        if text.count > Self.longValue { reason = "\(text.count) bytes; 'get' with property reads it" }
      } catch {
        reason = error.reason == .tooLarge ? "long; 'get' with property reads it" : error.description.shortened(to: 300)
      }
      if let reason {
        omitted.append((column.name, .string(reason)))
        size += column.name.utf8.count + reason.utf8.count
      } else {
        if !isFirst { out.append(",") }
        isFirst = false
        out.append(quoted: column.name)
        out.append(":")
        out.append(text, in: 0..<text.count)
        size += column.name.utf8.count + text.count
      }
    }
    out.append("},\"omitted\":")
    out.append(Array(JSONValue.object(omitted).line.utf8.dropLast()))
  }
}
