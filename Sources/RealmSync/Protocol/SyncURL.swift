// Parses the address of a synced realm. Source: docs/format/7-sync.md 7.1.

import Glibc

/// A server, and the path of a realm on it.
public struct SyncURL: Hashable, Sendable, CustomStringConvertible {
  /// The name or address of the server; an IPv6 address has no brackets.
  public let host: String
  /// The TCP port.
  public let port: UInt16
  /// True if the connection is encrypted.
  public let isSecure: Bool
  /// The path of the realm on the server, with a leading `/`.
  public let path: String

  private static let schemes: [(name: String, isSecure: Bool, port: UInt16)] = [
    ("realm", false, 7800), ("realms", true, 7801), ("ws", false, 80), ("wss", true, 443),
  ]
  /// Hosted services that were shut down.
  private static let closed = [
    (domain: ".mongodb.com", name: "Atlas Device Sync (Flexible Sync)"),
    (domain: ".cloud.realm.io", name: "Realm Cloud"),
  ]
  /// The limits for paths: a longer last component crashes the server.
  private static let maximumSegment = 238, maximumPath = 1024

  /// Parses `realm://HOST[:PORT]/PATH` or `realms://...`. A path component `~` is replaced by `user`.
  public init(_ text: String, user: String? = nil) throws(SyncError) {
    func refuse(_ problem: String) -> SyncError {
      SyncError(.configuration, "\(Self.withoutSecrets(text)): \(problem); expected realm://HOST:PORT/PATH")
    }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].hasPrefix("//") else { throw refuse("not the address of a synced realm") }
    let scheme = parts[0].lowercased()
    guard let known = Self.schemes.first(where: { $0.name == scheme }) else {
      if scheme == "http" || scheme == "https" {
        throw SyncError(
          .unsupported,
          "\(Self.withoutSecrets(text)): the address of a web service; Atlas Device Sync was closed in 2025, and a "
            + "server of partition-based sync is named by realm:// or realms://"
        )
      }
      throw refuse("unknown scheme \(scheme)")
    }
    isSecure = known.isSecure
    let rest = parts[1].dropFirst(2)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = rest[..<slash]
    if authority.contains("@") { throw refuse("the address must not contain a user or password; see --user") }
    (host, port) = try Self.authority(authority, known.port, refuse)
    let domain = ".\(host.lowercased())"
    if let service = Self.closed.first(where: { domain.hasSuffix($0.domain) }) {
      throw SyncError(
        .unsupported,
        "\(Self.withoutSecrets(text)): a server of \(service.name), which was closed; use partition-based sync "
          + "with a server of your own, see docs/SYNC.md"
      )
    }
    path = try Self.path(String(rest[slash...]), user, refuse)
  }

  private static func authority(
    _ text: Substring,
    _ standard: UInt16,
    _ refuse: (String) -> SyncError
  ) throws(SyncError) -> (String, UInt16) {
    var host = text, port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw refuse("an IPv6 address without ]") }
      host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      if rest.hasPrefix(":") { port = rest.dropFirst() } else if !rest.isEmpty { throw refuse("text after ]") }
    } else if let colon = text.firstIndex(of: ":") {
      (host, port) = (text[..<colon], text[text.index(after: colon)...])
    }
    let allowed = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }
    if host.isEmpty || !allowed { throw refuse("no host") }
    guard let port, !port.isEmpty else { return (String(host), standard) }
    guard let number = UInt16(port), number > 0 else { throw refuse("port \(port)") }
    return (String(host), number)
  }

  private static func path(
    _ text: String,
    _ user: String?,
    _ refuse: (String) -> SyncError
  ) throws(SyncError) -> String {
    if text.contains("?") || text.contains("#") { throw refuse("the address must not contain a query or fragment") }
    var segments: [String] = []
    for segment in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      guard segment == "~" else {
        segments.append(String(segment))
        continue
      }
      guard let user, !user.isEmpty else { throw refuse("'~' represents the user; name it with --user") }
      segments.append(user)
    }
    for segment in segments {
      if segment.isEmpty { throw refuse("the path has an empty component") }
      if segment.utf8.count > maximumSegment {
        throw refuse("a component of the path has \(segment.utf8.count) bytes; the limit is \(maximumSegment)")
      }
      if segment.hasPrefix(".") || [".realm", ".realm.lock", ".realm.management"].contains(where: segment.hasSuffix) {
        throw refuse("the path component '\(segment)' is not allowed")
      }
      let isLegal = segment.utf8.allSatisfy { byte in
        let character = UnicodeScalar(byte)
        return character.isASCII && (character.properties.isAlphabetic || character.properties.numericType != nil)
          || "_-.\"".utf8.contains(byte)
      }
      if !isLegal { throw refuse("the path component '\(segment)' may contain only letters, digits, '_', '-' and '.'") }
    }
    if segments.isEmpty { throw refuse("the path of the realm is missing") }
    let path = "/" + segments.joined(separator: "/")
    if path.utf8.count > maximumPath {
      throw refuse("the path has \(path.utf8.count) bytes; the limit is \(maximumPath)")
    }
    return path
  }

  /// Returns the address for display, without passwords that it may contain by mistake.
  private static func withoutSecrets(_ text: String) -> String {
    guard let at = text.firstIndex(of: "@"), let start = text.range(of: "//") else { return text }
    return text[..<start.upperBound] + "..." + text[at...]
  }

  /// The host and port as in an HTTP request.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The full address.
  public var description: String {
    (isSecure ? "realms" : "realm") + "://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)" + path
  }
}

extension String {
  /// Returns the range of the first occurrence of `text`. Without Foundation, the standard library has no such
  /// function.
  fileprivate func range(of text: String) -> Range<String.Index>? {
    var index = startIndex
    while index < endIndex {
      if self[index...].hasPrefix(text) { return index..<self.index(index, offsetBy: text.count) }
      index = self.index(after: index)
    }
    return nil
  }
}
