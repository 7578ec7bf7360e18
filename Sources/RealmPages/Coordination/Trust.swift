// Whose memory root shares. Programs that take part in a realm share the lock file as memory, and whoever owns the
// realm can write anything there: he decides what the others wait for, and what they take for the newest version. Root
// takes part only in what is root's, unless told otherwise. The owner is that of open files, which cannot be exchanged.

import Glibc

/// The rule.
enum Trust {
  /// Throws if this process is root's and an open file of a user's is about to be shared with that user's programs.
  static func check(_ file: FileHandle, _ configuration: Configuration) throws(EngineError) {
    let owner = try file.status().owner
    try check(owner: owner, of: file.path, configuration)
  }

  /// The same for a file of this owner.
  static func check(owner: uid_t, of path: String, _ configuration: Configuration) throws(EngineError) {
    if configuration.trustsOwner || geteuid() != 0 || owner == 0 { return }
    throw EngineError(
      .untrusted,
      "\(path): belongs to user \(owner), and root takes part in what other users can write to only with --trust-owner",
      apart: .untrusted
    )
  }
}
