// The user's options for the tree.

public import RealmJSON
public import RealmPages

/// Options for showing a realm as a tree.
public struct TreeOptions: Sendable {
  /// The JSON style of object files.
  public var json = JSONStyle.plain
  /// True if the root lists `.realm`, and directories their dot entries; looking them up always works.
  public var showControl = false
  /// The names of the classes to show; nil shows all.
  public var classes: [String]?
  /// For class directories, by name: a query in Realm Query Language that selects the objects to list. Other objects
  /// are not listed but can be opened by name.
  public var queries: [String: String] = [:]
  /// The owner of every file and directory, instead of the realm file's.
  public var uid: UInt32?
  /// The group of every file and directory, instead of the realm file's.
  public var gid: UInt32?
  /// Permission bits to clear for files and directories. If any mask is set, the mode of the realm file is ignored.
  public var umask: UInt32?
  /// Permission bits to clear for files, instead of `umask`.
  public var fmask: UInt32?
  /// Permission bits to clear for directories, instead of `umask`.
  public var dmask: UInt32?
  /// True if the kernel admits users other than the one who mounted the realm, as far as modes allow.
  public var admitsOtherUsers = false
  /// The effect of saving on properties that are missing in the text.
  public var write = WriteMode.patch
  /// True if the tree permanently shows the version that is the newest now. Only for a read-only tree.
  public var isFrozen = false
  /// The time in milliseconds within which a returned save reaches the disk; 0 makes each save wait for the disk.
  public var groupCommit = 0
  /// The total time for which a slow reader of `.realm/changes` may keep a version held; tests wait longer.
  package var changeHoldLimit = ChangeFeed.holdLimit
  /// The time that a save waits for other writers.
  public var lockTimeout = RealmWriter.timeout
  /// The time limit of a query.
  public var queryTimeout = Duration.seconds(30)
  /// The deadline of a query that starts now.
  var queryDeadline: ContinuousClock.Instant { .now.advanced(by: queryTimeout) }
  /// True if `mkdir` in the root adds a class.
  public var createsClasses = false
  /// The maximum size of all files in memory, in bytes.
  public var memoryLimit = 256 << 20
  /// The program version shown in `.realm/README` and `.realm/info.json`.
  public var productVersion = ""
  /// The contents of `.realm/sync.json`, and of `sync` in `.realm/info.json`; nil for a realm that is not synced.
  public var syncReport: (@Sendable () -> String)?
  /// Called with the class, file name and text of an object before a commit changes or deletes it, and without a class
  /// for the schema. Returns the reason why the text cannot be kept, or nil.
  public var keepFormerText: (@Sendable (_ className: String?, _ name: String, _ text: [UInt8]) -> String?)?
  /// Called when the mount ends, with the path and content of each file that is only in memory. Returns the path where
  /// the content was saved.
  public var keepUnsaved: (@Sendable (_ path: String, _ content: [UInt8]) throws(EngineError) -> String)?
  /// Called with one line for each damage found; at most 100 different lines.
  public var log: (@Sendable (String) -> Void)?

  /// Shows all classes in plain style, with the owner and mode of the realm file.
  public init() {}
}
