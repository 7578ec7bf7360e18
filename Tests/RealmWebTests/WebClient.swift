// A browser's side of HTTP, byte by byte, and a realm that is served to it.

import Foundation
import RealmPages
import RealmWeb
import TestSupport
import Testing

/// An answer of the server.
struct Answer {
  let status: Int
  /// By their names in lower case.
  let headers: [String: String]
  let body: [UInt8]

  /// Parses the bytes that came before the connection was closed; nil if they are not an answer.
  init?(_ bytes: [UInt8]) {
    let end = Array("\r\n\r\n".utf8)
    guard let split = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
    let lines = String(decoding: bytes[..<split], as: UTF8.self).split(separator: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    (self.status, self.headers) = (status, headers)
    body = Array(bytes[(split + end.count)...])
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  /// The body as JSON.
  var json: [String: Any] {
    get throws { try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) }
  }
}

/// A connection to the server.
final class Connection {
  private let socket: Int32

  init(_ port: UInt16) throws {
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    // Nothing is waited for longer than this.
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0)
  }

  deinit { close(socket) }

  /// Sends bytes; returns false if the server does not accept them.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Returns the next bytes; none at the end.
  func receive() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  /// Returns all bytes up to the end.
  func receiveAll() -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let part = receive()
      if part.isEmpty { return bytes }
      bytes += part
    }
  }

  /// Receives until `isEnough`, and returns all bytes as text.
  func receive(until isEnough: (String) -> Bool) -> String {
    var bytes: [UInt8] = []
    while true {
      let part = receive()
      bytes += part
      let text = String(decoding: bytes, as: UTF8.self)
      if part.isEmpty || isEnough(text) { return text }
    }
  }
}

/// A realm that a server shows.
final class ServedRealm {
  let folder: TemporaryFolder
  let path: String
  let browser: RealmBrowser
  let writer: RealmWriter?
  let port: UInt16
  let token: String
  /// The value of the header Cookie; empty before `open`.
  private(set) var cookie = ""
  /// The header `X-Realmfs-Key`; empty before `open`.
  private(set) var key = ""

  /// Serves a copy of a fixture, or a realm that `make` fills.
  convenience init(
    _ fixture: String? = nil,
    writes: Bool = false,
    make: (borrowing WriteTransaction) throws -> Void = { _ in }
  ) throws {
    let folder = try TemporaryFolder(), path = folder.path("shown.realm")
    if let fixture {
      try FileManager.default.copyItem(at: Fixture.named(fixture).url, to: URL(fileURLWithPath: path))
    } else {
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let transaction = try writer.begin()
      try make(transaction)
      _ = try transaction.commit()
    }
    try self.init(at: path, folder, writes: writes)
  }

  /// Serves the file at `path`, which is in `folder`.
  init(at path: String, _ folder: TemporaryFolder, writes: Bool = false) throws {
    (self.path, self.folder) = (path, folder)
    writer = writes ? try RealmWriter(Configuration(path: path)) : nil
    browser = RealmBrowser(try writer?.realm ?? Realm(Configuration(path: path)), path: path, writer: writer)
    let url = try browser.start()
    let address = try #require(URLComponents(string: url))
    #expect(address.host == "127.0.0.1" && address.path == "/")
    port = UInt16(try #require(address.port))
    token = try #require(address.queryItems?.first { $0.name == "token" }?.value)
  }

  deinit { browser.stop() }

  /// Exchanges the token for the cookie and the key.
  func open() throws -> ServedRealm {
    let answer = try request("GET", "/?token=\(token)")
    let location = try #require(answer.headers["location"])
    #expect(answer.status == 303 && location.hasPrefix("/?key="))
    key = String(location.dropFirst(6))
    let header = try #require(answer.headers["set-cookie"])
    cookie = try #require(header.split(separator: ";").first.map(String.init))
    return self
  }

  var host: String { "127.0.0.1:\(port)" }

  /// Sends a request and returns its answer. Headers that are nil are left out.
  func request(
    _ method: String,
    _ target: String,
    headers: [String: String?] = [:],
    body: String? = nil
  ) throws -> Answer {
    var all: [String: String?] = ["Host": host, "Connection": "close"]
    if !cookie.isEmpty { (all["Cookie"], all["X-Realmfs-Key"]) = (cookie, key) }
    if method != "GET", method != "HEAD" {
      all["Origin"] = "http://\(host)"
      all["Content-Type"] = "application/json"
    }
    if let body { all["Content-Length"] = "\(body.utf8.count)" }
    all.merge(headers) { $1 }
    let lines = all.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }.joined()
    let connection = try Connection(port)
    connection.send("\(method) \(target) HTTP/1.1\r\n\(lines)\r\n\(body ?? "")")
    return try #require(Answer(connection.receiveAll()), "\(method) \(target.prefix(100)): no answer")
  }

  /// Returns the answer of the interface to a request that succeeds, as JSON.
  func get(_ path: String) throws -> [String: Any] {
    let answer = try request("GET", "/api/" + path)
    #expect(answer.status == 200, "\(path): \(answer.text)")
    return try answer.json
  }

  /// Sends a change and returns the answer.
  func change(_ method: String, _ path: String, _ body: String? = nil) throws -> Answer {
    try request(method, "/api/" + path, body: body)
  }
}
