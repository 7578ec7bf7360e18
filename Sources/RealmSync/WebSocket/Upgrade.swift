// The HTTP request that opens a WebSocket, and its response. Source: RFC 6455 section 4, docs/format/7-sync.md 7.1.

import CTLS

/// The opening handshake of a WebSocket.
package struct Upgrade {
  /// The protocol versions to offer, in order of preference.
  static let versions = (2...14).reversed().map { $0 }
  private static let prefix = "com.mongodb.realm-sync"
  private static let maximumHead = 16384

  private let key: String
  let request: [UInt8]

  /// Creates a request to the server of `url`. `token` is sent unchanged, except for bytes that are not allowed in a
  /// request.
  init(to url: SyncURL, token: String, versions: [Int] = Self.versions) {
    var random = [UInt8](repeating: 0, count: 16)
    unsafe RAND_bytes(&random, 16)
    key = Base64.text(random)
    let protocols = versions.map { "\(Self.prefix)#\($0)" }.joined(separator: ", ")
    request = Array(
      """
      GET /realm-sync?baas_at=\(Self.escaped(token)) HTTP/1.1\r
      Host: \(url.authority)\r
      User-Agent: realmfs\r
      Upgrade: websocket\r
      Connection: Upgrade\r
      Sec-WebSocket-Key: \(key)\r
      Sec-WebSocket-Version: 13\r
      Sec-WebSocket-Protocol: \(protocols)\r
      \r\n
      """.utf8
    )
  }

  private static func escaped(_ token: String) -> String {
    var text = ""
    for byte in token.utf8 {
      let isPlain = byte > 0x20 && byte < 0x7f && !"#%&+\"<>\\^`{|}".utf8.contains(byte)
      if isPlain {
        text.unicodeScalars.append(UnicodeScalar(byte))
      } else {
        text += "%" + String(byte >> 4, radix: 16, uppercase: true) + String(byte & 15, radix: 16, uppercase: true)
      }
    }
    return text
  }

  /// Parses the response at the front of `buffer` and removes it. Returns the agreed version; nil if the response is
  /// not complete yet.
  func answer(_ buffer: inout [UInt8], from peer: String) throws(SyncError) -> Int? {
    guard zip(buffer, "HTTP/1.".utf8).allSatisfy(==) else { throw Self.noServer(peer) }
    guard let end = Self.endOfHead(buffer) else {
      if buffer.count > Self.maximumHead { throw SyncError(.unsupported, "\(peer): endless answer; not a sync server") }
      return nil
    }
    let lines = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first?.split(separator: " ", maxSplits: 2) ?? []
    guard status.count >= 2, status[0].hasPrefix("HTTP/1."), let code = Int(status[1]) else {
      throw Self.noServer(peer)
    }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    }
    let reason = status.count > 2 ? String(status[2]) : ""
    if code != 101 {
      let text = String(decoding: buffer[(end + 4)...].prefix(200), as: UTF8.self)
      throw Self.refusal(code, reason, text, fields["location"], peer)
    }
    guard fields["sec-websocket-accept"] == Self.accept(key) else {
      throw SyncError(.unsupported, "\(peer): a wrong answer to the WebSocket request; a proxy may be in the way")
    }
    buffer.removeFirst(end + 4)
    let chosen = fields["sec-websocket-protocol"] ?? ""
    for mark in ["#", "/"] where chosen.hasPrefix(Self.prefix + mark) {
      if let version = Int(chosen.dropFirst(Self.prefix.count + 1)), Self.versions.contains(version) { return version }
    }
    throw SyncError(.unsupported, "\(peer): chose the protocol '\(chosen)', which was not offered")
  }

  private static func noServer(_ peer: String) -> SyncError {
    SyncError(.unsupported, "\(peer): does not answer like a sync server")
  }

  private static func refusal(
    _ code: Int,
    _ reason: String,
    _ text: String,
    _ location: String?,
    _ peer: String
  ) -> SyncError {
    let answer = "\(peer) answers \(code) \(reason)"
    switch code {
    case 401: return SyncError(.token, "\(answer): the token was rejected; see --token-file and --token-command")
    case 403: return SyncError(.token, "\(answer): the user lacks permission, or is logged out")
    case 301, 302, 307, 308:
      return SyncError(.configuration, "\(answer): the server has moved\(location.map { " to \($0)" } ?? "")")
    case 500...599: return SyncError(.offline, answer)
    case 404: return SyncError(.unsupported, "\(answer): there is no sync server at this address")
    case 400:
      return SyncError(
        .unsupported,
        "\(answer): no version of partition-based sync in common: \(text.split(separator: "\n").first ?? "")"
      )
    default: return SyncError(.unsupported, answer)
    }
  }

  private static func endOfHead(_ buffer: [UInt8]) -> Int? {
    guard buffer.count >= 4 else { return nil }
    for index in 0...min(buffer.count - 4, maximumHead)
    where buffer[index] == 13 && buffer[index + 1] == 10 && buffer[index + 2] == 13 && buffer[index + 3] == 10 {
      return index
    }
    return nil
  }

  /// Returns the value that proves that the server understood the request.
  package static func accept(_ key: String) -> String {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    unsafe SHA1(text, text.count, &digest)
    return Base64.text(digest)
  }
}

/// Encodes bytes in base64. Source: RFC 4648 section 4.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits = 0
      for index in 0..<3 { bits = bits << 8 | (index < group.count ? Int(group[start + index]) : 0) }
      for index in 0..<4 {
        let letter = alphabet[bits >> (18 - 6 * index) & 63]
        text.append(index <= group.count ? letter : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
