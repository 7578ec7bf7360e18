// `realmfs undo`: takes back the last commit, in a commit of its own.
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `undo`.
enum UndoCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let realm = try EditedRealm(arguments), edit = RealmEdit(realm.writer)
    let undone = try realm.change { () throws(TransferError) in
      if !arguments.has(.dryRun) { return try edit.undo(showing: nil) }
      return try edit.undo { (newest, previous) throws(TransferError) in try realm.show(newest, previous) }
    }
    guard let undone else {
      throw CommandFailure(
        .unreadable,
        "\(realm.path): holds version \(try realm.newest().version) alone, so there is no commit to take back: it was "
          + "just made, compacted or copied"
      )
    }
    // Grouped commits reach the disk together.
    let count = undone.newest - undone.previous
    try realm.report(
      count == 1
        ? "version \(undone.newest) is taken back; the content is that of version \(undone.previous)"
        : "versions \(undone.previous + 1) to \(undone.newest) are taken back; the content is that of version "
          + "\(undone.previous)",
      [("undone", .number(Int(clamping: undone.newest))), ("restored", .number(Int(clamping: undone.previous)))]
    )
    return .done
  }
}
