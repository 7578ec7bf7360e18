// `realmfs set`: sets properties of an object in one transaction.
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `set`.
enum SetCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    guard let name = ObjectName(arguments.operands[1]) else {
      throw arguments.usage("'\(arguments.operands[1])' is not an object; write CLASS/NAME")
    }
    let assignments = try arguments.assignments(from: 2)
    let realm = try EditedRealm(arguments)
    var edit = RealmEdit(realm.writer)
    edit.preview = realm.preview
    let hasChanged = try realm.change { try edit.set(name, to: assignments) }
    try realm.report(
      hasChanged ? "\(name) changed" : "\(name) has these values already",
      [("changed", .number(hasChanged ? 1 : 0)), ("unchanged", .number(hasChanged ? 0 : 1))]
    )
    return .done
  }
}
