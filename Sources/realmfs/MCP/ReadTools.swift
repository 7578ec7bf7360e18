// The tools that read: each call reads one version.
import RealmJSON
import RealmNames
import RealmPages
import RealmQuery
import RealmTransfer

/// The tools that every client gets.
enum ReadTools {
  static let all: [Tool] = [
    Tool(
      name: "schema",
      description:
        "The classes of a realm with their number of objects, primary key and properties. Types: int, bool, string, "
        + "data, date, float, double, decimal128, objectId, uuid, mixed, or the class that a link points to; ? allows "
        + "null, [] is a list, <> a set, {} a dictionary. Call this first.",
      arguments: [
        ToolArgument("class", .string, "Only this class"), ToolArgument("after", .string, next), version,
      ],
      run: schema
    ),
    Tool(
      name: "query",
      description:
        "The objects of a class that match a query in Realm Query Language, or all. Answers with their number, and a "
        + "page of them with their names. Examples: age > 30 AND dog.name BEGINSWITH[c] 'r'; ANY tags == 'new'; "
        + "friends.@count == 0; TRUEPREDICATE SORT(age DESC) LIMIT(5).",
      arguments: [
        className, query(isRequired: false), args,
        ToolArgument("limit", .integer(1...1000), "The maximum number of objects in the answer; 100 by default"),
        ToolArgument("after", .string, next), version,
      ],
      run: query
    ),
    Tool(
      name: "get",
      description:
        "One object as JSON. Links are primary keys of their targets. Values that are too long are omitted; with "
        + "property, the answer has the JSON of that value, in parts.",
      arguments: [
        ToolArgument("object", .string, isRequired: true, "CLASS/NAME, as in answers, such as Person/4"),
        ToolArgument("property", .string, "Only the value of this property, of any length"),
        ToolArgument("after", .string, next), version,
      ],
      run: get
    ),
    Tool(
      name: "count",
      description: "The number of objects of a class that match a query in Realm Query Language, or of all.",
      arguments: [className, query(isRequired: false), args, version],
      run: count
    ),
    Tool(
      name: "diff",
      description:
        "The differences between two versions of a realm, or between two realms: objects that were added, removed or "
        + "changed, with the old and new values. Without version and other, shows what the last commit changed.",
      arguments: [
        ToolArgument("version", .integer(0...Int.max), "Compare this older version of the file with the newest one"),
        ToolArgument("other", .string, "Compare the file (old) with this other file (new)"),
        ToolArgument("class", .string, "Only this class"), ToolArgument("after", .string, next),
      ],
      run: diff
    ),
    Tool(
      name: "versions",
      description:
        "The versions that remain in the file, newest first, and how many objects each changed. Other tools read one "
        + "of them that is whole. Commits of other programs wait during this call.",
      arguments: [ToolArgument("after", .string, next)],
      run: versions
    ),
    Tool(
      name: "search",
      description:
        "The objects with a text in any of their string properties, ignoring case, in all classes or one. Answers with "
        + "the text around the first match in each property.",
      arguments: [
        ToolArgument("text", .string, isRequired: true, "The text to find"),
        ToolArgument("class", .string, "Only this class"), ToolArgument("after", .string, next), version,
      ],
      run: search
    ),
  ]

  static let next = "To go on after an incomplete answer: its \"next\"; the other arguments must not change"
  static let className = ToolArgument("class", .string, isRequired: true, "The class")
  static let args = ToolArgument("args", .scalars, "The values of $0, $1 and so on in the query")
  private static let version = ToolArgument(
    "version",
    .integer(0...Int.max),
    "Read this version, one of those that 'versions' lists, instead of the newest"
  )

  static func query(isRequired: Bool) -> ToolArgument {
    ToolArgument("query", .string, isRequired: isRequired, "The query")
  }

  /// The time limit of a search, which then answers with what it has found.
  private static let searchTime = Duration.seconds(20)

  // MARK: schema

  private static func schema(_ call: ToolCall) throws -> OutputBuffer {
    let path = call.file.path
    return try call.onVersion { snapshot in
      let schema = try located(path) { try SchemaDescription(snapshot) }
      var classes = schema.classes[...]
      if let name = call["class"] {
        let table = try snapshot.table(ofClass: name, in: path)
        classes = classes.filter { $0.name.isExactly(table.className ?? name) }[...]
      }
      if let after = call["after"] { classes = classes.drop { !$0.name.isExactly(after) }.dropFirst() }
      let answer = ListAnswer(snapshot.version, list: "classes")
      var last: String?
      for description in classes {
        let table = try snapshot.table(ofClass: description.name, in: path)
        answer.item.append(Array(json(description, table.objectCount).line.utf8.dropLast()))
        if !answer.add() { return answer.finish(next: last) }
        last = description.name
      }
      return answer.finish(next: nil)
    }
  }

  private static func json(_ description: ClassDescription, _ count: Int) -> JSONValue {
    var members: [(String, JSONValue)] = [("name", .string(description.name)), ("objects", .number(count))]
    if description.kind != .topLevel { members.append(("kind", .string("\(description.kind)"))) }
    if let key = description.primaryKey { members.append(("primaryKey", .string(key))) }
    let properties = description.properties.map { ($0.name, JSONValue.string($0.typeText)) }
    // A class of the SDKs has far fewer properties; a hostile file can have thousands.
    members.append(("properties", .object(Array(properties.prefix(maxProperties)))))
    if properties.count > maxProperties { members.append(("omitted", .number(properties.count - maxProperties))) }
    return .object(members)
  }

  private static let maxProperties = 300

  // MARK: objects

  private static func count(_ call: ToolCall) throws -> OutputBuffer {
    try call.onVersion { snapshot in
      let table = try snapshot.table(ofClass: call["class"] ?? "", in: call.file.path)
      let count = try call.matches(in: table, snapshot)?.keys.count ?? table.objectCount
      return facts([("version", .number(Int(clamping: snapshot.version))), ("count", .number(count))])
    }
  }

  private static func query(_ call: ToolCall) throws -> OutputBuffer {
    let path = call.file.path, limit = call.number("limit") ?? 100
    let after = try call.place()
    return try call.onVersion { snapshot in
      let table = try snapshot.table(ofClass: call["class"] ?? "", in: path)
      let matches = try call.matches(in: table, snapshot)
      let answer = ListAnswer(snapshot.version, [("count", matches?.keys.count ?? table.objectCount)], list: "objects")
      let objects = ObjectItems(snapshot)
      let pages = ObjectPages(table, matches, after: after)
      var last: String?
      while let cursor = pages.next(answer) {
        if answer.count == limit { return answer.finish(next: last) }
        answer.item.append("{")
        try objects.append(cursor, to: answer.item, path)
        answer.item.append("}")
        if !answer.add() { return answer.finish(next: last) }
        last = pages.place
      }
      return answer.finish(next: nil)
    }
  }

  private static func get(_ call: ToolCall) throws -> OutputBuffer {
    let path = call.file.path, name = try call.names([call["object"] ?? ""])[0]
    return try call.onVersion { snapshot in
      let cursor = try cursor(at: name, in: snapshot, path), out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: snapshot.version)
      out.append(",")
      if let property = call["property"] {
        try append(property, of: cursor, snapshot, after: try call.place(), to: out, path)
      } else {
        try ObjectItems(snapshot).append(cursor, to: out, path)
      }
      out.append("}")
      return out
    }
  }

  private static func cursor(
    at name: ObjectName,
    in snapshot: Snapshot,
    _ path: String
  ) throws -> ObjectCursor {
    try located(path) {
      let cursor = ObjectCursor(try name.table(in: snapshot)), object = try name.object(in: snapshot)
      if try cursor.seek(object.key) { return cursor }
      throw TransferError.missingObject("no object \(name)")
    }
  }

  /// Half the limit of an answer: quotes double the length of some texts.
  private static let partSize = (ListAnswer.limit - 1024) / 2

  /// Appends a part of the JSON of a value, from the byte `after` on.
  private static func append(
    _ property: String,
    of cursor: ObjectCursor,
    _ snapshot: Snapshot,
    after: Int64?,
    to out: OutputBuffer,
    _ path: String
  ) throws {
    let columns = cursor.table.columns
    guard let index = columns.firstIndex(where: { $0.name.isExactly(property) }) else {
      throw CommandFailure(
        .unreadable,
        "\(path): no property \(property); \(KnownNames(columns.map(\.name)).hint(for: property))"
      )
    }
    let value = OutputBuffer()
    do { try ObjectRenderer(snapshot).render(property: index, of: cursor, into: value) } catch {
      throw CommandFailure(.damaged, "\(path): \(error)")
    }
    let text = value.bytes, start = min(Int(clamping: after ?? 0), text.count)
    var end = min(start + partSize, text.count)
    while end < text.count, end > start, text[end] & 0xC0 == 0x80 { end -= 1 }
    out.append("\"size\":")
    out.append(decimal: Int64(text.count))
    out.append(",\"text\":")
    out.append(quoted: String(decoding: text[start..<end], as: UTF8.self))
    if end < text.count {
      out.append(",\"next\":")
      out.append(quoted: "\(end)")
    }
  }

  // MARK: search

  private static func search(_ call: ToolCall) throws -> OutputBuffer {
    let path = call.file.path, search = TextSearch(call["text"] ?? "")
    let deadline = ContinuousClock.now.advanced(by: searchTime)
    return try call.onVersion { snapshot in
      var tables = try tables(call, snapshot)[...], start = ObjKey.none
      if let after = call["after"] {
        // CLASS/KEY of the object after which the search goes on.
        guard let slash = after.utf8.lastIndex(of: UInt8(ascii: "/")),
          let key = Int64(after[after.utf8.index(after: slash)...]), key >= 0
        else { throw call.badPlace }
        tables = tables.drop { !($0.className ?? "").isExactly(String(after[..<slash])) }
        start = ObjKey(key)
      }
      let answer = ListAnswer(snapshot.version, list: "objects")
      var last: String?
      for table in tables {
        let pages = ObjectPages(table, nil, after: start.value)
        start = .none
        while let cursor = pages.next(answer) {
          if try append(cursor, search, snapshot, to: answer.item, path), !answer.add() {
            return answer.finish(next: last)
          }
          last = "\(table.className ?? "")/\(cursor.key.value)"
          if ContinuousClock.now >= deadline { return answer.finish(next: last) }
        }
      }
      return answer.finish(next: nil)
    }
  }

  private static func tables(_ call: ToolCall, _ snapshot: Snapshot) throws -> [Table] {
    if let name = call["class"] { return [try snapshot.table(ofClass: name, in: call.file.path)] }
    return try located(call.file.path) { try snapshot.classes().filter { $0.damage == nil } }
  }

  /// Appends an object with its matches; returns false and appends nothing if there are none.
  private static func append(
    _ cursor: ObjectCursor,
    _ search: TextSearch,
    _ snapshot: Snapshot,
    to out: OutputBuffer,
    _ path: String
  ) throws -> Bool {
    var matches: [(String, JSONValue)] = []
    for (index, column) in cursor.table.columns.enumerated() where matches.count < maxProperties {
      guard column.collection == nil, column.type == .string || column.type == .mixed else { continue }
      try located(path) {
        guard case .string(let value) = try cursor.value(index), let place = search.first(in: value) else { return }
        let excerpt = TextSearch.excerpt(of: value, around: place).shortened(to: 100)
        matches.append((column.name, .string(excerpt)))
      }
    }
    if matches.isEmpty { return false }
    let name = try located(path) {
      try ObjectName.text(of: ObjectReference(table: cursor.table.key, key: cursor.key), in: snapshot)
    }
    out.append(
      Array(JSONValue.object([("object", .string(name)), ("matches", .object(matches))]).line.utf8.dropLast())
    )
    return true
  }

  // MARK: versions

  private static func versions(_ call: ToolCall) throws -> OutputBuffer {
    let path = call.file.path, after = try call.place()
    return try RealmSource.withTimeline(call.file.configuration) { timeline, failure, _ in
      if let failure { throw failure }
      let answer = ListAnswer(nil, list: "versions")
      var last: String?
      for (index, version) in timeline.versions.enumerated() {
        if let after, version.version >= UInt64(clamping: after) { continue }
        let line = try VersionLine(version, at: index, of: timeline, path)
        let text = Array(line.shortJSON.line.utf8.dropLast())
        answer.item.append(
          text.count <= ListAnswer.itemLimit ? text : Array("{\"version\":\(version.version),\"omitted\":true}".utf8)
        )
        if !answer.add() { return answer.finish(next: last) }
        last = "\(version.version)"
      }
      return answer.finish(next: nil)
    }
  }

  private static func diff(_ call: ToolCall) throws -> OutputBuffer {
    let configuration = call.file.configuration, path = call.file.path, after = Int(clamping: try call.place() ?? 0)
    if let other = call["other"] {
      if call.number("version") != nil { throw CommandFailure(.usage, "give either version or other") }
      guard let file = call.files.first(where: { $0.name.isExactly(other) }) else {
        throw CommandFailure(.usage, "no file \(other); \(KnownNames(call.files.map(\.name)).hint(for: other))")
      }
      let (old, new) = (try RealmSource.pinned(configuration), try RealmSource.pinned(file.configuration))
      return try old.onNewest { before in
        try new.onNewest { newest in
          try differences(call, before, newest, areVersions: false, after: after)
        }
      }
    }
    return try RealmSource.withoutCommits(configuration) { source, newest, _ in
      let older: Snapshot, isWhole: Bool
      if let number = call.number("version") {
        (older, isWhole) = try DiffCommand.version("\(number)", before: newest, of: source)
      } else {
        (older, isWhole) = (try DiffCommand.previous(newest, path), true)
      }
      return try differences(call, older, newest, areVersions: isWhole, after: after)
    }
  }

  /// Lists the differences from the one with the index `after` on.
  private static func differences(
    _ call: ToolCall,
    _ old: Snapshot,
    _ new: Snapshot,
    areVersions: Bool,
    after: Int
  ) throws -> OutputBuffer {
    let comparison = RealmComparison(old, new, classes: call["class"].map { [$0] }, areVersions: areVersions)
    let numbers = [("from", Int(clamping: old.version)), ("to", Int(clamping: new.version))]
    let answer = ListAnswer(nil, numbers, list: "differences")
    comparison.onComplaint = { answer.add(problem: $0) }
    var index = 0, isFull = false
    do {
      try comparison.run { difference in
        index += 1
        if index <= after { return }
        difference.append(to: answer.item)
        if answer.item.count > ListAnswer.itemLimit {
          answer.item.reset()
          difference.summary.append(to: answer.item)
        }
        isFull = !answer.add()
        // Ends the comparison.
        if isFull { throw TransferError.busy }
      }
    } catch {
      if !isFull { throw CommandFailure(error, path: call.file.path) }
    }
    return answer.finish(next: isFull ? "\(after + answer.count)" : nil)
  }

  /// Returns an answer of a few values.
  static func facts(_ members: [(String, JSONValue)]) -> OutputBuffer {
    let out = OutputBuffer()
    out.append(Array(JSONValue.object(members).line.utf8.dropLast()))
    return out
  }
}

/// Walks through the objects of a class from a place on: those found by a query, or all.
private final class ObjectPages {
  private let keys: ArraySlice<ObjKey>?
  private let isOrdered: Bool
  private let reader: RescuingCursor
  private let keyCursor: ObjectCursor
  private var index: Int

  /// Begins after `after`: the object key, or the number of objects if the query orders them.
  init(_ table: Table, _ matches: (keys: [ObjKey], isOrdered: Bool)?, after: Int64?) {
    isOrdered = matches?.isOrdered ?? false
    let after = after ?? (isOrdered ? 0 : ObjKey.none.value)
    reader = RescuingCursor(table, after: matches == nil ? ObjKey(after) : .none)
    keyCursor = ObjectCursor(table)
    let isOrdered = isOrdered
    keys = matches.map { isOrdered ? $0.keys.dropFirst(Int(clamping: after)) : $0.keys.drop { $0.value <= after } }
    index = keys?.startIndex ?? 0
  }

  /// The place after the current object.
  var place: String {
    guard keys != nil else { return "\(reader.last.value)" }
    return isOrdered ? "\(index)" : "\(keyCursor.key.value)"
  }

  /// Moves to the next object; nil at the end. Damage is reported in the answer.
  func next(_ answer: ListAnswer) -> ObjectCursor? {
    guard let keys else {
      var complaints: [String] = []
      let isFound = reader.next(&complaints)
      for complaint in complaints { answer.add(problem: complaint) }
      return isFound ? reader.cursor : nil
    }
    while index < keys.endIndex {
      index += 1
      do {
        if try keyCursor.seek(keys[index - 1]) { return keyCursor }
      } catch { answer.add(problem: "object \(keys[index - 1]): \(error)") }
    }
    return nil
  }
}

extension ToolCall {
  /// Returns the objects that the query of the call finds; nil without a query.
  fileprivate func matches(
    in table: Table,
    _ snapshot: Snapshot
  ) throws -> (keys: [ObjKey], isOrdered: Bool)? {
    guard let condition else { return nil }
    let query: ObjectQuery, text = condition.text ?? ""
    do { query = try ObjectQuery([condition], of: table, in: snapshot) } catch {
      throw CommandFailure(error, in: text)
    }
    do {
      return (try query.keys(until: .now.advanced(by: .seconds(60))), query.isOrdered)
    } catch { throw CommandFailure(error, of: text, in: file.path) }
  }

  /// Returns the number in `after`; nil without it.
  fileprivate func place() throws -> Int64? {
    guard let text = self["after"] else { return nil }
    guard let number = Int64(text), number >= -1 else { throw badPlace }
    return number
  }

  fileprivate var badPlace: CommandFailure {
    CommandFailure(.usage, "after: '\((self["after"] ?? "").shortened(to: 100))' is not the \"next\" of an answer")
  }
}

extension Difference {
  /// The difference without values, for one whose values are too long.
  fileprivate var summary: Difference {
    let long = "\"too long; 'get' reads the object\""
    switch self {
    case .schema: return self
    case .removed(let className, let name, _): return .removed(className: className, name: name, text: long)
    case .added(let className, let name, _): return .added(className: className, name: name, text: long)
    case .changed(let className, let name, let properties):
      return .changed(className: className, name: name, properties.prefix(100).map { ($0.property, long, long) })
    }
  }
}
