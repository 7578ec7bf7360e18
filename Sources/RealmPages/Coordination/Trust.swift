// The users with whom root shares memory. Participants of a realm share the lock file as memory, and the owner of the
// realm can write anything there: the owner controls how long the others wait, and which version they regard as the
// newest. Root therefore joins only realms that root owns, unless configured otherwise. The owner is read from open
// files, which cannot be swapped.

import Glibc

/// The trust check.
enum Trust {
  /// Throws if this process runs as root, another user owns the open file, and the configuration does not trust the
  /// owner.
  static func check(_ file: FileHandle, _ configuration: Configuration) throws(EngineError) {
    let owner = try file.status().owner
    try check(owner: owner, of: file.path, configuration)
  }

  /// Like `check(_:_:)`, for a file with this owner.
  static func check(owner: uid_t, of path: String, _ configuration: Configuration) throws(EngineError) {
    if configuration.trustsOwner || geteuid() != 0 || owner == 0 { return }
    throw EngineError(
      .untrusted,
      "\(path): belongs to user \(owner); root shares files of other users only with --trust-owner",
      unsharedPlace: .untrusted
    )
  }
}
