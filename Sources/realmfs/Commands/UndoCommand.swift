// `realmfs undo`: undoes the last commit with a new commit, and earlier commits one by one.
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `undo`.
enum UndoCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let realm = try EditedRealm(arguments), edit = RealmEdit(realm.writer)
    if arguments.has(.list) { return try list(realm, edit, isJSON: arguments.has(.json)) }
    let direction: RealmEdit.Direction = arguments.has(.redo) ? .forth : .back
    var agreed: RealmEdit.Undone?, words = ""
    if arguments.asksFirst {
      agreed = try realm.change {
        try edit.undo(direction) { wanted, newest, undone in
          words = try Self.words(undone, wanted, newest)
          return false
        }
      }
      if agreed == nil { throw try nothing(realm, direction) }
      if !isConfirmed("Undo \(words) of \(realm.path)?") {
        Log.notice("nothing was undone")
        return .failure
      }
    }
    let undone = try realm.change {
      try edit.undo(direction) { wanted, newest, undone in
        if let agreed, agreed.newest != undone.newest {
          throw TransferError.unsuitable("another program committed meanwhile; nothing was undone, try again")
        }
        if agreed == nil { words = try Self.words(undone, wanted, newest) }
        if !arguments.has(.dryRun) { return true }
        try realm.show(newest, wanted)
        return false
      }
    }
    guard let undone else { throw try nothing(realm, direction) }
    try realm.report(
      "undid \(words); now at the content of version \(undone.previous)",
      [
        ("undone", .number(Int(clamping: undone.undone))), ("restored", .number(Int(clamping: undone.previous))),
        ("version", .number(Int(clamping: undone.newest + 1))),
      ]
    )
    return .done
  }

  /// Prints the versions to which `undo` can go back, the next one first.
  private static func list(_ realm: EditedRealm, _ edit: RealmEdit, isJSON: Bool) throws -> ExitCode {
    var steps: [(version: UInt64, words: String)] = []
    try realm.change {
      try edit.listUndoable { wanted, newest, undone in
        steps.append((wanted.version, try words(undone, wanted, newest)))
      }
    }
    if steps.isEmpty { throw try nothing(realm, .back) }
    let output = StandardOutput()
    if isJSON {
      let items = steps.map { step in
        JSONValue.object([("version", .number(Int(clamping: step.version))), ("undoes", .string(step.words))])
      }
      output.print(JSONValue.array(items).text)
    } else {
      for step in steps { output.line("version \(step.version)  undoes \(step.words)") }
    }
    try output.flush()
    return .done
  }

  /// The failure of an undo for which there is no version.
  static func nothing(
    _ realm: EditedRealm,
    _ direction: RealmEdit.Direction
  ) throws -> CommandFailure {
    let newest = try realm.newest()
    if direction == .forth {
      return CommandFailure(.failure, "\(realm.path): the last commit is not an undo, so there is nothing to redo")
    }
    let version = newest.restoredVersion ?? newest.version
    return CommandFailure(
      .unreadable,
      "\(realm.path): nothing to undo: no version before \(version) is left in the file; later commits reuse the "
        + "space of older versions, and a file that was just created, compacted or copied has one version"
    )
  }

  /// Describes undone versions, such as `version 7 (Person: 1 changed, 2 deleted)`.
  static func words(
    _ undone: RealmEdit.Undone,
    _ wanted: Snapshot,
    _ newest: Snapshot
  ) throws -> String {
    // Grouped commits reach the disk together, and versions without changes are included in the next one.
    let isOne = undone.undone == undone.previous + 1
    let versions = isOne ? "version \(undone.undone)" : "versions \(undone.previous + 1) to \(undone.undone)"
    let words = try ChangeTally(from: wanted, to: newest).words
    return words.isEmpty ? versions : "\(versions) (\(words))"
  }
}
