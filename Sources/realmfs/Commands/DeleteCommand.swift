// `realmfs delete`: deletes objects, found by a query or named by the user, in one transaction.
import RealmJSON
import RealmPages
import RealmQuery
import RealmTransfer

/// The command `delete`.
enum DeleteCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let target = try DeletionTarget(arguments)
    let asked = try ask(target, arguments)
    if let asked, asked.isEmpty { return .failure }
    let realm = try EditedRealm(arguments)
    let count = try target.delete(from: realm, preview: realm.preview, ifStill: asked)
    try realm.report("\(counted(count, "object")) deleted", [("deleted", .number(count))])
    return .done
  }

  /// Asks for confirmation on a terminal. Returns the confirmed objects, none if the user declines, or nil if no
  /// question is needed.
  private static func ask(
    _ target: DeletionTarget,
    _ arguments: Arguments
  ) throws -> [ObjectReference]? {
    if !arguments.asksFirst { return nil }
    let source = try RealmSource.pinned(arguments)
    let objects = try source.onNewest { snapshot in
      try target.objects(in: snapshot, source.path)
    }
    // There is nothing to confirm.
    if objects.isEmpty { return nil }
    if isConfirmed("Delete \(target.words(objects.count)) from \(source.path)?") { return objects }
    Log.notice("nothing was deleted")
    return []
  }
}

/// The objects to delete, by name or by query.
enum DeletionTarget {
  case names([ObjectName])
  case query(className: String, QueryCondition)

  init(_ arguments: Arguments) throws {
    let words = Array(arguments.operands.dropFirst())
    let names = words.compactMap { ObjectName($0) }
    if names.count == words.count {
      if arguments.has(.argument) { throw arguments.usage("--arg needs a QUERY that uses its value") }
      self = .names(names)
    } else if ObjectName(words[0]) == nil {
      if words.count == 1 {
        throw arguments.usage("no objects of \(words[0]) given: add a query, or write \(words[0])/NAME")
      }
      if words.count > 2 { throw arguments.usage("unexpected argument '\(words[2])'") }
      self = .query(className: words[0], arguments.condition(words[1]))
    } else {
      throw arguments.usage("'\(words.first { ObjectName($0) == nil } ?? "")' is not an object; write CLASS/NAME")
    }
  }

  /// Returns a description for the confirmation question.
  func words(_ count: Int) -> String {
    switch self {
    case .names(let names): names.count <= 3 ? names.map(\.description).joined(separator: ", ") : "\(count) objects"
    case .query(let className, _): counted(count, "object") + " of \(className)"
    }
  }

  /// Deletes the objects in one transaction and returns their number. Throws if they are no longer those in `asked`.
  func delete(
    from realm: EditedRealm,
    preview: Preview? = nil,
    ifStill asked: [ObjectReference]? = nil
  ) throws -> Int {
    var edit = RealmEdit(realm.writer)
    edit.preview = preview
    return try realm.change {
      try edit.delete { snapshot in
        let objects = try objects(in: snapshot, realm.path)
        if let asked, asked != objects {
          throw CommandFailure(
            .failure,
            "\(realm.path): another program changed these objects; nothing was deleted, try again"
          )
        }
        return objects
      }
    }
  }

  /// Returns the objects to delete in a version, each once.
  func objects(in snapshot: Snapshot, _ path: String) throws -> [ObjectReference] {
    switch self {
    case .names(let names):
      var objects: [ObjectReference] = [], known: Set<ObjectReference> = []
      for name in names {
        try located(path) {
          let (table, object) = (try name.table(in: snapshot), try name.object(in: snapshot))
          try check(table, path)
          if known.insert(object).inserted { objects.append(object) }
        }
      }
      return objects
    case .query(let className, let condition):
      let table = try snapshot.table(ofClass: className, in: path)
      try located(path) { try check(table, path) }
      let query: ObjectQuery, text = condition.text ?? ""
      do { query = try ObjectQuery([condition], of: table, in: snapshot) } catch {
        throw CommandFailure(error, in: text)
      }
      do { return try query.keys().map { ObjectReference(table: table.key, key: $0) } } catch {
        throw CommandFailure(error, of: text, in: path)
      }
    }
  }

  private func check(_ table: Table, _ path: String) throws {
    let name = table.className ?? table.name
    switch table.kind {
    case .topLevel: break
    case .embedded:
      throw TransferError.unsuitable(
        "\(path): \(name) is embedded; set the property that holds the object to null instead"
      )
    case .asymmetric: throw TransferError.unsuitable("\(path): \(name) is asymmetric; its objects cannot be changed")
    }
  }
}
