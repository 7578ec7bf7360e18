// The commands that make, check and rewrite files.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfFiles: [CommandSpec] = [
    CommandSpec(
      name: .create,
      arguments: [ArgumentSpec("FILE", "the Realm file to make", completion: .file)],
      summary: "make a new realm",
      description: [
        """
        The file appears complete or not at all. One that exists is never touched: the exit code is 1. With a key the \
        file is encrypted.
        """,
        """
        A schema is what 'realmfs schema' prints, or Realm JavaScript's object schemas in the long or the short form. \
        Without one the realm has no classes.
        """,
      ],
      examples: [
        "realmfs create notes.realm",
        "realmfs schema people.realm | realmfs create --schema - new.realm",
      ]
    ),
    CommandSpec(
      name: .check,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "verify every structure of a file",
      description: [
        """
        Walks all nodes, indexes, links and the free list, and prints one line for each problem. Nothing is repaired \
        and nothing is written.
        """,
        """
        Realm's own engine leaves things behind when an app removes a property or a class: embedded objects that \
        nothing owns, backlinks of a property that is gone, and the like. They are named as leftovers. They are \
        harmless, and a file that has nothing else is sound.
        """,
        """
        A damaged number or text is another number or text, which no check of the structure notices. With --seal the \
        file is compared with the hashes that 'realmfs seal' wrote instead, which needs no key.
        """,
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
      summary: "write hashes of a file, for 'check --seal'",
      description: [
        """
        Checks the file as 'realmfs check' does, then writes FILE.seal beside it, with a hash of each 64 KiB. Later \
        'realmfs check --seal' notices every changed byte and says where it is. For files that are kept and not \
        written any more: a commit changes the file, so it must be sealed anew.
        """
      ],
      examples: ["realmfs seal archive.realm"]
    ),
    CommandSpec(
      name: .backup,
      arguments: [file, ArgumentSpec("OUT", "the new file; it must not exist", completion: .file)],
      summary: "copy a realm, also while it is in use",
      description: [
        """
        The copy is one committed version, whole, without free space, and a realm of its own that opens everywhere; \
        copying the file itself while a program writes gives a mixture. The copy has the key of FILE, its mode, owner \
        and history.
        """
      ],
      examples: ["realmfs backup people.realm monday.realm"]
    ),
    CommandSpec(
      name: .compact,
      arguments: [file],
      summary: "make a file as small as its content",
      description: [
        """
        Writes the newest version anew, without free space, and puts it in the place of FILE when it is on disk. Needs \
        room for the new file beside the old one. Refused while another program has the realm open.
        """,
        """
        The condition of --if compares total (the size of the realm), used and free (parts of it) with each other, \
        with sizes (4096, 64KB, 100MB, 1.5GB) and with parts of the total (50%), joined by and, or, not and \
        parentheses.
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
        "The blocks of the plain file are freed, not wiped: a disk may still hold them.",
      ],
      examples: [
        "(umask 077; head -c 64 /dev/urandom > new.key)",
        "realmfs encrypt --key-file new.key people.realm",
      ]
    ),
    CommandSpec(
      name: .decrypt,
      arguments: [file, inPlaceOutput],
      summary: "make a plain file of an encrypted one",
      description: [rewriting, checking],
      examples: ["realmfs decrypt --key-file key.hex secret.realm plain.realm"]
    ),
    CommandSpec(
      name: .rekey,
      arguments: [file, inPlaceOutput],
      summary: "encrypt a file with another key",
      description: [rewriting, checking],
      examples: [
        "(umask 077; head -c 64 /dev/urandom > new.key)",
        "realmfs rekey --key-file key.hex --new-key-file new.key secret.realm",
      ]
    ),
    CommandSpec(
      name: .upgrade,
      arguments: [file],
      summary: "bring a file of an older format to format \(RealmUpgrade.format)",
      description: [
        """
        First FILE is copied as it is to NAME.vNN.backup.realm beside it, where NN is its format; then the new file \
        takes its place when it is on disk. Objects, their keys, links, indexes and schema stay. A file that has the \
        newest format already is left alone. Refused while another program has the realm open, and for a synced \
        realm: convert makes a local copy of one, which can be upgraded.
        """,
        checking,
      ],
      examples: ["realmfs upgrade old.realm"]
    ),
    CommandSpec(
      name: .convert,
      arguments: [file, ArgumentSpec("OUT", "the new file; it must not exist", completion: .file)],
      summary: "make a local realm of a synced one, or of a mirror",
      description: [
        """
        With --local, which says so: OUT has all objects of FILE, but not the history that ties it to a server, so \
        it can be changed here and by apps that open it as a local realm. FILE stays as it is. Changes that had not \
        been sent are part of the objects; how many there may be is said.
        """,
        checking,
      ],
      examples: ["realmfs convert --local synced.realm local.realm"]
    ),
    CommandSpec(
      name: .recover,
      arguments: [file, ArgumentSpec("OUT", "the new file; it must not exist", completion: .file)],
      summary: "save what is left of a damaged file to a new one",
      description: [
        """
        Reads the newest version, or if that is damaged an older one that is still there, and saves every object that \
        can be reached, with every value that can be read, to OUT. FILE is only read. A line for each class says what \
        was saved and what was lost; the exit code is 4 if something was lost or damage was \
        found.
        """,
        """
        A value that is lost is the default of its property in OUT; a link to a lost object is gone. Objects whose key \
        or primary key cannot be read get another. OUT is checked as 'realmfs check' does before it gets its name, \
        unless --no-verify is given.
        """,
        """
        A file that was transferred as text is put right first: a carriage return before every line feed (git with \
        core.autocrlf, FTP in ASCII mode), a byte order mark, Latin-1 written as UTF-8, the UTF-16 of PowerShell. So \
        is a realm that begins elsewhere in the file; if there are several, --offset names one.
        """,
        """
        The exit code is 0 if everything in the version is saved, and the file shows no damage and no newer version. A \
        realm has no checksums: a value that was changed to another one is saved as it is.
        """,
      ],
      examples: ["realmfs recover damaged.realm saved.realm"]
    ),
  ]
}
