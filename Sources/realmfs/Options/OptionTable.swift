// The types of the option table. The parser, help, man pages and completions use the same table, so they always agree.

/// The commands; the raw values are the names that the user types.
enum CommandName: String, CaseIterable, Sendable {
  case mount, umount, tx, exec, status, info, schema, `class`, property, cat, export, `import`, query, set, insert,
    delete,
    undo, versions, deleted, diff, merge, watch,
    browse, mcp, create
  case check, seal, backup, compact, encrypt, decrypt, rekey, upgrade, convert, recover, pull
  case replicate
  case verifyReplica = "verify-replica"
  case version, help
}

/// The long options; the raw values are their names without the dashes.
enum OptionName: String, CaseIterable, Sendable {
  case options, immutable, foreground, debug, lazy, json, limit, local, format, batch, count, upgrade, man, completions
  case verbose, help
  case encoding, delimiter, decimal
  case readOnly = "read-only"
  case singleThread = "single-thread"
  case classes = "class"
  case schemaFile = "schema"
  case skipBad = "skip-bad"
  case filter = "where"
  case execute = "exec"
  case changes, diff, since
  case output, prefer, conflicts
  case inTransaction = "tx"
  case jsonStyle = "json-style"
  case keyFile = "key-file"
  case keyDescriptor = "key-fd"
  case keyCommand = "key-command"
  case keyVariable = "key-env"
  case backupFolder = "backup-dir"
  case noVerify = "no-verify"
  case condition = "if"
  case defaultRealm = "default"
  case inMemory = "in-memory"
  case seed, seal
  case restore, hash, former
  case trustOwner = "trust-owner"
  case asEmpty = "as-empty"
  case offset
  case previous, version, list
  case dryRun = "dry-run"
  case long
  case argument = "arg"
  case columns, sort
  case groupBy = "group-by"
  case sum
  case average = "avg"
  case least = "min"
  case greatest = "max"
  case yes, quiet, trash, discard, verify, force, embedded, asymmetric, redo
  case dotNetGuids = "dotnet-guids"
  case primaryKey = "primary-key"
  case migrate
  case deleteIfMigrationNeeded = "delete-if-migration-needed"
  case maxVersions = "max-versions"
  case fifoFolder = "fifo-dir"
  case compactOnLaunch = "compact-on-launch"
  case newKeyFile = "new-key-file"
  case newKeyDescriptor = "new-key-fd"
  case newKeyCommand = "new-key-command"
  case newKeyVariable = "new-key-env"
  case sync, mirror, user
  case shownObjects = "query"
  case tokenFile = "token-file"
  case tokenCommand = "token-command"
  case authorities = "ca-file"
  case timeout
  case once, lag, partition, connections, repair, acceptReplacement = "accept-replacement"
  case sourceOf = "source-of"
  case listen, open, idleTimeout = "idle-timeout"
  case writable = "write"
  case staticFile = "static"
}

/// The mount options (`-o NAME`) that realmfs handles itself; all others are handled by the kernel.
enum MountOptionName: String, CaseIterable, Sendable {
  case classes = "class"
  case json
  case showControl = "show_control"
  case uid, gid, umask, fmask, dmask
  case readOnly = "ro"
  case nonEmpty = "nonempty"
  case write
  case createClasses = "create_classes"
  case groupCommit = "group_commit"
  case queryTimeout = "query_timeout"
  case lockTimeout = "lock_timeout"
  case busyPoll = "busy_poll"
  case frozen
  case trustOwner = "trust_owner"
  case dotNetGuids = "dotnet_guids"
}

/// The words that a shell offers for a value.
enum Completion: Sendable {
  case nothing, file, directory, command
  case words([String])
  /// Names from the realm, which `realmfs __complete` looks up.
  case names(RealmNameKind)
}

/// The kinds of names from a realm that can be completed.
enum RealmNameKind: Sendable {
  /// A list of classes; one class.
  case classes, oneClass
  /// An object as CLASS/NAME; an object or a class; objects, or a class followed by a query.
  case object, classOrObject, objectsOrQuery
  /// PROPERTY=VALUE.
  case assignment
  /// A list of properties and of paths to them.
  case paths
  case query
  /// A property of the class named in an earlier argument.
  case property
}

/// Groups of options of which at most one may be given.
enum ExclusiveGroup: Sendable {
  case key, newKey, access, realm, migration, token
}

/// One argument that is not an option.
struct ArgumentSpec: Sendable {
  let name: String
  let help: String
  let completion: Completion
  let isOptional: Bool
  /// True if the argument may be given any number of times.
  let mayRepeat: Bool
  /// Options with which the argument is omitted.
  let absentWith: [OptionName]

  init(
    _ name: String,
    _ help: String,
    completion: Completion = .nothing,
    isOptional: Bool = false,
    mayRepeat: Bool = false,
    absentWith: [OptionName] = []
  ) {
    self.mayRepeat = mayRepeat
    self.absentWith = absentWith
    self.name = name
    self.help = help
    self.completion = completion
    self.isOptional = isOptional
  }
}

/// One command.
struct CommandSpec: Sendable {
  let name: CommandName
  let arguments: [ArgumentSpec]
  let summary: String
  /// Paragraphs for `help COMMAND` and the man page.
  let description: [String]
  /// Shell command lines that work in a directory with the sample realms of the tests.
  let examples: [String]

  init(
    name: CommandName,
    arguments: [ArgumentSpec],
    summary: String,
    description: [String],
    examples: [String] = []
  ) {
    (self.name, self.arguments, self.summary) = (name, arguments, summary)
    (self.description, self.examples) = (description, examples)
  }
}

/// One long option and the commands that accept it.
struct OptionSpec: Sendable {
  let name: OptionName
  let short: Character?
  /// The placeholder of the value; nil for a flag.
  let value: String?
  let help: String
  let commands: [CommandName]
  let group: ExclusiveGroup?
  /// Options outside of `group` that cannot be given together with this one.
  let excludes: [OptionName]
  let mayRepeat: Bool
  let isHidden: Bool
  let completion: Completion

  init(
    _ name: OptionName,
    short: Character? = nil,
    value: String? = nil,
    on commands: [CommandName],
    group: ExclusiveGroup? = nil,
    excludes: [OptionName] = [],
    mayRepeat: Bool = false,
    isHidden: Bool = false,
    completion: Completion = .nothing,
    _ help: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.help = help
    self.commands = commands
    self.group = group
    self.excludes = excludes
    self.mayRepeat = mayRepeat
    self.isHidden = isHidden
    self.completion = completion
  }

  /// `-f, --foreground` or `    --key-file FILE`.
  var label: String {
    (short.map { "-\($0), " } ?? "    ") + "--\(name.rawValue)" + (value.map { " \($0)" } ?? "")
  }
}

/// One `-o` option of `mount`.
struct MountOptionSpec: Sendable {
  /// The component that handles the option.
  enum Kind: Sendable, Equatable {
    case own(MountOptionName)
    case kernel
    case refused(because: String)
  }

  let name: String
  let value: String?
  let kind: Kind
  let help: String
  let commands: [CommandName]

  init(
    _ name: MountOptionName,
    value: String? = nil,
    on commands: [CommandName] = [.mount, .exec],
    _ help: String
  ) {
    self.name = name.rawValue
    self.value = value
    kind = .own(name)
    self.help = help
    self.commands = commands
  }

  init(kernel name: String, value: String? = nil, _ help: String) {
    self.name = name
    self.value = value
    kind = .kernel
    self.help = help
    commands = [.mount, .exec]
  }

  init(refused name: String, because reason: String) {
    self.name = name
    value = nil
    kind = .refused(because: reason)
    help = ""
    commands = [.mount, .exec]
  }

  var label: String { name + (value.map { "=\($0)" } ?? "") }
}
