// Why a tree cannot be mounted.

/// Why a mount did not come about. The cases tell whose fault it is; each has an exit code of the command.
public enum FuseError: Error, Sendable, CustomStringConvertible {
  /// The mount point is missing, no directory, or may not be used.
  case mountPoint(String)
  /// FUSE is not there, or the kernel or fusermount3 refused.
  case refused(String)
  /// An option that neither the kernel nor libfuse knows.
  case badOption(String)

  /// What happened, and what to do.
  public var description: String {
    switch self {
    case .mountPoint(let text), .refused(let text), .badOption(let text): text
    }
  }
}
