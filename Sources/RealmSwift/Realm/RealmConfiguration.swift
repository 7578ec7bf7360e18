// How a realm is opened.

public import Foundation
import RealmPages
import Synchronization

extension Realm {
  /// How a realm is opened. Properties that exclude each other reset each other.
  public struct Configuration: @unchecked Sendable {
    // Unchecked: metatypes never change, and the blocks are called by the thread that opens the realm.

    /// The file; nil for a realm in memory. Setting it resets `inMemoryIdentifier` and `syncConfiguration`.
    public var fileURL: URL? {
      didSet { if fileURL != nil { (inMemoryIdentifier, syncConfiguration) = (nil, nil) } }
    }
    /// The name of a realm in memory, which is gone when the last instance is. Setting it resets `fileURL`,
    /// `seedFilePath` and `syncConfiguration`.
    public var inMemoryIdentifier: String? {
      didSet { if inMemoryIdentifier != nil { (fileURL, seedFilePath, syncConfiguration) = (nil, nil, nil) } }
    }
    /// The realm of a sync server; nil for a local realm. Setting it resets `fileURL` and `inMemoryIdentifier`: where
    /// the local copy is, the sync configuration says. Migrations and seeds are for local realms.
    public var syncConfiguration: SyncConfiguration? {
      didSet { if syncConfiguration != nil { (fileURL, inMemoryIdentifier) = (nil, nil) } }
    }
    /// The 64-byte key of an encrypted file.
    public var encryptionKey: Data?
    /// Whether nothing is written. The file must not be changed by others meanwhile; a synced realm is kept up to date
    /// all the same.
    public var readOnly: Bool
    /// The version of the schema.
    public var schemaVersion: UInt64
    /// Called when the realm has a smaller schema version than this configuration.
    public var migrationBlock: MigrationBlock?
    /// Whether a realm that needs a migration loses its objects instead. Setting it resets `migrationBlock`.
    public var deleteRealmIfMigrationNeeded: Bool {
      didSet { if deleteRealmIfMigrationNeeded { migrationBlock = nil } }
    }
    /// Whether the file is compacted before it is opened for the first time, by its size and the bytes in use.
    public var shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)?
    /// The classes of the realm; nil for all classes of the program.
    public var objectTypes: [ObjectBase.Type]?
    /// The number of versions that may be in use; 0 is no limit.
    public var maximumNumberOfActiveVersions: UInt?
    /// A realm that is copied when the file does not exist. Setting it resets `inMemoryIdentifier`.
    public var seedFilePath: URL? {
      didSet { if seedFilePath != nil { inMemoryIdentifier = nil } }
    }

    /// Names what differs from the default realm.
    public init(
      fileURL: URL? = Self.defaultFileURL,
      inMemoryIdentifier: String? = nil,
      syncConfiguration: SyncConfiguration? = nil,
      encryptionKey: Data? = nil,
      readOnly: Bool = false,
      schemaVersion: UInt64 = 0,
      migrationBlock: MigrationBlock? = nil,
      deleteRealmIfMigrationNeeded: Bool = false,
      shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)? = nil,
      objectTypes: [ObjectBase.Type]? = nil,
      maximumNumberOfActiveVersions: UInt? = nil,
      seedFilePath: URL? = nil
    ) {
      self.fileURL = inMemoryIdentifier == nil && syncConfiguration == nil ? fileURL : nil
      self.inMemoryIdentifier = syncConfiguration == nil ? inMemoryIdentifier : nil
      self.syncConfiguration = syncConfiguration
      self.encryptionKey = encryptionKey
      self.readOnly = readOnly
      self.schemaVersion = schemaVersion
      self.migrationBlock = migrationBlock
      self.deleteRealmIfMigrationNeeded = deleteRealmIfMigrationNeeded
      self.shouldCompactOnLaunch = shouldCompactOnLaunch
      self.objectTypes = objectTypes
      self.maximumNumberOfActiveVersions = maximumNumberOfActiveVersions
      self.seedFilePath = inMemoryIdentifier == nil ? seedFilePath : nil
    }

    /// The file of the default realm: `realmfs/default.realm` in `$XDG_DATA_HOME`, or in `~/.local/share`.
    public static var defaultFileURL: URL { URL(fileURLWithPath: RealmPages.Configuration.defaultPath) }

    private static let shared = Mutex(Configuration())

    /// What `Realm()` opens.
    public static var defaultConfiguration: Configuration {
      get { shared.withLock { $0 } }
      set { shared.withLock { $0 = newValue } }
    }
  }
}

extension Realm.Configuration {
  /// The engine's configuration.
  func engine() throws -> RealmPages.Configuration {
    var engine: RealmPages.Configuration
    if let syncConfiguration {
      try checkSynced()
      engine = RealmPages.Configuration(path: try syncConfiguration.path())
    } else if let inMemoryIdentifier {
      engine = RealmPages.Configuration(inMemoryIdentifier: inMemoryIdentifier)
    } else if let fileURL {
      engine = RealmPages.Configuration(path: fileURL.path)
    } else {
      throw Realm.Error(.invalidInput, "the configuration has neither fileURL nor inMemoryIdentifier")
    }
    if let encryptionKey {
      guard let key = EncryptionKey([UInt8](encryptionKey)) else {
        throw Realm.Error(.invalidInput, "an encryption key has 64 bytes, not \(encryptionKey.count)")
      }
      engine.encryptionKey = key
    }
    if readOnly, syncConfiguration == nil {
      if deleteRealmIfMigrationNeeded {
        throw Realm.Error(.invalidInput, "deleteRealmIfMigrationNeeded does not go with readOnly")
      }
      engine.mode = .immutable
      engine.isReadOnly = true
    } else if let shouldCompactOnLaunch {
      engine.compactsOnLaunch = { total, used in shouldCompactOnLaunch(total, used) }
    }
    if let maximumNumberOfActiveVersions, maximumNumberOfActiveVersions > 0 {
      engine.maximumActiveVersions = Int(clamping: maximumNumberOfActiveVersions)
    }
    engine.seedPath = seedFilePath?.path
    // A Realm is a member for as long as it lives.
    engine.idleTime = nil
    return engine
  }

  /// Throws for what only local realms have.
  private func checkSynced() throws {
    let wrong =
      [
        ("migrationBlock", migrationBlock != nil), ("deleteRealmIfMigrationNeeded", deleteRealmIfMigrationNeeded),
        ("seedFilePath", seedFilePath != nil),
      ]
      .first { $0.1 }
    guard let wrong else { return }
    throw Realm.Error(
      .invalidInput,
      "\(wrong.0) does not go with syncConfiguration: a synced realm only gets new classes and properties, and is "
        + "filled by its server"
    )
  }
}
