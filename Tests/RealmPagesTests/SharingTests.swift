// Sharing a realm with other programs: each sees the commits of the others, and survives their deaths. The other
// participant is a separate writer in this process, a program of the package, or an independent implementation of the
// protocol, if it is available.
//
//     SHARING_KILLS=200 swift test --filter Sharing

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RealmPages

@Suite("Sharing")
struct SharingTests {
  private static let kills = ProcessInfo.processInfo.environment["SHARING_KILLS"].flatMap { Int($0) } ?? 12
  private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("CommitLoop")
  private static let peer = Fixture.package.appendingPathComponent("../shared/tools/realmpeer.py")
  private static let hasPeer = FileManager.default.fileExists(atPath: peer.path)

  private func makeCounter(_ writer: RealmWriter) throws {
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Counter")
    _ = try transaction.addColumn(table, ColumnSpec("value", .int))
    _ = try transaction.create(table)
    _ = try transaction.commit()
  }

  private func count(_ writer: RealmWriter, _ durability: Durability = .full) throws {
    let transaction = try writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_Counter"))
    let column = try transaction.columns(of: table)[0].key
    guard case .int(let value) = try transaction.value(table, ObjKey(0), column) else {
      throw CocoaError(.fileReadCorruptFile)
    }
    try transaction.set(table, ObjKey(0), column, .int(value + 1))
    _ = try transaction.commit(durability)
  }

  private func value(_ snapshot: Snapshot) throws -> Int64 {
    let cursor = ObjectCursor(try #require(try snapshot.table(named: "class_Counter")))
    guard try cursor.next(), case .int(let value) = try cursor.value(0) else { return -1 }
    return value
  }

  @Test("realms can be opened and closed concurrently on several threads")
  func endsTogether() throws {
    try withTemporaryPath { path in
      try makeCounter(RealmWriter(Configuration(path: path), create: true))
      let failures = Mutex(0)
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        for _ in 0..<150 {
          do {
            // Sessions begin and end continually.
            let realms = try (0..<4).map { _ in try Realm(Configuration(path: path)) }
            for realm in realms { _ = try realm.latest() }
          } catch { failures.withLock { $0 += 1 } }
        }
      }
      #expect(failures.withLock { $0 } == 0)
    }
  }

  @Test("two writers see each other's commits and lose none", arguments: [false, true])
  func twoWriters(isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let configuration = Configuration(path: path, encryptionKey: isEncrypted ? try Fixture.key() : nil)
      let first = try RealmWriter(configuration, create: true)
      try makeCounter(first)
      let second = try RealmWriter(configuration), reader = try Realm(configuration)
      for i in 0..<40 {
        try count(i % 2 == 0 ? first : second, i % 5 == 0 ? .grouped : .full)
        for realm in [first.realm, second.realm, reader] { #expect(try value(realm.latest()) == Int64(i + 1)) }
      }
      #expect(Verifier(try reader.latest()).problems(limit: 3) == [])
    }
  }

  @Test("a held version stays intact while others commit")
  func held() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      try makeCounter(writer)
      let reader = try Realm(Configuration(path: path))
      let hold = try reader.hold()
      for _ in 0..<60 { try count(writer) }
      #expect(reader.hasChanged(since: hold.snapshot) && reader.isCurrent(hold.snapshot))
      #expect(try value(hold.snapshot) == 0)
      #expect(Verifier(hold.snapshot).problems(limit: 3) == [])
    }
  }

  @Test("a version that is not held is released soon after a newer one appears")
  func letGo() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      try makeCounter(writer)
      let reader = try Realm(Configuration(path: path)), old = try reader.latest()
      try count(writer)
      _ = try reader.latest()
      #expect(reader.isCurrent(old))
      let deadline = Date(timeIntervalSinceNow: 120)
      while reader.isCurrent(old), Date() < deadline { usleep(50_000) }
      #expect(!reader.isCurrent(old))
    }
  }

  @Test("an idle realm leaves the session, and rejoins at the next access")
  func idle() throws {
    try withTemporaryPath { path in
      var configuration = Configuration(path: path)
      configuration.idleTime = .milliseconds(200)
      let writer = try RealmWriter(configuration, create: true)
      try makeCounter(writer)
      var alone: RealmWriter?
      let deadline = Date(timeIntervalSinceNow: 120)
      while alone == nil, Date() < deadline {
        usleep(50_000)
        alone = try? RealmWriter(Configuration(path: path, mode: .exclusive))  // refused until the other has left
      }
      try count(#require(alone))
      alone = nil
      #expect(try value(writer.realm.latest()) == 1)
      try count(writer)
      #expect(try value(writer.realm.latest()) == 2)
    }
  }

  @Test("waiting for the write lock times out, and a later attempt succeeds")
  func busy() throws {
    try withTemporaryPath { path in
      let first = try RealmWriter(Configuration(path: path), create: true)
      try makeCounter(first)
      let second = try RealmWriter(Configuration(path: path))
      let transaction = try first.begin()
      do throws(EngineError) {
        _ = try second.begin(timeout: .milliseconds(100))
        Issue.record("two transactions at once")
      } catch { #expect(error.reason == .busy) }
      transaction.rollback()
      try count(second)
    }
  }

  @Test("a commit by another program wakes a waiting thread")
  func waking() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      try makeCounter(writer)
      let reader = try Realm(Configuration(path: path)), snapshot = try reader.latest()
      #expect(!reader.waitForChange(since: snapshot, timeout: .milliseconds(50)))
      try count(writer)
      #expect(reader.waitForChange(since: snapshot, timeout: .seconds(600)))
      #expect(try value(reader.latest()) == 1)
    }
  }

  @Test("a file that replaced the realm is read and written from then on")
  func replaced() throws {
    try withTemporaryPath { path in
      let other = path + ".other"
      do {
        for file in [path, other] { try makeCounter(RealmWriter(Configuration(path: file), create: true)) }
        let second = try RealmWriter(Configuration(path: other))
        for _ in 0..<5 { try count(second) }
      }
      let writer = try RealmWriter(Configuration(path: path))
      let former = open(path, O_RDONLY)
      defer { close(former) }
      #expect(try value(writer.realm.latest()) == 0)
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      #expect(rename(other, path) == 0)
      try count(writer)
      #expect(try value(writer.realm.latest()) == 6)
      #expect(Foundation.FileHandle(fileDescriptor: former).readDataToEndOfFile() == before)
    }
  }

  @Test("a lock file with another layout is refused and left unchanged")
  func otherLayout() throws {
    try withTemporaryPath { path in
      do { try makeCounter(RealmWriter(Configuration(path: path), create: true)) }
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path + ".lock"))
      bytes[6] = 13
      try bytes.write(to: URL(fileURLWithPath: path + ".lock"))
      // Another program joins.
      let descriptor = open(path + ".lock", O_RDWR)
      flock(descriptor, LOCK_SH)
      defer { close(descriptor) }
      do throws(EngineError) {
        _ = try Realm(Configuration(path: path))
        Issue.record("joined")
      } catch { #expect(error.reason == .inUse && error.description.contains("layout 13")) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".lock")) == bytes)
    }
  }

  @Test("programs that commit to one realm lose no commit, whichever is killed", arguments: [false, true])
  func kills(isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let digits = try String(
        contentsOf: Fixture.package.appendingPathComponent("Tests/Fixtures/encrypted.key.hex"),
        encoding: .utf8
      ).trimmingCharacters(in: .whitespacesAndNewlines)
      let log = path + ".log"
      try Data().write(to: URL(fileURLWithPath: log))
      func start() throws -> Process {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = [path] + (isEncrypted ? [digits] : [])
        let output = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: log))
        // Appending keeps each line complete.
        _ = fcntl(output.fileDescriptor, F_SETFL, O_APPEND)
        process.standardOutput = output
        try process.run()
        return process
      }
      var random = SplitMix64(seed: Seeds.first)
      var running = try (0..<3).map { _ in try start() }
      for _ in 0..<Self.kills / 2 {
        usleep(useconds_t.random(in: 20_000..<200_000, using: &random))
        let victim = running.remove(at: random.below(running.count))
        Foundation.kill(victim.processIdentifier, SIGKILL)
        victim.waitUntilExit()
        running.append(try start())
      }
      let deadline = Date(timeIntervalSinceNow: 60)
      while try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").count < 20, Date() < deadline {
        usleep(100_000)
      }
      for process in running {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
      // A program that dies while it announces a commit ends the session for all: a rule of the format (5.7), not a
      // fault.
      let rule = "a program died while it announced a commit: close all programs that have the realm open"
      let errors = lines.filter { $0.contains("error") && !$0.hasSuffix(rule) }
      #expect(errors == [])
      let numbers = lines.compactMap { Int64($0) }
      #expect(numbers.count > 10 && Set(numbers).count == numbers.count, "a number was promised twice")
      let key = isEncrypted ? try Fixture.key() : nil
      let snapshot = try Realm(Configuration(path: path, encryptionKey: key)).latest()
      #expect(Verifier(snapshot).problems(limit: 3) == [])
      let cursor = ObjectCursor(try #require(try snapshot.table(named: "class_Round")))
      guard try cursor.next(), case .int(let last) = try cursor.value(0) else {
        throw CocoaError(.fileReadCorruptFile)
      }
      #expect(last >= numbers.max() ?? 0, "round \(last)")
    }
  }

  @Test(
    "a participant of another implementation may die anywhere",
    .enabled(if: hasPeer),
    arguments: [
      "holding-write-mutex", "holding-control-mutex", "holding-version-mutex", "after-data", "after-slot-write",
      "after-flip", "with-read-lock", "in-critical-phase",
    ]
  )
  func peerDies(point: String) throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      try makeCounter(writer)
      try run(["crash", path, "--at", point])
      if point == "in-critical-phase" {
        // The state of the dead program's announcement is unknown, so no program writes until all have left.
        do throws(EngineError) {
          _ = try writer.begin()
          Issue.record("a transaction after a death in the critical phase")
        } catch { #expect(error.reason == .inUse) }
        return
      }
      for _ in 0..<5 { try count(writer) }
      #expect(try value(writer.realm.latest()) == 5)
      #expect(try run(["set", path, "Counter", "0", "value", "70", "--count", "3"]) == 0)
      #expect(try value(writer.realm.latest()) == 72)
      #expect(Verifier(try writer.realm.latest()).problems(limit: 3) == [])
    }
  }

  @discardableResult
  private func run(_ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", Self.peer.path] + arguments
    process.standardOutput = Foundation.FileHandle.nullDevice
    process.standardInput = Foundation.FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
