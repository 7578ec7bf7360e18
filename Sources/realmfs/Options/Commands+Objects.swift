// The commands that read and change what a realm holds.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfObjects: [CommandSpec] = [
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
      name: .class,
      arguments: [
        ArgumentSpec("ACTION", "add, rm or rename", completion: .words(["add", "rm", "rename"])),
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class", completion: .names(.oneClass)),
        ArgumentSpec(
          "PROPERTY=TYPE...|NEWNAME",
          "add: properties of the new class; rename: the new name",
          isOptional: true,
          mayRepeat: true
        ),
      ],
      summary: "add, remove or rename a class",
      description: [
        types,
        """
        rename keeps the objects, their keys and the links to them. rm refuses a class that has objects, unless \
        --force is given, and a class that properties of other classes link to.
        """,
        schemaChanges,
      ],
      examples: [
        "realmfs class add people.realm Cat name=string owner=Person --primary-key name",
        "realmfs class rename people.realm Cat Kitten",
        "realmfs class rm people.realm Kitten",
      ]
    ),
    CommandSpec(
      name: .property,
      arguments: [
        ArgumentSpec(
          "ACTION",
          "add, rm, rename or index",
          completion: .words(["add", "rm", "rename", "index"])
        ),
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class", completion: .names(.oneClass)),
        ArgumentSpec("PROPERTY", "the property", completion: .names(.property)),
        ArgumentSpec(
          "TYPE|NAME|KIND",
          "add: the type; rename: the new name; index: general (default), full-text or none",
          isOptional: true
        ),
      ],
      summary: "add, remove, rename or index a property of a class",
      description: [
        types,
        """
        add gives objects that exist null, an empty collection, or the default of a type that cannot be null: 0, \
        false, an empty text, 1970-01-01. rename keeps the values. rm refuses a property that has a value other than \
        null or an empty collection in any object, unless --force is given.
        """,
        schemaChanges,
      ],
      examples: [
        "realmfs property add people.realm Person nicknames 'string[]'",
        "realmfs property rename people.realm Person email mail",
        "realmfs property index people.realm Person name full-text",
        "realmfs property rm --force people.realm Person mail",
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
        files below .realm/ and those with a dot, such as CLASS/.all.csv.
        """,
        rows,
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
        class without primary key. In CSV an empty field is null and "" is the empty string; links are the primary key \
        of their target; collections, embedded objects and mixed values are JSON. --delimiter ';' --decimal comma \
        writes what spreadsheets of many countries open, and import reads again.
        """,
        """
        A database has a table for each class, embedded ones too, with the object key as _key, a foreign key for each \
        link, and a child table CLASS.PROPERTY for each collection. With --verify, the finished file is read back and \
        compared with what was read from the realm, class by class, and its links and pages are checked; the report \
        goes to standard output. What is not the same is removed, and the exit code is 1. SQLite has no -0.0, which \
        counts as 0.0.
        """,
        """
        A spreadsheet (.xlsx) has a sheet for each class. A column has one type: decimals are text, and so are whole \
        numbers if one of them is beyond 2^53, and dates if one of them is before March 1900 or all are finer than \
        milliseconds. Other dates that are finer, and doubles of more than 16 digits, are rounded; a note says how \
        many. Dates are in UTC. A class of more than 1048575 objects is refused. A text of more than 32767 characters \
        is left out and named, and the exit code is 1; an empty string is an empty cell, as null is.
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
        not name keep their values. Any other record makes an object. A required property that it does not name has \
        its default, such as 0 or 1970-01-01; a note says for how many objects. Links may lead to objects that come \
        later, and in circles.
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
        byte order mark tells UTF-8 or UTF-16. TRUE, FALSE, 1 and 0 are booleans; days and times are 2024-05-01, \
        2024-05-01 10:00 or 1.5.2024 10:00, in UTC. A date or number that can be read in two ways, such as 01/02/2024 \
        or 1.234 between semicolons, is refused; so are digits in groups and exponents where a whole number belongs, \
        such as 1,000 and 1e3. An empty field is null if the property can be null, else the empty string; a list, a \
        number or a link then keeps its value. Empty rows are skipped.
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
        @count, @min, @max, @sum and @avg aggregate over a list, SUBQUERY(friends, $f, $f.age > 9).@count counts \
        objects, and + - * / calculate. A property with the name of a keyword or with odd characters is written \
        between backquotes: `null` == 3.
        """,
        """
        Values are numbers, "strings", true, false, NULL, oid(..), uuid(..), B64"..", binary("..") and \
        obj("Dog", "Fido"), the object with that primary key. Dates are written as objects show them, bare or in \
        quotes: 2024-05-01T10:00:00.5Z; 2024-05-01 is the first moment of that day in UTC. SORT(path, path DESC), \
        DISTINCT(path) and LIMIT(n) come behind, in their order, or alone. TRUEPREDICATE finds all.
        """,
        """
        $0, $1 and so on are the values of --arg, whatever characters they contain. A value takes the type of what it \
        is compared with: a text is taken as it is, a link is compared with the primary key, null is null except where \
        texts are compared. $K0 is a value that is a path of properties.
        """,
        """
        Primary keys and search indexes are used for == and IN, behind single links too (owner._id == 5). A mistake is \
        shown at its column, with exit code 2.
        """,
      ],
      examples: [
        "realmfs query people.realm Person 'age > 30 SORT(dog.name ASC)'",
        "realmfs query --arg \"$name\" people.realm Person 'name == $0'",
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
      summary: "take back the last commit, and step by step those before it",
      description: [
        """
        Brings objects, their keys and links, and the schema back to the version before the last commit, which \
        'realmfs diff --previous' compares with the newest one, whoever made that commit. It is a commit like any \
        other: apps and mounts that have the realm open see it. The next undo goes one version further back, and so \
        on; --redo takes back the last undo. On a terminal it says what it would undo and asks first.
        """,
        """
        The version before the last commit is always there; those before it as long as no commit reuses their space. \
        Where none is left, as in a file that was just made, compacted or copied, the exit code is 3. What cannot be \
        brought back in full is refused, and nothing is changed.
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
        by name, objects by primary key, or by object key where a class has none, sets by their elements in whatever \
        order. A key is used for the files that are encrypted.
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
  ]
}
