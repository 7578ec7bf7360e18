// The options, in the order of the help.
import RealmPages
import RealmTransfer

extension Options {
  static let editors: [CommandName] = [.set, .insert, .delete, .undo, .class, .property]
  static let copiers: [CommandName] = [
    .backup, .compact, .encrypt, .decrypt, .rekey, .upgrade, .convert, .recover,
  ]
  static let readers: [CommandName] =
    [.mount, .info, .schema, .cat, .export, .import, .query, .diff, .watch, .create, .check] + editors + copiers
    + [.seal, .pull, .replicate, .verifyReplica]

  static let options: [OptionSpec] = [
    OptionSpec(
      .options,
      short: "o",
      value: "NAME[=VALUE],...",
      on: [.mount, .cat],
      mayRepeat: true,
      "mount options, separated by commas; see below"
    ),
    OptionSpec(
      .readOnly,
      on: [.mount],
      group: .access,
      "no changes through this mount, which still takes a place among the programs that have the realm open"
    ),
    OptionSpec(
      .immutable,
      on: [.mount],
      group: .access,
      "read the file and touch nothing else: works in a read-only directory; other programs do not know of the mount"
    ),
    OptionSpec(
      .classes,
      value: "CLASS,...",
      on: [.mount, .schema, .export, .diff],
      mayRepeat: true,
      completion: .names(.classes),
      "only these classes"
    ),
    OptionSpec(
      .classes,
      value: "CLASS",
      on: [.import],
      completion: .names(.classes),
      "the class of records that do not tell theirs"
    ),
    OptionSpec(
      .format,
      value: "FORMAT",
      on: [.export],
      completion: .words(ExportFormat.allCases.map(\.rawValue)),
      "jsonl, json, csv, tsv, sqlite or xlsx; by default what OUT ends in, else jsonl"
    ),
    OptionSpec(
      .format,
      value: "FORMAT",
      on: [.import],
      completion: .words(ImportFormat.allCases.map(\.rawValue)),
      "jsonl, json (a tree of files, or files of objects or arrays), csv or tsv; by default what file names tell"
    ),
    OptionSpec(
      .encoding,
      value: "ENCODING",
      on: [.import],
      "the encoding of SOURCE by a name that iconv(1) knows, such as latin1 or windows-1252; by default that of the "
        + "byte order mark, else UTF-8"
    ),
    OptionSpec(
      .delimiter,
      value: "CHARACTER",
      on: [.import, .export],
      "the separator of fields in CSV: a character, or tab, comma or semicolon; import detects , ; | and tab"
    ),
    OptionSpec(
      .decimal,
      value: "MARK",
      on: [.import, .export],
      completion: .words(DecimalMark.allCases.map(\.rawValue)),
      "point or comma: the decimal mark in CSV; by default a point; import takes both where ; | or tab separates fields"
    ),
    OptionSpec(
      .filter,
      value: "QUERY",
      on: [.export],
      completion: .names(.query),
      "only objects that pass, in the language of 'realmfs query'; needs --class with one class"
    ),
    OptionSpec(
      .format,
      value: "FORM",
      on: [.schema],
      completion: .words(SchemaForm.allCases.map(\.rawValue)),
      "json (default), swift, kotlin, csharp, typescript, dot, mermaid or svg"
    ),
    OptionSpec(.long, on: [.info], "also the size and the properties of each class, which reads all of it"),
    OptionSpec(.previous, on: [.diff], "compare the version before the last commit with the newest one"),
    OptionSpec(.execute, value: "CMD", on: [.watch], "run CMD with /bin/sh after each new version"),
    OptionSpec(.diff, on: [.watch], excludes: [.changes], "show which objects changed, as 'realmfs diff' does"),
    OptionSpec(.changes, on: [.watch], excludes: [.execute], "print a line of JSON for each object that changes"),
    OptionSpec(.since, value: "VERSION", on: [.watch], "with --changes: begin with what changed since VERSION"),
    OptionSpec(
      .format,
      value: "FORMAT",
      on: [.cat, .query],
      completion: .words(RowFormat.allCases.map(\.rawValue)),
      "jsonl, json (one array), table, csv or tsv; a table on a terminal, else jsonl"
    ),
    OptionSpec(
      .argument,
      value: "VALUE",
      on: [.query, .delete],
      mayRepeat: true,
      "a value for the query: the first one is $0, the next one $1"
    ),
    OptionSpec(
      .columns,
      value: "PATH,...",
      on: [.cat, .query],
      mayRepeat: true,
      completion: .names(.paths),
      "what to show of an object"
    ),
    OptionSpec(.count, on: [.query], "print the number of objects"),
    OptionSpec(
      .sum,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the sum of these numbers"
    ),
    OptionSpec(
      .average,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print their average"
    ),
    OptionSpec(
      .least,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the least number or first date"
    ),
    OptionSpec(
      .greatest,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print the greatest number or last date"
    ),
    OptionSpec(
      .groupBy,
      value: "PATH,...",
      on: [.query],
      mayRepeat: true,
      completion: .names(.paths),
      "print these for each value of a property"
    ),
    OptionSpec(.batch, value: "N", on: [.import], "commit every N records; without it everything is one transaction"),
    OptionSpec(
      .skipBad,
      value: "REJECTS",
      on: [.import],
      completion: .file,
      "leave out records that cannot be taken and keep them, with the reasons, in a new file; the exit code is 1 then"
    ),
    OptionSpec(
      .defaultRealm,
      on: [.mount],
      group: .realm,
      "mount $XDG_DATA_HOME/realmfs/default.realm (~/.local/share if that is not set), which is made if need be"
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
      "mount a realm in memory, which all your mounts with this ID share and which is gone with the last of them"
    ),
    OptionSpec(
      .seed,
      value: "SEED",
      on: [.mount],
      completion: .file,
      "if FILE does not exist, copy the realm SEED to it first, which has the same key"
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
      "the classes of the realm: a file in the form that 'realmfs schema' prints, or -"
    ),
    OptionSpec(
      .trash,
      value: "DIR",
      on: [.mount],
      completion: .directory,
      "keep the text of each object that the mount changes or deletes, and the schema before a change, in DIR, too, as "
        + "plain text; without it, the last ones are in .realm/trash, and gone with the mount"
    ),
    OptionSpec(
      .migrate,
      value: "CMD",
      on: [.mount],
      group: .migration,
      "if the schema version grows, run CMD with /bin/sh to move the data over; see above"
    ),
    OptionSpec(
      .deleteIfMigrationNeeded,
      on: [.mount],
      group: .migration,
      "if the realm has another schema version, or would need a migration, replace it by an empty one"
    ),
    OptionSpec(
      .maxVersions,
      value: "N",
      on: [.mount],
      "refuse a save, with EAGAIN, that would make more than N versions be in use at once"
    ),
    OptionSpec(
      .fifoFolder,
      value: "DIR",
      on: [.mount],
      completion: .directory,
      "make the pipe that tells of commits in DIR instead of beside FILE"
    ),
    OptionSpec(
      .schemaFile,
      value: "SCHEMA",
      on: [.create],
      completion: .file,
      "the classes: a file in the form that 'realmfs schema' prints, or - for standard input"
    ),
    OptionSpec(
      .jsonStyle,
      value: "STYLE",
      on: [.mount, .cat, .export, .query],
      completion: .words(jsonStyles),
      "plain (default), ejson or canonical: how values are written; the same as -o json=STYLE"
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
      "read the key to come from this file"
    ),
    OptionSpec(
      .newKeyDescriptor,
      value: "N",
      on: [.rekey],
      group: .newKey,
      "read the key to come from file descriptor N"
    ),
    OptionSpec(
      .newKeyCommand,
      value: "CMD",
      on: [.rekey],
      group: .newKey,
      "run CMD with /bin/sh and read the key to come from its output"
    ),
    OptionSpec(
      .newKeyVariable,
      value: "VAR",
      on: [.rekey],
      group: .newKey,
      "read the key to come from environment variable VAR, which is then wiped"
    ),
    OptionSpec(
      .sync,
      value: "URL",
      on: [.mount],
      group: .realm,
      excludes: [
        .seed, .immutable, .upgrade, .compactOnLaunch, .migrate, .deleteIfMigrationNeeded, .schemaFile, .maxVersions,
      ],
      "mount a realm of a sync server: realm://HOST:PORT/PATH, or realms:// with TLS"
    ),
    OptionSpec(
      .mirror,
      value: "FILE",
      on: [.mount],
      excludes: [.inMemory, .defaultRealm],
      completion: .file,
      "with --sync: where the local copy is; without it below $XDG_DATA_HOME/realmfs/mirrors (~/.local/share)"
    ),
    OptionSpec(
      .shownObjects,
      value: "CLASS: QUERY",
      on: [.mount],
      mayRepeat: true,
      "list only the objects of CLASS that QUERY finds; with --sync all are downloaded all the same"
    ),
    OptionSpec(.user, value: "ID", on: [.mount, .pull], "the user that ~ in the path of the URL stands for"),
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
      "trust the certificates in this PEM file, instead of the system's, for realms://"
    ),
    OptionSpec(
      .timeout,
      value: "SECONDS",
      on: [.mount, .pull],
      "give up when the server has not answered for so long (default 30): downloads, and saves of a mount"
    ),
    OptionSpec(
      .condition,
      value: "COND",
      on: [.compact],
      "compact only if it is worth it: 'total > 100MB and used < 50%'"
    ),
    OptionSpec(
      .compactOnLaunch,
      value: "COND",
      on: [.mount],
      "compact the file before it is mounted, if COND holds as in 'compact --if' and no other "
        + "program has the realm open"
    ),
    OptionSpec(.upgrade, on: [.mount], "bring a file of an older format to format 24 first, as 'realmfs upgrade' does"),
    OptionSpec(
      .backupFolder,
      value: "DIR",
      on: [.upgrade],
      completion: .directory,
      "put the copy of the old file there instead of beside it"
    ),
    OptionSpec(.local, on: [.convert], "make a local realm; must be given"),
    OptionSpec(
      .noVerify,
      on: [.compact, .encrypt, .decrypt, .rekey, .upgrade, .convert, .recover],
      "do not check the new file before it takes its place: saves time, and goes on with a damaged realm"
    ),
    OptionSpec(
      .foreground,
      short: "f",
      on: [.mount],
      "serve in the foreground; tells systemd when the tree is live"
    ),
    OptionSpec(
      .debug,
      short: "d",
      on: [.mount],
      "print every request and answer; stays in the foreground"
    ),
    OptionSpec(.singleThread, short: "s", on: [.mount], "serve one request at a time"),
    OptionSpec(.discard, on: [.umount], "remove the files that are in memory only, and unmount"),
    OptionSpec(.lazy, short: "l", on: [.umount], "detach now, even if busy; the last user ends the mount"),
    OptionSpec(
      .json,
      on: [
        .status, .info, .class, .property, .export, .import, .set, .insert, .delete, .undo, .diff, .watch, .check,
        .seal, .version,
        .pull, .verifyReplica,
      ]
        + copiers,
      "print JSON for programs to read"
    ),
    OptionSpec(
      .trustOwner,
      on: [.mount, .import, .replicate, .verifyReplica] + editors,
      "for root: take part in a realm of another user together with his programs, which can then harm this one"
    ),
    OptionSpec(
      .asEmpty,
      on: [
        .mount, .schema, .cat, .export, .import, .query, .watch, .replicate, .verifyReplica, .backup, .compact,
        .encrypt, .decrypt, .rekey, .upgrade, .convert,
      ] + editors,
      "take a file that holds nodes, but whose header leads to none, for an empty realm; writing replaces the nodes"
    ),
    OptionSpec(
      .offset,
      value: "N",
      on: [.recover],
      "the realm begins at byte N of FILE, such as a disk image"
    ),
    OptionSpec(.dryRun, on: editors, "show what would change, as 'realmfs diff' does, and change nothing"),
    OptionSpec(
      .sourceOf,
      value: "PATTERN",
      on: [.replicate, .verifyReplica],
      "many realms: what a realm is called in the column realm, as the part {id} of its file's path: 'users/{id}.realm'"
    ),
    OptionSpec(
      .schemaFile,
      value: "NAME",
      on: [.replicate, .verifyReplica],
      "the schema in the database that has the tables (default realm)"
    ),
    OptionSpec(.once, on: [.replicate], "bring the replica to the newest version, and end"),
    OptionSpec(
      .repair,
      on: [.replicate],
      "compare all rows first and write those that differ, such as rows that another program has changed"
    ),
    OptionSpec(
      .acceptReplacement,
      on: [.replicate],
      "follow the file as it is now, although another realm, an older version or a damaged one has taken its place"
    ),
    OptionSpec(.lag, on: [.replicate], "print a line of JSON on standard error for each transaction and each second"),
    OptionSpec(
      .partition,
      value: "KIND",
      on: [.replicate],
      "many realms: divide new tables by realm, list for a part each or hash:N for N parts"
    ),
    OptionSpec(
      .connections,
      value: "N",
      on: [.replicate],
      "many realms: write through up to N connections at a time (default 4)"
    ),
    OptionSpec(
      .primaryKey,
      value: "PROPERTY",
      on: [.class],
      "add: the property that is the primary key"
    ),
    OptionSpec(.embedded, on: [.class], excludes: [.asymmetric], "add: objects of the class are parts of others"),
    OptionSpec(.asymmetric, on: [.class], "add: objects of the class are only uploaded to a server"),
    OptionSpec(.force, on: [.class, .property], "rm: also remove objects, or values"),
    OptionSpec(
      .dotNetGuids,
      on: [.mount, .cat, .export, .query],
      excludes: [.sync, .inMemory],
      "show UUIDs as an app with a .NET SDK before 10.10 showed the Guids that it wrote, whose bytes are in another "
        + "order; a mount is read-only then. Without effect on a realm that a later SDK has converted"
    ),
    OptionSpec(.redo, on: [.undo], "take back the last undo"),
    OptionSpec(.yes, short: "y", on: [.delete, .undo], "do not ask, on a terminal either"),
    OptionSpec(
      .quiet,
      short: "q",
      on: editors + [.import, .export, .pull, .replicate],
      "do not say what was done"
    ),
    OptionSpec(.limit, value: "N", on: [.check], "stop after N problems (default 1000)"),
    OptionSpec(.seal, on: [.check], "compare the file with FILE.seal, and do nothing else"),
    OptionSpec(
      .completions,
      value: "SHELL",
      on: [.help],
      completion: .words(Completions.shells),
      "print the completions for bash, zsh or fish"
    ),
    OptionSpec(.man, on: [.help], isHidden: true, "print the man page"),
    OptionSpec(.verbose, short: "v", on: readers, "say more about what happens, such as the form of the key"),
    OptionSpec(.help, short: "h", on: CommandName.allCases, "explain the command"),
  ]
}
