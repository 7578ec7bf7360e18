// The fuzzer's target for requests of a browser: the line `METHOD TARGET`, lines `Name: value`, an empty line, a body.
// Each passes through the gate, and those accepted, with their target unchanged, reach the endpoints.

import Glibc
import RealmPages

@testable import RealmWeb

/// The server of the sample, without sockets.
struct SampleServer: Sendable {
  let gate: Gate
  let api: WebAPI

  private static let port: UInt16 = 80
  private static let cookie = "realmfs-\(port)=secret"

  /// Serves the realm of `writer`.
  init(_ writer: RealmWriter) {
    gate = Gate(
      host: "127.0.0.1",
      port: Self.port,
      token: Array("token".utf8),
      secret: Array("secret".utf8),
      key: Array("key".utf8)
    )
    api = WebAPI(BrowsedRealm(realm: writer.realm, writer: writer, path: "sample.realm")) {}
  }

  /// Handles a request. Aborts if the gate accepts one that it must refuse.
  func take(_ bytes: [UInt8]) {
    let parts = Self.parts(bytes)
    guard case .pass(let target) = gate.check(parts.head, localAddress: { "127.0.0.1" }) else { return }
    // The secrets of the page cannot be guessed, so every accepted request contains them.
    guard parts.head.cookie?.contains(Self.cookie) == true else { abort() }
    if target.path.first == "api", parts.head.key != "key" { abort() }
    if parts.head.method != "GET", parts.head.method != "HEAD", parts.head.origin != "http://\(parts.head.host ?? "")" {
      abort()
    }
    // These endpoints start threads, write files or change the sample.
    if ["export", "changes"].contains(target.path.dropFirst().first ?? "") { return }
    let isRead = parts.head.method == "GET" || parts.head.method == "HEAD"
    if !isRead, target["preview"] != "1" { return }
    let request = WebRequest(method: parts.head.method, target: target, body: parts.body, socket: -1)
    if api.respond(request).status == 0 { abort() }
  }

  /// Splits an input. Missing headers have the values that the page sends, so that a short input can be accepted.
  private static func parts(_ bytes: [UInt8]) -> (head: RequestHead, body: [UInt8]) {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
    let first = lines.removeFirst().split(separator: UInt8(ascii: " "), maxSplits: 1)
    var head = RequestHead(
      method: first.first.map { String(decoding: $0, as: UTF8.self) } ?? "",
      target: first.count > 1 ? Array(first[1]) : [],
      host: "127.0.0.1:\(port)",
      origin: "http://127.0.0.1:\(port)",
      cookie: cookie,
      key: "key",
      contentType: "application/json"
    )
    while let line = lines.popFirst(), !line.isEmpty {
      let pair = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
      let value = pair.count > 1 ? String(decoding: pair[1], as: UTF8.self) : nil
      switch pair.first.map({ String(decoding: $0, as: UTF8.self) }) {
      case "Host": head.host = value
      case "Origin": head.origin = value
      case "Cookie": head.cookie = value
      case "Key": head.key = value
      case "Type": head.contentType = value
      case "Length": head.contentLength = value
      case "Site": head.fetchSite = value
      default: break
      }
    }
    return (head, Array(lines.joined(separator: [UInt8(ascii: "\n")])))
  }
}
