// The tools that change a realm: each call is one transaction, by the rules of the commands of the same names.
import RealmJSON
import RealmPages
import RealmTransfer

/// The tools that clients get with --write.
enum EditTools {
  static let all: [Tool] = [
    Tool(
      name: "set",
      description:
        "Set properties of an object, all or none. Properties that are not named keep their values; a list, dictionary "
        + "or embedded object replaces the stored one.",
      arguments: [
        ToolArgument("object", .string, isRequired: true, "CLASS/NAME, as in answers, such as Person/4"),
        ToolArgument(
          "values",
          .object,
          isRequired: true,
          "The properties and their new values, in the form in which 'get' shows them, such as {\"age\": 22}"
        ),
      ],
      isEdit: true,
      run: set
    ),
    Tool(
      name: "insert",
      description:
        "Create objects of a class, all or none. Properties that are not named get the default of their type. An "
        + "object whose primary key exists is refused; use 'set'.",
      arguments: [
        ReadTools.className,
        ToolArgument("objects", .objects, isRequired: true, "The objects, in the form in which 'get' shows them"),
      ],
      isEdit: true,
      run: insert
    ),
    Tool(
      name: "delete",
      description:
        "Delete objects by their names, or those of a class that match a query, all or none. Links to them become "
        + "null. Use 'count' with the query first.",
      arguments: [
        ToolArgument("objects", .scalars, "CLASS/NAME of each object"), ToolArgument("class", .string, "The class"),
        ReadTools.query(isRequired: false), ReadTools.args,
      ],
      isEdit: true,
      run: delete
    ),
    Tool(
      name: "undo",
      description:
        "Undo the last commit, whichever program made it; 'diff' shows what it changed. The next undo goes back one "
        + "more version.",
      arguments: [ToolArgument("redo", .boolean, "Revert the last undo instead")],
      isEdit: true,
      run: undo
    ),
  ]

  private static func open(_ call: ToolCall) throws -> EditedRealm {
    try EditedRealm(call.file.configuration, call.command)
  }

  /// Returns an answer with the newest version.
  private static func facts(
    _ realm: EditedRealm,
    _ members: [(String, JSONValue)]
  ) throws -> OutputBuffer {
    ReadTools.facts([("version", .number(Int(clamping: try realm.newest().version)))] + members)
  }

  private static func set(_ call: ToolCall) throws -> OutputBuffer {
    let realm = try open(call), name = try call.names([call["object"] ?? ""])[0]
    let hasChanged = try realm.change {
      let values = call.bytes("values") ?? [], text: JSONText
      do throws(InputError) { text = try JSONText(values) } catch { throw TransferError.unsuitable(error.problem) }
      return try RealmEdit(realm.writer).set(name, to: text)
    }
    return try facts(realm, [("changed", .bool(hasChanged))])
  }

  private static func insert(_ call: ToolCall) throws -> OutputBuffer {
    let realm = try open(call)
    let name = try InsertCommand.className(call["class"] ?? "", in: realm)
    let summary = try realm.change {
      let source = ImportSource(objects: call.bytes("objects") ?? [], name: "the objects", className: name)
      var importer = Importer(realm.writer, from: source, defaultClass: name)
      importer.createsOnly = true
      return try importer.run()
    }
    var members: [(String, JSONValue)] = [("created", .number(summary.created))]
    if summary.created == 1, let last = summary.last {
      let newest = try realm.newest()
      let object = try realm.change { try ObjectName.text(of: last, in: newest) }
      members.append(("object", .string(object)))
    }
    return try facts(realm, members + summary.defaulted.json)
  }

  private static func delete(_ call: ToolCall) throws -> OutputBuffer {
    let names = call.texts("objects")
    let target: DeletionTarget
    switch (names.isEmpty, call["class"], call.condition) {
    case (false, nil, nil): target = .names(try call.names(names))
    case (true, let className?, let condition?): target = .query(className: className, condition)
    default: throw CommandFailure(.usage, "give either objects, or class and query; TRUEPREDICATE finds all objects")
    }
    let realm = try open(call)
    let count = try target.delete(from: realm)
    return try facts(realm, [("deleted", .number(count))])
  }

  private static func undo(_ call: ToolCall) throws -> OutputBuffer {
    let realm = try open(call), direction: RealmEdit.Direction = call.flag("redo") ? .forth : .back
    var words = ""
    let undone = try realm.change {
      try RealmEdit(realm.writer).undo(direction) { wanted, newest, undone in
        words = try UndoCommand.words(undone, wanted, newest)
        return true
      }
    }
    guard let undone else { throw try UndoCommand.nothing(realm, direction) }
    return try facts(realm, [("undid", .string(words)), ("restored", .number(Int(clamping: undone.previous)))])
  }
}
