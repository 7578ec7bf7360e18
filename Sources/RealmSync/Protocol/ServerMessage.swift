// Parses the messages of a server. Invariant: for any input, parsing does not trap and allocates at most a multiple of
// the input's size. Source: docs/format/7-sync.md 7.2.

/// A message from a server.
enum ServerMessage {
  case ident(session: Int64, FileIdentity)
  case download(DownloadMessage)
  case mark(session: Int64, number: Int64)
  case unbound(session: Int64)
  case pong(time: Int64)
  case error(ServerError)
  /// A log message; ignored.
  case log

  /// The maximum size of a message, compressed or not.
  static let maximumSize = 1 << 30
  private static let maximumHead = 512

  init(_ bytes: [UInt8]) throws(SyncError) {
    guard let end = bytes.prefix(Self.maximumHead).firstIndex(of: UInt8(ascii: "\n")) else {
      throw Self.broken("a message without a head")
    }
    var head = MessageWords(bytes[..<end])
    let word = head.word(), body = bytes[(end + 1)...]
    switch word {
    case "ident":
      self = .ident(session: try head.number(), FileIdentity(file: try head.number(), salt: try head.signed()))
    case "download": self = .download(try DownloadMessage(&head, body))
    case "mark": self = .mark(session: try head.number(), number: try head.number())
    case "unbound": self = .unbound(session: try head.number())
    case "pong": self = .pong(time: try head.number())
    case "error":
      let code = try head.number(), size = try head.number(), again = try head.number(), session = try head.number()
      guard size == body.count else { throw Self.broken("an error whose text does not have the declared size") }
      let text = String(decoding: body.prefix(1000), as: UTF8.self)
      self = .error(ServerError(code: code, text: text, session: session, triesAgain: again == 1, action: nil))
    case "json_error": self = .error(try ServerError(json: &head, body))
    case "log_message": self = .log
    default: throw Self.broken("an unknown message '\(word.prefix(20))'")
    }
  }

  static func broken(_ problem: String) -> SyncError {
    SyncError(.protocolBroken, "the server sent \(problem)")
  }
}

/// Iterates over the words of a head.
struct MessageWords {
  private var words: ArraySlice<ArraySlice<UInt8>>

  init(_ line: ArraySlice<UInt8>) {
    words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)[...]
  }

  mutating func word() -> String { String(decoding: words.popFirst() ?? [], as: UTF8.self) }

  /// Parses the next word as a number that is not negative.
  mutating func number() throws(SyncError) -> Int64 {
    let value = try signed()
    if value < 0 { throw ServerMessage.broken("a negative number") }
    return value
  }

  mutating func signed() throws(SyncError) -> Int64 {
    let word = word()
    guard let value = Int64(word), !word.hasPrefix("+") else {
      throw ServerMessage.broken("'\(word.prefix(30))' instead of a number")
    }
    return value
  }
}

/// A part of the server's history.
struct DownloadMessage {
  let session: Int64
  /// The version that the client has reached after applying the entries.
  let version: Int64
  let latest: SaltedVersion
  /// The number of the receiving file's last upload that is part of the server's history.
  let uploaded: Int64
  /// The size of the changesets that still follow.
  let bytesLeft: Int64
  /// The entries, decompressed.
  let body: [UInt8]

  init(_ head: inout MessageWords, _ body: ArraySlice<UInt8>) throws(SyncError) {
    session = try head.number()
    version = try head.number()
    let client = try head.number()
    latest = SaltedVersion(version: try head.number(), salt: try head.signed())
    uploaded = try head.number()
    _ = try head.number()
    bytesLeft = try head.number()
    let isPacked = try head.number(), size = Int(try head.number()), packedSize = Int(try head.number())
    if client > uploaded || version > latest.version {
      throw ServerMessage.broken("numbers that contradict each other")
    }
    if size > ServerMessage.maximumSize { throw ServerMessage.broken("a download of \(size) bytes, beyond the limit") }
    if isPacked == 0 {
      guard body.count == size else { throw ServerMessage.broken("\(body.count) bytes of a download of \(size)") }
      self.body = Array(body)
    } else {
      guard body.count == packedSize, let expanded = Compression.expand(body, size: size) else {
        throw ServerMessage.broken("a download that cannot be decompressed")
      }
      self.body = expanded
    }
  }

  /// Returns the changesets in order; throws if one is damaged.
  func entries() throws(SyncError) -> [DownloadEntry] {
    var entries: [DownloadEntry] = [], at = 0, last: Int64 = 0
    func number() throws(SyncError) -> Int64 {
      let limit = min(body.count, at + 21)
      guard let end = body[at..<limit].firstIndex(of: UInt8(ascii: " ")),
        let value = Int64(String(decoding: body[at..<end], as: UTF8.self)), value >= 0
      else { throw ServerMessage.broken("an entry of a download without numbers") }
      at = end + 1
      return value
    }
    while at < body.count {
      let version = try number()
      _ = try number()
      let time = try number(), origin = try number(), originalSize = try number(), size = try number()
      guard size <= body.count - at else { throw ServerMessage.broken("an entry beyond the end of its download") }
      guard version > last, version <= self.version else { throw ServerMessage.broken("versions out of order") }
      last = version
      let bytes = at..<at + Int(size)
      entries.append(
        DownloadEntry(version: version, time: time, origin: origin, originalSize: originalSize, bytes: bytes)
      )
      at = bytes.upperBound
    }
    return entries
  }
}

/// One changeset of the server's history; its bytes are in the body of the message.
struct DownloadEntry: Hashable {
  let version: Int64
  /// Milliseconds since 2015-01-01T00:00:00Z.
  let time: Int64
  /// The client file that made the changeset.
  let origin: Int64
  let originalSize: Int64
  let bytes: Range<Int>
}
