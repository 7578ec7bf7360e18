// How a realm is opened, for both the library and the command line. Properties that exclude each other reset each
// other, as in Realm's SDKs; contradictions are rejected when the realm is opened.

import Glibc

/// How a realm is opened.
public struct Configuration: Sendable {
  /// How a realm is shared with other programs.
  public enum Mode: Sendable, Hashable {
    /// Other programs can have the realm open at the same time, and all see each other's commits. Creates the files
    /// `FILE.lock` and `FILE.management` beside the realm, for reading too.
    case shared
    /// No other program can have the realm open; refused if one has. Other programs wait while this one has it open.
    case exclusive
    /// Only the file itself is accessed, and only for reading, so this mode works where no file can be created. Other
    /// programs can write at the same time and are not aware of this reader.
    case immutable
  }

  /// Migrates the objects of a realm whose schema version has increased, in the transaction that changes the schema.
  /// `old` is the version before the change, `new` has the new schema, and `version` is the previous schema version,
  /// nil if there was none. If it throws an error, everything is rolled back.
  public typealias Migration =
    @Sendable (_ old: Snapshot, _ new: borrowing WriteTransaction, _ version: UInt64?) throws -> Void

  private enum Place: Hashable {
    case file(String)
    case memory(String)
  }
  private var place: Place

  // MARK: location and key

  /// The path of the file; for a realm in memory, its path in the memory file system. Setting it resets
  /// `inMemoryIdentifier`.
  public var path: String {
    get {
      switch place {
      case .file(let path): path
      case .memory(let identifier): InMemoryFolder.path(of: identifier)
      }
    }
    set { place = .file(newValue) }
  }

  /// The name of a realm in memory. All programs of this user on this machine that use the name share the realm; it is
  /// discarded when the last of them closes it. Setting it resets `path` and `seedPath`; nil selects the default realm.
  public var inMemoryIdentifier: String? {
    get { if case .memory(let identifier) = place { identifier } else { nil } }
    set {
      guard let newValue else { return inMemoryIdentifier == nil ? () : (place = .file(Self.defaultPath)) }
      place = .memory(newValue)
      seedPath = nil
    }
  }

  /// A realm whose newest version is copied when the file does not exist yet. Setting it resets `inMemoryIdentifier`.
  public var seedPath: String? {
    didSet { if seedPath != nil { inMemoryIdentifier = nil } }
  }

  /// The 64-byte key of an encrypted file; nil for a plain one. Not allowed for realms in memory.
  public var encryptionKey: EncryptionKey?

  // MARK: sharing

  /// How the realm is shared with other programs. Realms in memory must be `shared`.
  public var mode: Mode
  /// True if nothing is written to the realm. Setting it resets `migration`, `deletesIfMigrationNeeded` and
  /// `compactsOnLaunch`.
  public var isReadOnly = false {
    didSet { if isReadOnly { (migration, deletesIfMigrationNeeded, compactsOnLaunch) = (nil, false, nil) } }
  }
  /// The time without access after which this process leaves a shared realm, so that other programs can compact or
  /// delete it; the next access joins again. If nil, it never leaves. Realms in memory are never left.
  public var idleTime: Duration? = .seconds(5)
  /// The maximum number of versions in use by all programs together. A transaction that would exceed it is refused with
  /// `tooManyVersions`. Its base version and the version it creates count too. Nil: no limit.
  public var maximumActiveVersions: Int?
  /// The directory of the pipe through which programs notify each other of commits; if nil, the pipe is beside the
  /// realm.
  public var fifoFolder: String?

  /// True if root joins the session of another user's realm. That user's programs can then write to memory that root's
  /// program relies on. If false, root reads such a realm as in `immutable` mode, and opening it for writing throws
  /// `untrusted` unless the mode is `exclusive`. No effect for other users.
  public var trustsOwner = false

  /// True if a file whose header leads to no version is opened as an empty realm even if it contains nodes, which the
  /// next commits overwrite. If false, opening such a file throws `unreached`.
  public var opensUnreachedAsEmpty = false

  /// True if UUIDs are shown in the byte order of the .NET SDK before 10.10, unless the realm is marked as converted.
  /// Such a realm is read-only.
  public var showsDotNetGuids = false

  // MARK: on opening

  /// Decides whether to compact the file before it is opened, given the size of the file and the number of bytes in
  /// use. The file is not compacted while another program has the realm open. Setting it resets `isReadOnly`.
  public var compactsOnLaunch: (@Sendable (_ total: Int, _ used: Int) -> Bool)? {
    didSet { if compactsOnLaunch != nil { isReadOnly = false } }
  }
  /// The schema that the realm must have. Missing parts are added; classes that it does not name are not changed.
  public var schema: (any WantedSchema)?
  /// Runs when the schema version has increased, and permits schema changes that lose or convert data. Setting it
  /// resets `isReadOnly` and `deletesIfMigrationNeeded`.
  public var migration: Migration? {
    didSet { if migration != nil { (isReadOnly, deletesIfMigrationNeeded) = (false, false) } }
  }
  /// True if a realm that has a different schema version or needs a migration is replaced by an empty one. Setting it
  /// resets `isReadOnly` and `migration`.
  public var deletesIfMigrationNeeded = false {
    didSet { if deletesIfMigrationNeeded { (isReadOnly, migration) = (false, nil) } }
  }
  /// The names of the visible classes; nil for all.
  public var objectTypes: [String]?

  /// A realm in a file, with its key if it is encrypted.
  public init(path: String, encryptionKey: EncryptionKey? = nil, mode: Mode = .shared) {
    place = .file(path)
    self.encryptionKey = encryptionKey
    self.mode = mode
  }

  /// A realm in memory.
  public init(inMemoryIdentifier identifier: String) {
    place = .memory(identifier)
    mode = .shared
  }

  /// The default realm.
  public init() { self.init(path: Self.defaultPath) }

  /// The path of the default realm: `realmfs/default.realm` in `$XDG_DATA_HOME`, or in `~/.local/share`.
  public static var defaultPath: String { UserFolders.data + "/realmfs/default.realm" }

  /// Throws if the properties contradict each other.
  func check() throws(EngineError) {
    guard let identifier = inMemoryIdentifier else { return }
    let name = "the realm '\(identifier)' in memory"
    if mode != .shared { throw EngineError(.contradictory, "\(name) can only be shared") }
    if encryptionKey != nil { throw EngineError(.contradictory, "\(name) cannot be encrypted: leave the key out") }
    try InMemoryFolder.check(identifier)
  }
}

extension Realm {
  /// How a realm is opened.
  public typealias Configuration = RealmPages.Configuration
}
