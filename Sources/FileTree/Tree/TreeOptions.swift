// What the user chooses about the tree.

public import RealmJSON
public import RealmPages

/// How a realm is shown as a tree.
public struct TreeOptions: Sendable {
  /// The notation of object files.
  public var json = JSONStyle.plain
  /// Whether the root lists `.realm`; looking it up always works.
  public var showControl = false
  /// The names of the classes to show; nil shows all.
  public var classes: [String]?
  /// By the name of a class's directory: the query that finds the objects that it lists, in Realm Query Language.
  /// Others are there all the same, for programs that name them.
  public var queries: [String: String] = [:]
  /// The owner of every file and directory, instead of the realm file's.
  public var uid: UInt32?
  /// The group of every file and directory, instead of the realm file's.
  public var gid: UInt32?
  /// Permission bits that nothing has. Given any mask, the realm file's own mode counts no more.
  public var umask: UInt32?
  /// Permission bits that files do not have, instead of `umask`.
  public var fmask: UInt32?
  /// Permission bits that directories do not have, instead of `umask`.
  public var dmask: UInt32?
  /// True if the kernel lets in users other than the one who mounted, as far as modes allow.
  public var admitsOtherUsers = false
  /// What saving an object does to properties that its text does not have.
  public var write = WriteMode.patch
  /// Whether the version that is the newest now is shown for good, whatever is committed. Only for a tree that shows.
  public var isFrozen = false
  /// How long a save may take to reach the disk after it returned, in milliseconds; 0 has each save wait for the disk.
  public var groupCommit = 0
  /// How long a save waits while other programs are writing.
  public var lockTimeout = RealmWriter.patience
  /// How long a query may take.
  public var queryTimeout = Duration.seconds(30)
  /// When a query that begins now has taken too long.
  var queryDeadline: ContinuousClock.Instant { .now.advanced(by: queryTimeout) }
  /// True if `mkdir` in the root makes a class.
  public var createsClasses = false
  /// The bytes that files in memory may take together.
  public var memoryLimit = 256 << 20
  /// What `.realm/README` and `.realm/info.json` say of this program.
  public var productVersion = ""
  /// What `.realm/sync.json` says, and `.realm/info.json` under `sync`; nil for a realm that is not synced.
  public var syncReport: (@Sendable () -> String)?
  /// Called with the class, the file name and the text of an object before a commit changes or deletes it, and without
  /// a class for the schema; returns why the text cannot be kept, or nil.
  public var keepFormerText: (@Sendable (_ className: String?, _ name: String, _ text: [UInt8]) -> String?)?
  /// Called with the path and the content of each file that is in memory only when the mount ends; returns where it is
  /// kept.
  public var keepUnsaved: (@Sendable (_ path: String, _ content: [UInt8]) throws(EngineError) -> String)?
  /// Called with one line for each damaged thing that was met; at most 100 different lines.
  public var log: (@Sendable (String) -> Void)?

  /// All classes, plain notation, owner and mode of the realm file.
  public init() {}
}
