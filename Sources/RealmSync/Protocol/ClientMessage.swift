// Formats the messages of a client: a head of words and numbers, a line feed, a body. Source: docs/format/7-sync.md
// 7.2.

/// The identity of a client file on the server.
public struct FileIdentity: Hashable, Sendable {
  /// The number that the server assigned; 0 if there is none yet.
  public var file: Int64
  /// The proof that this is the same file.
  public var salt: Int64

  /// No identity yet.
  public static let none = FileIdentity(file: 0, salt: 0)
}

/// A version of the server's history, with a salt that identifies the history.
public struct SaltedVersion: Hashable, Sendable {
  /// The version.
  public var version: Int64
  /// Its salt.
  public var salt: Int64
}

/// The messages of a client, as bytes.
enum ClientMessage {
  /// Bodies above this size are compressed.
  private static let compressedFrom = 1024
  /// A changeset must fit into one message when the server sends it back.
  static let maximumChangeset = ServerMessage.maximumSize - 1024

  static func bind(session: Int, path: String, needsIdentity: Bool) -> [UInt8] {
    // The token is in the request that opens the connection.
    Array("bind \(session) \(path.utf8.count) 0 \(needsIdentity ? 1 : 0) 0\n\(path)".utf8)
  }

  static func ident(session: Int, _ identity: FileIdentity, download: Int64, latest: SaltedVersion) -> [UInt8] {
    let position = "\(download) 0 \(latest.version) \(latest.salt)"
    return Array("ident \(session) \(identity.file) \(identity.salt) \(position)\n".utf8)
  }

  static func mark(session: Int, number: Int64) -> [UInt8] { Array("mark \(session) \(number)\n".utf8) }
  static func unbind(session: Int) -> [UInt8] { Array("unbind \(session)\n".utf8) }
  static func ping(time: Int64, roundTrip: Int64) -> [UInt8] { Array("ping \(time) \(roundTrip)\n".utf8) }

  /// Returns the message for one changeset based on the server's version `base`.
  static func upload(session: Int, _ upload: PendingUpload) -> [UInt8] {
    let head = "\(upload.version) \(upload.base) \(upload.time) 0 \(upload.changeset.count) "
    let body = Array(head.utf8) + upload.changeset
    let packed = body.count > compressedFrom ? Compression.compress(body) : nil
    let sizes = "\(packed == nil ? 0 : 1) \(body.count) \(packed?.count ?? 0)"
    let progress = "\(upload.version) \(upload.base) \(upload.base)"
    return Array("upload \(session) \(sizes) \(progress)\n".utf8) + (packed ?? body)
  }
}

/// A changeset that is being sent to the server, or about to be. Invariant: it never changes once it has been sent.
public struct PendingUpload: Hashable, Sendable {
  /// The writer's number for the upload.
  public var version: Int64
  /// The server's version that the upload is based on.
  public var base: Int64
  /// Milliseconds since 2015-01-01T00:00:00Z; orders conflicting changes of the same property.
  public var time: Int64
  /// The instructions.
  public var changeset: [UInt8]
}
