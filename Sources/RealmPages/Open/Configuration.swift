// How a realm is opened: the one type for the library and the command line. Properties that exclude each other reset
// each other, as in Realm's SDKs; what cannot be meant is refused when the realm is opened.

import Glibc

/// How a realm is opened.
public struct Configuration: Sendable {
  /// How much is shared with other programs.
  public enum Mode: Sendable, Hashable {
    /// Other programs can have the realm open at the same time, and all see each other's commits. Makes the files
    /// `FILE.lock` and `FILE.management` beside the realm, also for reading.
    case shared
    /// No other program can have the realm open; refused if one has. Others wait while we have it.
    case exclusive
    /// Nothing but the file itself is touched, and that only for reading: works where no file can be made. Others can
    /// write at the same time and do not know of us.
    case immutable
  }

  /// Works on the objects of a realm whose schema version grew, in the transaction that changes the schema: `old` is
  /// the version before, `new` has the new schema, `version` is the schema version before, nil if there was none. What
  /// it throws takes everything back.
  public typealias Migration =
    @Sendable (_ old: Snapshot, _ new: borrowing WriteTransaction, _ version: UInt64?) throws -> Void

  private enum Place: Hashable {
    case file(String)
    case memory(String)
  }
  private var place: Place

  // MARK: which realm

  /// The path of the file; of a realm in memory, the path in the memory file system where it is. Setting it resets
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

  /// The name of a realm in memory, which all programs of this user on this machine share that name it so, and which is
  /// gone when the last of them closes it. Setting it resets `path` and `seedPath`; nil leads to the default realm.
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

  /// The 64-byte key of an encrypted file; nil for a plain one. Not for realms in memory.
  public var encryptionKey: EncryptionKey?

  // MARK: how it is shared

  /// How much is shared with other programs. Only `shared` for realms in memory.
  public var mode: Mode
  /// Whether nothing is written to the realm. Setting it resets `migration`, `deletesIfMigrationNeeded` and
  /// `compactsOnLaunch`.
  public var isReadOnly = false {
    didSet { if isReadOnly { (migration, deletesIfMigrationNeeded, compactsOnLaunch) = (nil, false, nil) } }
  }
  /// After this time without access a shared realm is left to others, who can compact or delete it then; with the next
  /// access we are back. Nil: never. Realms in memory are not left.
  public var idleTime: Duration? = .seconds(5)
  /// How many versions may be in use at once, by all programs together: a transaction that would make one more is
  /// refused with `tooManyVersions`. The version that it builds on and the one that it makes count too. Nil: no limit.
  public var maximumActiveVersions: Int?
  /// Where the pipe is made through which programs tell each other of commits, instead of beside the realm.
  public var fifoFolder: String?

  /// Whether root takes part in a realm of another user, whose programs can then write to memory that root's program
  /// relies on. Otherwise such a realm is read like an immutable one, and opening it for writing throws `untrusted`
  /// unless it is opened `exclusive`. Means nothing to other users.
  public var trustsOwner = false

  /// True if a file whose header leads to no version is opened as an empty realm although it holds nodes, which
  /// the next commits overwrite. Otherwise opening throws `unreached`.
  public var opensUnreachedAsEmpty = false

  /// True if UUIDs show as .NET before 10.10 wrote them, if the realm is not marked as converted. Such a realm is only
  /// read.
  public var showsDotNetGuids = false

  // MARK: what is done first

  /// Whether the file is compacted before it is opened, by its size and the part of it in use, in bytes. Nothing is
  /// done while another program has the realm open. Setting it resets `isReadOnly`.
  public var compactsOnLaunch: (@Sendable (_ total: Int, _ used: Int) -> Bool)? {
    didSet { if compactsOnLaunch != nil { isReadOnly = false } }
  }
  /// The schema that the realm must have: what is missing is added. Classes that it does not name stay as they are.
  public var schema: (any WantedSchema)?
  /// What is done when the schema version has grown, and makes changes legal that lose or convert data. Setting it
  /// resets `isReadOnly` and `deletesIfMigrationNeeded`.
  public var migration: Migration? {
    didSet { if migration != nil { (isReadOnly, deletesIfMigrationNeeded) = (false, false) } }
  }
  /// Whether a realm with another schema version, or that needs a migration, is replaced by an empty one. Setting it
  /// resets `isReadOnly` and `migration`.
  public var deletesIfMigrationNeeded = false {
    didSet { if deletesIfMigrationNeeded { (isReadOnly, migration) = (false, nil) } }
  }
  /// The names of the classes that are shown; nil for all.
  public var objectTypes: [String]?

  /// Names the file and, if it is encrypted, its key.
  public init(path: String, encryptionKey: EncryptionKey? = nil, mode: Mode = .shared) {
    place = .file(path)
    self.encryptionKey = encryptionKey
    self.mode = mode
  }

  /// Names a realm in memory.
  public init(inMemoryIdentifier identifier: String) {
    place = .memory(identifier)
    mode = .shared
  }

  /// The default realm.
  public init() { self.init(path: Self.defaultPath) }

  /// The path of the default realm: `realmfs/default.realm` in `$XDG_DATA_HOME`, or in `~/.local/share`.
  public static var defaultPath: String { UserFolders.data + "/realmfs/default.realm" }

  /// Throws if no realm can be opened in this way.
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
