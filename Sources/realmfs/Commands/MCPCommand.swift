// `realmfs mcp`: serves realms to agents over the Model Context Protocol until the input ends.
import RealmPages

/// The command `mcp`.
enum MCPCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    try StandardInput.take(as: "the messages")
    let files = try ServedFile.all(arguments)
    try MCPServer(files, arguments).run()
    Realm.leaveSessions()
    return .done
  }
}
