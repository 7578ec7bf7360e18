// The commands that work with servers and databases, and those about the program.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfPlaces: [CommandSpec] = [
    CommandSpec(
      name: .pull,
      arguments: [
        ArgumentSpec("URL", "the synced realm: realm://HOST:PORT/PATH, or realms:// with TLS"),
        ArgumentSpec("OUT", "the file to create; the result of an earlier pull is updated", completion: .file),
      ],
      summary: "download a realm from a sync server",
      description: [
        """
        Downloads what the server has, then exits. OUT is a mirror: a local realm that apps and all commands can read, \
        and that holds exactly one version of the server's history. The download continues where an earlier pull \
        ended, however it ended. No other program may write to a mirror; 'realmfs convert --local' makes a copy that \
        can be changed.
        """,
        """
        The server is that of realm-core, which supports partition-based sync, versions 2 to 14 of its protocol. It \
        does not support Flexible Sync, nor Atlas Device Sync, which was closed in 2025. A component ~ of PATH is \
        replaced by the user. The default port is 7800, or 7801 with TLS.
        """,
        """
        The token is read again for each connection. The open-source server does not check tokens: let it listen on \
        the loopback interface only, or put a proxy in front of it that does.
        """,
      ],
      examples: ["realmfs pull --timeout 5 realm://127.0.0.1:7800/team/notes notes.realm"]
    ),
    CommandSpec(
      name: .replicate,
      arguments: [
        ArgumentSpec("FILE", "the Realm file; with --source-of, a file or a pattern", completion: .file),
        ArgumentSpec(
          "[FILE...] ADDRESS",
          "more files, then the database: postgresql://HOST/DB, or host=HOST dbname=DB",
          mayRepeat: true
        ),
      ],
      summary: "replicate realms to PostgreSQL and follow every commit",
      description: [
        """
        Each class becomes a table, and each commit to the realm, by any program, a transaction; commits that come \
        faster than the database accepts them are combined. The table _realmfs has the version that the tables show, \
        written in the same transaction: after a crash of either side, replication continues from there. If the \
        changes since that version are no longer known, rows are compared by key and hash, and those that differ are \
        written. The command runs until SIGTERM or SIGINT, which ends it between two transactions.
        """,
        """
        A commit that deletes everything is replicated. A file that is damaged, empty, at an older version, or of \
        another realm is not: if rows would be lost, the command ends with the reason and changes nothing, until \
        --accept-replacement confirms that the file is the right one. A compacted, encrypted or upgraded realm is \
        still followed. See docs/POSTGRESQL.md for the rules.
        """,
        """
        Links are foreign keys, lists of values are arrays, lists of links are tables CLASS_PROPERTY with owner, \
        position and target; dictionaries, embedded objects and values of any type are jsonb, as in a mount. A value \
        that its PostgreSQL type cannot hold goes to an additional column, which is created when needed and reported. \
        A schema change becomes ALTER TABLE in the same transaction. See docs/POSTGRESQL.md for the mapping of types.
        """,
        """
        With --source-of, many realms share one set of tables, with a column realm in every key. Quote patterns such \
        as 'users/*.realm', so that files created later are found too. A file that cannot be read is reported once, \
        and in _realmfs, and the others continue; the rows of a removed file are kept. The command of --key-command \
        finds the path of the file in $REALMFS_FILE.
        """,
        """
        Passwords come from ~/.pgpass, the file in $PGPASSFILE, or a service of pg_service.conf, never from the \
        command line; sslmode in ADDRESS controls TLS. The database must have the encoding UTF8, and the server must \
        be PostgreSQL 15 or later.
        """,
      ],
      examples: ["realmfs replicate --once people.realm postgresql://localhost/app"]
    ),
    CommandSpec(
      name: .verifyReplica,
      arguments: [
        ArgumentSpec("FILE", "the Realm file; with --source-of, a file or a pattern", completion: .file),
        ArgumentSpec(
          "[FILE...] DATABASE",
          "more files, then the database of 'replicate', or a SQLite file of 'export'",
          completion: .file,
          mayRepeat: true
        ),
      ],
      summary: "compare a realm with its PostgreSQL replica or SQLite export",
      description: [
        """
        Objects and links are counted and hashed on both sides, in SQL and from the realm, and a line for each class \
        reports the result. The exit code is 0 if both sides are the same, and 1 if they differ. A replica that is \
        being written has ten seconds to reach the newest version.
        """
      ],
      examples: ["realmfs verify-replica people.realm people.sqlite"]
    ),
    CommandSpec(
      name: .version,
      arguments: [],
      summary: "print the version and the file formats it reads",
      description: [],
      examples: ["realmfs version"]
    ),
    CommandSpec(
      name: .help,
      arguments: [ArgumentSpec("COMMAND", "a command", completion: .command, isOptional: true)],
      summary: "show help for realmfs or one command",
      description: [],
      examples: ["realmfs help query"]
    ),
  ]
}
