// Opens a realm as its configuration specifies, step by step: the seed, compaction, the file, the schema, and what to
// do if the data does not fit the schema. After each step the realm is intact, in its state before or after the step.

import Glibc

/// A step taken before a realm was opened.
public enum LaunchStep: Sendable {
  /// The file did not exist and is a copy of the seed.
  case seeded(from: String)
  /// The file was compacted.
  case compacted(RealmCopy.Sizes)
  /// The file was not compacted, because another program has the realm open or the realm is damaged.
  case notCompacted(EngineError)
  /// The realm did not fit the schema and was replaced by an empty one.
  case deleted(because: EngineError)
  /// The schema was changed.
  case schemaChanged(from: UInt64?, to: UInt64?)
}

extension RealmWriter {
  /// Opens a realm as `configuration` specifies, and creates it if it does not exist and `create` is set. `report`
  /// receives each step taken before that. Throws `needsMigration`, `oldSchema` or `badSchema` if the realm cannot
  /// adopt the schema; the realm is then unchanged.
  public static func open(
    _ configuration: Configuration,
    create: Bool = true,
    report: (LaunchStep) -> Void = { _ in }
  ) throws(EngineError) -> RealmWriter {
    try configuration.check()
    let path = configuration.path
    if unsafe configuration.inMemoryIdentifier == nil && access(path, F_OK) != 0 {
      if create && path == Configuration.defaultPath { try Configuration.makeFolder(of: path) }
      if let seed = configuration.seedPath, try copy(seed, configuration) { report(.seeded(from: seed)) }
    }
    if let condition = configuration.compactsOnLaunch, hasContent(path) {
      try compact(configuration, condition, report)
    }
    do { return try openAndChange(configuration, create, report) } catch {
      guard configuration.deletesIfMigrationNeeded, [.needsMigration, .oldSchema].contains(error.reason) else {
        throw error
      }
      try RealmCopy.empty(configuration)
      report(.deleted(because: error))
      return try openAndChange(configuration, create, report)
    }
  }

  /// True if there is a file with content. An empty file is about to become a realm.
  private static func hasContent(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_size > 0
  }

  private static func openAndChange(
    _ configuration: Configuration,
    _ create: Bool,
    _ report: (LaunchStep) -> Void
  ) throws(EngineError) -> RealmWriter {
    let writer = try RealmWriter(configuration, create: create)
    if let schema = configuration.schema { try writer.take(schema, configuration, report) }
    return writer
  }

  /// Changes the realm to have a schema.
  private func take(
    _ schema: any WantedSchema,
    _ configuration: Configuration,
    _ report: (LaunchStep) -> Void
  ) throws(EngineError) {
    let path = configuration.path
    let transaction = try beginOnThisThread()
    let change = try schema.change(in: transaction), former = change.formerVersion
    if configuration.deletesIfMigrationNeeded, let former, let version = schema.version, version != former {
      throw EngineError(.needsMigration, "\(path): schema version \(former) -> \(version)")
    }
    if change.isEmpty { return transaction.rollback() }
    if !change.losses.isEmpty && configuration.migration == nil {
      throw EngineError(
        .needsMigration,
        "\(path): the schema needs a migration: it \(change.losses.joined(separator: "; it "))"
      )
    }
    let old = try realm.latest()
    try change.make(in: transaction)
    let hasGrown = schema.version.map { version in former.map { version > $0 } ?? !change.losses.isEmpty } ?? false
    if let migration = configuration.migration, hasGrown {
      do { try migration(old, transaction, former) } catch {
        throw EngineError(.migrationFailed, "\(path): the migration failed, so nothing was changed: \(error)")
      }
    }
    _ = try transaction.commit()
    report(.schemaChanged(from: former, to: schema.version ?? former))
  }

  private static func compact(
    _ configuration: Configuration,
    _ condition: (Int, Int) -> Bool,
    _ report: (LaunchStep) -> Void
  ) throws(EngineError) {
    do {
      let sizes = try RealmCopy.rewrite(configuration, key: configuration.encryptionKey, where: condition)
      if let sizes { report(.compacted(sizes)) }
    } catch {
      if error.reason != .inUse && error.reason != .damaged { throw error }
      report(.notCompacted(error))
    }
  }

  /// Copies the seed; false if another program created the realm in the meantime.
  private static func copy(_ seed: String, _ configuration: Configuration) throws(EngineError) -> Bool {
    let source = Configuration(path: seed, encryptionKey: configuration.encryptionKey, mode: .immutable)
    do {
      _ = try RealmCopy.write(source, to: configuration.path, key: configuration.encryptionKey, isForWriting: true)
      return true
    } catch {
      if error.code == EEXIST { return false }
      throw error
    }
  }
}

extension Configuration {
  /// Creates the directory of a file, and its missing parents, accessible to this user only.
  package static func makeFolder(of path: String) throws(EngineError) {
    try makeFolder(FileHandle.folder(of: path))
  }

  private static func makeFolder(_ path: String) throws(EngineError) {
    if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    let code = errno
    guard code == ENOENT, path.count > 1 else { throw .failed("mkdir", path, code) }
    try makeFolder(of: path)
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .failed("mkdir", path, errno) }
  }
}
