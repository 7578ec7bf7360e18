// How a realm is opened.

/// How a realm is opened.
public struct Configuration: Sendable {
  /// The path of the file.
  public var path: String
  /// The 64-byte key of an encrypted file; nil for a plain one.
  public var encryptionKey: EncryptionKey?

  /// Names the file and, if it is encrypted, its key.
  public init(path: String, encryptionKey: EncryptionKey? = nil) {
    self.path = path
    self.encryptionKey = encryptionKey
  }
}
