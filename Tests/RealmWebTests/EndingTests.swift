// Requests whose clients go away, and servers that end when idle.

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import RealmWeb

@Suite("Cancelled requests and idle servers")
struct EndingTests {
  /// A request, and the client's end of its connection.
  private func request(_ target: String, isAbandoned: Bool) throws -> (WebRequest, [Int32]) {
    var sockets: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
    if isAbandoned { close(sockets.removeLast()) }
    let parsed = try #require(RequestTarget(Array("/api/\(target)".utf8)))
    return (WebRequest(method: "GET", target: parsed, body: [], socket: sockets[0]), sockets)
  }

  @Test(
    "a request whose client has gone away ends early",
    arguments: [
      "classes/A/rows?query=text%20CONTAINS%20'x'%20OR%20text%20==%20'y'", "classes/A/rows?sort=-text",
      "classes/A/rows?sort=text&position=900",
      "classes/A/facets?property=text", "search?text=nothing",
    ]
  )
  func cancelled(_ target: String) throws {
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_A")
      let text = try transaction.addColumn(table, ColumnSpec("text", .string))
      for number in 0..<2000 {
        try transaction.set(table, try transaction.create(table), text, .text("x \(number)"))
      }
    }
    let realm = try Realm(Configuration(path: served.path))
    let api = WebAPI(BrowsedRealm(realm: realm, writer: nil, path: served.path)) {}
    for isAbandoned in [true, false] {
      let (request, sockets) = try request(target, isAbandoned: isAbandoned)
      defer { for socket in sockets { close(socket) } }
      let response = api.respond(request)
      guard case .bytes(let body) = response.body else {
        Issue.record("the response has no body")
        return
      }
      if target.hasPrefix("search") {
        // Hits found so far are returned.
        #expect(String(decoding: body, as: UTF8.self).contains("\"complete\":\(!isAbandoned)"))
      } else {
        #expect(response.status == (isAbandoned ? 503 : 200))
      }
    }
  }

  @Test("the server notices that a client has gone away while its request is processed", .timeLimit(.minutes(1)))
  func noticed() throws {
    let gate = Gate(host: "127.0.0.1", port: 80, token: [1], secret: Array("secret".utf8), key: Array("key".utf8))
    let state = Mutex((hasBegun: false, wasAbandoned: false))
    // Also loads the library.
    let served = try ServedRealm("people")
    let server = HTTPServer(gate) { request in
      state.withLock { $0.hasBegun = true }
      for _ in 0..<10_000 where !request.isAbandoned { usleep(1000) }
      state.withLock { $0.wasAbandoned = request.isAbandoned }
      return WebError(503, "the request was cancelled").response
    }
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(listen(listener, 8) == 0)
    var address = sockaddr_in(), length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    try #require(server.start(listener))
    defer { server.stop() }
    do {
      let connection = try Connection(UInt16(bigEndian: address.sin_port))
      connection.send(
        "GET /api/info HTTP/1.1\r\nHost: 127.0.0.1:80\r\nCookie: realmfs-80=secret\r\nX-Realmfs-Key: key\r\n\r\n"
      )
      while !state.withLock({ $0.hasBegun }) { usleep(1000) }
      withExtendedLifetime(connection) {}
    }
    for _ in 0..<10_000 where !state.withLock({ $0.wasAbandoned }) { usleep(1000) }
    #expect(state.withLock { $0.wasAbandoned })
    withExtendedLifetime(served) {}
  }

  private final class Flag: Sendable {
    private let state = Atomic(false)
    var isSet: Bool { state.load(ordering: .acquiring) }
    func set() { state.store(true, ordering: .releasing) }
  }

  @Test("an idle server ends, but not while a page is open", .timeLimit(.minutes(1)))
  func idle() throws {
    let served = try ServedRealm("people").open()
    var stream: Connection? = try Connection(served.port)
    stream?.send(
      "GET /api/changes HTTP/1.1\r\nHost: \(served.host)\r\nCookie: \(served.cookie)\r\n"
        + "X-Realmfs-Key: \(served.key)\r\n\r\n"
    )
    #expect(stream?.receive { $0.contains("event: version") }.contains("event: version") == true)
    let hasEnded = Flag(), browser = served.browser
    Thread.detachNewThread {
      browser.wait(idleTimeout: .milliseconds(200))
      hasEnded.set()
    }
    usleep(1_000_000)
    #expect(!hasEnded.isSet)
    stream = nil
    for _ in 0..<20_000 where !hasEnded.isSet { usleep(1000) }
    #expect(hasEnded.isSet)
  }
}
