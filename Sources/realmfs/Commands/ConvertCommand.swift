// `realmfs convert --local`: converts a synced realm to a local one.
import RealmJSON
import RealmPages
import RealmSync

/// The command `convert`.
enum ConvertCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    guard arguments.has(.local) else { throw arguments.usage("option --local is required") }
    let source = try RealmSource(arguments), target = arguments.operands[1]
    var isMirror = false
    let unsent = try source.onNewest { (snapshot) throws -> UnsentChanges in
      isMirror = try MirrorState(in: snapshot) != nil
      // The content of a mirror was on the server.
      if isMirror { return .none }
      guard snapshot.historyType > 2 else {
        throw CommandFailure(.failure, "\(source.path): already a local realm; 'realmfs backup' copies it")
      }
      return try located(source.path) { try snapshot.unsentChanges() }
    }
    if case .some(let count) = unsent {
      Log.notice("\(source.path): the copy has the changes of \(counted(count, "changeset")) not sent to the server")
    }
    let sizes = try source.copy(
      to: target,
      key: source.realm.configuration.encryptionKey,
      keepsHistory: false,
      verifies: !arguments.has(.noVerify),
      title: "copying"
    )
    if isMirror {
      var copy = source.realm.configuration
      (copy.path, copy.mode) = (System.absolute(target), .exclusive)
      try Mirror.makeLocal(copy)
    }
    var report = CopyReport(path: target, sizes: sizes, isNew: true)
    report.facts = [("unsentChangesets", unsent.json)]
    try report.print(arguments)
    return .done
  }
}

extension UnsentChanges {
  fileprivate var json: JSONValue {
    switch self {
    case .none: .number(0)
    case .some(let count): .number(count)
    case .unknown: .null
    }
  }
}
