// A recorded exchange with a real server, replayed: the client sends the same bytes, except random ones, and the mirror
// equals the realm of that server.

import Foundation
import RealmPages
import SyncSupport
import TestSupport
import Testing
import Threads

@testable import RealmSync

@Suite("A recorded exchange with Realm's own server")
struct RecordedExchangeTests {
  private static func exchange() throws -> RecordedExchange {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("exchange.txt")
    return try RecordedExchange(String(contentsOf: file, encoding: .utf8))
  }

  @Test(
    "a recorded download and upload, in small parts, and acknowledged before the change",
    arguments: [(Int.max, false), (1, false), (7, true), (Int.max, true)]
  )
  func replay(partSize: Int, acknowledgesFirst: Bool) throws {
    var exchange = try Self.exchange()
    exchange.partSize = partSize
    if acknowledgesFirst {
      // The server's two sessions on a connection are not ordered.
      let upload = try #require(
        exchange.steps.firstIndex { if case .client(let head) = $0 { head.hasPrefix("upload") } else { false } }
      )
      exchange.steps.swapAt(upload + 1, upload + 2)
    }
    let server = try FakeServer(replaying: exchange)
    defer { server.stop() }
    try withTemporaryPath { path in
      var options = SyncOptions()
      options.uploadTimeout = .seconds(60)
      let mirror = try Mirror(Configuration(path: path), of: SyncURL(server.url))
      let session = try SyncClient(mirror, options)
      try session.start()
      defer { session.stop() }
      let status = session.wait(until: .now.advanced(by: .seconds(60))) { $0.canUpload }
      #expect(status.canUpload && status.version == 7 && status.downloaded == 1906, "\(server.replayed) \(status)")
      let counts = ["A": 1, "I": 2, "NoKey": 1, "E": 4, "Log": 0]
      for (name, count) in counts {
        let table = try #require(try mirror.writer.realm.latest().table(named: "class_\(name)"), "\(name)")
        #expect(table.objectCount == count, "\(name)")
      }
      let transaction = try mirror.writer.begin()
      let table = try #require(try transaction.tableKey(named: "class_I"))
      _ = try transaction.create(table, primaryKey: .int(7))
      _ = try transaction.commit()
      #expect(session.status.version == 8 && session.status.uploads == 1)
      #expect(try mirror.writer.realm.latest().table(named: "class_I")?.objectCount == 3)
      #expect(Verifier(try mirror.writer.realm.latest()).problems(limit: 1).isEmpty)
      session.stop()
      for _ in 0..<100 where server.replayed.isEmpty { usleep(50_000) }
      #expect(server.replayed == "done")
    }
  }
}
