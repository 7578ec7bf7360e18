// Which requests are answered: tried over sockets, as other pages, programs and users would.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import RealmWeb

@Suite("Requests that are refused")
struct GateTests {
  @Test("without the cookie, only the token URL is answered, and only once")
  func tokens() throws {
    let served = try ServedRealm("people")
    let cookie = "realmfs-\(served.port)"
    for target in ["/", "/index.html", "/api/info", "/api/classes/Person/rows", "/nothing", "/?token=", "/?token=0"] {
      #expect(try served.request("GET", target).status == 403, "\(target)")
    }
    #expect(try served.request("HEAD", "/?token=\(served.token)").status == 403)
    #expect(try served.request("POST", "/?token=\(served.token)").status == 403)
    #expect(try served.request("GET", "/api/info?token=\(served.token)").status == 403)
    #expect(try served.request("GET", "/api/info", headers: ["Cookie": "\(cookie)=\(served.token)"]).status == 403)
    let answer = try served.request("GET", "/?token=\(served.token)")
    let header = try #require(answer.headers["set-cookie"])
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(header.contains("; \(part)")) }
    #expect(try served.request("GET", "/?token=\(served.token)").status == 403)
    let right = try #require(header.split(separator: ";").first.map(String.init))
    #expect(right.split(separator: "=")[1].count == 32 && !right.contains(served.token))
    for wrong in ["realmfs=", "\(cookie)=", "\(cookie)", right + "0", String(right.dropLast()), "x" + right] {
      #expect(try served.request("GET", "/api/info", headers: ["Cookie": wrong]).status == 403, "\(wrong)")
    }
    let key = try #require(answer.headers["location"]?.dropFirst(6)).description
    #expect(key.count == 32 && !right.contains(key) && key != served.token)
    let headers = ["Cookie": "a=b; \(right); c", "X-Realmfs-Key": key]
    #expect(try served.request("GET", "/api/info", headers: headers).status == 200)
  }

  @Test("the cookie, which servers on other ports receive as well, does not suffice")
  func keys() throws {
    let served = try ServedRealm("people", writes: true).open()
    for key in [nil, "", served.token, String(served.key.dropLast()), served.key + "0"] {
      for (method, target) in [("GET", "/api/info"), ("GET", "/api/changes"), ("POST", "/api/ticket")] {
        #expect(try served.request(method, target, headers: ["X-Realmfs-Key": key]).status == 403)
      }
    }
    #expect(try served.request("GET", "/", headers: ["X-Realmfs-Key": nil]).status == 200)
    // With the cookie alone, the URL does not reveal the key.
    #expect(try served.request("GET", "/?token=\(served.token)").headers["location"] == "/")
  }

  @Test("an address with another key is not shown, so that the page does not store it")
  func otherKey() throws {
    let gate = Gate(host: "127.0.0.1", port: 80, token: Array("token".utf8), secret: Array("secret".utf8), key: [107])
    func location(_ target: String) -> String? {
      let head = RequestHead(
        method: "GET",
        target: Array(target.utf8),
        host: "127.0.0.1:80",
        cookie: "realmfs-80=secret"
      )
      guard case .answer(let response) = gate.check(head, localAddress: { nil }) else { return nil }
      return response.headers.first { $0.0 == "Location" }?.1
    }
    #expect(location("/?key=x") == "/" && location("/?key=") == "/")
    #expect(location("/?key=k") == nil && location("/") == nil)
  }

  @Test("a ticket replaces the key in one read request")
  func tickets() throws {
    let served = try ServedRealm("people", writes: true).open()
    func ticket() throws -> String { try #require(served.change("POST", "ticket").json["ticket"] as? String) }
    func status(_ method: String, _ ticket: String, _ headers: [String: String?] = [:]) throws -> Int {
      let all = headers.merging(["X-Realmfs-Key": nil]) { $1 }
      let object = method == "GET" ? "" : "/api/classes/Person/objects/0?ticket=\(ticket)"
      let target = method == "GET" ? "/api/export?class=Person&ticket=\(ticket)" : object
      return try served.request(method, target, headers: all).status
    }
    let first = try ticket()
    #expect(try status("GET", first) == 200)
    #expect(try status("GET", first) == 403)
    #expect(try status("DELETE", ticket()) == 403)
    #expect(try status("GET", ticket(), ["Cookie": nil]) == 403)
    #expect(try served.get("info")["version"] as? Int == 5)
  }

  @Test("connections held without authorization do not lock out the page", .timeLimit(.minutes(1)))
  func heldConnections() throws {
    let served = try ServedRealm("people").open()
    // A stream of the page.
    let stream = try Connection(served.port)
    let secrets = "Cookie: \(served.cookie)\r\nX-Realmfs-Key: \(served.key)\r\n"
    stream.send("GET /api/changes HTTP/1.1\r\nHost: \(served.host)\r\n\(secrets)\r\n")
    #expect(stream.receive { $0.contains("event: version") }.contains("event: version"))
    let held = try (0..<600).map { _ in
      let connection = try Connection(served.port)
      connection.send("GET / HTTP/1.1\r\nX-Slow: ")
      return connection
    }
    #expect(try served.get("info")["format"] as? Int == 24)
    // The oldest were closed.
    #expect(held[0].receive().isEmpty)
    try withExtendedLifetime(held) {
      let writer = try RealmWriter(Configuration(path: served.path))
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_New")
      _ = try transaction.commit()
      #expect(stream.receive { $0.contains("event: commit") }.contains("event: commit"))
    }
  }

  @Test("after a link from another site, the page reloads itself once")
  func linked() throws {
    let served = try ServedRealm("people")
    for (site, again) in [("cross-site", true), ("same-site", true), ("same-origin", false), ("none", false)] {
      let answer = try served.request("GET", "/", headers: ["Sec-Fetch-Site": site])
      #expect(answer.status == 403 && answer.text.contains("refresh") == again, "\(site)")
    }
  }

  @Test("the Host must be an address of the server")
  func hosts() throws {
    let served = try ServedRealm("people").open()
    let port = served.port
    for host in [
      "evil.example", "evil.example:\(port)", "127.0.0.1", "127.0.0.1:\(port ^ 1)", "localhost", "[::1]:\(port)",
    ] {
      #expect(try served.request("GET", "/api/info", headers: ["Host": host]).status == 421, "\(host)")
    }
    #expect(try served.request("GET", "/api/info", headers: ["Host": "LocalHost:\(port)"]).status == 200)
    let connection = try Connection(port)
    connection.send("GET /api/info HTTP/1.0\r\n\r\n")
    #expect(Answer(connection.receiveAll())?.status == 421)
  }

  @Test("when listening on all addresses, the Host must be the one that the request arrived at")
  func wildcard() {
    let gate = Gate(host: "0.0.0.0", port: 80, token: Array("t".utf8), secret: Array("s".utf8), key: Array("k".utf8))
    func status(_ host: String, _ address: String) -> UInt32? {
      let head = RequestHead(method: "GET", target: Array("/".utf8), host: host, cookie: "realmfs-80=s")
      if case .answer(let response) = gate.check(head, localAddress: { address }) { return response.status }
      return nil
    }
    #expect(status("192.0.2.1:80", "192.0.2.1") == nil)
    #expect(status("192.0.2.1:80", "::ffff:192.0.2.1") == nil)
    #expect(status("[2001:db8::1]:80", "2001:db8::1") == nil)
    #expect(status("192.0.2.2:80", "192.0.2.1") == 421)
    #expect(status("evil.example:80", "192.0.2.1") == 421)
  }

  @Test("a change needs the page's Origin and JSON")
  func changes() throws {
    let served = try ServedRealm("people", writes: true).open()
    let before = try served.get("info")["version"] as? Int
    func status(_ headers: [String: String?], _ method: String = "PATCH") throws -> Int {
      try served.request(method, "/api/classes/Person/objects/0", headers: headers, body: #"{"name":"x"}"#).status
    }
    for method in ["PATCH", "DELETE"] {
      for origin in [nil, "null", "http://evil.example", "https://\(served.host)", "http://localhost:\(served.port)"] {
        #expect(try status(["Origin": origin], method) == 403, "\(origin ?? "none")")
      }
    }
    for type in [nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"] {
      #expect(try status(["Content-Type": type]) == 415, "\(type ?? "none")")
    }
    #expect(try status(["Cookie": nil]) == 403)
    #expect(try status(["Sec-Fetch-Site": "cross-site"]) == 403)
    #expect(try status(["Sec-Fetch-Site": "same-site"]) == 403)
    for method in ["PUT", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"] {
      #expect(try served.request(method, "/api/info").status == 405, "\(method)")
    }
    #expect(try served.get("info")["version"] as? Int == before)
    #expect(try status(["Content-Type": "application/json; charset=utf-8"]) == 200)
  }

  @Test(
    "targets that are not pages are refused",
    arguments: [
      ("/..", 404), ("/../../etc/passwd", 404), ("/%2e%2e/%2e%2e/etc/passwd", 404), ("/..%2f..%2fetc%2fpasswd", 404),
      ("//etc/passwd", 404), ("/index.html/", 404), ("/%00", 400), ("/index.html%00.js", 400), ("/%", 400),
      ("/%4", 400),
      ("/%zz", 400), ("/%ff", 400), ("/api/info?x=%00", 400), ("/api/info?x=%C0%80", 400), ("/api", 404),
      ("/api/", 404),
      ("/api/classes/", 404), ("/api/classes/Nothing/rows", 404), ("/api/classes/Person/objects/", 404),
      ("/api/classes/Person/objects/-1", 404), ("/api/classes/Person/objects/9223372036854775808", 404),
      ("/api/classes/Person/objects/999", 404), ("/api/classes/Person/rows?limit=501", 400),
      ("/api/classes/Person/rows?limit=-1", 400), ("/api/classes/Person/rows?position=-1", 400),
      ("/api/classes/Person/rows?position=99999999999999999999", 400),
      ("/api/classes/Person/rows?columns=nothing", 404),
      ("http://evil.example/api/info", 400), ("*", 400), ("/api/undo", 404), ("/api/quit", 404),
      ("/api/export?format=exe", 400), ("/api/export?class=..", 404),
    ]
  )
  func targets(_ target: String, _ status: Int) throws {
    let served = try ServedRealm("people").open()
    #expect(try served.request("GET", target).status == status)
  }

  @Test("headers and bodies beyond the limits are refused before they are read")
  func limits() throws {
    let served = try ServedRealm("people", writes: true).open()
    #expect(try served.request("GET", "/" + String(repeating: "a", count: 8192)).status == 414)
    #expect(
      try served.request("GET", "/api/info", headers: ["X": String(repeating: "a", count: 100_000)]).status == 431
    )
    let object = "/api/classes/Person/objects/0"
    // No byte of this body is sent.
    for size in ["104857600", "99999999999999999999", "16777217"] {
      let answer = try served.request("PATCH", object, headers: ["Content-Length": size])
      #expect([400, 413].contains(answer.status), "\(size)")
    }
    // Without a length, the connection is closed when the limit is reached.
    let connection = try Connection(served.port)
    connection.send(
      "PATCH \(object) HTTP/1.1\r\nHost: \(served.host)\r\nOrigin: http://\(served.host)\r\n"
        + "Cookie: \(served.cookie)\r\nX-Realmfs-Key: \(served.key)\r\n"
        + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    let chunk = Array("100000\r\n".utf8) + [UInt8](repeating: 0x20, count: 1 << 20) + Array("\r\n".utf8)
    var sent = 0
    while sent < 100, connection.send(chunk) { sent += 1 }
    #expect(sent < 100)
    #expect(try served.get("info")["version"] as? Int == 5)
  }

  @Test("every response has the security headers")
  func headers() throws {
    let served = try ServedRealm("people").open()
    for target in ["/", "/main.js", "/api/info", "/nothing", "/%", "/api/export?class=Person&format=csv"] {
      for cookie in [served.cookie, nil] {
        let headers = try served.request("GET", target, headers: ["Cookie": cookie]).headers
        let policy = try #require(headers["content-security-policy"], "\(target)")
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
        #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
        #expect(headers["x-content-type-options"] == "nosniff")
        #expect(headers["referrer-policy"] == "no-referrer")
        #expect(headers["cache-control"] == "no-store")
        #expect(headers["cross-origin-resource-policy"] == "same-origin")
        #expect(headers["cross-origin-opener-policy"] == "same-origin")
        #expect(headers["access-control-allow-origin"] == nil)
      }
    }
  }

  @Test("idle and slow connections do not block others")
  func slowClients() throws {
    let served = try ServedRealm("people").open()
    var slow: [Connection] = []
    for number in 0..<100 {
      let connection = try Connection(served.port)
      connection.send(["", "GET / HT", "GET /api/info HTTP/1.1\r\nHost: \(served.host)\r\n"][number % 3])
      slow.append(connection)
    }
    // Clients that ask for much and read nothing.
    for _ in 0..<20 {
      let connection = try Connection(served.port)
      connection.send(
        "GET /api/classes/Person/rows HTTP/1.1\r\nHost: \(served.host)\r\nCookie: \(served.cookie)\r\n\r\n"
      )
      slow.append(connection)
    }
    #expect(try served.get("info")["format"] as? Int == 24)
    #expect(slow.count == 120)
  }

  @Test("no random target passes without the cookie, and none stops the server")
  func randomTargets() throws {
    let gate = Gate(
      host: "127.0.0.1",
      port: 80,
      token: Array("token".utf8),
      secret: Array("secret".utf8),
      key: Array("key".utf8)
    )
    var random = SplitMix64(seed: 44)
    let pieces = [
      "/", "api", "classes", "%", "%2e", "%00", "?", "token=", "token", "&", "=", "..", "é", "\u{7F}", ";", "#",
    ]
    for _ in 0..<20_000 {
      var target: [UInt8] = random.next() % 4 == 0 ? [] : [0x2F]
      for _ in 0..<random.next() % 8 {
        target += Array(pieces[Int(random.next() % UInt64(pieces.count))].utf8)
        if random.next() % 8 == 0 { target.append(UInt8(truncatingIfNeeded: random.next())) }
      }
      var head = RequestHead(method: "GET", target: target, host: "127.0.0.1:80")
      guard case .answer(let refusal) = gate.check(head, localAddress: { nil }) else {
        Issue.record("let through: \(target)")
        continue
      }
      #expect([400, 403].contains(refusal.status))
      head.cookie = "realmfs-80=secret"
      head.key = "key"
      if case .pass(let target) = gate.check(head, localAddress: { nil }) {
        #expect(target.path.allSatisfy { !$0.utf8.contains(0) })
      }
    }
    let served = try ServedRealm("people").open()
    for _ in 0..<100 {
      let connection = try Connection(served.port)
      connection.send(
        (0..<random.next() % 300).map { _ in UInt8(truncatingIfNeeded: random.next()) } + [13, 10, 13, 10]
      )
    }
    #expect(try served.get("info")["format"] as? Int == 24)
  }
}
