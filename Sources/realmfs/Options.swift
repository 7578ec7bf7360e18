// The command line, declared once. A new option is one row here and its use in the command; help, man page,
// completions and the exclusive groups follow from the row.
import RealmPages
import RealmTransfer

/// Every command, option and mount option of the program.
enum Options {
  static let version = "0.1.0"

  static let commands: [CommandSpec] = [
    CommandSpec(
      name: .mount,
      arguments: [
        ArgumentSpec(
          "FILE",
          "the Realm file; not there with --default, --in-memory and --sync",
          completion: .file,
          absentWith: [.defaultRealm, .inMemory, .sync]
        ),
        ArgumentSpec("MOUNTPOINT", "an existing directory", completion: .directory),
      ],
      summary: "show a Realm file as a directory tree",
      description: [
        """
        Each class becomes a directory, each object a JSON file named by its primary key. The command returns when the \
        tree is live, with a true exit status; a process in the background serves it until it is unmounted.
        """,
        """
        Saving a file is a transaction: when close or fsync returns, the change is on disk, or the error says that it \
        was refused. The reason is in the extended attribute user.realmfs.error of the file, in .realm/errors and in \
        the log; the refused text stays readable under .realm/rejected/. realmfs-mount(8) says more.
        """,
        """
        Files of older formats and with sync history, and mounts with --read-only or --immutable, are read-only: every \
        change is refused with EROFS. A stale mount of realmfs at MOUNTPOINT is detached first. SIGTERM, SIGINT and \
        SIGHUP unmount; further signals of these change nothing.
        """,
        """
        Apps and other mounts can have the realm open at the same time: each sees the other's commits, and writers \
        take turns. A program that has the realm for itself, or shares it in a way that realmfs does not know, makes \
        mount refuse and name it; --immutable mounts all the same, read-only.
        """,
        """
        Programs that have a realm open together share the memory of FILE.lock, and the owner of the realm can write \
        anything into it, and so hold up a program of root's or show it false versions. So root reads a realm \
        that belongs to another user, or has a lock file of another user's, as with --immutable, and says so; with \
        --trust-owner root takes part and can save. The commands that change a realm need --trust-owner only while \
        another program has the realm open.
        """,
        """
        They coordinate through a lock file beside FILE. If FILE is a symbolic link, it is the one that programs use, \
        beside the link or beside what it leads to, and beside the link if none is in use, as with Realm's engine. A \
        file that is moved, replaced or removed while it is mounted is shown on, or what has taken its place is; saves \
        go to the file at FILE, or fail with ESTALE.
        """,
        """
        With --schema the realm is made if it does not exist, and gets the classes and properties that it lacks; \
        classes that the schema does not name stay. What would lose or convert data is refused, unless the schema \
        version grows and --migrate or --delete-if-migration-needed says what becomes of the data.
        """,
        """
        The command of --migrate finds the realm as it is in the directory $REALMFS_OLD and as it will be, with the \
        new schema, in $REALMFS_NEW, where it can change everything. It is run if the schema version grows. When it \
        ends with 0, the new realm takes the place of the old in one step; otherwise nothing is changed. No other \
        program can have the realm open meanwhile.
        """,
        """
        With --sync the realm of a sync server is mounted: it is downloaded to a mirror, follows the changes of \
        others, and a save is sent to the server and returns when it has come back. Without the server the tree can be \
        read, and a save fails with ENETDOWN; a save that the server has not answered in time fails with ETIMEDOUT, \
        and is sent again if it had been sent. What the server refuses fails with EPERM. The file .realm/sync.json \
        tells how things stand.
        """,
      ],
      examples: [
        "realmfs mount people.realm people",
        "realmfs mount --read-only --key-file key.hex secret.realm secret",
      ]
    ),
    CommandSpec(
      name: .umount,
      arguments: [ArgumentSpec("MOUNTPOINT", "where a realm is mounted", completion: .directory)],
      summary: "end a mount",
      description: ["Only mounts of realmfs are touched. Without root, fusermount3 does the work."],
      examples: ["realmfs umount people"]
    ),
    CommandSpec(
      name: .tx,
      arguments: [
        ArgumentSpec("MOUNTPOINT", "where a realm is mounted, read-write", completion: .directory),
        ArgumentSpec("CMD", "the command and its arguments, best behind --", mayRepeat: true),
      ],
      summary: "run a command whose changes are made in one commit, or not at all",
      description: [
        """
        The command runs in a directory that shows the realm as it is now, like the mount point itself. What it \
        changes there, nobody else sees. If it ends with 0, all of that is committed at once; otherwise nothing is \
        changed. Objects that it makes may link to each other in any order. $REALMFS_TX is the directory. \
        A relative path to the program itself is one from where you are.
        """,
        """
        Nothing is committed if a text was refused and not mended, or if another program has changed an object that \
        the command has changed, too: all reasons are printed, and the exit code is 11. Otherwise the exit code is \
        that of the command, 128 and the signal if one ended it, 127 if it was not found and 126 if it could not be \
        run. \
        Signals are passed on to the command.
        """,
        """
        The same by hand: mkdir MOUNTPOINT/.realm/tx/NAME, work in there, then touch .commit in it, or remove it.
        """,
      ],
      examples: [
        "realmfs tx people -- ./fix-everything.sh", "realmfs tx people -- sh -c 'rm Person/4.json Dog/Rex.json'",
      ]
    ),
    CommandSpec(
      name: .status,
      arguments: [],
      summary: "list the mounts of realms on this machine",
      description: [
        """
        A line for each mount that this process can see: the realm file, the mount point, the process that serves it, \
        read-write, read-only or immutable, how long ago it last looked at the realm, and how many versions \
        .realm/snapshots holds. A mount that was idle for some seconds leaves the realm to other programs, and asking \
        does not end that.
        """,
        """
        A mount that does not answer within two seconds, or that belongs to another user and lets no others in, is \
        listed with what the mount table says. The exit code is 0 without mounts, too.
        """,
      ],
      examples: ["realmfs status", "realmfs status --json"]
    ),
    CommandSpec(
      name: .info,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "say what a file is, how large, which classes it has and who uses it",
      description: [
        """
        If the file does not open, the message says why, and the exit code tells the reasons apart. What the file \
        looks like, which root its header selects, which versions can still be read and what to do is printed all the \
        same.
        """
      ],
      examples: ["realmfs info people.realm", "realmfs info --long people.realm"]
    ),
    CommandSpec(
      name: .schema,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "print the schema as JSON, as source of model classes or as a drawing",
      description: [
        """
        The form of JSON is the canonical object schema of Realm's JavaScript SDK, which 'realmfs create' reads. The \
        others are model classes for the SDKs of that language, or with dot (graphviz), mermaid and svg a drawing of \
        the classes and their links.
        """
      ],
      examples: [
        "realmfs schema people.realm",
        "realmfs schema --format svg people.realm > schema.svg",
        "realmfs schema --format swift --class Person people.realm",
      ]
    ),
    CommandSpec(
      name: .cat,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec(
          "CLASS[/NAME]",
          "a class, or one object of it as the mount names it; without it the classes are listed",
          completion: .names(.classOrObject),
          isOptional: true
        ),
      ],
      summary: "print objects as JSON, without a mount",
      description: [
        """
        A class is printed in the order of the object keys: on a terminal as a table that fits it, elsewhere as JSON \
        Lines, one compact object a line. An object is printed exactly as its file in the mounted tree; so are the \
        files below .realm/.
        """,
        rows,
        """
        A spreadsheet (.xlsx) has a sheet for each class. Whole numbers beyond 2^53, doubles of 17 digits, decimals, \
        and dates before March 1900 or finer than milliseconds are text there, so that nothing is rounded; dates are \
        in UTC. A class of more than 1048575 objects is refused. A text of more than 32767 characters is left out and \
        named, and the exit code is 1; an empty string is an empty cell, as null is.
        """,
        "A damaged object is reported on standard error and left out; the others follow, and the exit code is 4.",
      ],
      examples: [
        "realmfs cat people.realm",
        "realmfs cat people.realm Person/4",
        "realmfs cat --format table --columns name,age,dog.name people.realm Person",
      ]
    ),
    CommandSpec(
      name: .export,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("OUT", "what to make; - or nothing for standard output", completion: .file, isOptional: true),
      ],
      summary: "write objects as JSON Lines, JSON, CSV, TSV, a SQLite database or a spreadsheet",
      description: [
        """
        A name OUT that ends in .jsonl, .json, .csv, .tsv, .sqlite, .db or .xlsx is a file of that format; one of CSV \
        or TSV has one class, that of its name if there is no --class, one of JSON is an array. Any other name is a \
        directory with a file for each class, as JSON Lines if --format does not say csv or tsv; json makes the files \
        of the mounted tree there. OUT appears complete or not at all; only an empty directory is replaced.
        """,
        """
        Lines of JSON begin with "$class" where several classes share a stream, and with "$key", the object key, in a \
        class without primary key. In CSV a field without anything is null and "" is the empty string; links are the \
        primary key of their target; collections, embedded objects and mixed values are JSON. --delimiter ';' \
        --decimal comma writes what spreadsheets of many countries open, and import reads again.
        """,
        """
        A database has a table for each class, embedded ones too, with the object key as _key, a foreign key for each \
        link, and a child table CLASS.PROPERTY for each collection. With --verify, the finished file is read back and \
        compared with what was read from the realm, class by class, and its links and pages are checked; the report \
        goes to standard output. What is not the same is removed, and the exit code is 1. SQLite has no -0.0, which \
        counts as 0.0.
        """,
        "A damaged object is reported on standard error and left out; the others follow, and the exit code is 4.",
      ],
      examples: [
        "realmfs export people.realm people-jsonl",
        "realmfs export --class Dog people.realm Dog.csv",
        "realmfs export --class Person --where 'age > 30' people.realm | jq -r .name",
        "realmfs export --verify people.realm people.sqlite",
        "realmfs export people.realm people.xlsx",
      ]
    ),
    CommandSpec(
      name: .import,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec(
          "SOURCE",
          "what 'realmfs export' writes: a file, a directory, or - for standard input",
          completion: .file
        ),
      ],
      summary: "make and change objects from JSON Lines, JSON, CSV or TSV",
      description: [
        """
        A record with the primary key of an object changes that object, and only what differs; properties that it does \
        not name keep their values. Any other record makes an object. Links may lead to objects that come later, and \
        in circles.
        """,
        """
        Everything is one transaction: the first record that cannot be taken is named with file and line, and nothing \
        is changed. --batch commits every N records, for more than fits into memory.
        """,
        """
        The class is what "$class" in a line says, or the name of the file or directory, or --class. An object of a \
        class without primary key is known by its object key, in "$key" or as the name of its file. Classes and \
        properties must exist: 'realmfs schema' and 'realmfs create --schema' carry them over.
        """,
        """
        CSV is read as spreadsheets write it: the separator , ; | or tab is detected, or in a first line sep=; and a \
        byte order mark tells UTF-8 or UTF-16. TRUE, FALSE, 1 and 0 are booleans; days and times are \
        2024-05-01, 2024-05-01 10:00 or 1.5.2024 10:00, in UTC. A date or number that can be read in two ways, such as \
        01/02/2024 or 1.234 between semicolons, is refused. An empty field is null if the property can be null, else \
        the empty string; a list, a number or a link then keeps its value. Empty rows are skipped.
        """,
      ],
      examples: [
        "realmfs import people.realm Dog.csv",
        "realmfs import --encoding windows-1252 --delimiter ';' people.realm Person.csv",
        "echo '{\"_id\": 4, \"age\": 22}' | realmfs import --class Person people.realm -",
        "realmfs import --batch 10000 --skip-bad rejects.jsonl people.realm many/",
      ]
    ),
    CommandSpec(
      name: .query,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class that is asked", completion: .names(.oneClass)),
        ArgumentSpec(
          "QUERY",
          "Realm Query Language, such as 'age > 30 SORT(name ASC) LIMIT(10)'; without it all objects",
          completion: .names(.query),
          isOptional: true
        ),
      ],
      summary: "print the objects of a class that a query finds, or sums and averages of them",
      description: [
        rows,
        """
        --count, --sum, --avg, --min and --max print a value for all objects that are found, or with --group-by for \
        each value that there is of a property. One value alone is printed bare, several as a row.
        """,
        """
        Comparisons are ==, !=, <, <=, >, >=, IN, BETWEEN, BEGINSWITH, ENDSWITH, CONTAINS and LIKE (with * and ?); [c] \
        behind one ignores case, [d] diacritics, [cd] both. They are joined with AND, OR, NOT and parentheses. A path \
        leads through links (dog.name), backwards (@links.Person.dog.age), into lists (tags[0]) and dictionaries \
        (map['key'], map.@keys). A list before a comparison means any of its elements; ANY, ALL and NONE say so. \
        @count, @min, @max, @sum and @avg work lists out, SUBQUERY(friends, $f, $f.age > 9).@count counts objects, and \
        + - * / calculate.
        """,
        """
        Values are numbers, "strings", true, false, NULL, oid(..), uuid(..), B64"..", binary("..") and \
        obj("Dog", "Fido"), the object with that primary key. Dates are written as objects show them, bare or in \
        quotes: 2024-05-01T10:00:00.5Z; 2024-05-01 is the first moment of that day in UTC. SORT(path, path DESC), \
        DISTINCT(path) and LIMIT(n) come behind, in their order, or alone. TRUEPREDICATE finds all.
        """,
        """
        Primary keys and search indexes are used for == and IN, behind single links too (owner._id == 5). A mistake is \
        shown at its column, with exit code 2.
        """,
      ],
      examples: [
        "realmfs query people.realm Person 'age > 30 SORT(dog.name ASC)'",
        "realmfs query --format csv --columns name,dog.name people.realm Person",
        "realmfs query --group-by dog --count --avg age people.realm Person",
      ]
    ),
    CommandSpec(
      name: .set,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS/NAME", "an object, named as in the mounted tree", completion: .names(.object)),
        ArgumentSpec("PROPERTY=VALUE...", "what to set", completion: .names(.assignment), mayRepeat: true),
      ],
      summary: "set properties of an object",
      description: [
        """
        One transaction, by the rules of saving a file in a mounted tree: all properties are set, or none. Properties \
        that are not named keep their values.
        """,
        values,
        "An array, dictionary or embedded object replaces the one that is stored.",
      ],
      examples: [
        "realmfs set people.realm Person/4 age=22 dog=Rex",
        "realmfs set --dry-run people.realm Person/4 'friends=[18, 25]' email=null",
      ]
    ),
    CommandSpec(
      name: .insert,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class of the objects", completion: .names(.oneClass)),
        ArgumentSpec(
          "OBJECT|PROPERTY=VALUE...",
          "JSON objects, or arrays of them; or the properties of one object; without it standard input is read",
          completion: .names(.assignment),
          isOptional: true,
          mayRepeat: true
        ),
      ],
      summary: "make new objects",
      description: [
        """
        One transaction, by the rules of saving a file in a mounted tree: all objects are made, or none. Properties \
        that are not named take the default of their type. An object whose primary key exists is refused; 'realmfs \
        set' changes it, and 'realmfs import' makes or changes.
        """,
        "PROPERTY=VALUE is read as 'realmfs set' reads it.",
      ],
      examples: [
        "realmfs insert people.realm Dog '{\"name\": \"Laika\", \"weight\": 5}'",
        "realmfs insert people.realm Dog name=Balto good=true",
        "echo '[{\"name\": \"A\"}, {\"name\": \"B\"}]' | realmfs insert people.realm Dog",
      ]
    ),
    CommandSpec(
      name: .delete,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec(
          "CLASS QUERY|CLASS/NAME...",
          "a class and which of its objects, or objects named as in the mounted tree",
          completion: .names(.objectsOrQuery),
          mayRepeat: true
        ),
      ],
      summary: "delete objects",
      description: [
        """
        One transaction: all of these objects are deleted, or none. Links to them become null or leave their list, and \
        objects embedded in them are deleted too. QUERY is that of 'realmfs query'; TRUEPREDICATE finds all.
        """,
        "On a terminal it asks first. --dry-run shows the objects, and those whose links would change.",
      ],
      examples: [
        "realmfs delete people.realm Dog/Fido Dog/Rex",
        "realmfs delete --dry-run people.realm Person 'age > 30'",
        "realmfs delete --yes people.realm Person 'friends.@count == 0'",
      ]
    ),
    CommandSpec(
      name: .undo,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "take back the last commit",
      description: [
        """
        Brings objects, their keys and links, and the schema back to the version before the last commit, which \
        'realmfs diff --previous' compares with the newest one, whoever made that commit. It is a commit like any \
        other: apps and mounts that have the realm open see it, and a second undo takes the first one back.
        """,
        """
        A file that was just made, compacted or copied holds one version alone, and the exit code is 3. What cannot \
        be brought back in full is refused, and nothing is changed.
        """,
      ],
      examples: ["realmfs undo --dry-run people.realm", "realmfs undo people.realm"]
    ),
    CommandSpec(
      name: .diff,
      arguments: [
        ArgumentSpec("OLD", "a Realm file; the only one with --previous", completion: .file),
        ArgumentSpec("NEW", "another", completion: .file, absentWith: [.previous]),
      ],
      summary: "show what differs between two realms, or versions of one",
      description: [
        """
        One line each: - is only in OLD, + only in NEW, ~ in both but different. Classes and properties are compared \
        by name, objects by primary key, or by object key where a class has none. A key is used for the files that are \
        encrypted.
        """,
        """
        With --previous there is one file, and its last two versions are compared: what the last commit did. The older \
        one is in the file until the next commit, so programs that have the realm open wait with theirs meanwhile. A \
        file that was just made, compacted or copied holds one version alone.
        """,
        """
        As of diff(1), the exit code is 0 if nothing differs, 1 if something does, and above 1 for trouble. --json \
        prints JSON Lines.
        """,
      ],
      examples: [
        "realmfs diff monday.realm people.realm",
        "realmfs diff --previous people.realm",
        "realmfs diff --json --class Person monday.realm people.realm",
      ]
    ),
    CommandSpec(
      name: .watch,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "print a line for each new version of a realm",
      description: [
        """
        The first line tells the version that is there, each other one which classes changed and how many objects they \
        have. It goes on until it is interrupted. Versions that come in quick succession can share a line.
        """,
        """
        --exec runs a command with /bin/sh after each line and waits for it; REALMFS_VERSION is the version, \
        REALMFS_CLASSES the classes that changed, separated by commas.
        """,
        """
        --diff shows below each line the objects that were made (+), changed (~) or deleted (-), as 'realmfs diff' \
        does. The version that was shown last is kept in the file meanwhile, so read what is printed.
        """,
        """
        --changes prints one line of JSON for each object that a commit changed, whoever committed: its class and key, \
        whether it was inserted, updated or deleted, and what differs, before and after. Commits in quick succession \
        come together. A reader that is too slow, and one that begins with --since at a version that is not there any \
        more, gets {"version":17,"time":"..","gap":true}: what changed up to that version is not known. The newest \
        version is always there, the one before it until the next commit.
        """,
      ],
      examples: [
        "realmfs watch people.realm",
        "realmfs watch --diff people.realm",
        "realmfs watch --exec 'echo \"$REALMFS_CLASSES changed\"' people.realm",
        "realmfs watch --changes people.realm | jq -c 'select(.class == \"Person\")'",
      ]
    ),
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
        can be reached, with every value that can be read, to OUT. FILE is only read. What was saved and what was lost \
        is said for each class; the exit code is 4 if something was.
        """,
        """
        A value that is lost is the default of its property in OUT; a link to a lost object is gone. Objects whose key \
        or primary key cannot be read get another. OUT is checked as 'realmfs check' does before it gets its name, \
        unless --no-verify is given.
        """,
      ],
      examples: ["realmfs recover damaged.realm saved.realm"]
    ),
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

  private static let file = ArgumentSpec("FILE", "the Realm file", completion: .file)
  private static let inPlaceOutput = ArgumentSpec(
    "OUT",
    "a new file, which must not exist; without it FILE itself is replaced",
    completion: .file,
    isOptional: true
  )
  private static let rows = """
    --columns chooses what is shown of an object: properties, and paths as in a query (dog.name, friends.@count). In \
    CSV and TSV a field without anything is null and "" is the empty string; in a table null is blank. What a terminal \
    would obey is shown as \\u001b. The widths of a table come from the first rows; on a terminal longer texts are cut.
    """
  private static let values = """
    VALUE is null, which clears the property, or a value of the property's type. Strings, dates, UUIDs, object ids, \
    decimals, binaries and links to objects with such a primary key are written as they are: name=Rex. A VALUE that \
    begins with " is a JSON string: name='"null"' is the text null. Numbers, true and false, lists, sets, \
    dictionaries, embedded objects and mixed values are JSON, as in the files of a mounted tree.
    """
  private static let editors: [CommandName] = [.set, .insert, .delete, .undo]
  private static let rewriting = """
    Writes the newest version anew and puts it in the place of FILE when it is on disk: a crash leaves the old or \
    the new file. Refused while another program has the realm open, unless OUT is given, which leaves FILE as it is.
    """
  private static let checking = """
    The new file is read back first and checked as 'realmfs check' does, unless --no-verify is given. If it is not \
    sound, FILE stays as it was and the exit code is 4: a damaged realm is for 'realmfs recover'.
    """
  private static let copiers: [CommandName] = [
    .backup, .compact, .encrypt, .decrypt, .rekey, .upgrade, .convert, .recover,
  ]
  private static let readers: [CommandName] =
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
      on: [.mount, .schema, .export, .import, .diff],
      mayRepeat: true,
      completion: .names(.classes),
      "only these classes; for import the class of records that do not tell theirs"
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
      "keep the text of each object that the mount changes or deletes in DIR, too, as plain text; without it, the last "
        + "ones are in .realm/trash, and gone with the mount"
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
    OptionSpec(.lazy, short: "l", on: [.umount], "detach now, even if busy; the last user ends the mount"),
    OptionSpec(
      .json,
      on: [
        .status, .info, .export, .import, .set, .insert, .delete, .undo, .diff, .watch, .check, .seal, .version,
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
    OptionSpec(.yes, short: "y", on: [.delete], "do not ask, on a terminal either"),
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

  static let jsonStyles = ["plain", "ejson", "canonical"]

  static let mountOptions: [MountOptionSpec] = [
    MountOptionSpec(.classes, value: "A:B", "show only these classes; the same as --class A,B"),
    MountOptionSpec(
      .json,
      value: jsonStyles.joined(separator: "|"),
      on: [.mount, .cat],
      "how values are written"
    ),
    MountOptionSpec(.showControl, "list the control directory .realm, which is otherwise there but hidden"),
    MountOptionSpec(.uid, value: "USER", "owner of every file, by name or number"),
    MountOptionSpec(.gid, value: "GROUP", "group of every file, by name or number"),
    MountOptionSpec(.umask, value: "MODE", "permission bits taken away from files and directories, in octal"),
    MountOptionSpec(.fmask, value: "MODE", "the same for files only"),
    MountOptionSpec(.dmask, value: "MODE", "the same for directories only"),
    MountOptionSpec(.nonEmpty, "mount over a directory that is not empty, and hide what is in it"),
    MountOptionSpec(.readOnly, "no changes through this mount; the same as --read-only"),
    MountOptionSpec(kernel: "rw", "changes are saved; the default"),
    MountOptionSpec(
      .write,
      value: "patch|replace",
      "what saving does to properties that the text does not name: they keep their values (patch, the default), or "
        + "take their defaults"
    ),
    MountOptionSpec(
      .groupCommit,
      value: "MS",
      "close does not wait for the disk: saves reach it together, within MS milliseconds, and a crash before takes "
        + "them back; fsync waits (default 0: each close waits)"
    ),
    MountOptionSpec(
      .lockTimeout,
      value: "SECONDS",
      "how long a save waits while another program is writing, before it fails with EAGAIN (default 10)"
    ),
    MountOptionSpec(
      .queryTimeout,
      value: "SECONDS",
      "how long a query of .where and .by may take before it fails with ETIMEDOUT (default 30)"
    ),
    MountOptionSpec(
      .busyPoll,
      value: "US",
      "how many microseconds a thread asks for the next request before it sleeps, as long as requests come that soon: "
        + "saves the time of waking it; 0 never asks (default 30; always 0 with one processor)"
    ),
    MountOptionSpec(.trustOwner, "for root: take part in a realm of another user; the same as --trust-owner"),
    MountOptionSpec(kernel: "allow_other", "let other users in"),
    MountOptionSpec(kernel: "allow_root", "let root in"),
    MountOptionSpec(kernel: "default_permissions", "let the kernel check modes and owners"),
    MountOptionSpec(kernel: "auto_unmount", "unmount when the serving process ends in whatever way"),
    MountOptionSpec(kernel: "fsname", value: "NAME", "the source that mount(8) and df(1) show (default: FILE)"),
    MountOptionSpec(kernel: "nosuid", "as in mount(8); the default"),
    MountOptionSpec(kernel: "nodev", "as in mount(8); the default"),
    MountOptionSpec(kernel: "noexec", "as in mount(8)"),
    MountOptionSpec(kernel: "suid", "as in mount(8)"),
    MountOptionSpec(kernel: "dev", "as in mount(8)"),
    MountOptionSpec(kernel: "exec", "as in mount(8)"),
    MountOptionSpec(kernel: "atime", "as in mount(8)"),
    MountOptionSpec(kernel: "noatime", "as in mount(8)"),
    MountOptionSpec(refused: "subtype", because: "the type is always fuse.realmfs, so that 'realmfs umount' knows it"),
  ]
}

extension Options {
  /// The formats that are read, as `2 to 11 and 20 to 24`.
  static var formatsInWords: String {
    var ranges: [ClosedRange<Int>] = []
    for format in Realm.readableFormats.sorted() {
      if let last = ranges.last, last.upperBound == format - 1 {
        ranges[ranges.count - 1] = last.lowerBound...format
      } else {
        ranges.append(format...format)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
      .joined(separator: " and ")
  }

  static func command(_ name: CommandName) -> CommandSpec? { commands.first { $0.name == name } }

  /// The visible options of a command, in table order.
  static func options(of command: CommandName) -> [OptionSpec] {
    options.filter { $0.commands.contains(command) && !$0.isHidden }
  }

  /// The mount options that a command takes, in table order, without those it refuses.
  static func mountOptions(of command: CommandName) -> [MountOptionSpec] {
    mountOptions.filter { option in
      if case .refused = option.kind { return false }
      return option.commands.contains(command)
    }
  }
}
