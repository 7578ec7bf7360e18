// What several commands say in their help.

extension Options {
  static let file = ArgumentSpec("FILE", "the Realm file", completion: .file)
  static let inPlaceOutput = ArgumentSpec(
    "OUT",
    "a new file, which must not exist; without it FILE itself is replaced",
    completion: .file,
    isOptional: true
  )
  static let rows = """
    --columns chooses what is shown of an object: properties, and paths as in a query (dog.name, friends.@count). In \
    CSV and TSV an empty field is null and "" is the empty string; in a table null is blank. Control characters are \
    escaped, as \\u001b. The widths of a table come from the first rows. On a terminal longer texts are cut, and where \
    more than half of the columns find no room, objects are records one below the other.
    """
  static let values = """
    VALUE is null, which clears the property, or a value of the property's type. Strings, dates, UUIDs, object ids, \
    decimals, binaries and links to objects with such a primary key are written as they are: name=Rex. A VALUE that \
    begins with " is a JSON string: name='"null"' is the text null. Numbers, true and false, lists, sets, \
    dictionaries, embedded objects and mixed values are JSON, as in the files of a mounted tree.
    """
  static let rewriting = """
    Writes the newest version anew and puts it in the place of FILE when it is on disk: a crash leaves the old or \
    the new file. Refused while another program has the realm open, unless OUT is given, which leaves FILE as it is.
    """
  static let checking = """
    The new file is read back first and checked as 'realmfs check' does, unless --no-verify is given. If it is not \
    sound, FILE stays as it was and the exit code is 4: a damaged realm is for 'realmfs recover'.
    """
  static let types = """
    TYPE is bool, int, float, double, string, data, date, decimal128, objectId, uuid, mixed or the name of a class, to \
    which the property links. After it, ? allows null; [], <> or {} make a list, a set or a dictionary of such values: \
    'int?', 'string[]', 'Dog', 'double{}'.
    """
  static let schemaChanges = """
    Each command is one commit. The schema version stays: apps find the new schema, and those whose models differ from \
    it migrate as the SDK does when their schema version grows. --dry-run shows what would change.
    """
}
