// The status of a realm file.

/// The operating system's status of a realm file.
public struct FileStatus: Sendable {
  /// The size in bytes, including encryption metadata.
  public let size: Int
  /// Time of the last modification.
  public let modified: Timestamp
  /// Type and permission bits.
  public let mode: UInt32
  /// User id of the owner.
  public let owner: UInt32
  /// Group id.
  public let group: UInt32
}
