// TLS, with certificates that openssl creates for the test: the right one is accepted, all others are refused with a
// reason. The proxy that terminates TLS is a separate program, as before a real server.

import Foundation
import RealmPages
import SyncSupport
import TestSupport
import Testing
import Threads

@testable import RealmSync

@Suite("Synced realms over TLS", .serialized)
struct TLSTests {
  /// A folder with two authorities and a server's key.
  private final class Authority {
    let folder: URL

    init() throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("realm-tls-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for name in ["authority", "other"] {
        try run(
          "openssl req -x509 -newkey rsa:2048 -nodes -keyout \(name).key -out \(name).pem -subj /CN=\(name) -days 2"
        )
      }
      try run("openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func run(_ command: String) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "cd '\(folder.path)' && \(command) >/dev/null 2>&1"]
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "\(command)")
    }

    /// A certificate for `names`, signed by the authority.
    func certificate(_ file: String, _ names: String, days: Int = 2) throws {
      try "subjectAltName=\(names)\n".write(
        to: folder.appendingPathComponent("names"),
        atomically: true,
        encoding: .utf8
      )
      let signing = "openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial"
      try run("\(signing) -extfile names -days \(days) -out \(file)")
    }

    func path(_ file: String) -> String { folder.appendingPathComponent(file).path }
  }

  /// Runs `body` with the port of a proxy that ends TLS with a certificate.
  private static func withProxy(_ authority: Authority, _ file: String, _ port: UInt16, _ body: (UInt16) throws -> Void)
    throws
  {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("tls_proxy.py")
    let process = Process(), output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", script.path, authority.path(file), authority.path("server.key"), "\(port)"]
    process.standardOutput = output
    try process.run()
    defer {
      // The runner of tests blocks SIGTERM, and so do its children.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let number = UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines))
    try body(#require(number))
  }

  /// The error that ends a download; nil if it is complete.
  private static func download(_ host: String, _ port: UInt16, trusting file: String?) throws -> SyncError? {
    var failure: SyncError?
    try withTemporaryPath { path in
      var options = SyncOptions()
      options.authorities = file
      options.firstWait = .milliseconds(20)
      let session = try SyncClient(
        Mirror(Configuration(path: path), of: SyncURL("realms://\(host):\(port)/test")),
        options
      )
      try session.start()
      defer { session.stop() }
      let status = session.wait(until: .now.advanced(by: .seconds(600))) { $0.state == .live }
      failure = session.failure
      if failure == nil { #expect(status.state == .live && status.version == 11) }
    }
    return failure
  }

  @Test("a certificate's host is accepted by name and address; others are refused with a reason")
  func certificates() throws {
    let authority = try Authority(), server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(10))
    try authority.certificate("right.pem", "DNS:localhost,IP:127.0.0.1")
    try authority.certificate("elsewhere.pem", "DNS:sync.example.org")
    try authority.certificate("expired.pem", "DNS:localhost", days: -1)
    let trusted = authority.path("authority.pem")
    func problem(_ host: String, _ port: UInt16, _ file: String?) throws -> String {
      let ended = try Self.download(host, port, trusting: file)
      let failure = try #require(ended, "was taken")
      #expect(failure.reason == .certificate && failure.description.contains("not trusted for \(host)"))
      return failure.description
    }
    try Self.withProxy(authority, "right.pem", server.port) { port in
      #expect(try Self.download("localhost", port, trusting: trusted) == nil)
      #expect(try Self.download("127.0.0.1", port, trusting: trusted) == nil)
      // An authority that is not trusted, the system's among them.
      #expect(try problem("localhost", port, authority.path("other.pem")).contains("--ca-file"))
      #expect(try problem("localhost", port, nil).contains("--ca-file"))
      let unread = try Self.download("localhost", port, trusting: authority.path("missing.pem"))
      let missing = try #require(unread)
      #expect(missing.reason == .certificate)
      #expect(missing.description.contains("missing.pem: cannot be read: No such file"))
    }
    try Self.withProxy(authority, "elsewhere.pem", server.port) { port in
      let (byName, byAddress) = (try problem("localhost", port, trusted), try problem("127.0.0.1", port, trusted))
      #expect(byName.contains("mismatch") && byAddress.contains("mismatch"))
      #expect(!byName.contains("--ca-file"), "no authority would help")
    }
    try Self.withProxy(authority, "expired.pem", server.port) { port in
      let text = try problem("localhost", port, trusted)
      #expect(text.contains("expired"))
    }
  }

  @Test("if only one side uses TLS, the connection ends with an error instead of waiting forever")
  func mixed() throws {
    let authority = try Authority(), server = try FakeServer()
    defer { server.stop() }
    try authority.certificate("right.pem", "DNS:localhost")
    func firstError(_ url: String) throws -> String {
      var text = ""
      try withTemporaryPath { path in
        let session = try SyncClient(Mirror(Configuration(path: path), of: SyncURL(url)), SyncOptions())
        try session.start()
        defer { session.stop() }
        text = session.wait(until: .now.advanced(by: .seconds(600))) { $0.error != nil }.error ?? ""
      }
      return text
    }
    // Bytes that are not TLS end the proxy's part of the connection.
    try Self.withProxy(authority, "right.pem", server.port) { port in
      let text = try firstError("realm://localhost:\(port)/test")
      #expect(text.contains("localhost:\(port)"))
    }
  }
}
