// `realmfs convert --local`: converts a synced realm to a local one.
import RealmJSON
import RealmPages
import RealmSync

/// The command `convert`.
enum ConvertCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    guard arguments.has(.local) else { throw arguments.usage("option --local is required") }
    let source = try RealmSource(arguments), target = arguments.operands[1]
    var isMirror = false
    let unsent = try source.onNewest { (snapshot) throws(CommandFailure) -> UnsentChanges in
      do throws(SyncError) { isMirror = try MirrorState(in: snapshot) != nil } catch { throw CommandFailure(error) }
      // The content of a mirror was on the server.
      if isMirror { return .none }
      guard snapshot.historyType > 2 else {
        throw CommandFailure(.failure, "\(source.path): already a local realm; 'realmfs backup' copies it")
      }
      do throws(EngineError) { return try snapshot.unsentChanges() } catch {
        throw CommandFailure(error, path: source.path)
      }
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
      do throws(SyncError) { try Mirror.makeLocal(copy) } catch { throw CommandFailure(error) }
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
