// Sessions against a server that fails in every possible way: downloads are complete and ordered, each upload arrives
// once, and permanent failures are reported.

import Foundation
import RealmPages
import SyncSupport
import Synchronization
import TestSupport
import Testing
import Threads

@testable import RealmSync

@Suite("Sessions with a sync server", .serialized)
struct SessionTests {
  /// A server with the history of a realm of `objects` objects, and a path for its mirror.
  private static func withServer(_ objects: Int, _ body: (FakeServer, String) throws -> Void) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(objects))
    try withTemporaryPath { path in try body(server, path) }
  }

  /// A session with a mirror of the server's realm, for the time of `body`.
  private static func session(
    _ server: FakeServer,
    uploads: Bool = false,
    path: String,
    _ body: (SyncClient) throws -> Void
  ) throws {
    var options = SyncOptions()
    options.firstWait = .milliseconds(20)
    if uploads { options.uploadTimeout = .seconds(600) }
    let mirror = try Mirror(Configuration(path: path), of: SyncURL(server.url))
    let session = try SyncClient(mirror, options)
    try session.start()
    defer { session.stop() }
    try body(session)
  }

  private static func live(_ session: SyncClient) -> SyncStatus {
    session.wait(until: .now.advanced(by: .seconds(60))) { $0.state == .live }
  }

  private static func count(_ mirror: Mirror) throws -> Int {
    try mirror.writer.realm.latest().table(named: "class_P")?.objectCount ?? 0
  }

  private static func expect(_ count: Int, in mirror: Mirror) throws {
    #expect(try self.count(mirror) == count)
  }

  /// Sets `i` of an object of the mirror.
  private static func set(_ mirror: Mirror, _ key: Int64, _ value: Int64) throws {
    let transaction = try mirror.writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_P"))
    let object = try #require(try transaction.objectKey(table, primaryKey: .int(key)))
    let column = try #require(try transaction.columns(of: table).first { $0.name == "i" })
    try transaction.set(table, object, column.key, .int(value))
    _ = try transaction.commit()
  }

  private static func value(_ mirror: Mirror, _ key: Int64) throws -> Value? {
    let table = try #require(try mirror.writer.realm.latest().table(named: "class_P"))
    let cursor = ObjectCursor(table)
    guard let object = try table.objectKey(primaryKey: .int(key)), try cursor.seek(object) else { return nil }
    return try Value(copying: cursor.value(1))
  }

  private static func verify(_ mirror: Mirror) throws {
    #expect(Verifier(try mirror.writer.realm.latest()).problems(limit: 1).isEmpty)
  }

  // MARK: download

  @Test("everything is downloaded, in one message or many, compressed or not", arguments: [false, true])
  func download(compresses: Bool) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(200))
    for size in [Int.max, 5000, 1] {
      server.set(compresses: compresses, messageSize: size)
      try withTemporaryPath { path in
        try Self.session(server, path: path) { session in
          let status = Self.live(session)
          #expect(status.state == .live && status.isComplete && status.version == 201 && status.bytesLeft == 0)
          try Self.expect(200, in: session.mirror)
          // Changes of others arrive without a request.
          server.add([SyncSamples.changesets(201).last ?? []])
          _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.version == 202 }
          try Self.expect(201, in: session.mirror)
          try Self.verify(session.mirror)
        }
      }
      server.wipe()
      server.add(SyncSamples.changesets(200))
    }
  }

  @Test("progress advances while a message is applied, and ends at the total")
  func progress() throws {
    let text = String(repeating: "x", count: 60_000), seen = Mutex<[SyncStatus]>([])
    try Self.withServer(1) { server, path in
      server.add((0..<40).map { SyncSamples.object(100 + $0, text: text) })
      let session = try SyncClient(Mirror(Configuration(path: path), of: SyncURL(server.url)), SyncOptions())
      _ = session.addObserver { status in seen.withLock { $0.append(status) } }
      try session.start()
      defer { session.stop() }
      #expect(Self.live(session).state == .live)
    }
    let all = seen.withLock { $0 }, total = all.last?.downloaded ?? 0
    let steps = all.filter(\.isApplying).map(\.downloaded)
    #expect(total > 2_400_000 && Set(steps).count > 5, "\(steps)")
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(all.filter(\.isApplying).allSatisfy { $0.downloaded + $0.bytesLeft == total })
  }

  @Test("a connection lost in the middle of a frame resumes where it was")
  func cuts() throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(300))
    server.set(messageSize: 4000)
    for bytes in [1, 100, 3000, 5000, 20000, 40001] { server.inject(.cut(afterBytes: bytes)) }
    try withTemporaryPath { path in
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).state == .live)
        #expect(server.connections == 7)
        try Self.expect(300, in: session.mirror)
        try Self.verify(session.mirror)
      }
      // A later session has nothing left to download, and the same identity.
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).downloaded == 0)
      }
    }
  }

  @Test("a duplicate or invalid download is refused, and the next connection continues")
  func brokenMessages() throws {
    for fault in [
      FakeServer.Fault.duplicate, .garbage(Array("download 1 x\n".utf8)), .garbage(Array("hello\n".utf8)), .garbage([]),
      .garbage(Array("download 1 5 0 3 1 0 0 0 0 0 0\n".utf8)),
      .garbage(Array("download 1 1 0 1 1 0 0 0 1 99 3\nabc".utf8)),
    ] {
      let server = try FakeServer()
      defer { server.stop() }
      server.add(SyncSamples.changesets(5))
      server.inject(fault)
      try withTemporaryPath { path in
        try Self.session(server, path: path) { session in
          #expect(Self.live(session).state == .live, "\(fault): \(session.status)")
          #expect(server.connections == 2)
          try Self.expect(5, in: session.mirror)
        }
      }
    }
  }

  @Test("after a server was reset, its realm is downloaded again and replaces the old one")
  func wiped() throws {
    try Self.withServer(20) { server, path in
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).state == .live)
        server.wipe()
        server.add(SyncSamples.changesets(3))
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.state == .live && $0.version == 4 }
        try Self.expect(3, in: session.mirror)
        try Self.verify(session.mirror)
      }
      let folder = (path as NSString).deletingLastPathComponent
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.allSatisfy { !$0.contains("fresh") })
    }
  }

  @Test("a server that rejects every client ends the session, and no files are left")
  func knowsNobody() throws {
    try Self.withServer(3) { server, path in
      for isNew in [true, false] {
        if !isNew {
          server.set(habit: .none)
          try Self.session(server, path: path) { #expect(Self.live($0).state == .live) }
        }
        server.set(habit: .forgets)
        let before = server.connections
        try Self.session(server, path: path) { session in
          let status = Self.live(session)
          #expect(status.state == .failed, "\(status)")
          #expect(session.failure?.reason == .reset)
          #expect(session.failure?.description.contains("208") ?? false)
          #expect(session.failure?.description.contains("to a new client, too") ?? false)
          try Self.expect(isNew ? 0 : 3, in: session.mirror)
        }
        #expect(server.connections - before == 2)
        let folder = (path as NSString).deletingLastPathComponent
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.allSatisfy { !$0.contains("fresh") }, "\(names)")
      }
    }
  }

  @Test("a server whose version goes back each time is tried twice")
  func goesBack() throws {
    try Self.withServer(3) { server, path in
      server.set(habit: .goesBack)
      try Self.session(server, path: path) { session in
        #expect(throws: SyncError.self) {
          // It may be live for a moment, between the answer and the next message.
          try session.wait(timeout: .seconds(600)) { _ in false }
        }
        #expect(session.failure?.reason == .protocolBroken)
        #expect(session.failure?.description.contains("version 0 after version 4") ?? false)
        // The first one brought something.
        #expect(server.connections <= 3)
        try Self.expect(3, in: session.mirror)
      }
    }
  }

  @Test(
    "a server that sends much but nothing new times out like a silent one",
    arguments: [FakeServer.Habit.pings, .empties, .nothingNew]
  )
  func saysNothing(_ habit: FakeServer.Habit) throws {
    try Self.withServer(3) { server, path in
      server.set(habit: habit)
      try Self.session(server, path: path) { session in
        let error = #expect(throws: SyncError.self) {
          try session.wait(timeout: .seconds(1)) { $0.state == .live }
        }
        #expect(error?.reason == .timeout)
        #expect(error?.description.contains("gave up after 1 s") ?? false)
        // A thread that listens to it without end would never join.
        session.stop()
      }
    }
  }

  @Test(
    "each error code is handled as the protocol requires",
    arguments: [
      (100, false, nil), (200, true, nil), (201, true, nil), (218, true, nil), (103, false, nil),
      (208, true, nil), (209, true, nil), (210, true, nil), (211, true, nil), (217, true, nil),
      (202, true, .token), (203, true, .token), (206, true, .token), (204, true, .configuration),
      (205, true, .configuration),
      (113, false, .unsupported), (226, true, .unsupported), (229, true, .unsupported), (999, true, .protocolBroken),
    ] as [(Int, Bool, SyncError.Reason?)]
  )
  func errors(_ code: Int, _ isOfSession: Bool, _ reason: SyncError.Reason?) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(3))
    server.inject(.error(code: code, session: isOfSession))
    if code == 999 { server.inject(.error(code: code, session: isOfSession)) }
    try withTemporaryPath { path in
      try Self.session(server, path: path) { session in
        let status = Self.live(session)
        #expect(session.failure?.reason == reason, "\(status)")
        let count = try Self.count(session.mirror)
        #expect(reason != nil || count == 3)
        if let failure = session.failure { #expect(failure.description.contains("\(code)")) }
      }
    }
  }

  @Test(
    "non-WebSocket responses are distinguished",
    arguments: [
      ("HTTP/1.1 401 Unauthorized\r\n\r\n", .token), ("HTTP/1.1 403 Forbidden\r\n\r\n", .token),
      ("HTTP/1.1 404 Not Found\r\n\r\n", .unsupported),
      ("HTTP/1.1 400 Bad Request\r\n\r\nno version\r\n", .unsupported),
      ("HTTP/1.1 301 Moved\r\nLocation: realm://other\r\n\r\n", .configuration),
      ("SSH-2.0-x\r\n\r\n\r\n", .unsupported),
      ("HTTP/1.1 101 Switching\r\nSec-WebSocket-Accept: wrong\r\n\r\n", .unsupported),
      ("HTTP/1.1 503 Later\r\n\r\n", nil),
    ] as [(String, SyncError.Reason?)]
  )
  func answers(_ text: String, _ reason: SyncError.Reason?) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.inject(.http(text))
    try withTemporaryPath { path in
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).state == (reason == nil ? .live : .failed))
        #expect(session.failure?.reason == reason)
      }
    }
  }

  @Test("every supported protocol version works", arguments: 2...14)
  func versions(_ version: Int) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(3))
    server.set(version: version)
    try withTemporaryPath { path in
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).protocolVersion == version)
        try Self.expect(3, in: session.mirror)
      }
    }
  }

  // MARK: upload

  @Test("a commit returns once its change is on the server, exactly once")
  func upload() throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, uploads: true, path: path) { session in
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        for value in 1...20 {
          try Self.set(session.mirror, 1, Int64(value) * 10)
          #expect(try Self.value(session.mirror, 1) == .int(Int64(value) * 10))
          #expect(server.uploads == value)
        }
        try Self.verify(session.mirror)
      }
    }
  }

  @Test("a change larger than the largest value is sent completely, and its bytes are then freed")
  func largeUpload() throws {
    try Self.withServer(40) { server, path in
      try Self.session(server, uploads: true, path: path) { session in
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        // The server has it, but its answer is lost: the stored change is sent again.
        server.inject(.dropUpload(isTaken: false))
        let mirror = session.mirror
        try Self.setTexts(mirror, 40, size: 1 << 19)
        #expect(server.uploads == 1)
        let changeset = try #require(server.history.last)
        #expect(changeset.count > 20 << 20)
        #expect(mirror.state.pending == nil && mirror.state.writerTime > 0)
        let table = try #require(try mirror.writer.realm.latest().table(named: MirrorState.tableName))
        #expect(table.objectCount == 1)
        try Self.set(mirror, 1, 10)
        #expect(server.uploads == 2)
        try Self.verify(mirror)
      }
    }
  }

  /// Sets the texts of the first `count` objects in one transaction.
  private static func setTexts(_ mirror: Mirror, _ count: Int, size: Int) throws {
    let text = Value.string([UInt8](repeating: 0x78, count: size))
    let transaction = try mirror.writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_P"))
    let column = try #require(try transaction.columns(of: table).first { $0.name == "s" })
    for key in 0..<count {
      let object = try #require(try transaction.objectKey(table, primaryKey: .int(Int64(key))))
      try transaction.set(table, object, column.key, text)
    }
    _ = try transaction.commit()
  }

  @Test("a change whose connection is lost before the acknowledgement is applied once", arguments: [false, true])
  func lostAnswers(isTaken: Bool) throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, uploads: true, path: path) { session in
        for value in 1...10 {
          _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
          server.inject(.dropUpload(isTaken: isTaken))
          try Self.set(session.mirror, 1, Int64(value) * 10)
          #expect(server.uploads == value)
          #expect(try Self.value(session.mirror, 1) == .int(Int64(value) * 10))
        }
      }
    }
  }

  @Test("a change stored when the session ended is sent once by the next session", arguments: [3, 40])
  func afterEnd(objects: Int) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(objects))
    let newest = Int64(objects + 2)
    try withTemporaryPath { path in
      var options = SyncOptions()
      options.uploadTimeout = .milliseconds(300)
      do {
        let mirror = try Mirror(Configuration(path: path), of: SyncURL(server.url))
        let session = try SyncClient(mirror, options)
        try session.start()
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        server.inject(.silence)
        do {
          if objects == 40 { try Self.setTexts(mirror, 40, size: 1 << 19) } else { try Self.set(mirror, 1, 77) }
          Issue.record("acknowledged")
        } catch let error as EngineError { #expect(error.reason == .unacknowledged) }
        session.stop()
        #expect(mirror.state.pending != nil && server.uploads == 0)
        let stored = try #require(try MirrorState(in: mirror.writer.realm.latest()))
        #expect(stored == mirror.state)
      }
      // A stopped session does not hold its mirror: it can be opened again.
      for _ in 0..<2 {
        try Self.session(server, uploads: true, path: path) { session in
          _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload && $0.version == newest }
          #expect(server.uploads == 1 && session.status.version == newest)
          let value = try Self.value(session.mirror, 1)
          #expect(objects == 40 || value == .int(77))
          try Self.verify(session.mirror)
        }
      }
    }
  }

  @Test("a copy of a mirror, such as a restored backup, becomes its own client and loses no change")
  func copies() throws {
    try Self.withServer(5) { server, path in
      let copy = path + ".copy"
      func set(_ path: String, _ values: [Int64]) throws {
        try Self.session(server, uploads: true, path: path) { session in
          for value in values {
            // The first attempts may be made before the copy has its own identity.
            for _ in 0..<100 {
              _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
              do {
                try Self.set(session.mirror, 1, value)
                break
              } catch let error as EngineError {
                #expect(error.reason == .offline && error.description.contains("becomes a separate client"))
              }
            }
            let newest = try Self.value(session.mirror, 1)
            #expect(newest == .int(value))
          }
          #expect(server.uploads == Int(values.last ?? 0) - 10)
        }
      }
      try set(path, [11, 12])
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      try set(path, [13, 14, 15])
      // The copy is behind: without a check, it would use the number 3 as well.
      try set(copy, [16])
      try set(path, [17, 18])
      try set(copy, [19])
      let files = try [path, copy].map { try Mirror(Configuration(path: $0), of: SyncURL(server.url)).state }
      #expect(files[0].reader != files[1].reader && files[0].writer != files[1].writer)
      try FileManager.default.removeItem(atPath: copy)
    }
  }

  @Test("a change that the server rejects fails without a trace, and the next one is accepted")
  func refused() throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, uploads: true, path: path) { session in
        for code in [212, 212] {
          _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
          server.inject(.refuseUpload(code: code))
          do {
            try Self.set(session.mirror, 1, 99)
            Issue.record("taken")
          } catch let error as EngineError {
            #expect(error.reason == .refusedByServer && error.description.contains("212"))
          }
          #expect(try Self.value(session.mirror, 1) == .int(1))
        }
        #expect(session.mirror.state.refused?.contains("212") ?? false)
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        try Self.set(session.mirror, 1, 5)
        #expect(try Self.value(session.mirror, 1) == .int(5))
        #expect(server.uploads == 1)
      }
    }
  }

  @Test(
    "an error in response to an upload causes a retry or a new identity; no change is lost or duplicated",
    arguments: [(100, true), (209, true), (210, true), (108, true), (208, false), (211, false), (217, false)]
  )
  func uploadErrors(_ code: Int, isRetried: Bool) throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, uploads: true, path: path) { session in
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        let identity = session.mirror.state.writer
        server.inject(.refuseUpload(code: code))
        do {
          try Self.set(session.mirror, 1, 99)
          #expect(isRetried && session.mirror.state.writer == identity)
        } catch let error as EngineError {
          #expect(!isRetried && error.reason == .offline && error.description.contains("make the change again"))
          #expect(server.uploads == 0)
          _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
          #expect(session.mirror.state.writer != identity)
          try Self.set(session.mirror, 1, 99)
        }
        #expect(try Self.value(session.mirror, 1) == .int(99))
        #expect(server.uploads == 1)
      }
    }
  }

  @Test("without the server, changes fail and reads continue")
  func offline() throws {
    let server = try FakeServer()
    server.add(SyncSamples.changesets(3))
    try withTemporaryPath { path in
      try Self.session(server, uploads: true, path: path) { session in
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        server.stop()
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.state == .offline }
        do {
          try Self.set(session.mirror, 1, 99)
          Issue.record("taken")
        } catch let error as EngineError { #expect(error.reason == .offline) }
        #expect(try Self.value(session.mirror, 1) == .int(1))
      }
    }
  }

  // MARK: the mirror

  @Test("a session waiting for a name server or a silent server stops at once")
  func stops() throws {
    try withTemporaryPath { path in
      for (host, isKept) in [("no-such-host.invalid", false), ("10.255.255.1", true)] {
        do {
          let mirror = try Mirror(Configuration(path: path), of: SyncURL("realm://\(host):7800/test"))
          let session = try SyncClient(mirror, SyncOptions())
          try session.start()
          session.stop()
          #expect(session.status.state == .stopped)
          mirror.removeUnlessBegun()
          #expect(FileManager.default.fileExists(atPath: path) == isKept)
        }
        // No server has answered, so another address may be the right one.
        _ = try Mirror(Configuration(path: path), of: SyncURL("realm://127.0.0.1:7800/other"))
      }
    }
  }

  @Test("a mirror can be written only through its sync client, and is refused if another program wrote it")
  func foreignWriter() throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).state == .live)
        let url = try SyncURL(server.url)
        #expect(throws: SyncError.self) { try Mirror(Configuration(path: path), of: url) }
      }
      let other = try RealmWriter(Configuration(path: path))
      do {
        _ = try other.begin()
        Issue.record("began")
      } catch let error as EngineError {
        #expect(error.reason == .readOnly && error.description.contains("mirror"))
      }
      // A program that is unaware of mirrors.
      let ignorant = try RealmWriter(mirror: Configuration(path: path))
      let transaction = try ignorant.begin()
      _ = try transaction.addTable("class_Q")
      _ = try transaction.commit()
      do {
        _ = try Mirror(Configuration(path: path), of: SyncURL(server.url))
        Issue.record("opened")
      } catch let error as SyncError {
        #expect(error.reason == .mirror && error.description.contains("another program has written"))
      }
      do {
        _ = try Mirror(Configuration(path: path), of: SyncURL("realm://127.0.0.1:9/other"))
        Issue.record("opened")
      } catch let error as SyncError { #expect(error.reason == .mirror) }
    }
  }

  @Test(
    "changes by another program are noticed on access or with the next download",
    arguments: [true, false]
  )
  func foreignWriterUnasked(_ looks: Bool) throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, path: path) { session in
        #expect(Self.live(session).state == .live)
        session.checkMirror()
        #expect(session.failure == nil)
        let transaction = try RealmWriter(mirror: Configuration(path: path)).begin()
        _ = try transaction.addTable("class_Q")
        _ = try transaction.commit()
        if looks { session.checkMirror() } else { server.add([SyncSamples.object(3)]) }
        let status = session.wait(until: .now.advanced(by: .seconds(600))) { $0.state == .failed }
        #expect(status.state == .failed && status.error?.contains("another program has written") == true)
        try Self.expect(3, in: session.mirror)
      }
    }
  }

  @Test("a write by another program ends a running session, and the program is named")
  func foreignWriterMeanwhile() throws {
    try Self.withServer(3) { server, path in
      try Self.session(server, uploads: true, path: path) { session in
        _ = session.wait(until: .now.advanced(by: .seconds(600))) { $0.canUpload }
        let ignorant = try RealmWriter(mirror: Configuration(path: path))
        let transaction = try ignorant.begin()
        _ = try transaction.addTable("class_Q")
        _ = try transaction.commit()
        // Neither a change of the mount nor one of the server is put on top of it.
        do {
          try Self.set(session.mirror, 1, 7)
          Issue.record("taken")
        } catch let error as EngineError {
          #expect(error.reason == .readOnly && error.description.contains("another program has written to the mirror"))
        }
        #expect(session.failure?.reason == .mirror && session.status.state == .failed && !session.status.canUpload)
        server.add([SyncSamples.object(3)])
        do {
          try Self.set(session.mirror, 1, 8)
          Issue.record("taken")
        } catch let error as EngineError { #expect(error.reason == .readOnly) }
        #expect(session.failure?.reason == .mirror && server.uploads == 0)
        try Self.expect(3, in: session.mirror)
      }
    }
  }
}
