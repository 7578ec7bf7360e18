// The directories of the XDG base directory specification, where a user's programs keep their files.

import Glibc

/// The directories in which a user's programs keep their files.
package enum UserFolders {
  /// User data: `$XDG_DATA_HOME`, or `~/.local/share`.
  package static var data: String { folder("XDG_DATA_HOME") ?? home + "/.local/share" }

  /// State that programs keep between runs: `$XDG_STATE_HOME`, or `~/.local/state`.
  package static var state: String { folder("XDG_STATE_HOME") ?? home + "/.local/state" }

  /// The directory for files that exist while a program runs: `$XDG_RUNTIME_DIR`, or `/run` for root and `/tmp` for
  /// others. A directory of another user, as after `su`, is ignored.
  package static var runtime: String {
    var status = stat()
    if let own = folder("XDG_RUNTIME_DIR"), unsafe stat(own, &status) == 0, status.st_uid == geteuid() { return own }
    return geteuid() == 0 ? "/run" : "/tmp"
  }

  private static var home: String {
    unsafe folder("HOME") ?? getpwuid(getuid()).map { unsafe String(cString: $0.pointee.pw_dir) } ?? "/"
  }

  /// The path in an environment variable. Paths that are not absolute are ignored, as the specification requires.
  private static func folder(_ variable: String) -> String? {
    unsafe getenv(variable).map { unsafe String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
