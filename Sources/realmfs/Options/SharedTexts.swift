// Help texts that several commands share.

extension Options {
  /// Begins the report of a command with --dry-run.
  static let dryRunLead = "dry run, nothing was changed; would report: "
  static let file = ArgumentSpec("FILE", "the Realm file", completion: .file)
  static let inPlaceOutput = ArgumentSpec(
    "OUT",
    "the new file; must not exist; without OUT, FILE is replaced",
    completion: .file,
    isOptional: true
  )
  static let severalFiles = """
    Several files are reported in a line for each, after its warnings, with --json as an array. Each line begins with \
    the name of the file. A file that cannot be read is reported, the others follow, and the exit code is that of the \
    first file with another code than 0.
    """
  static let rows = """
    --columns selects properties, and paths as in a query (dog.name, friends.@count). In CSV and TSV, an empty field \
    is null and "" is the empty string; in a table, null is blank. Control characters are escaped, as in \\u001b. The \
    column widths of a table depend on its first rows. On a terminal, longer values are cut; if more than half of the \
    columns do not fit, objects are printed as records, one below the other.
    """
  static let values = """
    VALUE is null, which clears the property, or a value of the property's type. Strings, dates, UUIDs, object ids, \
    decimals, binaries and links to objects with such keys are written without quotes: name=Rex. A VALUE that \
    begins with " is a JSON string: name='"null"' is the string null. Numbers, true and false, lists, sets, \
    dictionaries, embedded objects and mixed values are JSON, as in the files of a mount.
    """
  static let rewriting = """
    Writes the newest version to a new file that replaces FILE once it is on disk: a crash leaves the old or the new \
    file. With OUT, FILE is not changed. Without OUT, the command is refused while another program has the realm open.
    """
  static let checking = """
    The new file is first read back and checked like 'realmfs check', unless --no-verify is given. If it is not sound, \
    FILE is not changed and the exit code is 4; use 'realmfs recover' for a damaged realm.
    """
  static let types = """
    TYPE is bool, int, float, double, string, data, date, decimal128, objectId, uuid, mixed, or the name of a class \
    for a link to one of its objects. A suffix ? allows null; [], <> or {} makes a list, a set or a dictionary of such \
    values: 'int?', 'string[]', 'Dog', 'double{}'.
    """
  static let schemaChanges = """
    Each command is one commit. It does not change the schema version: apps find the new schema, and apps whose models \
    differ from it migrate as usual in the SDK, when they increase their schema version. --dry-run shows what would \
    change.
    """
}
