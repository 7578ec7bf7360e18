// Arguments of `mount` that concern the realm: its file, how it is shared, and the steps before it is opened.
import RealmJSON
import RealmPages

extension Arguments {
  /// Options that change the realm; a read-only mount rejects them.
  private static let changing: [OptionName] = [
    .upgrade, .compactOnLaunch, .seed, .schemaFile, .migrate, .deleteIfMigrationNeeded, .maxVersions,
  ]

  /// True if the user requested a mount that changes nothing.
  var wantsNoChanges: Bool {
    has(.readOnly) || has(.immutable) || mountOption(.readOnly) != nil || mountOption(.frozen) != nil
      || showsDotNetGuids
  }

  /// True if UUIDs are shown as the .NET SDK before 10.10 wrote them.
  var showsDotNetGuids: Bool { has(.dotNetGuids) || mountOption(.dotNetGuids) != nil }

  /// True if root joins the session of a realm that belongs to another user.
  var trustsOwner: Bool { has(.trustOwner) || mountOption(.trustOwner) != nil }

  /// Throws a usage error if options contradict each other in a way that the option table cannot express.
  func checkMountOptions() throws {
    if wantsNoChanges, let option = Self.changing.first(where: { has($0) }) {
      throw usage("option --\(option.rawValue) changes the realm and cannot be used with a read-only mount")
    }
    for option in [OptionName.migrate, .deleteIfMigrationNeeded] where has(option) && !has(.schemaFile) {
      throw usage("option --\(option.rawValue) needs a schema: add --schema")
    }
    if let url = value(.sync) {
      if mountOption(.frozen) != nil { throw usage("mount option -o frozen cannot be used with --sync") }
      _ = try syncURL(url)
      _ = try syncTimeout()
    } else if let option = [OptionName.mirror, .user, .tokenFile, .tokenCommand, .authorities, .timeout].first(
      where: has
    ) {
      throw usage("option --\(option.rawValue) is for synced realms: add --sync")
    }
    _ = try maximumActiveVersions()
    _ = try compactCondition(.compactOnLaunch)
    _ = try KeySource(self)
  }

  /// Returns the absolute path of the realm to mount, which stays valid when the process changes its working directory.
  func mountedPath() throws -> String {
    if has(.defaultRealm) { return Configuration.defaultPath }
    if let url = value(.sync) { return try mirrorPath(of: syncURL(url)) }
    if let identifier = value(.inMemory) { return Configuration(inMemoryIdentifier: identifier).path }
    return System.absolute(operands[0])
  }

  /// True if a missing realm is created.
  var makesRealm: Bool { has(.defaultRealm) || has(.inMemory) || has(.schemaFile) }

  /// Returns the configuration of the realm to mount. Reads the key.
  func mountConfiguration(path: String, _ schema: SchemaDescription?) throws -> Configuration {
    var configuration = try RealmSource.configuration(path: path, self, .shared)
    if let identifier = value(.inMemory) { configuration.inMemoryIdentifier = identifier }
    if let seed = value(.seed) { configuration.seedPath = System.absolute(seed) }
    if let folder = value(.fifoFolder) { configuration.fifoFolder = System.absolute(folder) }
    if let condition = try compactCondition(.compactOnLaunch) {
      configuration.compactsOnLaunch = { total, used in condition.holds(total: total, used: used) }
    }
    configuration.maximumActiveVersions = try maximumActiveVersions()
    configuration.schema = schema
    configuration.deletesIfMigrationNeeded = has(.deleteIfMigrationNeeded)
    configuration.objectTypes = shownClasses()
    if has(.readOnly) || mountOption(.readOnly) != nil || mountOption(.frozen) != nil || showsDotNetGuids {
      configuration.isReadOnly = true
    }
    return configuration
  }

  /// Returns the schema in the file given by `option`, or on standard input for `-`; nil without the option.
  func schema(_ option: OptionName) throws -> SchemaDescription? {
    guard let file = value(option) else { return nil }
    if StandardInput.isNamed(by: file) { try StandardInput.take(as: "the schema") }
    let bytes: [UInt8]
    do { bytes = try System.bytes(ofFile: file) } catch {
      throw CommandFailure(.unreadable, "\(file): \(System.message(error.code))")
    }
    do {
      return try SchemaDescription(JSONText(bytes))
    } catch {
      throw CommandFailure(.failure, "\(file == "-" ? "standard input" : file): \(error)")
    }
  }

  private func maximumActiveVersions() throws -> Int? {
    guard let text = value(.maxVersions) else { return nil }
    guard let count = Int(text), count >= 2 else {
      throw usage("option --max-versions: '\(text)' is not a number above 1; a write needs two versions")
    }
    return count
  }
}
