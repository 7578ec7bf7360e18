// The options, in the order in which help lists them.
import RealmPages
import RealmTransfer

extension Options {
  static let editors: [CommandName] = [.set, .insert, .delete, .undo, .class, .property]
  static let copiers: [CommandName] = [
    .backup, .compact, .encrypt, .decrypt, .rekey, .upgrade, .convert, .recover,
  ]
  static let readers: [CommandName] =
    [
      .mount, .exec, .info, .schema, .cat, .export, .import, .query, .versions, .diff, .merge, .watch, .browse, .mcp,
      .create, .check,
    ]
    + editors
    + copiers
    + [.seal, .pull, .replicate, .verifyReplica]
    + [.deleted]

  static let options: [OptionSpec] = [
    OptionSpec(
      .options,
      short: "o",
      value: "NAME[=VALUE],...",
      on: [.mount, .exec, .cat],
      mayRepeat: true,
      "mount options, separated by commas; see below"
    ),
    OptionSpec(
      .readOnly,
      on: [.mount, .exec],
      group: .access,
      "refuse changes through this mount, which still joins the programs that have the realm open"
    ),
    OptionSpec(
      .immutable,
      on: [.mount, .exec],
      group: .access,
      "read the file and touch nothing else; works in a read-only directory; other programs do not notice the mount"
    ),
    OptionSpec(
      .inTransaction,
      on: [.exec],
      excludes: [.readOnly, .immutable],
      "run CMD in a transaction, which is committed if CMD exits with 0; see 'realmfs tx'"
    ),
    OptionSpec(
      .restore,
      value: "CLASS/NAME",
      on: [.deleted],
      excludes: [.immutable, .format, .former, .hash],
      mayRepeat: true,
      "create this deleted object again, with its key, values and links; for several objects, repeat the option"
    ),
    OptionSpec(.former, on: [.deleted], "also print the former states of all objects that are still in the file"),
    OptionSpec(.hash, on: [.deleted], "report the SHA-256 of the file before and after the search"),
    OptionSpec(
      .immutable,
      on: [.deleted],
      "read the file and touch nothing else; no other program may have it open"
    ),
    OptionSpec(
      .immutable,
      on: [.browse],
      excludes: [.writable],
      "read the file and touch nothing else; other programs do not notice, and their commits may come without details"
    ),
    OptionSpec(
      .classes,
      value: "CLASS,...",
      on: [.mount, .exec, .schema, .export, .diff],
      mayRepeat: true,
      completion: .names(.classes),
      "only these classes"
    ),
    OptionSpec(
      .classes,
      value: "CLASS",
      on: [.import],
      completion: .names(.classes),
      "the class of records that do not name one; of a database or spreadsheet, the only class to import"
    ),
    OptionSpec(
      .format,
      value: "FORMAT",
      on: [.export],
      completion: .words(ExportFormat.allCases.map(\.rawValue)),
      "one of jsonl, json, csv, tsv, sqlite and xlsx; by default the suffix of OUT, otherwise jsonl"
    ),
    OptionSpec(
      .format,
      value: "FORMAT",
      on: [.import],
      completion: .words(ImportFormat.allCases.map(\.rawValue)),
      "one of jsonl, json (a tree of files, or files of objects or arrays), csv, tsv, sqlite and xlsx; by default from "
        + "the file names"
    ),
    OptionSpec(
      .encoding,
      value: "ENCODING",
      on: [.import],
      "the encoding of SOURCE, by its iconv(1) name, such as latin1 or windows-1252; by default that of the byte order "
        + "mark, otherwise UTF-8"
    ),
    OptionSpec(
      .delimiter,
      value: "CHARACTER",
      on: [.import, .export],
      "the field separator in CSV: a character, or tab, comma or semicolon; import detects , ; | and tab"
    ),
    OptionSpec(
      .decimal,
      value: "MARK",
      on: [.import, .export],
      completion: .words(DecimalMark.allCases.map(\.rawValue)),
      "the decimal mark in CSV: point (default) or comma; import accepts both if the separator is ; | or tab"
    ),
    OptionSpec(
      .filter,
      value: "QUERY",
      on: [.export],
      completion: .names(.query),
      "only objects that match, in the language of 'realmfs query'; requires --class with one class"
    ),
    OptionSpec(
      .format,
      value: "FORM",
      on: [.schema],
      completion: .words(SchemaForm.allCases.map(\.rawValue)),
      "one of json (default), swift, kotlin, csharp, typescript, dot, mermaid and svg"
    ),
    OptionSpec(.long, on: [.info], "also show the size and the properties of each class, which reads the whole realm"),
    OptionSpec(.previous, on: [.diff], "compare the version before the last commit with the newest one"),
    OptionSpec(
      .version,
      value: "N",
      on: [.schema, .cat, .export, .query],
      "read version N, one of those that 'realmfs versions' lists, instead of the newest"
    ),
    OptionSpec(
      .version,
      value: "N",
      on: [.diff],
      excludes: [.previous],
      "compare version N, one of those that 'realmfs versions' lists, with the newest one"
    ),
    OptionSpec(
      .changes,
      on: [.versions],
      excludes: [.json],
      "print a line of JSON for each object that changed from version to version, oldest first"
    ),
    OptionSpec(
      .immutable,
      on: [.versions],
      "read the file and touch nothing else, not even the lock file; no other program may have the realm open"
    ),
    OptionSpec(.execute, value: "CMD", on: [.watch], "run CMD with /bin/sh after each new version"),
    OptionSpec(.diff, on: [.watch], excludes: [.changes], "show which objects changed, like 'realmfs diff'"),
    OptionSpec(.changes, on: [.watch], excludes: [.execute], "print a line of JSON for each object that changes"),
    OptionSpec(.since, value: "VERSION", on: [.watch], "with --changes: begin with the changes since VERSION"),
    OptionSpec(
      .listen,
      value: "HOST:PORT",
      on: [.browse],
      excludes: [.staticFile],
      "listen there instead of at a free port of 127.0.0.1; other machines can then connect, without encryption"
    ),
    OptionSpec(
      .writable,
      on: [.browse],
      excludes: [.staticFile],
      "allow changes; without this option, requests that change the realm are refused"
    ),
    OptionSpec(.writable, on: [.mcp], "also offer the tools that change a realm: set, insert, delete and undo"),
    OptionSpec(
      .idleTimeout,
      value: "SECONDS",
      on: [.browse],
      excludes: [.staticFile],
      "end after this long without a request or a visible page"
    ),
    OptionSpec(.open, on: [.browse], excludes: [.staticFile], "open the page in the desktop's browser, with xdg-open"),
    OptionSpec(
      .staticFile,
      value: "OUT",
      on: [.browse],
      "write one HTML file that shows the objects, without a server; OUT must not exist"
    ),
    OptionSpec(
      .format,
      value: "FORMAT",
      on: [.cat, .query, .deleted],
      completion: .words(RowFormat.allCases.map(\.rawValue)),
      "one of jsonl, json (one array), table, record (a line for each property), csv and tsv; by default table on a "
        + "terminal, otherwise jsonl"
    ),
    OptionSpec(
      .argument,
      value: "VALUE",
      on: [.query, .delete],
      mayRepeat: true,
      "an argument of the query: the first is $0, the next $1"
    ),
    OptionSpec(
      .columns,
      value: "PATH,...",
      on: [.cat, .query],
      mayRepeat: true,
      completion: .names(.paths),
      "the properties or paths to print"
    ),
    OptionSpec(
      .filter,
      value: "QUERY",
      on: [.query, .cat],
      completion: .names(.query),
      "only objects that match, like QUERY of 'realmfs query'"
    ),
    OptionSpec(
      .sort,
      value: "PATH",
      on: [.query, .cat],
      mayRepeat: true,
      completion: .names(.paths),
      "sort by this property, or by 'PATH DESC'; repeat for further ones; same as SORT(PATH) after the query"
    ),
    OptionSpec(
      .limit,
      value: "N",
      on: [.query, .cat],
      "print only the first N objects; same as LIMIT(N) at the end of the query"
    ),
    OptionSpec(.count, on: [.query], "print the number of objects"),
    OptionSpec(
      .sum,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the sum of these properties"
    ),
    OptionSpec(
      .average,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the average of these properties"
    ),
    OptionSpec(
      .least,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the smallest number or earliest date"
    ),
    OptionSpec(
      .greatest,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the greatest number or latest date"
    ),
    OptionSpec(
      .groupBy,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print these values for each value of a property"
    ),
    OptionSpec(.batch, value: "N", on: [.import], "commit every N records; by default, the import is one transaction"),
    OptionSpec(
      .skipBad,
      value: "REJECTS",
      on: [.import],
      completion: .file,
      "skip bad records and write them, with the reasons, to a new file; the exit code is then 1"
    ),
    OptionSpec(
      .defaultRealm,
      on: [.mount],
      group: .realm,
      "mount $XDG_DATA_HOME/realmfs/default.realm (default: ~/.local/share), creating it if necessary"
    ),
    OptionSpec(
      .inMemory,
      value: "ID",
      on: [.mount],
      group: .realm,
      excludes: [
        .seed, .immutable, .upgrade, .compactOnLaunch, .migrate, .deleteIfMigrationNeeded, .keyFile, .keyDescriptor,
        .keyCommand, .keyVariable,
      ],
      "mount a realm in memory; all your mounts with this ID share it, and it ends with the last of them"
    ),
    OptionSpec(
      .seed,
      value: "SEED",
      on: [.mount],
      completion: .file,
      "if FILE does not exist, first copy the realm SEED to it; SEED must have the same key"
    ),
    OptionSpec(
      .verify,
      on: [.export],
      "read a SQLite database back before it gets its name, and print the objects, elements and hashes of each class "
        + "on both sides"
    ),
    OptionSpec(
      .schemaFile,
      value: "SCHEMA",
      on: [.mount],
      completion: .file,
      "the classes of the realm: a file with the output of 'realmfs schema', or - for standard input"
    ),
    OptionSpec(
      .trash,
      value: "DIR",
      on: [.mount],
      completion: .directory,
      "also keep the former text of each object that the mount changes or deletes, and the former schema, in DIR, as "
        + "plain text; without this option, the latest ones are in .realm/trash until the mount ends"
    ),
    OptionSpec(
      .migrate,
      value: "CMD",
      on: [.mount],
      group: .migration,
      "if the schema version increases, run CMD with /bin/sh to migrate the data; see above"
    ),
    OptionSpec(
      .deleteIfMigrationNeeded,
      on: [.mount],
      group: .migration,
      "if the realm has another schema version, or would need a migration, replace it with an empty one"
    ),
    OptionSpec(
      .maxVersions,
      value: "N",
      on: [.mount],
      "refuse a save with EAGAIN if it would bring more than N versions into use at once"
    ),
    OptionSpec(
      .fifoFolder,
      value: "DIR",
      on: [.mount],
      completion: .directory,
      "create the pipe that signals commits in DIR instead of next to FILE"
    ),
    OptionSpec(
      .schemaFile,
      value: "SCHEMA",
      on: [.create],
      completion: .file,
      "the classes: a file with the output of 'realmfs schema', or - for standard input"
    ),
    OptionSpec(
      .schemaFile,
      value: "SCHEMA",
      on: [.recover],
      completion: .file,
      "the classes that the realm had, for those whose properties are lost: a file with the output of 'realmfs schema' "
        + "for another realm of the app, or - for standard input"
    ),
    OptionSpec(
      .jsonStyle,
      value: "STYLE",
      on: [.mount, .exec, .cat, .export, .query, .deleted],
      completion: .words(jsonStyles),
      "how values are written: plain (default), ejson or canonical; same as -o json=STYLE"
    ),
    OptionSpec(
      .keyFile,
      value: "KEYFILE",
      on: readers,
      group: .key,
      completion: .file,
      "read the encryption key from this file, or - for standard input"
    ),
    OptionSpec(
      .keyDescriptor,
      value: "N",
      on: readers,
      group: .key,
      "read the encryption key from file descriptor N"
    ),
    OptionSpec(
      .keyCommand,
      value: "CMD",
      on: readers,
      group: .key,
      "run CMD with /bin/sh and read the encryption key from its output"
    ),
    OptionSpec(
      .keyVariable,
      value: "VAR",
      on: readers,
      group: .key,
      "read the encryption key from environment variable VAR, which is then wiped"
    ),
    OptionSpec(
      .newKeyFile,
      value: "KEYFILE",
      on: [.rekey],
      group: .newKey,
      completion: .file,
      "read the new key from this file, or - for standard input"
    ),
    OptionSpec(
      .newKeyDescriptor,
      value: "N",
      on: [.rekey],
      group: .newKey,
      "read the new key from file descriptor N"
    ),
    OptionSpec(
      .newKeyCommand,
      value: "CMD",
      on: [.rekey],
      group: .newKey,
      "run CMD with /bin/sh and read the new key from its output"
    ),
    OptionSpec(
      .newKeyVariable,
      value: "VAR",
      on: [.rekey],
      group: .newKey,
      "read the new key from environment variable VAR, which is then wiped"
    ),
    OptionSpec(
      .sync,
      value: "URL",
      on: [.mount],
      group: .realm,
      excludes: [
        .seed, .immutable, .upgrade, .compactOnLaunch, .migrate, .deleteIfMigrationNeeded, .schemaFile, .maxVersions,
      ],
      "mount a realm on a sync server: realm://HOST:PORT/PATH, or realms:// with TLS"
    ),
    OptionSpec(
      .mirror,
      value: "FILE",
      on: [.mount],
      excludes: [.inMemory, .defaultRealm],
      completion: .file,
      "with --sync: the path of the local copy; by default below $XDG_DATA_HOME/realmfs/mirrors (~/.local/share)"
    ),
    OptionSpec(
      .shownObjects,
      value: "CLASS: QUERY",
      on: [.mount],
      mayRepeat: true,
      "list only the objects of CLASS that QUERY finds; with --sync, all are still downloaded"
    ),
    OptionSpec(.user, value: "ID", on: [.mount, .pull], "the user that replaces ~ in the path of the URL"),
    OptionSpec(
      .tokenFile,
      value: "FILE",
      on: [.mount, .pull],
      group: .token,
      completion: .file,
      "read the access token for the sync server from this file"
    ),
    OptionSpec(
      .tokenCommand,
      value: "CMD",
      on: [.mount, .pull],
      group: .token,
      "run CMD with /bin/sh and read the access token from its output"
    ),
    OptionSpec(
      .authorities,
      value: "FILE",
      on: [.mount, .pull],
      completion: .file,
      "for realms://, trust the certificates in this PEM file instead of the system's"
    ),
    OptionSpec(
      .timeout,
      value: "SECONDS",
      on: [.mount, .pull],
      "give up downloads, and saves of a mount, if the server does not answer for this long (default 30)"
    ),
    OptionSpec(
      .condition,
      value: "COND",
      on: [.compact],
      "compact only if COND is true, such as 'total > 100MB and used < 50%'"
    ),
    OptionSpec(
      .compactOnLaunch,
      value: "COND",
      on: [.mount],
      "compact the file before it is mounted, if COND is true (see 'compact --if') and no other program has the realm "
        + "open"
    ),
    OptionSpec(.upgrade, on: [.mount], "first upgrade a file of an older format to format 24, like 'realmfs upgrade'"),
    OptionSpec(
      .backupFolder,
      value: "DIR",
      on: [.upgrade],
      completion: .directory,
      "put the copy of the old file in DIR instead of next to it"
    ),
    OptionSpec(.local, on: [.convert], "make a local realm; required"),
    OptionSpec(
      .noVerify,
      on: [.compact, .encrypt, .decrypt, .rekey, .upgrade, .convert, .recover],
      "skip the check of the new file: saves time, and continues even if the realm is damaged"
    ),
    OptionSpec(
      .foreground,
      short: "f",
      on: [.mount],
      "serve in the foreground; notify systemd when the mount is ready"
    ),
    OptionSpec(
      .debug,
      short: "d",
      on: [.mount],
      "print every request and reply; implies the foreground"
    ),
    OptionSpec(.singleThread, short: "s", on: [.mount], "serve one request at a time"),
    OptionSpec(.discard, on: [.umount], "remove the files that are in memory only, and unmount"),
    OptionSpec(.lazy, short: "l", on: [.umount], "detach now, even if busy; the mount ends after its last use"),
    OptionSpec(
      .json,
      on: [
        .status, .info, .class, .property, .export, .import, .set, .insert, .delete, .undo, .versions, .diff, .merge,
        .watch, .check,
        .seal, .version,
        .pull, .verifyReplica,
        .deleted,
      ]
        + copiers,
      "print JSON, for use by programs"
    ),
    OptionSpec(
      .trustOwner,
      on: [.mount, .exec, .import, .mcp, .replicate, .verifyReplica] + editors,
      "for root: share the realm of another user with that user's programs, which can then harm this program"
    ),
    OptionSpec(
      .asEmpty,
      on: [
        .mount, .exec, .schema, .cat, .export, .import, .query, .versions, .watch, .replicate, .verifyReplica, .backup,
        .compact,
        .encrypt, .decrypt, .rekey, .upgrade, .convert,
      ] + editors,
      "treat a file that holds nodes, but whose header points to none, as an empty realm; writing replaces the nodes"
    ),
    OptionSpec(
      .offset,
      value: "N",
      on: [.recover],
      "the realm begins at byte N of FILE, such as a disk image"
    ),
    OptionSpec(
      .dryRun,
      on: [.import],
      excludes: [.batch],
      "print how many objects of each class would be created and changed, and change nothing"
    ),
    OptionSpec(.dryRun, on: [.create], "check the schema and the name, and create nothing"),
    OptionSpec(.dryRun, on: [.upgrade], "print the formats before and after the upgrade, and change nothing"),
    OptionSpec(.dryRun, on: editors + [.deleted], "show what would change, like 'realmfs diff', and change nothing"),
    OptionSpec(
      .sourceOf,
      value: "PATTERN",
      on: [.replicate, .verifyReplica],
      "many realms: the value of the column realm is the part {id} of the file's path, as in 'users/{id}.realm'"
    ),
    OptionSpec(
      .schemaFile,
      value: "NAME",
      on: [.replicate, .verifyReplica],
      "the database schema that contains the tables (default realm)"
    ),
    OptionSpec(.once, on: [.replicate], "bring the replica to the newest version, then exit"),
    OptionSpec(
      .repair,
      on: [.replicate],
      "first compare all rows and write those that differ, such as rows that another program changed"
    ),
    OptionSpec(
      .acceptReplacement,
      on: [.replicate],
      "follow the current file even if it was replaced by another realm, an older version or a damaged one"
    ),
    OptionSpec(.lag, on: [.replicate], "print a line of JSON on standard error for each transaction and each second"),
    OptionSpec(
      .partition,
      value: "KIND",
      on: [.replicate],
      "many realms: partition new tables by realm: list (one partition each) or hash:N (N partitions)"
    ),
    OptionSpec(
      .connections,
      value: "N",
      on: [.replicate],
      "many realms: write through up to N connections at once (default 4)"
    ),
    OptionSpec(
      .primaryKey,
      value: "PROPERTY",
      on: [.class],
      "with add: the property that is the primary key"
    ),
    OptionSpec(.embedded, on: [.class], excludes: [.asymmetric], "with add: objects of the class are parts of others"),
    OptionSpec(.asymmetric, on: [.class], "with add: objects of the class are only uploaded to a server"),
    OptionSpec(.force, on: [.class, .property], "with rm: also remove the objects or values"),
    OptionSpec(
      .output,
      short: "o",
      value: "OUT",
      on: [.merge],
      completion: .file,
      "the new realm; required"
    ),
    OptionSpec(
      .prefer,
      value: "SIDE",
      on: [.merge],
      completion: .words(RealmMerge.Side.allCases.map(\.rawValue)),
      "decide each conflict for this side: ours or theirs"
    ),
    OptionSpec(
      .conflicts,
      value: "DIR",
      on: [.merge],
      completion: .directory,
      "write conflicts to this directory instead of OUT.conflicts"
    ),
    OptionSpec(.force, on: [.merge], "replace OUT, which may be one of the merged files"),
    OptionSpec(
      .dotNetGuids,
      on: [.mount, .cat, .export, .query],
      excludes: [.sync, .inMemory],
      "show UUIDs like apps with a .NET SDK before 10.10, which wrote the bytes of a Guid in another order; a mount is "
        + "then read-only. No effect on a realm that a later SDK has converted"
    ),
    OptionSpec(.redo, on: [.undo], "revert the last undo"),
    OptionSpec(
      .list,
      on: [.undo],
      excludes: [.redo, .dryRun],
      "print the versions to which undo can go back, and the changes that it would undo; change nothing"
    ),
    OptionSpec(.yes, short: "y", on: [.delete, .undo], "do not ask for confirmation, even on a terminal"),
    OptionSpec(
      .quiet,
      short: "q",
      on: editors + [.import, .export, .merge, .pull, .replicate, .deleted],
      "do not report what was done"
    ),
    OptionSpec(.limit, value: "N", on: [.check], "stop after N problems (default 1000)"),
    OptionSpec(.seal, on: [.check], "only compare the file with FILE.seal"),
    OptionSpec(
      .completions,
      value: "SHELL",
      on: [.help],
      completion: .words(Completions.shells),
      "print the completions for bash, zsh or fish"
    ),
    OptionSpec(.man, on: [.help], isHidden: true, "print the man page"),
    OptionSpec(.verbose, short: "v", on: readers, "print more details, such as the form of the key"),
    OptionSpec(.help, short: "h", on: CommandName.allCases, "show help for the command"),
  ]
}
