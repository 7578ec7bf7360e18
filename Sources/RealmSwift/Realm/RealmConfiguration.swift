// The configuration that a realm is opened with.

public import Foundation
import Glibc
import RealmPages
import Synchronization

extension Realm {
  /// The options for opening a realm. Options that exclude each other reset each other.
  public struct Configuration: @unchecked Sendable {
    // Unchecked: metatypes are immutable, and the blocks are called by the thread that opens the realm.

    /// The file; nil for an in-memory or synced realm. Setting it resets `inMemoryIdentifier` and `syncConfiguration`.
    public var fileURL: URL? {
      didSet { if fileURL != nil { (inMemoryIdentifier, syncConfiguration) = (nil, nil) } }
    }
    /// The name of an in-memory realm of this process, which is discarded when its last instance is released. Setting
    /// it resets `fileURL`, `seedFilePath` and `syncConfiguration`.
    public var inMemoryIdentifier: String? {
      didSet { if inMemoryIdentifier != nil { (fileURL, seedFilePath, syncConfiguration) = (nil, nil, nil) } }
    }
    /// The realm on a sync server; nil for a local realm. Setting it resets `fileURL` and `inMemoryIdentifier`: the
    /// sync configuration determines the path of the local copy. Only local realms can have migrations and seed files.
    public var syncConfiguration: SyncConfiguration? {
      didSet { if syncConfiguration != nil { (fileURL, inMemoryIdentifier) = (nil, nil) } }
    }
    /// The 64-byte key of an encrypted file.
    public var encryptionKey: Data?
    /// True to open the realm without write access. Other programs must not change the file while it is open. A synced
    /// realm still receives changes from its server.
    public var readOnly: Bool
    /// The version of the schema.
    public var schemaVersion: UInt64
    /// Called when the realm has a lower schema version than this configuration.
    public var migrationBlock: MigrationBlock?
    /// True to delete all objects of a realm that needs a migration. Setting it resets `migrationBlock`.
    public var deleteRealmIfMigrationNeeded: Bool {
      didSet { if deleteRealmIfMigrationNeeded { migrationBlock = nil } }
    }
    /// Decides whether to compact the file before it is opened for the first time. Called with the file size and the
    /// number of bytes in use.
    public var shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)?
    /// The classes of the realm; nil for all model classes of the program.
    public var objectTypes: [ObjectBase.Type]?
    /// The maximum number of versions in use; nil or 0 for no limit.
    public var maximumNumberOfActiveVersions: UInt?
    /// A realm that is copied if the file does not exist. Setting it resets `inMemoryIdentifier`.
    public var seedFilePath: URL? {
      didSet { if seedFilePath != nil { inMemoryIdentifier = nil } }
    }

    /// Creates a configuration. Without arguments, it describes the default realm.
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

    /// The configuration that `Realm()` opens.
    public static var defaultConfiguration: Configuration {
      get { shared.withLock { $0 } }
      set { shared.withLock { $0 = newValue } }
    }
  }
}

extension Realm.Configuration {
  /// Returns the engine configuration.
  func engine() throws -> RealmPages.Configuration {
    var engine: RealmPages.Configuration
    if let syncConfiguration {
      try checkSynced()
      engine = RealmPages.Configuration(path: try syncConfiguration.path())
    } else if let inMemoryIdentifier {
      // The engine's realms in memory are shared with other processes of the user.
      let identifier = inMemoryIdentifier.isEmpty ? "" : "\(getpid()) \(inMemoryIdentifier)"
      engine = RealmPages.Configuration(inMemoryIdentifier: identifier)
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
    // A `Realm` stays joined to the session for as long as it exists.
    engine.idleTime = nil
    return engine
  }

  /// Throws if an option is set that only local realms support.
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
