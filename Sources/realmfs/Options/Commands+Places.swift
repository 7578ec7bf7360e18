// The commands that work with other places, and those about the program.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfPlaces: [CommandSpec] = [
    CommandSpec(
      name: .pull,
      arguments: [
        ArgumentSpec("URL", "the synced realm: realm://HOST:PORT/PATH, or realms:// with TLS"),
        ArgumentSpec("OUT", "the file; one that an earlier pull made is brought up to date", completion: .file),
      ],
      summary: "download a realm from a sync server",
      description: [
        """
        Downloads what the server has, and ends. OUT is a mirror: a local realm that apps and all commands can read, \
        and that holds exactly one version of the server's history. It goes on where an earlier pull ended, however \
        that ended. Nothing else writes a mirror; 'realmfs convert --local' makes a copy that can be changed.
        """,
        """
        The server is the one of realm-core, which speaks partition-based sync, versions 2 to 14 of its protocol. \
        Flexible Sync, and Atlas Device Sync, which was closed in 2025, are not served by it. A part ~ of PATH stands \
        for the user. Without a port, 7800 is meant, and 7801 with TLS.
        """,
        """
        The token is read anew for each connection. The open server checks none: let it listen on the loopback \
        interface only, or put a proxy before it that does.
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
          "further files, and the database: postgresql://HOST/DB, or host=HOST dbname=DB",
          mayRepeat: true
        ),
      ],
      summary: "copy a realm, or many, into PostgreSQL, and follow every commit",
      description: [
        """
        Each class becomes a table, and each commit of the realm, whoever makes it, a transaction; commits that follow \
        each other faster than the server takes them come together. The table _realmfs has the version that the tables \
        show, written in the same transaction: after a crash of either side the replica goes on from there. If the \
        changes since that version are not known any more, rows are compared by key and hash, and what differs is \
        written. It goes on until SIGTERM or SIGINT, which ends it between two transactions.
        """,
        """
        A commit that deletes everything is followed. A file that is damaged, empty, at an older version, or that of \
        another realm is not: if rows would be lost, the command ends with the reason and changes nothing, until \
        --accept-replacement says that the file is the right one. A compacted, encrypted or upgraded realm goes on. \
        docs/POSTGRESQL.md has the rules.
        """,
        """
        Links are foreign keys, lists of values arrays, lists of links tables CLASS_PROPERTY with owner, position and \
        target; dictionaries, embedded objects and values of any type are jsonb, as the mounted tree shows them. What \
        a type of PostgreSQL cannot hold is in a column beside, made when it is needed, and a message says so. A \
        schema that changes becomes ALTER TABLE in the same transaction. docs/POSTGRESQL.md has the whole table.
        """,
        """
        With --source-of, many realms share one set of tables, with a column realm in every key. Quote patterns such \
        as 'users/*.realm', so that files that come later are found, too. A file that cannot be read is named once, \
        and in _realmfs, and the others go on; the rows of a file that is gone stay. A command of --key-command has \
        the file in $REALMFS_FILE.
        """,
        """
        Passwords come from ~/.pgpass, the file of $PGPASSFILE, or a service of pg_service.conf, never from the \
        command line; sslmode in ADDRESS decides about TLS. The database has the encoding UTF8, and the server is \
        PostgreSQL 15 or later.
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
          "further files, and the database: that of 'replicate', or a SQLite file of 'export'",
          completion: .file,
          mayRepeat: true
        ),
      ],
      summary: "compare a realm with its replica in PostgreSQL, or with a SQLite database",
      description: [
        """
        Objects and links are counted and hashed on both sides, in SQL and from the realm, and a line for each class \
        says what came of it. The exit code is 0 if both are the same, and 1 if they are not. A replica that is being \
        written has ten seconds to come to the newest version.
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
      summary: "explain realmfs or one command",
      description: [],
      examples: ["realmfs help query"]
    ),
  ]
}
