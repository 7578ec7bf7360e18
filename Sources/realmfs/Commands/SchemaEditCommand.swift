// `realmfs class` and `realmfs property`: change the schema without a mount and without a schema file.
import RealmJSON
import RealmPages
import RealmTransfer

/// The actions on a class or property.
private enum SchemaAction: String {
  case add, rm, rename, index
}

/// The commands `class` and `property`.
enum SchemaEditCommand {
  /// Runs `realmfs class ACTION FILE CLASS ...`.
  static func changeClass(_ arguments: Arguments) throws -> ExitCode {
    let (action, rest) = try arguments.action([.add, .rm, .rename])
    let name = arguments.operands[2]
    switch action {
    case .add:
      let description = try description(name, rest.operands.dropFirst(2), rest)
      return try run(.addClass(description), rest, action) { outcome in
        "class \(outcome.className) added with \(counted(description.properties.count, "property", "properties"))"
      }
    case .rm:
      try rest.checkNothing(after: 2)
      return try run(.removeClass(name), rest, action) { outcome in
        "class \(outcome.className) removed with \(counted(outcome.objects, "object"))"
      }
    case .rename:
      let newName = try rest.last(2, "the new name")
      return try run(.renameClass(name, to: newName), rest, action) { outcome in
        "class \(outcome.className) renamed to \(newName)"
      }
    case .index: throw arguments.usage("a class has no index; 'realmfs property index' is for properties")
    }
  }

  /// Runs `realmfs property ACTION FILE CLASS PROPERTY ...`.
  static func changeProperty(_ arguments: Arguments) throws -> ExitCode {
    let (action, rest) = try arguments.action([.add, .rm, .rename, .index])
    let (name, property) = (rest.operands[1], rest.operands[2])
    switch action {
    case .add:
      let description = try description(property, try rest.last(3, "the type"), rest)
      return try run(.addProperty(description, ofClass: name), rest, action) { outcome in
        let words = "property \(outcome.className).\(property) added as \(description.typeText)"
        if outcome.objects == 0 { return words }
        let values =
          description.collection != nil
          ? "an empty collection" : description.isNullable ? "null" : "the default of its type"
        return "\(words); it is \(values) in \(counted(outcome.objects, "object"))"
      }
    case .rm:
      try rest.checkNothing(after: 3)
      return try run(.removeProperty(property, ofClass: name), rest, action) { outcome in
        "property \(outcome.className).\(property) removed"
          + (outcome.objects == 0
            ? "; no object had a value" : " with the values of \(counted(outcome.objects, "object"))")
      }
    case .rename:
      let newName = try rest.last(3, "the new name")
      return try run(.renameProperty(property, ofClass: name, to: newName), rest, action) { outcome in
        "property \(outcome.className).\(property) renamed to \(newName)"
      }
    case .index:
      let kind = try rest.indexKind()
      return try run(.setIndex(kind, ofProperty: property, ofClass: name), rest, action) { outcome in
        "property \(outcome.className).\(property) "
          + (kind == nil ? "has no index now" : "has a \(kind == .fullText ? "full-text" : "search") index now")
      }
    }
  }

  private static func run(
    _ edit: SchemaEdit,
    _ arguments: Arguments,
    _ action: SchemaAction,
    _ words: (RealmEdit.SchemaOutcome) -> String
  ) throws -> ExitCode {
    try arguments.checkEncoding()
    let realm = try EditedRealm(arguments)
    let isPreview = arguments.has(.dryRun)
    let allow = { (className: String, objects: Int) in
      if arguments.has(.force) || isPreview { return }
      if case .removeProperty(let property, _) = edit {
        throw TransferError.unsuitable(
          "\(className).\(property) has a value in \(counted(objects, "object")); nothing was changed; "
            + "--force removes the property with these values"
        )
      }
      throw TransferError.unsuitable(
        "\(className) has \(counted(objects, "object")); nothing was changed; --force removes the class with them"
      )
    }
    let outcome = try realm.change {
      let change = RealmEdit(realm.writer)
      if !isPreview { return try change.change(edit, allow: allow, showing: nil) }
      return try change.change(edit, allow: allow) { before, after in
        try realm.show(before, after)
      }
    }
    guard outcome.hasChanged else {
      if !arguments.has(.quiet) { Log.notice("\(realm.path): nothing to change: already done") }
      return .done
    }
    try realm.report(
      words(outcome),
      [
        ("class", .string(outcome.className)), ("action", .string(action.rawValue)),
        ("objects", .number(outcome.objects)),
      ]
    )
    return .done
  }

  // MARK: descriptions

  /// Parses a class with properties written as PROPERTY=TYPE.
  private static func description(
    _ name: String,
    _ words: ArraySlice<String>,
    _ arguments: Arguments
  ) throws -> ClassDescription {
    var properties: [PropertyDescription] = []
    for word in words {
      guard let assignment = Assignment(word) else {
        throw arguments.usage("'\(word)' is not a property; write PROPERTY=TYPE")
      }
      if properties.contains(where: { $0.name.isExactly(assignment.property) }) {
        throw arguments.usage("\(assignment.property) is given twice")
      }
      properties.append(try description(assignment.property, assignment.value, arguments))
    }
    if arguments.has(.embedded), arguments.has(.primaryKey) {
      throw arguments.usage("an embedded class has no primary key")
    }
    let key = arguments.value(.primaryKey)
    if let key, !properties.contains(where: { $0.name.isExactly(key) }) {
      throw arguments.usage("the primary key \(key) is not among the properties; add \(key)=TYPE")
    }
    return ClassDescription(
      name: name,
      kind: arguments.has(.embedded) ? .embedded : arguments.has(.asymmetric) ? .asymmetric : .topLevel,
      primaryKey: key,
      properties: properties
    )
  }

  private static func description(
    _ name: String,
    _ type: String,
    _ arguments: Arguments
  ) throws -> PropertyDescription {
    do { return try PropertyDescription(name: name, type: type) } catch {
      throw arguments.usage("\(name): \(error.problem)")
    }
  }
}

extension Arguments {
  /// Returns the first operand as one of the actions, and the arguments without it.
  fileprivate func action(_ known: [SchemaAction]) throws -> (SchemaAction, Arguments) {
    let names = known.map(\.rawValue)
    guard let action = known.first(where: { $0.rawValue == operands[0] }) else {
      let meant = ["remove", "delete"].contains(operands[0]) ? "rm" : KnownNames(names).nearest(to: operands[0])
      let hint = meant.map { "; did you mean \($0)?" } ?? ""
      throw usage("'\(operands[0])' is not one of \(names.joined(separator: ", "))\(hint)")
    }
    for option in [OptionName.primaryKey, .embedded, .asymmetric] where has(option) && action != .add {
      throw usage("--\(option.rawValue) is for 'add'")
    }
    if has(.force), action != .rm { throw usage("--force is for 'rm'") }
    return (action, withoutFirstOperand)
  }

  /// Rejects operands from index `count` on.
  fileprivate func checkNothing(after count: Int) throws {
    if operands.count > count { throw usage("unexpected argument '\(operands[count])'") }
  }

  /// Returns the operand at `index`, which must be the last one.
  fileprivate func last(_ index: Int, _ what: String) throws -> String {
    guard operands.count > index else { throw usage("\(what) is missing") }
    try checkNothing(after: index + 1)
    return operands[index]
  }

  /// Returns the kind of index that the last operand requests; nil for none.
  fileprivate func indexKind() throws -> IndexKind? {
    guard operands.count > 3 else { return .general }
    switch operands[3] {
    case "general": return .general
    case "full-text": return .fullText
    case "none": return nil
    default: throw usage("'\(operands[3])' is not one of general, full-text, none")
    }
  }
}
