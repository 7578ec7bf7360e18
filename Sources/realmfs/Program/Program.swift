// From argv to an exit code: finds the command, runs it, and prints the reason if it fails. mount(8) calls the program
// under other names; see MountHelper.

import CLinux
import Glibc
import RealmPages

/// The entry point of the `realmfs` command.
enum Program {
  /// Runs the command in `words` (argv, with the program's name). Returns the exit status.
  static func run(_ words: [String]) -> Int32 {
    System.occupyStandardDescriptors()
    clinux_survive(SIGXFSZ)
    if let helper = words.first.flatMap(MountHelper.init(program:)) { return helper.run(words.dropFirst()) }
    if words.dropFirst().first == Completer.command { return Completer.run(words.dropFirst(2)) }
    do {
      return try dispatch(words.dropFirst()).rawValue
    } catch {
      let failure = CommandFailure(error)
      Interruption.awaitEnd()
      if !failure.message.isEmpty { Log.error(failure.message, more: failure.more) }
      return failure.code.rawValue
    }
  }

  /// Returns the message for a word that is not a command.
  static func unknown(_ word: String) -> String {
    if unsafe access(word, F_OK) == 0 || word.hasSuffix(".realm") {
      return "unknown command '\(word)'; to open a file: 'realmfs info \(word)' or 'realmfs mount \(word) MOUNTPOINT'"
    }
    if let guess = guesses.first(where: { $0.words.contains(word.lowercased()) }) {
      return "unknown command '\(word)'; use \(guess.use)"
    }
    let hint = KnownNames(CommandName.allCases.map(\.rawValue)).nearest(to: word).map { "; did you mean \($0)?" } ?? ""
    return "unknown command '\(word)'\(hint)"
  }

  /// Commands of other programs, and the equivalent commands here.
  static let guesses: [(words: [String], use: String)] = [
    (
      ["ls", "list", "tables", "classes", "dir"],
      "'realmfs cat FILE' to list the classes, 'realmfs info FILE' to count objects"
    ),
    (
      ["show", "print", "get", "view", "read", "head", "less"],
      "'realmfs cat FILE CLASS' or 'realmfs cat FILE CLASS/NAME.json'"
    ),
    (["dump", "save", "extract"], "'realmfs export FILE OUT'"),
    (["load", "restore"], "'realmfs import FILE IN'; 'realmfs recover FILE OUT' is for damaged files"),
    (["count", "sum"], "'realmfs query --count FILE CLASS'; --sum, --avg, --min and --max take a property"),
    (["search", "find", "grep", "select", "sql", "where", "filter"], "'realmfs query FILE CLASS QUERY'"),
    (["rm", "remove", "del", "unlink", "drop"], "'realmfs delete FILE CLASS/NAME.json'"),
    (["add", "new", "put", "append"], "'realmfs insert FILE CLASS PROPERTY=VALUE...'"),
    (["edit", "update", "modify", "change", "patch"], "'realmfs set FILE CLASS/NAME.json PROPERTY=VALUE...'"),
    (
      ["log", "history", "changes"],
      "'realmfs versions --changes FILE' for those in the file, 'realmfs watch --changes FILE' for future ones"
    ),
    (["tail", "follow", "listen"], "'realmfs watch --changes FILE'"),
    (["copy", "cp", "clone"], "'realmfs backup FILE OUT'"),
    (["unmount"], "'realmfs umount MOUNTPOINT'"),
    (["verify", "validate", "fsck", "test"], "'realmfs check FILE'"),
    (["repair", "fix", "rescue"], "'realmfs recover FILE OUT'"),
    (["vacuum", "shrink"], "'realmfs compact FILE'"),
    (["init", "make"], "'realmfs create FILE --schema SCHEMA'"),
    (["describe", "desc", "types"], "'realmfs schema FILE'"),
    (["stat", "stats", "file"], "'realmfs info FILE'"),
    (["rollback", "revert"], "'realmfs undo FILE'"),
    (["download", "sync"], "'realmfs pull URL OUT'"),
  ]

  private static func dispatch(_ words: ArraySlice<String>) throws -> ExitCode {
    guard let word = words.first else { throw CommandFailure.usage("missing command", command: nil) }
    if word == "--help" || word == "-h" { return try HelpCommand.overview() }
    if word == "--version" || word == "-V" { return try VersionCommand.run(try Arguments(.version, [])) }
    guard let command = CommandName(rawValue: word) else {
      throw CommandFailure.usage(word.hasPrefix("-") ? "unknown option \(word)" : Self.unknown(word), command: nil)
    }
    let arguments = try Arguments(command, Array(words.dropFirst()))
    if arguments.has(.help) { return try HelpCommand.explain(command) }
    do {
      try RealmPlace.checkOutput(arguments)
      return try run(arguments)
    } catch {
      throw CommandFailure(error).explaining(arguments.files).naming(holdersOf: arguments.files)
    }
  }

  private static func run(_ arguments: Arguments) throws -> ExitCode {
    switch arguments.command {
    case .mount: try MountCommand.run(arguments)
    case .umount: try UmountCommand.run(arguments)
    case .tx: try TransactionCommand.run(arguments)
    case .exec: try ExecCommand.run(arguments)
    case .status: try StatusCommand.run(arguments)
    case .info: try InfoCommand.run(arguments)
    case .schema: try SchemaCommand.run(arguments)
    case .class: try SchemaEditCommand.changeClass(arguments)
    case .property: try SchemaEditCommand.changeProperty(arguments)
    case .cat: try CatCommand.run(arguments)
    case .export: try ExportCommand.run(arguments)
    case .import: try ImportCommand.run(arguments)
    case .query: try QueryCommand.run(arguments)
    case .set: try SetCommand.run(arguments)
    case .insert: try InsertCommand.run(arguments)
    case .delete: try DeleteCommand.run(arguments)
    case .undo: try UndoCommand.run(arguments)
    case .versions: try VersionsCommand.run(arguments)
    case .deleted: try DeletedCommand.run(arguments)
    case .diff: try DiffCommand.run(arguments)
    case .merge: try MergeCommand.run(arguments)
    case .watch: try WatchCommand.run(arguments)
    case .browse: try BrowseCommand.run(arguments)
    case .mcp: try MCPCommand.run(arguments)
    case .create: try CreateCommand.run(arguments)
    case .check: try CheckCommand.run(arguments)
    case .seal: try SealCommand.run(arguments)
    case .backup: try BackupCommand.run(arguments)
    case .compact: try CompactCommand.run(arguments)
    case .encrypt: try RewriteCommand.encrypt(arguments)
    case .decrypt: try RewriteCommand.decrypt(arguments)
    case .rekey: try RewriteCommand.rekey(arguments)
    case .upgrade: try UpgradeCommand.run(arguments)
    case .convert: try ConvertCommand.run(arguments)
    case .recover: try RecoverCommand.run(arguments)
    case .pull: try PullCommand.run(arguments)
    case .replicate: try ReplicateCommand.run(arguments)
    case .verifyReplica: try VerifyReplicaCommand.run(arguments)
    case .version: try VersionCommand.run(arguments)
    case .help: try HelpCommand.run(arguments)
    }
  }
}
