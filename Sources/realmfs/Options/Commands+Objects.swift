// The commands that read and change the content of a realm.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfObjects: [CommandSpec] = [
    CommandSpec(
      name: .info,
      arguments: [ArgumentSpec("FILE...", "the Realm files", completion: .file, mayRepeat: true)],
      summary: "show format, size and classes of a file, and the programs that use it",
      description: [
        """
        If the file does not open, the message gives the reason, and so does the exit code. The command still prints \
        what the file looks like, which root its header selects, which versions can still be read, and what to do.
        """,
        severalFiles,
      ],
      examples: ["realmfs info people.realm", "realmfs info --long people.realm", "realmfs info *.realm"]
    ),
    CommandSpec(
      name: .schema,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "print the schema as JSON, as model classes or as a diagram",
      description: [
        """
        The JSON form is the canonical object schema of Realm's JavaScript SDK, which 'realmfs create' reads. The \
        other forms are model classes for the SDK of that language or, for dot (Graphviz), mermaid and svg, a diagram \
        of the classes and their links.
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
        rename keeps the objects, their keys and the links to them. rm refuses to remove a class that properties of \
        other classes link to, and a class that has objects, unless --force is given.
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
        add gives existing objects null, an empty collection, or the default of a type that cannot be null: 0, false, \
        an empty string, 1970-01-01. rename keeps the values. rm refuses to remove a property that has a value other \
        than null or an empty collection in any object, unless --force is given.
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
          "a class, or an object by its file name in a mount; if omitted, the classes are listed",
          completion: .names(.classOrObject),
          isOptional: true
        ),
      ],
      summary: "print objects as JSON, without a mount",
      description: [
        """
        A class is printed in the order of its object keys: on a terminal as a table that fits, otherwise as JSON \
        Lines, one compact object per line. An object is printed exactly like its file in a mount; so are the files in \
        .realm/ and those whose names begin with a dot, such as CLASS/.all.csv.
        """,
        rows,
        "A damaged object is reported on standard error and skipped; the others follow, and the exit code is 4.",
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
        ArgumentSpec(
          "OUT",
          "the file or directory to create; - or nothing for standard output",
          completion: .file,
          isOptional: true
        ),
      ],
      summary: "write objects as JSON Lines, JSON, CSV, TSV, SQLite or a spreadsheet",
      description: [
        """
        If OUT ends in .jsonl, .json, .csv, .tsv, .sqlite, .db or .xlsx, it is a file of that format. A CSV or TSV \
        file holds one class, that of its name unless --class is given; a JSON file is an array. Any other OUT is a \
        directory with a file for each class, in JSON Lines unless --format selects csv or tsv; with json, it holds \
        the files of a mount. OUT appears complete or not at all; only an empty directory is replaced.
        """,
        """
        JSON lines begin with "$class" if several classes share a stream, and with "$key", the object key, in a class \
        without primary key. In CSV, an empty field is null and "" is the empty string; links are the primary key of \
        their target; collections, embedded objects and mixed values are JSON. --delimiter ';' --decimal comma writes \
        the CSV that spreadsheets expect in many countries; import reads it as well.
        """,
        """
        A SQLite database has a table for each class, including embedded ones, with the object key as _key, a foreign \
        key for each link, and a child table CLASS.PROPERTY for each collection. In the column of a mixed property, \
        integers, doubles, strings and binaries are values of SQL, and all others are JSON. With --verify, the \
        finished file is read back and compared with the objects read from the realm, class by class, and its links \
        and pages are checked; the report goes to standard output. A file that differs is removed, and the exit code \
        is 1. SQLite \
        has no -0.0, which counts as 0.0.
        """,
        """
        A spreadsheet (.xlsx) has a sheet for each class. A column has one type: decimals are text, and so are whole \
        numbers if one of them is beyond 2^53, and dates if one of them is before March 1900 or all are finer than \
        milliseconds. Other dates finer than milliseconds, and doubles of more than 16 digits, are rounded; a note \
        reports how many. Dates are in UTC. A class of more than 1048575 objects is refused. A string of more than \
        32767 characters is left out and reported, and the exit code is 1. An empty string is an empty cell, like \
        null.
        """,
        "A damaged object is reported on standard error and skipped; the others follow, and the exit code is 4.",
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
          "output of 'realmfs export', or of other programs: a file, a directory, or - for standard input",
          completion: .file
        ),
      ],
      summary: "create and change objects from JSON, CSV, SQLite or a spreadsheet",
      description: [
        """
        A record with the primary key of an existing object changes that object, and only where it differs; properties \
        that the record does not name keep their values. Any other record creates an object. A required property that \
        it does not name gets its default, such as 0 or 1970-01-01; a note reports how many objects got one. Links can \
        point to objects that come later, and can form cycles.
        """,
        """
        An import is one transaction: the first bad record is reported with file and line, and nothing changes. \
        --batch commits every N records, for data that does not fit into memory.
        """,
        """
        The class is given by "$class" in a line, by the name of the file or directory, by --class, or by a JSON \
        object of arrays: {"Person": [..], "Dog": [..]}. If the realm has one class, a file need not be named after \
        it. An object of a class without primary key is identified by its object key, in "$key" or as the name of its \
        file. Classes and properties must exist; copy them with 'realmfs schema' and 'realmfs create --schema'.
        """,
        """
        In JSON, an object in place of a link creates or updates the object with its primary key: "author": \
        {"_id": 4, "name": "Ann"}. In a class without primary key it creates an object each time.
        """,
        """
        CSV is read as spreadsheets write it. The separator , ; | or tab is detected, or given by a first line such as \
        "sep=;", and a byte order mark selects UTF-8 or UTF-16. TRUE, FALSE, 1 and 0 are booleans; dates and times are \
        2024-05-01, 2024-05-01 10:00 or 1.5.2024 10:00, in UTC. An ambiguous date or number, such as 01/02/2024 or \
        1.234 between semicolons, is refused; so are grouped digits and exponents in a whole number, such as 1,000 and \
        1e3. An empty field is null if the property can be null, otherwise the empty string; a list, a number or a \
        link keeps its value in that case. Empty rows are skipped.
        """,
        """
        A SQLite database (.sqlite, .sqlite3, .db) is only read, also one with a write-ahead log beside it. One that \
        'realmfs export' wrote comes back as the same objects. In any other, a table is imported into the class of its \
        name; if there is none, the class is created with the columns as properties: their types are the declared \
        ones, or those of the values if they differ. A primary key of one column becomes the primary key, and a \
        foreign key to it a link. --dry-run prints the mapping.
        """,
        """
        In a spreadsheet (.xlsx), each sheet has the objects of the class of its name; the first row has the names of \
        the properties. A single sheet can have any name. Numbers in a date format are dates.
        """,
      ],
      examples: [
        "realmfs import people.realm Dog.csv",
        "realmfs import --encoding windows-1252 --delimiter ';' people.realm Person.csv",
        "echo '{\"_id\": 4, \"age\": 22}' | realmfs import --class Person people.realm -",
        "realmfs import --dry-run people.realm shop.sqlite",
        "realmfs import --batch 10000 --skip-bad rejects.jsonl people.realm many/",
      ]
    ),
    CommandSpec(
      name: .query,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class to query", completion: .names(.oneClass)),
        ArgumentSpec(
          "QUERY",
          "Realm Query Language, such as 'age > 30 SORT(name ASC) LIMIT(10)'; if omitted, all objects",
          completion: .names(.query),
          isOptional: true
        ),
      ],
      summary: "print the objects that a query finds, or aggregates of them",
      description: [
        rows,
        """
        --count, --sum, --avg, --min and --max print a value for all objects found or, with --group-by, for each value \
        of a property. A single value is printed bare, several values as a row.
        """,
        """
        Comparisons are ==, !=, <, <=, >, >=, IN, BETWEEN, BEGINSWITH, ENDSWITH, CONTAINS and LIKE (with * and ?). \
        After an operator, [c] ignores case, [d] ignores diacritics, [cd] both. Comparisons are combined with AND, OR, \
        NOT and parentheses. A path follows links (dog.name) and backlinks (@links.Person.dog.age), and leads into \
        lists (tags[0]) and dictionaries (map['key'], map.@keys). A comparison with a list is true if it is \
        true for any element; ANY, ALL and NONE are explicit. @count, @min, @max, @sum and @avg aggregate a list, \
        SUBQUERY(friends, $f, $f.age > 9).@count counts objects, and + - * / are arithmetic operators. A property with \
        the name of a keyword or with special characters is enclosed in backquotes: `null` == 3.
        """,
        """
        Values are numbers, "strings", true, false, NULL, oid(..), uuid(..), B64"..", binary("..") and obj("Dog", \
        "Fido"), the object with that primary key. Dates are written as in objects, with or without quotes: \
        2024-05-01T10:00:00.5Z; 2024-05-01 is the start of that day in UTC. SORT(path, path DESC), DISTINCT(path) and \
        LIMIT(n) follow the predicate, are applied in the order given, and can be used without a predicate. \
        TRUEPREDICATE finds all objects.
        """,
        """
        PATH GEOWITHIN REGION finds embedded objects with a GeoJSON point, a "type" and a list "coordinates" of \
        longitude and latitude in degrees. Regions are geoCircle([lon, lat], radians), geoBox([lon, lat], \
        [lon, lat]) and geoPolygon({[lon, lat], ...}, {...}), an outer ring and holes; each ring ends with its first \
        point.
        """,
        """
        $0, $1 and so on are the values of --arg, which can contain any characters. A value takes the type of what it \
        is compared with: strings are used unchanged, links are compared by primary key, and null means NULL except \
        when compared with a string. $K0 is argument 0 used as a property path.
        """,
        """
        Primary keys and search indexes are used for == and IN, also through to-one links (owner._id == 5). An error \
        names the column; the exit code is then 2.
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
        ArgumentSpec("CLASS/NAME", "an object by its file name in a mount", completion: .names(.object)),
        ArgumentSpec("PROPERTY=VALUE...", "the properties to set", completion: .names(.assignment), mayRepeat: true),
      ],
      summary: "set properties of an object",
      description: [
        """
        Runs in one transaction and by the same rules as saving a file in a mount: either all properties are set or \
        none. Properties that are not named keep their values.
        """,
        values,
        "An array, dictionary or embedded object replaces the stored one.",
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
          "JSON objects or arrays of them, or the properties of one object; if omitted, standard input is read",
          completion: .names(.assignment),
          isOptional: true,
          mayRepeat: true
        ),
      ],
      summary: "create objects",
      description: [
        """
        Runs in one transaction and by the same rules as saving a file in a mount: either all objects are created or \
        none. Properties that are not named get the default of their type. An object whose primary key already exists \
        is refused; use 'realmfs set' to change it, or 'realmfs import' to create or change objects.
        """,
        "PROPERTY=VALUE has the form that 'realmfs help set' describes.",
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
          "a class and a query, or objects by their file names in a mount",
          completion: .names(.objectsOrQuery),
          mayRepeat: true
        ),
      ],
      summary: "delete objects",
      description: [
        """
        One transaction: all of these objects are deleted, or none. Links to them become null or are removed from \
        their list, and their embedded objects are deleted too. QUERY is in the language of 'realmfs query'; \
        TRUEPREDICATE finds all objects.
        """,
        "On a terminal, it asks for confirmation. --dry-run shows the objects, and those whose links would change.",
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
      summary: "undo the last commit, and earlier ones step by step",
      description: [
        """
        Restores objects, their keys and links, and the schema to the version before the last commit, whichever \
        program made that commit; 'realmfs diff --previous' compares these two versions. An undo is a commit like any \
        other: apps and mounts that have the realm open see it. The next undo goes back one more version, and so on; \
        --redo reverts the last undo, and --list prints how far undo can go back. On a terminal, it shows what it \
        would undo and asks for confirmation.
        """,
        """
        The version before the last commit is always available, earlier ones until a commit reuses their space. If \
        there is none, as in a file that was just created, compacted or copied, the exit code is 3. A version that \
        cannot be restored in full is refused, and nothing changes.
        """,
      ],
      examples: [
        "realmfs undo --dry-run people.realm", "realmfs undo --list people.realm", "realmfs undo people.realm",
      ]
    ),
    CommandSpec(
      name: .versions,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "list the versions that remain in a file, and what each changed",
      description: [
        """
        A commit writes into free space, so a file holds older versions until later commits reuse their space. Each \
        version is printed with its state, the offset of its top array, how it is reached, what it changed, and its \
        objects; newest first. --json adds the file format and the file size that it requires. schema, cat, query, \
        export and diff read one of them with --version N.
        """,
        """
        whole: every node is intact. The free lists of all later versions show that no commit overwrote a node, and a \
        check finds no fault. unproven: a check finds no fault, but the file does not show what some later commit \
        wrote, so values may have been replaced by others. partial: a check finds faults; the first one is printed \
        below the table, and "Person 20 of 24" means that 20 of 24 objects can be read. A commit that a crash \
        interrupted before it wrote its top array leaves no record of what it overwrote; only the check can detect that.
        """,
        """
        --changes prints the changes of the whole versions in the form of 'realmfs watch --changes'; the time is null, \
        and the first line is a gap unless the file holds version 1.
        """,
        """
        The file is read only. While it is read, programs that have the realm open cannot commit, and wait; if they \
        cannot be made to wait, the exit code is 8. A file that does not open is searched as well, and none of its \
        versions counts as whole; the exit code is then 4, as for a damaged newest version. Up to 64 versions to \
        which the header does not refer are listed.
        """,
      ],
      examples: [
        "realmfs versions people.realm",
        "realmfs versions --json people.realm | jq '.[].version'",
        "realmfs versions --changes people.realm",
      ]
    ),
    CommandSpec(
      name: .deleted,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class; if omitted, all", completion: .names(.oneClass), isOptional: true),
      ],
      summary: "print deleted objects that are still in the file",
      description: [
        """
        A commit writes to free space, so a deleted object stays in the file until a later commit reuses its space. \
        Prints the last state of each object that is not in the newest version: its class, primary key and object key, \
        the version that has this state, the version that deleted it if known, and the nodes it was read from.
        """,
        """
        A state is certain if the free lists of the file prove that no later commit wrote to any of its nodes. Objects \
        of which a part was overwritten are counted, but not printed. docs/FORENSICS.md describes the search, the \
        confidence and the output.
        """,
        """
        Other programs cannot commit during the search, and wait. With --immutable, and for a file that cannot be \
        written, nothing is locked, and no other program may have the realm open.
        """,
      ],
      examples: [
        "realmfs deleted people.realm",
        "realmfs deleted people.realm Person | jq .value",
      ]
    ),
    CommandSpec(
      name: .diff,
      arguments: [
        ArgumentSpec("OLD", "a Realm file; with --previous or --version, the only one", completion: .file),
        ArgumentSpec("NEW", "another Realm file", completion: .file, absentWith: [.previous, .version]),
      ],
      summary: "show the differences between two realms or versions of one",
      description: [
        """
        Prints one line for each difference: - is only in OLD, + only in NEW, ~ in both but different. Classes and \
        properties are matched by name, objects by primary key, or by object key in a class without one; sets are \
        compared regardless of order. A key is used for the files that are encrypted.
        """,
        """
        With --previous, there is one file, and its last two versions are compared: this shows what the last commit \
        changed. The older version is in the file only until the next commit, so programs that have the realm open \
        cannot commit meanwhile, and wait. A file that was just created, compacted or copied holds only one version. \
        --version N compares an older version with the newest one in the same way.
        """,
        """
        As with diff(1), the exit code is 0 without differences, 1 with differences, and above 1 on errors. --json \
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
      name: .merge,
      arguments: [
        ArgumentSpec(
          "BASE",
          "the realm from which both were made; omit it if there is none",
          completion: .file,
          isOptional: true
        ),
        ArgumentSpec("OURS", "a Realm file", completion: .file),
        ArgumentSpec("THEIRS", "another Realm file", completion: .file),
      ],
      summary: "merge two realms into a new one",
      description: [
        """
        OUT is a copy of OURS with the changes that were made from BASE to THEIRS; the merged files do not change. \
        Objects are matched by primary key, or by object key in a class without one, and merged property by property: \
        lists by their changes, like diff3(1), sets and dictionaries by their elements, embedded objects by their \
        properties. Classes and properties that one side added or removed are added or removed. Without BASE, or if \
        BASE is an empty file, OUT has the objects of both. Of objects with the same primary key, values that differ \
        are conflicts, except that sets and dictionaries are united.
        """,
        """
        What both sides changed differently is a conflict, for example if an object is deleted on one side and \
        changed, or linked to, on the other. OUT then has the value of OURS, OUT.conflicts has the base and both sides \
        of each such object, as CLASS/NAME.json, and the exit code is 1. --prefer decides conflicts for one side, \
        prints them, and the exit code is 0. If a class or property has different definitions, nothing is merged.
        """,
        """
        New objects of both sides without a primary key are all kept. If OURS has another new object under a key, that \
        of THEIRS gets a new key, and the links to it follow. Only if both sides added the same objects under the same \
        keys are they merged. Without BASE, different objects under one key are a conflict; with an empty realm as \
        BASE, both are kept.
        """,
        """
        OUT is encrypted if OURS is, with the same key, and has its owner and permissions. A key is used for the files \
        that are encrypted. The texts of conflicts are not encrypted; only their owner can read them.
        """,
      ],
      examples: [
        "realmfs merge monday.realm people.realm phone.realm -o out.realm",
        "realmfs merge monday.realm people.realm phone.realm -o b.realm --prefer ours",
        "realmfs merge --prefer theirs people.realm phone.realm -o all.realm",
      ]
    ),
    CommandSpec(
      name: .watch,
      arguments: [ArgumentSpec("FILE", "the Realm file", completion: .file)],
      summary: "print a line for each new version of a realm",
      description: [
        """
        The first line shows the current version; each further line shows a new version, which classes changed and how \
        many objects they have. The command runs until it is interrupted. Versions in quick succession can share a \
        line.
        """,
        """
        --exec runs a command with /bin/sh after each line and waits for it. REALMFS_VERSION is the version, \
        REALMFS_CLASSES has the classes that changed, separated by commas.
        """,
        """
        --diff shows the objects that were created (+), changed (~) or deleted (-) below each line, like 'realmfs \
        diff'. The version shown last is kept in the file meanwhile, so read the output as it is printed.
        """,
        """
        --changes prints one line of JSON for each object changed by a commit of any program: its class and key, \
        whether it was inserted, updated or deleted, and the properties that differ, \
        before and after. Commits in quick succession \
        are combined. A reader that is too slow, or that begins with --since at a version that is no longer available, \
        gets {"version":17,"time":"..","gap":true}: the changes up to that version are not known. The newest version \
        is always available, the one before it until the next commit.
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
      name: .browse,
      arguments: [
        ArgumentSpec("FILE", "the Realm file", completion: .file),
        ArgumentSpec("CLASS", "the class to show first", completion: .names(.oneClass), isOptional: true),
        ArgumentSpec("QUERY", "the query to show first", completion: .names(.query), isOptional: true),
      ],
      summary: "show a realm in a web browser",
      description: [
        """
        Prints a URL. The page that it opens shows classes, objects, links and the schema, filters by queries, follows \
        what other programs commit, and downloads what it shows. The command runs until it is interrupted, or until \
        the page ends it.
        """,
        """
        The server listens at 127.0.0.1 only, and answers only the browser that opened the URL, which works once. It \
        changes nothing unless --write is given. docs/BROWSER.md describes its interface for scripts.
        """,
        """
        --static writes a file to send or to keep instead: tables of up to 1000 objects of each class, or of CLASS and \
        those that match QUERY. It contains no scripts and lists what it leaves out.
        """,
      ],
      examples: [
        "realmfs browse people.realm",
        "realmfs browse --write people.realm Person 'age > 30'",
        "realmfs browse --static people.html people.realm",
      ]
    ),
    CommandSpec(
      name: .mcp,
      arguments: [ArgumentSpec("FILE...", "the Realm files", completion: .file, mayRepeat: true)],
      summary: "serve realms to agents over the Model Context Protocol",
      description: [
        """
        Speaks the protocol over standard input and output: JSON-RPC 2.0, one message per line, versions 2024-11-05, \
        2025-03-26 and 2025-06-18. The tools are schema, query, get, count, diff, versions and search; with --write \
        also set, insert, delete and undo. The command ends at the end of the input.
        """,
        """
        Each call reads the newest version, also while apps have the realm open, and each change is one transaction. \
        An answer has at most 64 KiB of text and contains "next" if it is not complete. Errors are those of the other \
        commands. The key is used for each file that is encrypted. If several files are served, calls name one.
        """,
      ],
      examples: [
        "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | realmfs mcp people.realm"
      ]
    ),
  ]
}
