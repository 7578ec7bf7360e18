// Updates the schema of a file to the model classes when it is opened, with a migration if needed.

import RealmPages

enum SchemaOpening {
  /// Updates the file to the wanted schema. Throws if that needs a migration and the schema version is unchanged.
  static func prepare(
    _ file: RealmFile,
    _ configuration: Realm.Configuration,
    _ wanted: WantedClasses
  ) throws {
    if let synced = file.synced { return try SyncOpening.prepare(file, synced, configuration, wanted) }
    let version = configuration.schemaVersion
    let hold = try file.reader.hold()
    let stored = try hold.snapshot.schemaVersion()
    let change = try ModelDifference(to: wanted, from: hold.snapshot)
    if stored == version && change.isEmpty { return }
    if configuration.readOnly { return try checkReadable(change, stored, version, file) }
    guard file.writer != nil else { return }
    let context = try RealmContext(file, configuration, wanted)
    try context.begin()
    do {
      try apply(in: context, configuration, wanted)
      try context.commit()
    } catch {
      context.cancel()
      throw error
    }
  }

  /// Checks that a read-only realm already has the classes.
  private static func checkReadable(
    _ change: ModelDifference,
    _ stored: UInt64?,
    _ version: UInt64,
    _ file: RealmFile
  ) throws {
    if let stored, stored > version { throw older(version, than: stored, file) }
    if !change.migrations.isEmpty { throw needsMigration(change, file) }
  }

  private static func apply(
    in context: RealmContext,
    _ configuration: Realm.Configuration,
    _ wanted: WantedClasses
  ) throws {
    let version = configuration.schemaVersion, file = context.file
    // Read the schema again: another program may have changed it in the meantime.
    let former = try context.snapshot(), stored = try former.schemaVersion()
    let change = try ModelDifference(to: wanted, from: former)
    if configuration.deleteRealmIfMigrationNeeded, let stored,
      stored != version || !change.migrations.isEmpty
    {
      try context.change { transaction in
        try wanted.removeAll(in: transaction)
        try wanted.begin(in: transaction)
        try wanted.finish(in: transaction, version: version)
      }
      return
    }
    if let stored, stored > version { throw older(version, than: stored, file) }
    if stored == version, !change.migrations.isEmpty { throw needsMigration(change, file) }
    try context.change { try wanted.begin(in: $0) }
    var removed: [TableKey] = []
    if let stored, stored < version, let block = configuration.migrationBlock {
      let migration = try Migration(context)
      block(migration, stored)
      migration.end()
      removed = migration.removed
    }
    try context.change { transaction in
      try wanted.finish(in: transaction, version: version)
      for table in removed { try transaction.removeTable(table) }
    }
  }

  private static func older(_ version: UInt64, than stored: UInt64, _ file: RealmFile) -> Realm.Error {
    Realm.Error(
      .schemaMismatch,
      "\(file.path): the schema version \(version) is less than that of the file, \(stored)"
    )
  }

  private static func needsMigration(_ change: ModelDifference, _ file: RealmFile) -> Realm.Error {
    Realm.Error(
      .schemaMismatch,
      "\(file.path): migration is required, because\n- " + change.migrations.joined(separator: "\n- ")
        + "\nraise schemaVersion, or set deleteRealmIfMigrationNeeded to lose the objects"
    )
  }
}
