// A version in the header of a shared realm that is not in the version list, because its writer could not bring it to
// disk or died: the others continue from their own version, and the header never refers to overwritten space. The
// simulator found all (seeds 117 and 2007 of its first version, seeds 5, 8 and 8255 on a virtual clock).

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RealmPages

@Suite("Unannounced versions")
struct UnannouncedVersionTests {
  private let temporary: TemporaryFolder
  private let configuration: Configuration
  private let first: RealmWriter

  init() throws {
    temporary = try TemporaryFolder()
    configuration = Configuration(path: temporary.path("a.realm"))
    first = try RealmWriter(configuration, create: true)
    try CommitShape.small.prepare(first)
  }

  /// The content of the file for a program that finds no other participant, as after a crash.
  private func onDisk() throws -> Snapshot {
    var alone = configuration
    alone.mode = .immutable
    return try Realm(alone).latest()
  }

  private func change(_ writer: RealmWriter, _ objects: Range<Int>, to value: Int64, _ durability: Durability) throws {
    let transaction = try writer.begin()
    let items = try #require(try transaction.tableKey(named: "class_Item"))
    let column = try #require(try transaction.columns(of: items).first { $0.name == "count" }).key
    for object in objects { try transaction.set(items, ObjKey(Int64(object)), column, .int(value)) }
    _ = try transaction.commit(durability)
  }

  /// Another writer, whose commit is in the header and may not be on disk: its last sync fails. A writer that builds on
  /// a group publishes the group first, which takes two syncs.
  private func failing(afterGroup: Bool) throws -> RealmWriter {
    var made: FaultyStorage?
    let writer = try RealmWriter(configuration, create: false) {
      let storage = FaultyStorage($0)
      made = storage
      return storage
    }
    made?.fault = FaultyStorage.Fault(call: afterGroup ? 4 : 2, code: EIO, isOfSyncs: true)
    #expect(throws: EngineError.self) { try change(writer, 0..<200, to: 77, .full) }
    return writer
  }

  @Test("the header points to the last grouped version again before the group continues")
  func group() throws {
    try change(first, 0..<10, to: 5, .grouped)
    let grouped = try Contents(first.realm.latest())
    let second = try failing(afterGroup: true)
    #expect(try onDisk().version == grouped.version + 1)
    // Over the writes of the failed commit, and no commit of the group has been published.
    for value in 6..<9 { try change(first, 0..<200, to: Int64(value), .grouped) }
    #expect(Verifier(try onDisk()).problems(limit: 3) == [])
    #expect(try Contents(onDisk()) == grouped)
    try first.sync()
    #expect(try Contents(onDisk()) == Contents(first.realm.latest()))
    #expect(Verifier(try onDisk()).problems(limit: 3) == [])
    withExtendedLifetime(second) {}
  }

  @Test("other writers continue after a writer whose sync failed has left")
  func leaving() throws {
    try change(first, 0..<10, to: 5, .full)
    do { _ = try failing(afterGroup: false) }
    try change(first, 0..<200, to: 6, .full)
    #expect(try Contents(onDisk()) == Contents(first.realm.latest()))
    #expect(Verifier(try onDisk()).problems(limit: 3) == [])
  }

  @Test("other programs continue after one could not write its group to disk and left")
  func groupLeft() throws {
    var made: FaultyStorage?
    var second: RealmWriter? = try RealmWriter(configuration, create: false) {
      let storage = FaultyStorage($0)
      made = storage
      return storage
    }
    try change(#require(second), 0..<10, to: 5, .grouped)
    made?.fault = FaultyStorage.Fault(call: 1, code: EIO, isOfSyncs: true)
    #expect(throws: EngineError.self) { try second?.sync() }
    second = nil
    for value in 7..<12 {
      try change(first, 0..<200, to: Int64(value), .full)
      #expect(try Contents(onDisk()) == Contents(first.realm.latest()))
      #expect(try Verifier(onDisk()).problems(limit: 1).isEmpty)
    }
  }

  @Test("the first commit of a realm does not disturb readers before it is announced")
  func firstCommit() throws {
    let path = temporary.path("new.realm"), configuration = Configuration(path: path)
    let reader = try RealmWriter(configuration, create: true)
    let before = try reader.realm.latest().version
    let seen = Mutex<[UInt64]>([])
    let writer = try RealmWriter(configuration, create: true) { base in
      WatchedStorage(base) { try seen.withLock { seen in seen += [try reader.realm.latest().version] } }
    }
    try CommitShape.small.prepare(writer)
    let versions = seen.withLock { $0 }
    #expect(versions.count >= 2 && versions[0] == before && versions[1] == before)
    #expect(try reader.realm.latest().version > before)
  }

  @Test("a reader of an empty realm is not disturbed by a program that makes the first commit and leaves")
  func comingAndLeaving() throws {
    for round in 0..<1000 {
      // A page of an encrypted file that is being written is read repeatedly.
      let key = round % 2 == 1 ? EncryptionKey([UInt8](repeating: 7, count: 64)) : nil
      let configuration = Configuration(path: temporary.path("\(round).realm"), encryptionKey: key)
      let reader = try RealmWriter(configuration, create: true).realm
      let isOver = Atomic(false), failure = Mutex<String?>(nil)
      @Sendable func noting(_ body: () throws -> Void) {
        do { try body() } catch { failure.withLock { $0 = "\(error)" } }
      }
      onThreads(2) { side in
        if side == 0 {
          noting { while !isOver.load(ordering: .acquiring) { _ = try reader.latest() } }
        } else {
          noting {
            let transaction = try RealmWriter(configuration, create: true).begin()
            _ = try transaction.addTable("class_Item")
            _ = try transaction.commit()
          }
          isOver.store(true, ordering: .releasing)
        }
      }
      #expect(failure.withLock { $0 } == nil, "round \(round)")
      #expect(try reader.latest().top.ref != 0)
    }
  }
}

/// Calls `body` after each sync.
private final class WatchedStorage: Storage, Sendable {
  private let base: any Storage
  private let body: @Sendable () throws -> Void

  init(_ base: any Storage, _ body: @escaping @Sendable () throws -> Void) { (self.base, self.body) = (base, body) }

  var name: String { base.name }
  func size() throws(EngineError) -> Int { try base.size() }
  func grow(to size: Int) throws(EngineError) { try base.grow(to: size) }
  func shrink(to size: Int) throws(EngineError) { try base.shrink(to: size) }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    try base.write(bytes, at: offset)
  }
  func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
  func flush() throws(EngineError) { try base.flush() }

  func sync() throws(EngineError) {
    try base.sync()
    do { try body() } catch { throw EngineError(.inUse, "\(error)") }
  }
}
