// The security of the server: decides which requests are accepted. Pages of other sites in the browser, other users of
// the machine and other programs can send requests to the server, so each request must prove that it comes from the
// page.
//
// Invariant: no request is accepted without the cookie, which only the holder of the token has received, and none
// reaches the API without the key as well. Browsers send cookies to all ports of a host, so another server on this
// machine can learn the cookie. The page stores the key where pages from other ports cannot read it.

import RealmJSON
import Synchronization

/// The head of a request, as far as the gate needs it.
struct RequestHead: Sendable {
  var method: String
  var target: [UInt8]
  var host: String?
  var origin: String?
  var cookie: String?
  /// The header `X-Realmfs-Key`.
  var key: String?
  var contentType: String?
  var contentLength: String?
  var fetchSite: String?
}

/// Decides which requests are accepted.
final class Gate: Sendable {
  /// The hosts, with port, that a request may be addressed to.
  private let hosts: [String]
  private let port: UInt16
  /// True if the server listens on all addresses of the machine.
  private let isWildcard: Bool
  /// The secret in the printed URL. Nil once it has been used.
  private let token: Mutex<[UInt8]?>
  private let secret: [UInt8]
  private let key: [UInt8]
  /// The tickets that have been issued and not used, oldest first.
  private let tickets = Mutex<[[UInt8]]>([])
  /// Called when the token has been used.
  private let onOpened: @Sendable () -> Void
  /// The name of the cookie, which contains the port, because all servers of a host share its cookies.
  private let cookieName: String

  /// The maximum length of a target in bytes.
  static let targetLimit = 8192
  /// The maximum size of a body in bytes.
  static let bodyLimit = 16 << 20

  static let methods = ["GET", "HEAD", "POST", "PATCH", "DELETE"]

  /// Creates the gate of a server at `host`, as the user specified it, and `port`.
  /// `secret` is the value of the cookie.
  init(
    host: String,
    port: UInt16,
    token: [UInt8],
    secret: [UInt8],
    key: [UInt8],
    onOpened: @escaping @Sendable () -> Void = {}
  ) {
    let named = host.contains(":") ? "[\(host)]" : host
    hosts = ["127.0.0.1:\(port)", "localhost:\(port)", "\(named.lowercased()):\(port)"]
    self.port = port
    isWildcard = ["0.0.0.0", "::"].contains(host)
    self.token = Mutex(token)
    (self.secret, self.key, self.onOpened) = (secret, key, onOpened)
    cookieName = "realmfs-\(port)"
  }

  /// The result of a check.
  enum Verdict: Sendable {
    case pass(RequestTarget)
    case answer(WebResponse)
  }

  /// Checks a request. `localAddress` returns the numeric address of the machine to which the request was sent.
  func check(_ head: RequestHead, localAddress: () -> String?) -> Verdict {
    guard Self.methods.contains(head.method) else {
      var response = WebError(405, "method \(head.method) is not supported").response
      response.headers.append(("Allow", Self.methods.joined(separator: ", ")))
      return .answer(response)
    }
    if head.target.count > Self.targetLimit {
      return refuse(414, "the URL is longer than \(Self.targetLimit) bytes")
    }
    guard let host = head.host?.lowercased(), isServed(host, localAddress) else {
      return refuse(421, "this server does not serve \(head.host ?? "a request without Host")")
    }
    guard let target = RequestTarget(head.target) else { return refuse(400, "malformed URL") }
    let hasCookie = hasCookie(head.cookie)
    if target.path.isEmpty, let given = target["token"], head.method == "GET" {
      return .answer(admit(given, hasCookie: hasCookie))
    }
    guard hasCookie else { return .answer(Self.unknown(target, head)) }
    // The page stores the key from its URL, so a URL with a different key, such as a link on another page, is refused.
    if target.path.isEmpty, let given = target["key"], !Self.areEqual(Array(given.utf8), key) {
      return .answer(Self.redirect(to: "/"))
    }
    if target.path.first == "api" {
      let hasKey = head.key.map { Self.areEqual(Array($0.utf8), key) } ?? false
      guard hasKey || isTicket(target, head) else { return refuse(403, Self.needsKey) }
    }
    // A page on another port of this host belongs to the same site, so its requests include the cookie.
    if let site = head.fetchSite, site != "same-origin", site != "none", target.path.first == "api" {
      return refuse(403, "requests from other pages are refused")
    }
    if head.method != "GET", head.method != "HEAD" {
      guard head.origin == "http://\(head.host ?? "")" else { return refuse(403, "the Origin is not this server") }
      guard Self.isJSON(head.contentType) else { return refuse(415, "the Content-Type must be application/json") }
    }
    if let length = head.contentLength, Int(length).map({ $0 > Self.bodyLimit }) ?? true {
      return refuse(413, "the body is larger than \(Self.bodyLimit) bytes")
    }
    if head.method == "POST", target.path == ["api", "ticket"] { return .answer(ticket()) }
    return .pass(target)
  }

  // MARK: tickets

  private static let maxTickets = 128

  /// Issues a ticket, which replaces the key in one read request. Browsers do not send the page's headers when they
  /// follow a download link.
  private func ticket() -> WebResponse {
    let ticket = Self.randomSecret()
    tickets.withLock { tickets in
      if tickets.count >= Self.maxTickets { tickets.removeFirst() }
      tickets.append(ticket)
    }
    return .json(.object([("ticket", .string(String(decoding: ticket, as: UTF8.self)))]))
  }

  /// True if a request has a ticket, which is then used up.
  private func isTicket(_ target: RequestTarget, _ head: RequestHead) -> Bool {
    guard head.method == "GET", let given = target["ticket"].map({ Array($0.utf8) }) else { return false }
    return tickets.withLock { tickets in
      guard let index = tickets.firstIndex(where: { Self.areEqual($0, given) }) else { return false }
      tickets.remove(at: index)
      return true
    }
  }

  // MARK: secrets

  private static let needsKey =
    "the header X-Realmfs-Key is missing or wrong: open the URL that 'realmfs browse' printed in this browser, or "
    + "start 'realmfs browse' again"
  static let needsToken =
    "open the URL that 'realmfs browse' printed; it works once, and then in that browser. For another browser, start "
    + "'realmfs browse' again"

  /// Returns the response to a request without the cookie.
  private static func unknown(_ target: RequestTarget, _ head: RequestHead) -> WebResponse {
    guard target.path.isEmpty, head.method == "GET" else { return WebError(403, needsToken).response }
    // When the user follows a link from another site, such as a terminal in a browser, the browser withholds the
    // cookie. It sends the cookie when this page reloads itself, which the browser reports as a same-origin request.
    let isLinked = ["cross-site", "same-site"].contains(head.fetchSite)
    let again = isLinked ? "<meta http-equiv=\"refresh\" content=\"0\">" : ""
    let text = "<!doctype html><meta charset=\"utf-8\">\(again)<title>realmfs</title><p>Please \(needsToken).</p>\n"
    return WebResponse(status: 403, contentType: "text/html; charset=utf-8", body: .bytes(Array(text.utf8)))
  }

  private func refuse(_ status: UInt32, _ message: String) -> Verdict {
    .answer(WebError(status, message).response)
  }

  private func isServed(_ host: String, _ localAddress: () -> String?) -> Bool {
    // Browsers omit the default port of HTTP.
    let host = port == 80 && !host.hasSuffix(":80") ? host + ":80" : host
    if hosts.contains(host) { return true }
    // Unlike a name, an address cannot be redirected by a hostile name server.
    guard isWildcard, var address = localAddress()?.lowercased() else { return false }
    // An IPv4 client of an IPv6 socket.
    if address.hasPrefix("::ffff:") { address.removeFirst(7) }
    return host == "\(address):\(port)" || host == "[\(address)]:\(port)"
  }

  /// Exchanges the token for the cookie and the key.
  private func admit(_ given: String, hasCookie: Bool) -> WebResponse {
    let isRight = token.withLock { token in
      guard let wanted = token, Self.areEqual(Array(given.utf8), wanted) else { return false }
      token = nil
      return true
    }
    guard isRight || hasCookie else { return WebError(403, Self.needsToken).response }
    var response = Self.redirect(to: isRight ? "/?key=\(String(decoding: key, as: UTF8.self))" : "/")
    if isRight {
      onOpened()
      let value = String(decoding: secret, as: UTF8.self)
      response.headers.append(("Set-Cookie", "\(cookieName)=\(value); HttpOnly; SameSite=Strict; Path=/"))
    }
    return response
  }

  private static func redirect(to location: String) -> WebResponse {
    var response = WebResponse(status: 303, contentType: "text/plain", body: .bytes([]))
    response.headers = [("Location", location)]
    return response
  }

  private func hasCookie(_ header: String?) -> Bool {
    var isRight = false
    for part in header?.utf8.split(separator: UInt8(ascii: ";")) ?? [] {
      let pair = part.drop { $0 == 0x20 }.split(
        separator: UInt8(ascii: "="),
        maxSplits: 1,
        omittingEmptySubsequences: false
      )
      guard pair.count == 2, pair[0].elementsEqual(cookieName.utf8) else { continue }
      if Self.areEqual(Array(pair[1]), secret) { isRight = true }
    }
    return isRight
  }

  private static func isJSON(_ contentType: String?) -> Bool {
    let type = contentType?.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
    return type.map { String(decoding: Array($0), as: UTF8.self).lowercased() } == "application/json"
  }

  /// Compares in a time that does not depend on the contents.
  static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    if a.count != b.count { return false }
    var difference: UInt8 = 0
    for index in a.indices { difference |= a[index] ^ b[index] }
    return difference == 0
  }

  /// Returns 128 random bits in hexadecimal.
  static func randomSecret() -> [UInt8] {
    // The system's generator: getrandom(2).
    var generator = SystemRandomNumberGenerator()
    let words = (generator.next(), generator.next())
    let out = OutputBuffer()
    out.append(hex: words.0, digits: 16)
    out.append(hex: words.1, digits: 16)
    return out.bytes
  }
}
