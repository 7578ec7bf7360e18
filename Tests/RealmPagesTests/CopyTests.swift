// New realm files from old ones: every copy has the content of the original, and passes every check.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Copies of realm files")
struct CopyTests {
  private static let otherKey = EncryptionKey((0..<64).map { UInt8($0) * 3 })

  private func digest(_ snapshot: Snapshot) -> UInt64 {
    var walk = ObjectWalk()
    walk.run(snapshot)
    #expect(walk.errors == 0)
    return walk.digest
  }

  private func isSound(_ snapshot: Snapshot) -> Bool {
    var problems: [String] = []
    let summary = Verifier(snapshot).run(limit: 5) { problems.append($0.description) }
    if !problems.isEmpty { Issue.record("\(problems)") }
    return summary.isSound && summary.freeBytes == 0
  }

  @Test(
    "a new file is linked in the folder that was opened, and replaces no file except its own original"
  )
  func newFilesStayInTheirFolder() throws {
    try withTemporaryFolder { folder in
      let home = folder.appendingPathComponent("home"), moved = folder.appendingPathComponent("moved")
      let manager = FileManager.default
      func text(_ url: URL) -> String? { try? String(contentsOf: url, encoding: .utf8) }
      for replacing in [false, true] {
        try manager.createDirectory(at: home, withIntermediateDirectories: true)
        let path = home.appendingPathComponent("x").path
        if replacing { try Data("old".utf8).write(to: URL(fileURLWithPath: path)) }
        let source = replacing ? try FileHandle(path: path) : nil
        let file = try NewFile(path: path)
        #expect(unsafe write(file.handle.descriptor, "new", 3) == 3)
        // Another folder replaces the one that was opened.
        try manager.moveItem(at: home, to: moved)
        try manager.createDirectory(at: home, withIntermediateDirectories: true)
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        if let source { try file.checkReplaces(source) }
        try file.put(replacing: replacing)
        #expect(text(home.appendingPathComponent("x")) == "precious")
        #expect(text(moved.appendingPathComponent("x")) == "new")
        #expect(try manager.contentsOfDirectory(atPath: moved.path) == ["x"])
        if replacing {
          let other = try NewFile(path: moved.appendingPathComponent("x").path)
          #expect(throws: EngineError.self) { try other.checkReplaces(try #require(source)) }
        }
        try manager.removeItem(at: home)
        try manager.removeItem(at: moved)
      }
    }
  }

  @Test("a directory is trusted if no other user can replace entries in it")
  func trustedDirectories() throws {
    try withTemporaryFolder { folder in
      let real = unsafe realpath(folder.path, nil).map { name in
        defer { unsafe free(name) }
        return unsafe String(cString: name)
      }
      let path = try #require(real)
      func reason(_ name: String) -> EngineError.Reason? {
        do throws(EngineError) { _ = try TrustedDirectory.open(path + "/" + name) } catch { return error.reason }
        return nil
      }
      func make(_ name: String, _ mode: mode_t) throws {
        try #require(unsafe mkdir(path + "/" + name, 0o700) == 0 && chmod(path + "/" + name, mode) == 0)
      }
      try make("own", 0o755)
      try make("own/inner", 0o700)
      try make("open", 0o777)
      try make("open/inner", 0o700)
      try make("sticky", 0o1777)
      try make("sticky/inner", 0o700)
      try #require(unsafe symlink("own", path + "/link") == 0 && symlink("loop", path + "/loop") == 0)
      for name in ["own", "own/inner", "sticky/inner", "link", "link/inner", "own/./../own/inner/", "link/."] {
        #expect(reason(name) == nil, "\(name)")
      }
      for name in ["open", "open/inner", "sticky", "sticky/."] { #expect(reason(name) == .untrusted, "\(name)") }
      #expect(reason("none") == .file(ENOENT) && reason("loop") == .file(ELOOP))
      let own = try TrustedDirectory.open(path + "/own")
      _ = try own.directory("made")
      #expect(throws: EngineError.self) { _ = try own.directory("../open") }
      try #require(unsafe symlink(path + "/sticky/inner", path + "/own/way") == 0)
      #expect(throws: EngineError.self) { _ = try own.directory("way") }
    }
  }

  @Test("a copy holds the same as its original, plain and encrypted", arguments: Fixture.all)
  func copy(fixture: Fixture) throws {
    let realm = try Realm(fixture.configuration()), original = try realm.latest()
    try withTemporaryFolder { folder in
      for key in [nil, Self.otherKey] {
        let path = folder.appendingPathComponent(key == nil ? "plain" : "encrypted").path
        let sizes = try RealmCopy.write(fixture.configuration(), to: path, key: key)
        let copy = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
        #expect(copy.isStreamingForm && copy.fileFormat == original.fileFormat && copy.version == original.version)
        #expect(copy.historyType == original.historyType)
        #expect(sizes.after == (try Data(contentsOf: URL(fileURLWithPath: path))).count)
        #expect(digest(copy) == digest(original))
        if copy.fileFormat >= 10 { #expect(isSound(copy)) }
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    }
  }

  @Test("a copy of a synced realm without its history is a writable local realm")
  func local() throws {
    let realm = try Realm(Fixture.named("synced").configuration())
    try withTemporaryFolder { folder in
      let configuration = Configuration(path: folder.appendingPathComponent("local.realm").path)
      _ = try RealmCopy.write(realm.configuration, to: configuration.path, key: nil, keepsHistory: false)
      let writer = try RealmWriter(configuration)
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_New")
      _ = try transaction.commit()
      let copy = try writer.realm.latest()
      #expect(copy.historyType == 2)
      #expect(try copy.table(named: "class_New") != nil)
      let keys = try realm.latest().tableKeys()
      for key in keys { #expect(try copy.table(key)?.objectCount == realm.latest().table(key)?.objectCount) }
    }
  }

  @Test("a realm is rekeyed in place and keeps its mode")
  func rekey() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("a.realm").path
      try Data(Fixture.named("all-types").bytes()).write(to: URL(fileURLWithPath: path))
      chmod(path, 0o640)
      let expected = digest(try Realm(Configuration(path: path, mode: .immutable)).latest())
      var key: EncryptionKey?
      for next in [Self.otherKey, try Fixture.key(), nil] {
        _ = try RealmCopy.rewrite(Configuration(path: path, encryptionKey: key), key: next)
        key = next
        let realm = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable))
        #expect(digest(try realm.latest()) == expected)
        #expect(try realm.fileStatus().mode & 0o777 == 0o640)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.realm", "a.realm.lock"])
    }
  }

  @Test("a copy replaces no file, and a realm that is in use is not rewritten")
  func refusals() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("a.realm").path
      let bytes = Data(try Fixture.named("people").bytes())
      try bytes.write(to: URL(fileURLWithPath: path))
      let exists = #expect(throws: EngineError.self) {
        try RealmCopy.write(Configuration(path: path, mode: .immutable), to: path, key: nil)
      }
      #expect(exists?.code == EEXIST)
      let writer = try RealmWriter(Configuration(path: path))
      let inUse = #expect(throws: EngineError.self) {
        try RealmCopy.rewrite(Configuration(path: path), key: nil)
      }
      #expect(inUse?.reason == .inUse)
      withExtendedLifetime(writer) {}
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }
  }

  /// A realm with an object whose primary key differs from that in its index.
  private func damaged(_ name: String) throws -> [UInt8] {
    var bytes = try Fixture.named(name).bytes()
    let offset = try bytes.withUnsafeBytes { bytes in
      let snapshot = try Realm.snapshot(of: bytes)
      let table = try #require(try snapshot.table(named: "class_Person"))
      let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
      let leaf = try snapshot.arena.node(cluster.leafRef(try #require(table.primaryKey).key.leafPosition))
      return leaf.ref + Node.headerSize
    }
    bytes[offset] ^= 1
    return bytes
  }

  @Test("a damaged realm is not rewritten unless requested, but can be copied and recovered")
  func damagedRealm() throws {
    let bytes = try damaged("people")
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("a.realm"), configuration = Configuration(path: url.path)
      try Data(bytes).write(to: url)
      for key in [nil, Self.otherKey] {
        let error = #expect(throws: EngineError.self) { try RealmCopy.rewrite(configuration, key: key) }
        #expect(error?.reason == .damaged && error?.description.contains("the realm is damaged") ?? false)
        #expect(error?.description.contains("class_Person") ?? false)
        #expect(try Data(contentsOf: url) == Data(bytes))
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["a.realm", "a.realm.lock"])
      }
      let (copy, refused) = (folder.appendingPathComponent("copy").path, folder.appendingPathComponent("refused").path)
      let immutable = Configuration(path: url.path, mode: .immutable)
      #expect(throws: EngineError.self) { try RealmCopy.write(immutable, to: refused, key: nil, verifies: true) }
      #expect(!FileManager.default.fileExists(atPath: refused))
      _ = try RealmCopy.write(immutable, to: copy, key: nil)
      let found = try Realm(Configuration(path: copy, mode: .immutable)).latest()
      #expect(!Verifier(found).problems().isEmpty)
      let recovered = folder.appendingPathComponent("recovered").path
      _ = try RealmRecovery.run(immutable, to: recovered)
      #expect(Verifier(try Realm(Configuration(path: recovered, mode: .immutable)).latest()).problems().isEmpty)
      #expect(try RealmCopy.rewrite(configuration, key: nil, verifies: false) != nil)
    }
  }

  @Test("a file of an older format with duplicate primary keys is not upgraded, and no backup is left")
  func damagedUpgrade() throws {
    var bytes = try Fixture.named("old/v10-core-6.0").bytes()
    let (first, size) = try bytes.withUnsafeBytes { bytes in
      let snapshot = try Realm.snapshot(of: bytes)
      let table = try #require(try snapshot.table(named: "class_Ints"))
      let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
      let leaf = try snapshot.arena.node(cluster.leafRef(try #require(table.primaryKey).key.leafPosition))
      return (leaf.ref + Node.headerSize, Int(leaf.width) / 8)
    }
    #expect(size > 0)
    for i in first..<first + size { bytes[i + size] = bytes[i] }
    try withTemporaryFolder { folder in
      let url = folder.appendingPathComponent("a.realm"), configuration = Configuration(path: url.path)
      try Data(bytes).write(to: url)
      let error = #expect(throws: EngineError.self) { try RealmUpgrade.run(configuration) }
      #expect(error?.reason == .damaged && error?.description.contains("the realm is damaged") ?? false)
      #expect(try Data(contentsOf: url) == Data(bytes))
      #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["a.realm", "a.realm.lock"])
      #expect(try RealmUpgrade.run(configuration, verifies: false).from == 10)
    }
  }

  @Test("an invalid copy of a valid realm is reported as a fault of this program")
  func ownFault() throws {
    let bytes = try damaged("people")
    try withTemporaryFile(bytes) { path in
      let file = try RealmPages.FileHandle(path: path)
      let sound = try Fixture.named("people").snapshot()
      let error = #expect(throws: EngineError.self) {
        try CopyCheck(original: sound).run(file, key: nil, path: "/x/a.realm")
      }
      #expect(error?.description.contains("a fault of this program") ?? false)
      let recovered = #expect(throws: EngineError.self) {
        try CopyCheck(original: nil).run(file, key: nil, path: "/x/a.realm")
      }
      #expect(recovered?.description.contains("what was saved is damaged") ?? false)
    }
  }

  @Test("a damaged realm opens, but is not compacted on launch")
  func launch() throws {
    try withTemporaryFile(damaged("people")) { path in
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      var configuration = Configuration(path: path)
      configuration.compactsOnLaunch = { _, _ in true }
      var steps: [String] = []
      let writer = try RealmWriter.open(configuration) { step in
        if case .notCompacted(let error) = step { steps.append(error.description) }
      }
      #expect(steps.count == 1 && steps.allSatisfy { $0.contains("the realm is damaged") })
      #expect(try writer.realm.latest().table(named: "class_Person") != nil)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }
  }

  @Test("a cancelled copy leaves no file")
  func cancelled() throws {
    let large = try #require(Fixture.all.max { $0.size < $1.size })
    try withTemporaryFolder { (folder) throws in
      let error = #expect(throws: EngineError.self) {
        // The observer is called for the first time before anything is written.
        let path = folder.appendingPathComponent("b").path
        return try RealmCopy.write(large.configuration(), to: path, key: nil, observer: { _, _ in false })
      }
      #expect(error?.reason == .cancelled)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
  }

  @Test("unsent changes of a synced realm are counted")
  func unsent() throws {
    #expect(try Fixture.named("people").snapshot().unsentChanges() == .none)
    #expect(try Fixture.named("synced").snapshot().unsentChanges() != .unknown)
  }

  @Test(
    "a size condition is evaluated correctly",
    arguments: [
      ("total > 100MB and used < 50%", false), ("total > 1MB and used < 50%", true), ("total >= 2MB", true),
      ("used > 50%", false), ("free > 1.5mb", false), ("free >= 1.4 mb", false), ("free>used", true),
      ("not (used < 50%) or total == 2097152", true), ("total = 2048K && !(free < used)", true),
      ("used != 600000", false), ("used<10% or used>90% or total>3MB and total<1GB", false),
    ]
  )
  func condition(text: String, holds: Bool) throws {
    guard text != "free >= 1.4 mb" else {
      #expect(throws: InputError.self) { try CompactCondition(text) }
      return
    }
    #expect(try CompactCondition(text).holds(total: 2 << 20, used: 600_000) == holds)
  }

  @Test(
    "an invalid size condition is refused with the column",
    arguments: [
      ("", "column 1"), ("total", "column 6"), ("total > ", "column 9"), ("total > 5X", "column 9"),
      ("(total > 5", "column 11"), ("total > 5)", "column 10"), ("total > 5 used", "column 11"),
      ("size > 5", "column 1"), ("total # 5", "column 7"), (String(repeating: "(", count: 1000), "column"),
    ]
  )
  func badCondition(text: String, place: String) {
    let error = #expect(throws: InputError.self) { try CompactCondition(text) }
    #expect(error?.description.contains(place) ?? false)
  }
}

extension Fixture {
  /// The size of the file.
  fileprivate var size: Int { (try? bytes().count) ?? 0 }
}
