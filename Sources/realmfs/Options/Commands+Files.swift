// The commands that create, check and rewrite files.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfFiles: [CommandSpec] = [
    CommandSpec(
      name: .create,
      arguments: [ArgumentSpec("FILE", "the Realm file to create", completion: .file)],
      summary: "create a new realm",
      description: [
        """
        The file appears complete or not at all. An existing file is never overwritten; the exit code is then 1. With \
        a key, the file is encrypted.
        """,
        """
        A schema is the output of 'realmfs schema', or object schemas of Realm JavaScript in the long or the short \
        form. Without a schema, the realm has no classes.
        """,
      ],
      examples: [
        "realmfs create notes.realm",
        "realmfs schema people.realm | realmfs create --schema - new.realm",
      ]
    ),
    CommandSpec(
      name: .check,
      arguments: [ArgumentSpec("FILE...", "the Realm files", completion: .file, mayRepeat: true)],
      summary: "verify the structure of a file",
      description: [
        """
        Checks all nodes, indexes, links and the free list, and prints one line for each problem. Nothing is repaired, \
        and nothing is written.
        """,
        """
        Realm's own engine leaves data behind when an app removes a property or a class: embedded objects without an \
        owner, backlinks of a removed property, and the like. These are reported as leftovers. They are harmless, and \
        a file without other problems is sound.
        """,
        """
        A damaged number or string is a different valid value, which a check of the structure cannot detect. --seal \
        compares the file with the hashes written by 'realmfs seal' instead, and needs no key.
        """,
        severalFiles,
      ],
      examples: [
        "realmfs check people.realm",
        "realmfs check --seal archive.realm",
        "realmfs check --key-file key.hex --json secret.realm",
      ]
    ),
    CommandSpec(
      name: .seal,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "write hashes of a file for 'check --seal'",
      description: [
        """
        Checks the file like 'realmfs check', then writes FILE.seal next to it, with a hash of each 64 KiB. Later, \
        'realmfs check --seal' detects every changed byte and reports its location. Use it for files that are archived \
        and no longer written: a commit changes the file, which must then be sealed again.
        """
      ],
      examples: ["realmfs seal archive.realm"]
    ),
    CommandSpec(
      name: .backup,
      arguments: [file, ArgumentSpec("OUT", "the new file; must not exist", completion: .file)],
      summary: "copy a realm, even while it is in use",
      description: [
        """
        OUT is one committed version, complete and without free space: an independent realm that opens everywhere. \
        Copying the file itself while a program writes to it mixes versions. OUT has the key, mode, owner and history \
        of FILE.
        """
      ],
      examples: ["realmfs backup people.realm monday.realm"]
    ),
    CommandSpec(
      name: .compact,
      arguments: [file],
      summary: "shrink a file to the size of its content",
      description: [
        """
        Writes the newest version, without free space, to a new file that replaces FILE once it is on disk. Needs \
        space for the new file next to the old one. Refused while another program has the realm open.
        """,
        """
        The condition of --if compares total (the size of the realm), used and free (parts of it) with each other, \
        with sizes (4096, 64KB, 100MB, 1.5GB) and with percentages of the total (50%). Comparisons are combined with \
        and, or, not and parentheses.
        """,
        checking,
      ],
      examples: [
        "realmfs compact people.realm",
        "realmfs compact --if 'total > 100MB and used < 50%' people.realm",
      ]
    ),
    CommandSpec(
      name: .encrypt,
      arguments: [file, inPlaceOutput],
      summary: "encrypt a plain file with the key",
      description: [
        rewriting,
        checking,
        "The blocks of the plain file are freed, not wiped: they may still be on the disk.",
      ],
      examples: [
        "(umask 077; head -c 64 /dev/urandom > new.key)",
        "realmfs encrypt --key-file new.key people.realm",
      ]
    ),
    CommandSpec(
      name: .decrypt,
      arguments: [file, inPlaceOutput],
      summary: "decrypt an encrypted file",
      description: [rewriting, checking],
      examples: ["realmfs decrypt --key-file key.hex secret.realm plain.realm"]
    ),
    CommandSpec(
      name: .rekey,
      arguments: [file, inPlaceOutput],
      summary: "change the key of an encrypted file",
      description: [rewriting, checking],
      examples: [
        "(umask 077; head -c 64 /dev/urandom > new.key)",
        "realmfs rekey --key-file key.hex --new-key-file new.key secret.realm",
      ]
    ),
    CommandSpec(
      name: .upgrade,
      arguments: [file],
      summary: "upgrade a file of an older format to format \(RealmUpgrade.format)",
      description: [
        """
        First copies FILE unchanged to NAME.vNN.backup.realm next to it, where NN is its format. The new file then \
        replaces FILE once it is on disk. Objects, their keys, links, indexes and the schema are kept. A file that \
        already has the newest format does not change. Refused while another program has the realm open, and for a \
        synced realm: 'realmfs convert' makes a local copy, which can be upgraded.
        """,
        checking,
      ],
      examples: ["realmfs upgrade old.realm"]
    ),
    CommandSpec(
      name: .convert,
      arguments: [file, ArgumentSpec("OUT", "the new file; must not exist", completion: .file)],
      summary: "make a local copy of a synced realm or a mirror",
      description: [
        """
        --local is required. OUT has all objects of FILE, but not the history that ties it to a server, so it can be \
        changed by realmfs and by apps that open it as a local realm. FILE is not changed. The objects include changes \
        that were not sent to the server; the command reports how many there may be.
        """,
        checking,
      ],
      examples: ["realmfs convert --local synced.realm local.realm"]
    ),
    CommandSpec(
      name: .recover,
      arguments: [file, ArgumentSpec("OUT", "the new file; must not exist", completion: .file)],
      summary: "save what is left of a damaged file to a new one",
      description: [
        """
        Reads the newest version or, if that is damaged, an older one that is still in the file, and saves every \
        object that can be reached, with every value that can be read, to OUT. FILE is only read. A line for each \
        class reports what was saved and what was lost. The exit code is 4 if something was lost or damage was found.
        """,
        """
        Searches the whole file for what that version has lost: in other versions, in tables that no version reaches, \
        and in clusters of objects that no table reaches but that have the properties of exactly one class. The report \
        counts these objects separately: they may be former states, or deleted objects.
        """,
        """
        With --schema, classes of SCHEMA whose properties are lost in FILE are saved too: clusters that have the \
        properties of exactly one class are taken for its objects.
        """,
        """
        A lost value gets the default of its property in OUT; links to lost objects are removed. Objects whose key or \
        primary key cannot be read get a new one. OUT is checked like 'realmfs check' before it gets its name, unless \
        --no-verify is given.
        """,
        """
        The effects of a transfer as text are undone first: a carriage return before every line feed (git with \
        core.autocrlf, FTP in ASCII mode), a byte order mark, Latin-1 written as UTF-8, the UTF-16 of PowerShell. A \
        realm that does not begin at the start of the file is found as well; if there are several, --offset selects \
        one.
        """,
        """
        The exit code is 0 if everything in the version is saved, and the file shows no damage and no newer version. A \
        realm has no checksums: a value that was changed to another valid one is saved unchanged.
        """,
      ],
      examples: ["realmfs recover damaged.realm saved.realm"]
    ),
  ]
}
