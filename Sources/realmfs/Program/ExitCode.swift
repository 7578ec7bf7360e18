// The exit codes, shared by all commands. Scripts rely on them: the meaning of a code never changes.

/// The exit status of the process.
enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  case failure = 1
  case usage = 2
  case unreadable = 3
  case damaged = 4
  case keyNeeded = 5
  case wrongKey = 6
  case upgradeNeeded = 7
  case inUse = 8
  case mountPoint = 9
  case fuse = 10
  case notCommitted = 11
  case server = 12

  /// A one-line description for the man page and `--help`.
  var meaning: String {
    switch self {
    case .done: "done"
    case .failure: "any other failure"
    case .usage: "the command line is wrong"
    case .unreadable: "the file, class or object is missing or cannot be read"
    case .damaged: "not a Realm file, or damaged"
    case .keyNeeded: "a key is needed or cannot be obtained"
    case .wrongKey: "wrong key, or a key for a file that is not encrypted"
    case .upgradeNeeded: "a file format that this version does not read"
    case .inUse: "the realm is in use by another program"
    case .mountPoint:
      "the mount point is missing, busy or not a mount of realmfs; umount, exec: files are in memory only"
    case .fuse: "FUSE is missing or refused"
    case .notCommitted: "tx, exec --tx: nothing was committed, or the commit was not confirmed"
    case .server: "the sync server cannot be reached, or refuses"
    }
  }
}
