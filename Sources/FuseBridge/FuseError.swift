// The error of a failed mount.

/// The reason why a mount failed. Each case is a cause with its own exit code of the command.
public enum FuseError: Error, Sendable, CustomStringConvertible {
  /// The mount point is missing, not a directory, or not accessible.
  case mountPoint(String)
  /// FUSE is not available, or the kernel or fusermount3 refused the mount.
  case refused(String)
  /// An option that neither the kernel nor libfuse knows.
  case badOption(String)

  /// The problem and its remedy.
  public var description: String {
    switch self {
    case .mountPoint(let text), .refused(let text), .badOption(let text): text
    }
  }
}
