// Synced realms against a server on the loopback interface that fails as requested: downloads become visible, each
// write arrives once, and failures report their reason.

import Foundation
import RealmSwift
import SyncSupport
import Synchronization
import TestSupport
import Testing

/// An object of the class that `SyncSamples` has.
final class P: Object {
  @Persisted(primaryKey: true) var _id = 0
  @Persisted var i = 0
  @Persisted var s = ""

  override class func shouldIncludeInDefaultSchema() -> Bool { false }

  convenience init(_ id: Int, _ i: Int = 0, _ s: String = "") {
    self.init()
    (self._id, self.i, self.s) = (id, i, s)
  }
}

final class SyncedNote: Object {
  @Persisted var text = ""
  @Persisted var place: SyncedPlace?
  @Persisted var places: List<SyncedPlace>
  @Persisted var p: P?
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

final class SyncedPlace: EmbeddedObject {
  @Persisted var name = ""
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The class P with another type of a property.
final class OtherP: Object {
  @Persisted(primaryKey: true) var _id = 0
  @Persisted var i = ""
  override class func _realmObjectName() -> String? { "P" }
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The class P with an additional property.
final class LargerP: Object {
  @Persisted(primaryKey: true) var _id = 0
  @Persisted var more: List<String>
  override class func _realmObjectName() -> String? { "P" }
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Synced realms", .serialized)
struct SyncTests {
  /// A configuration of the server's realm with a mirror at `path`.
  private static func configuration(
    _ server: FakeServer,
    _ path: String,
    _ types: [ObjectBase.Type] = [P.self],
    timeout: TimeInterval = 60
  ) throws -> Realm.Configuration {
    let url = try #require(URL(string: server.url)), user = SyncUser(identity: "anna", server: url)
    var sync = SyncConfiguration(user: user, realmURL: url)
    sync.fileURL = URL(fileURLWithPath: path)
    sync.timeout = timeout
    return Realm.Configuration(syncConfiguration: sync, objectTypes: types)
  }

  /// Runs `body` with a server that has a realm of `count` objects, and a path for a mirror.
  private static func withServer(_ count: Int, _ body: (FakeServer, String) throws -> Void) throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(count))
    try withTemporaryPath { path in try body(server, path) }
  }

  /// Opens with `asyncOpen` on a queue, and runs `body` there.
  private static func open<R>(
    _ configuration: Realm.Configuration,
    progress: (@Sendable (SyncSession.Progress) -> Void)? = nil,
    _ body: (Realm, DispatchQueue) throws -> R
  ) throws -> R {
    let queue = DispatchQueue(label: "synced"), done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var result: Result<Realm, any Error>?
    let task = Realm.asyncOpen(configuration: configuration, callbackQueue: queue) {
      result = $0
      done.signal()
    }
    if let progress { task.addProgressNotification(queue: queue, block: progress) }
    done.wait()
    nonisolated(unsafe) let opened = try queue.sync { try #require(result).get() }
    result = nil
    nonisolated(unsafe) let body = body
    return try queue.sync { try body(opened, queue) }
  }

  /// Waits for changes that arrive without a request.
  private static func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<1200 {
      if try condition() { return true }
      usleep(100_000)
    }
    return false
  }

  private static func error(_ body: () throws -> Void) -> (code: Realm.Error.Code?, text: String) {
    do { try body() } catch { return ((error as? Realm.Error)?.code, "\(error)") }
    return (nil, "")
  }

  // MARK: reading

  @Test("asyncOpen downloads everything with progress, and later changes arrive automatically")
  func downloads() throws {
    try Self.withServer(300) { server, path in
      server.set(messageSize: 5000)
      let seen = Mutex<[SyncSession.Progress]>([])
      let told = Mutex<[Int]>([])
      let count = try Self.open(Self.configuration(server, path), progress: { p in seen.withLock { $0.append(p) } }) {
        realm,
        queue in
        let objects = realm.objects(P.self)
        #expect(objects.count == 300 && objects.first?.s.hasPrefix("text 0") ?? false)
        #expect(realm.syncSession?.state == .active && realm.syncSession?.connectionState == .connected)
        return objects.count
      }
      #expect(count == 300)
      let all = seen.withLock { $0 }
      #expect(all.last?.isTransferComplete ?? false)
      #expect(all.count > 3 && zip(all, all.dropFirst()).allSatisfy { $0.transferredBytes <= $1.transferredBytes })
      #expect(all.dropLast().allSatisfy { $0.progressEstimate < 1 })
      // An observer on a queue.
      let queue = DispatchQueue(label: "observer"), configuration = try Self.configuration(server, path)
      nonisolated(unsafe) var kept: (realm: Realm, token: NotificationToken)?
      try queue.sync {
        let realm = try Realm(configuration: configuration, queue: queue)
        let token = realm.objects(P.self)
          .observe { change in
            if case .update(let objects, deletions: _, insertions: let insertions, modifications: _) = change {
              told.withLock { $0.append(insertions.count * 1000 + objects.count) }
            }
          }
        kept = (realm, token)
      }
      #expect(Self.eventually { queue.sync { kept?.realm.syncSession?.connectionState == .connected } })
      server.add([SyncSamples.object(300)])
      #expect(Self.eventually { told.withLock { $0 } == [1301] })
      queue.sync {
        kept?.token.invalidate()
        kept = nil
      }
    }
  }

  @Test("a new realm opens once its classes are downloaded, and later immediately, even without the server")
  func opensAtOnce() throws {
    try Self.withServer(100) { server, path in
      server.set(messageSize: 1)
      // The last part of the history does not arrive.
      server.inject(.cut(afterBytes: 3000))
      let configuration = try Self.configuration(server, path)
      do {
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(P.self).count <= 100)
        let objects = realm.objects(P.self)
        #expect(
          Self.eventually {
            realm.refresh()
            return objects.count == 100
          }
        )
      }
      server.stop()
      let realm = try Realm(configuration: configuration)
      #expect(realm.objects(P.self).count == 100)
      let (code, text) = Self.error { try realm.write { realm.add(P(1000)) } }
      #expect(code == .offline && text.contains("not connected, so nothing can be changed"), "\(text)")
      #expect(realm.objects(P.self).count == 100)
      // A call that cannot throw when it begins throws at the end, and changes nothing.
      realm.beginWrite()
      let object = P(1001)
      realm.add(object)
      #expect(Self.error { try realm.commitWrite() }.code == .offline)
      #expect(realm.objects(P.self).count == 100 && object.isInvalidated)
    }
  }

  @Test("downloadBeforeOpen: .always requires the server each time, .once only the first time")
  func openBehaviors() async throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(20))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("synced-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("a.realm").path
    #expect(try await count(Self.configuration(server, path), .once) == 20)
    server.add([SyncSamples.object(20)])
    #expect(try await count(Self.configuration(server, path), .always) == 21)
    server.stop()
    #expect(try await count(Self.configuration(server, path), .once) == 21)
    #expect(try await count(Self.configuration(server, path), .never) == 21)
    let (code, text) = await problem { [path] in try await count(Self.configuration(server, path, timeout: 1), .always)
    }
    #expect(code == .timedOut && text.contains("gave up after 1 s"), "\(text)")
    let new = folder.appendingPathComponent("b.realm").path
    #expect(await problem { try await count(Self.configuration(server, new, timeout: 1), .once) }.0 == .timedOut)
    #expect(await problem { try await count(Self.configuration(server, new, timeout: 1), .never) }.0 == .timedOut)
    // A cancelled task ends the wait.
    let task = Task { @MainActor in try await count(Self.configuration(server, new), .always) }
    try await Task.sleep(for: .milliseconds(200))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @MainActor private func count(
    _ configuration: Realm.Configuration,
    _ behavior: Realm.OpenBehavior
  ) async throws -> Int {
    try await Realm(configuration: configuration, actor: MainActor.shared, downloadBeforeOpen: behavior)
      .objects(P.self).count
  }

  private func problem(_ body: () async throws -> Int) async -> (Realm.Error.Code?, String) {
    do {
      _ = try await body()
      return (nil, "opened")
    } catch { return ((error as? Realm.Error)?.code, "\(error)") }
  }

  // MARK: writing

  @Test("a write is on the server when it returns; concurrent creations of an object are merged")
  func writes() throws {
    try Self.withServer(2) { server, path in
      let types: [ObjectBase.Type] = [P.self, SyncedNote.self, SyncedPlace.self]
      try Self.open(Self.configuration(server, path, types)) { realm, _ in
        // The classes that the server did not have went there.
        #expect(server.uploads == 1)
        server.inject(.overtake([SyncSamples.object(50), SyncSamples.object(51)]))
        let object = P(7, 70, "mine"), note = SyncedNote()
        note.text = "note"
        note.place = SyncedPlace(value: ["name": "here"])
        note.places.append(objectsIn: [SyncedPlace(value: ["name": "one"]), SyncedPlace(value: ["name": "two"])])
        note.p = object
        let second = note.places[1]
        try realm.write {
          realm.add(note)
          #expect(object.i == 70 && note.p?._id == 7)
        }
        #expect(server.uploads == 2)
        #expect(object._id == 7 && object.s == "mine" && !object.isInvalidated)
        #expect(note.text == "note" && note.place?.name == "here" && note.places.map(\.name) == ["one", "two"])
        #expect(second.name == "two" && note.p == object)
        #expect(realm.objects(P.self).count == 5 && realm.objects(SyncedNote.self).count == 1)
        #expect(realm.objects(P.self).where { $0._id == 7 }.first == object)
        // The object of the file, not of the transaction.
        try realm.write { (object.i, note.text) = (71, "changed") }
        #expect(realm.object(ofType: P.self, forPrimaryKey: 7)?.i == 71)
        #expect(realm.objects(SyncedNote.self).first?.text == "changed")
        try realm.write { realm.delete(object) }
        #expect(realm.objects(P.self).count == 4 && note.p == nil && server.uploads == 4)
        // Nothing to send.
        try realm.write { note.text = "changed" }
        #expect(server.uploads == 4)
        // Changes of a block that throws are not sent to the server.
        #expect(throws: CancellationError.self) {
          try realm.write {
            realm.add(P(99))
            throw CancellationError()
          }
        }
        #expect(server.uploads == 4 && realm.objects(P.self).count == 4)
      }
      // Another mirror receives all of it.
      try withTemporaryPath { other in
        try Self.open(Self.configuration(server, other, types)) { realm, _ in
          #expect(realm.objects(P.self).count == 4 && realm.objects(SyncedNote.self).first?.text == "changed")
          #expect(realm.objects(SyncedNote.self).first?.places.map(\.name) == ["one", "two"])
        }
      }
      // And the same after the connection was new.
      try Self.open(Self.configuration(server, path, types)) { realm, _ in
        try realm.write { realm.add(P(8)) }
        #expect(server.uploads == 5)
      }
    }
  }

  @Test("a change that the server rejects throws and changes nothing, and the next one is accepted")
  func refused() throws {
    try Self.withServer(3) { server, path in
      try Self.open(Self.configuration(server, path)) { realm, _ in
        server.inject(.refuseUpload(code: 212))
        let object = P(5)
        let (code, text) = Self.error { try realm.write { realm.add(object) } }
        #expect(code == .refusedByServer && text.contains("the change was not made"), "\(text)")
        #expect(object.isInvalidated && realm.objects(P.self).count == 3 && server.uploads == 0)
        try realm.write { realm.add(P(6)) }
        #expect(realm.objects(P.self).count == 4 && server.uploads == 1)
      }
    }
  }

  @Test("an unacknowledged change throws, and is applied once when the server answers")
  func unanswered() throws {
    try Self.withServer(3) { server, path in
      try Self.open(Self.configuration(server, path, timeout: 1)) { realm, queue in
        server.inject(.silence)
        let (code, text) = Self.error { try realm.write { realm.add(P(5)) } }
        #expect(code == .timedOut && text.contains("sent again"), "\(text)")
        server.dropAll()
        let objects = realm.objects(P.self)
        #expect(
          Self.eventually {
            realm.refresh()
            return objects.count == 4
          }
        )
        #expect(server.uploads == 1)
      }
    }
  }

  @Test("asynchronous writes reach the server without blocking, and report errors")
  func asynchronousWrites() async throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(1))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("synced-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let configuration = try Self.configuration(server, folder.appendingPathComponent("a.realm").path)
    try await asynchronousWrites(server, configuration)
  }

  @MainActor private func asynchronousWrites(_ server: FakeServer, _ configuration: Realm.Configuration) async throws {
    let realm = try await Realm(configuration: configuration, downloadBeforeOpen: .once)
    let object = try await realm.asyncWrite { () -> P in
      server.inject(.overtake([SyncSamples.object(40)]))
      return realm.create(P.self, value: ["_id": 2, "i": 20])
    }
    #expect(object._id == 2 && object.i == 20 && realm.objects(P.self).count == 3 && server.uploads == 1)
    server.inject(.refuseUpload(code: 212))
    await #expect(throws: Realm.Error.self) { try await realm.asyncWrite { realm.add(P(3)) } }
    #expect(realm.objects(P.self).count == 3)
    let queue = DispatchQueue(label: "writes")
    for isRefused in [false, true] {
      if isRefused { server.inject(.refuseUpload(code: 212)) }
      let problem: String? = await withCheckedContinuation { continuation in
        queue.async {
          do {
            let realm = try Realm(configuration: configuration, queue: queue)
            realm.writeAsync {
              realm.add(P(isRefused ? 5 : 4))
            } onComplete: { error in
              continuation.resume(returning: error.map { "\($0)" })
            }
          } catch { continuation.resume(returning: "\(error)") }
        }
      }
      #expect(isRefused ? problem?.contains("was not made") ?? false : problem == nil, "\(problem ?? "nil")")
    }
    realm.refresh()
    #expect(realm.objects(P.self).count == 4 && server.uploads == 2)
  }

  // MARK: the session

  @Test("a session can be suspended, resumed and waited for, and reports progress")
  func sessions() async throws {
    let server = try FakeServer()
    defer { server.stop() }
    server.add(SyncSamples.changesets(5))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("synced-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await sessions(server, Self.configuration(server, folder.appendingPathComponent("a.realm").path))
  }

  @MainActor private func sessions(_ server: FakeServer, _ configuration: Realm.Configuration) async throws {
    let realm = try await Realm(configuration: configuration, downloadBeforeOpen: .always)
    let session = try #require(realm.syncSession)
    #expect(session.configuration()?.realmURL.absoluteString == server.url && session.parentUser()?.identity == "anna")
    #expect(session.state == .active && session.error == nil)
    session.suspend()
    #expect(Self.eventually { session.state == .inactive && session.connectionState == .disconnected })
    server.add([SyncSamples.object(5)])
    #expect(Self.error { try realm.write { realm.add(P(9)) } }.code == .offline)
    usleep(100_000)
    realm.refresh()
    #expect(realm.objects(P.self).count == 5)
    session.resume()
    try await session.wait(for: .download)
    realm.refresh()
    #expect(realm.objects(P.self).count == 6)
    try await session.wait(for: .upload)
    let uploads = Mutex<[SyncSession.Progress]>([])
    let token = session.addProgressNotification(for: .upload, mode: .reportIndefinitely) { progress in
      uploads.withLock { $0.append(progress) }
    }
    #expect(token != nil)
    try realm.write { realm.add(P(9, 9, String(repeating: "x", count: 5000))) }
    #expect(
      Self.eventually {
        let all = uploads.withLock { $0 }
        return all.contains { !$0.isTransferComplete && $0.transferrableBytes > 5000 }
          && all.last?.isTransferComplete ?? false
      }
    )
    token?.invalidate()
    // Everything has been downloaded, so there is no second call.
    let calls = Mutex(0)
    #expect(
      session.addProgressNotification(for: .download, mode: .forCurrentlyOutstandingWork) { _ in
        calls.withLock { $0 += 1 }
      } == nil
    )
    #expect(Self.eventually { calls.withLock { $0 } == 1 })
  }

  @Test("a permanent error ends the session and is passed to the error handler")
  func failure() throws {
    try Self.withServer(3) { server, path in
      let told = Mutex<[String]>([])
      SyncManager.shared.errorHandler = { error, session in
        told.withLock { $0.append("\(session?.state == .invalid) \(error)") }
      }
      defer { SyncManager.shared.errorHandler = nil }
      let configuration = try Self.configuration(server, path)
      try Self.open(configuration) { realm, _ in
        server.inject(.error(code: 204, session: true))
        server.dropAll()
        #expect(Self.eventually { realm.syncSession?.state == .invalid })
        #expect(realm.syncSession?.error?.description.contains("error 204") ?? false)
        #expect(Self.eventually { told.withLock { $0.count } == 1 })
        #expect(told.withLock { $0 }.first?.hasPrefix("true") ?? false)
        #expect(Self.error { try realm.write { realm.add(P(9)) } }.code == .offline)
        #expect(realm.objects(P.self).count == 3)
      }
    }
  }

  // MARK: configurations

  @Test("a synced realm gets new properties, and no other change; a read-only one gets none")
  func schemas() throws {
    try Self.withServer(3) { server, path in
      var configuration = try Self.configuration(server, path, [OtherP.self])
      var problem = Self.error { try Self.open(configuration) { _, _ in } }
      #expect(problem.code == .schemaMismatch && problem.text.contains("the type of property 'P.i'"), "\(problem.text)")
      configuration = try Self.configuration(server, path, [LargerP.self])
      configuration.readOnly = true
      problem = Self.error { try Self.open(configuration) { _, _ in } }
      #expect(problem.code == .schemaMismatch && problem.text.contains("'P.more'"), "\(problem.text)")
      configuration.readOnly = false
      try Self.open(configuration) { realm, _ in
        #expect(server.uploads == 1)
        try realm.write { realm.object(ofType: LargerP.self, forPrimaryKey: 1)?.more.append("word") }
        #expect(server.uploads == 2)
      }
      // Properties of other clients are unchanged.
      try Self.open(Self.configuration(server, path)) { realm, _ in
        #expect(realm.object(ofType: P.self, forPrimaryKey: 1)?.i == 1 && server.uploads == 2)
      }
      // Read-only: kept up to date, never written.
      configuration = try Self.configuration(server, path)
      configuration.readOnly = true
      try Self.open(configuration) { realm, _ in
        #expect(Self.error { try realm.write {} }.text.contains("read-only"))
        server.add([SyncSamples.object(60)])
        #expect(
          Self.eventually {
            realm.refresh()
            return realm.objects(P.self).count == 4
          }
        )
        #expect(server.uploads == 2)
      }
    }
  }

  @Test("a schema that a synced realm does not support is refused with the reason")
  func configurations() throws {
    try Self.withServer(1) { server, path in
      func problem(_ change: (inout Realm.Configuration) throws -> Void) throws -> (Realm.Error.Code?, String) {
        var configuration = try Self.configuration(server, path)
        try change(&configuration)
        return Self.error { _ = try Realm(configuration: configuration) }
      }
      var (code, text) = try problem { $0.migrationBlock = { _, _ in } }
      #expect(code == .invalidInput && text.contains("migrationBlock"))
      (code, text) = try problem { $0.seedFilePath = URL(fileURLWithPath: path + ".seed") }
      #expect(code == .invalidInput && text.contains("seedFilePath"))
      (code, text) = try problem { $0.deleteRealmIfMigrationNeeded = true }
      #expect(code == .invalidInput && text.contains("deleteRealmIfMigrationNeeded"))
      (code, text) = try problem { configuration in
        let user = try #require(configuration.syncConfiguration?.user)
        configuration = user.configuration(realmURL: URL(string: server.url), fullSynchronization: false)
      }
      #expect(code == .invalidInput && text.contains("fullSynchronization: true"))
      (code, text) = try problem { configuration in
        let user = try #require(configuration.syncConfiguration?.user)
        configuration = user.configuration(realmURL: URL(string: "https://127.0.0.1/x"))
      }
      #expect(code == .syncFailed && text.contains("https"), "\(text)")
      // The mirror is one realm, whatever name is used for it.
      let realm = try Realm(configuration: Self.configuration(server, path))
      (code, text) = Self.error { _ = try Realm(fileURL: URL(fileURLWithPath: path)) }
      #expect(code == .alreadyOpen && text.contains("the mirror of realm://"))
      #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: Self.configuration(server, path)) }
      #expect(try Realm.fileExists(for: Self.configuration(server, path)) && realm.syncSession != nil)
      realm.invalidate()
    }
  }

  @Test("a mirror that is compacted on launch keeps synchronizing")
  func compacted() throws {
    try Self.withServer(500) { server, path in
      server.set(messageSize: 1000)
      try Self.open(Self.configuration(server, path)) { _, _ in }
      var configuration = try Self.configuration(server, path)
      let asked = Atomic<Int>(0)
      configuration.shouldCompactOnLaunch = { _, _ in
        asked.add(1, ordering: .relaxed)
        return true
      }
      // While the previous one is still closing, no server is asked.
      let wasAsked = try Self.eventually {
        try Self.open(configuration) { realm, _ in
          if realm.object(ofType: P.self, forPrimaryKey: 1000) == nil { try realm.write { realm.add(P(1000)) } }
          #expect(realm.objects(P.self).count == 501)
        }
        return asked.load(ordering: .relaxed) == 1
      }
      #expect(wasAsked)
      try Self.open(Self.configuration(server, path)) { realm, _ in #expect(realm.objects(P.self).count == 501) }
    }
  }

  @Test("an encrypted mirror")
  func encrypted() throws {
    try Self.withServer(50) { server, path in
      var configuration = try Self.configuration(server, path)
      configuration.encryptionKey = Data((0..<64).map { UInt8($0) })
      for round in 0..<2 {
        try Self.open(configuration) { realm, _ in
          try realm.write { realm.add(P(100 + round)) }
          #expect(realm.objects(P.self).count == 51 + round)
        }
      }
      let key = configuration.encryptionKey
      configuration.encryptionKey = nil
      #expect(Self.error { try Self.open(configuration) { _, _ in } }.code == .invalidDatabase)
      configuration.encryptionKey = key
    }
  }
}
