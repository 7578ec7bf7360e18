// How a realm is opened.

/// How a realm is opened.
public struct Configuration: Sendable {
  /// How much is shared with other programs.
  public enum Mode: Sendable, Hashable {
    /// Other programs can have the realm open at the same time, and all see each other's commits. Makes the files
    /// `FILE.lock` and `FILE.management` beside the realm, also for reading.
    case shared
    /// Nobody else can have the realm open; refused if somebody has. Others wait while we have it.
    case exclusive
    /// Nothing but the file itself is touched, and that only for reading: works where no file can be made. Others can
    /// write at the same time and do not know of us.
    case immutable
  }

  /// The path of the file.
  public var path: String
  /// The 64-byte key of an encrypted file; nil for a plain one.
  public var encryptionKey: EncryptionKey?
  /// How much is shared with other programs.
  public var mode: Mode
  /// After this time without access a shared realm is left to others, who can compact or delete it then; with the next
  /// access we are back. Nil: never.
  public var idleTime: Duration? = .seconds(5)

  /// Names the file and, if it is encrypted, its key.
  public init(path: String, encryptionKey: EncryptionKey? = nil, mode: Mode = .shared) {
    self.path = path
    self.encryptionKey = encryptionKey
    self.mode = mode
  }
}
