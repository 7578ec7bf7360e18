// Configurations: mutually exclusive options, the steps before opening, and refusals.

import Foundation
import RealmJSON
import Synchronization
import TestSupport
import Testing

@testable import RealmPages

@Suite struct ConfigurationTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func path(_ name: String = "x.realm") -> String { folder.path(name) }

  private func schema(_ version: UInt64?, _ properties: PropertyDescription...) -> SchemaDescription {
    let key = PropertyDescription(name: "_id", type: .int)
    return SchemaDescription(
      version: version,
      classes: [ClassDescription(name: "Person", primaryKey: "_id", properties: [key] + properties)]
    )
  }

  private let name = PropertyDescription(name: "name", type: .string)
  private let age = PropertyDescription(name: "age", type: .int)

  // MARK: mutually exclusive options

  @Test("a path, an identifier in memory and a seed reset each other")
  func places() {
    var configuration = Configuration(path: "/a.realm")
    configuration.seedPath = "/seed.realm"
    configuration.inMemoryIdentifier = "x"
    #expect(configuration.seedPath == nil)
    #expect(configuration.path.hasPrefix("/dev/shm/"))
    configuration.seedPath = "/seed.realm"
    #expect(configuration.inMemoryIdentifier == nil)
    configuration.inMemoryIdentifier = "x"
    configuration.path = "/b.realm"
    #expect(configuration.inMemoryIdentifier == nil && configuration.path == "/b.realm")
    configuration.inMemoryIdentifier = nil
    #expect(configuration.path == "/b.realm")
  }

  @Test("the read-only option and the options that modify the realm reset each other")
  func readOnly() {
    var configuration = Configuration(path: "/a.realm")
    configuration.migration = { _, _, _ in }
    configuration.compactsOnLaunch = { _, _ in true }
    configuration.isReadOnly = true
    #expect(configuration.migration == nil && configuration.compactsOnLaunch == nil)
    configuration.deletesIfMigrationNeeded = true
    #expect(!configuration.isReadOnly)
    configuration.migration = { _, _, _ in }
    #expect(!configuration.deletesIfMigrationNeeded)
    configuration.deletesIfMigrationNeeded = true
    #expect(configuration.migration == nil)
  }

  @Test("a realm in memory cannot be exclusive, immutable or encrypted, and its identifier must be valid")
  func contradictions() {
    for change: (inout Configuration) -> Void in [
      { $0.mode = .exclusive }, { $0.mode = .immutable },
      { $0.encryptionKey = EncryptionKey([UInt8](repeating: 1, count: 64)) },
      { $0.inMemoryIdentifier = "" }, { $0.inMemoryIdentifier = String(repeating: "x", count: 201) },
    ] {
      var configuration = Configuration(inMemoryIdentifier: "contradiction")
      change(&configuration)
      let wanted = configuration
      #expect(throws: EngineError.self) { try Realm(wanted) }
      let error = #expect(throws: EngineError.self) { _ = try RealmWriter.open(wanted) }
      #expect(error?.reason == .contradictory)
    }
  }

  @Test("a read-only realm is not opened for writing")
  func noWriter() {
    var configuration = Configuration(path: path())
    configuration.isReadOnly = true
    let wanted = configuration
    let error = #expect(throws: EngineError.self) { _ = try RealmWriter.open(wanted) }
    #expect(error?.reason == .readOnly)
    #expect(!FileManager.default.fileExists(atPath: path()))
  }

  @Test("the default realm is in the user's folder for data")
  func defaultRealm() {
    #expect(Configuration().path == Configuration.defaultPath)
    #expect(Configuration.defaultPath.hasSuffix("/realmfs/default.realm"))
  }

  // MARK: opening

  private func opened(
    _ configuration: Configuration,
    _ steps: (LaunchStep) -> Void = { _ in }
  ) throws -> RealmWriter { try RealmWriter.open(configuration, report: steps) }

  @Test("realms in memory are shared by identifier until the last one is closed", arguments: ["a", "ä /\0.", "%41"])
  func inMemory(identifier: String) throws {
    let configuration = Configuration(inMemoryIdentifier: "test \(getpid()) \(identifier)")
    var first: RealmWriter? = try opened(configuration)
    var second: RealmWriter? = try opened(configuration)
    let transaction = try #require(first).begin()
    _ = try transaction.addTable("class_A", kind: .topLevel)
    _ = try transaction.commit()
    #expect(try #require(second).realm.latest().tableKeys().count == 1)
    first = nil
    #expect(try #require(second).realm.latest().tableKeys().count == 1)
    second = nil
    #expect(!FileManager.default.fileExists(atPath: configuration.path))
    #expect(!FileManager.default.fileExists(atPath: configuration.path + ".lock"))
    #expect(try opened(configuration).realm.latest().tableKeys().isEmpty)
    #expect(throws: EngineError.self) { try Realm(configuration) }
  }

  @Test("a seed is copied once, with its key; the copy is writable even if the seed is read-only")
  func seed() throws {
    let seed = path("seed.realm")
    try FileManager.default.copyItem(atPath: Fixture.named("people-encrypted").url.path, toPath: seed)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: seed)
    var configuration = Configuration(path: path(), encryptionKey: try Fixture.key())
    configuration.seedPath = seed
    var seeded = 0
    for expected in [1, 1] {
      let writer = try opened(configuration) { if case .seeded = $0 { seeded += 1 } }
      #expect(seeded == expected)
      _ = try writer.begin().commit()
    }
    let mode = try FileManager.default.attributesOfItem(atPath: path())[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try RealmWriter.open(configuration).realm.latest().table(named: "class_Person") != nil)
  }

  @Test("a schema is created, and extended later; classes that it does not name are kept")
  func additions() throws {
    var configuration = Configuration(path: path())
    configuration.schema = schema(1, name)
    _ = try opened(configuration)
    configuration.schema = SchemaDescription(
      version: 1,
      classes: [ClassDescription(name: "Dog", properties: [name])]
    )
    _ = try opened(configuration)
    configuration.schema = schema(1, name, age)
    var steps = 0
    let writer = try opened(configuration) { _ in steps += 1 }
    #expect(steps == 1)
    let made = try SchemaDescription(writer.realm.latest())
    #expect(Set(made.classes.map(\.name)) == ["Person", "Dog"])
    #expect(made["Person"]?["age"] == age)
    let version = try writer.realm.latest().version
    #expect(try opened(configuration).realm.latest().version == version)
  }

  @Test("a change that loses data requires a greater schema version and a migration")
  func migration() throws {
    struct Refusal: Error {}
    var configuration = Configuration(path: path())
    configuration.schema = schema(1, name)
    let writer = try opened(configuration)
    let transaction = try writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_Person"))
    let object = try transaction.create(table, primaryKey: .int(7))
    let column = try #require(try transaction.columns(of: table).first { $0.name == "name" })
    try transaction.set(table, object, column.key, .string(Array("42".utf8)))
    _ = try transaction.commit()

    func reason(_ configuration: Configuration) -> EngineError.Reason? {
      #expect(throws: EngineError.self) { _ = try opened(configuration) }?.reason
    }
    configuration.schema = schema(1, age)
    #expect(reason(configuration) == .needsMigration)
    configuration.schema = schema(2, age)
    #expect(reason(configuration) == .needsMigration)
    configuration.schema = schema(0, name)
    #expect(reason(configuration) == .oldSchema)
    configuration.schema = schema(2, age)
    configuration.migration = { _, _, _ in throw Refusal() }
    #expect(reason(configuration) == .migrationFailed)
    #expect(try SchemaDescription(writer.realm.latest()).version == 1)

    configuration.migration = { old, new, version in
      #expect(version == 1)
      let source = try #require(try old.table(named: "class_Person"))
      let target = try #require(try new.tableKey(named: "class_Person"))
      let age = try #require(try new.columns(of: target).first { $0.name == "age" })
      let cursor = ObjectCursor(source)
      while try cursor.next() {
        let index = try #require(source.columns.firstIndex { $0.name == "name" })
        guard case .string(let text) = try cursor.value(index) else { continue }
        try new.set(target, cursor.key, age.key, .int(try #require(Int64(String(decoding: text.bytes, as: UTF8.self)))))
      }
    }
    _ = try opened(configuration)
    let people = try #require(try writer.realm.latest().table(named: "class_Person"))
    let cursor = ObjectCursor(people)
    #expect(try cursor.seek(object))
    let index = try #require(people.columns.firstIndex { $0.name == "age" })
    guard case .int(42) = try cursor.value(index) else {
      Issue.record("the value was not moved over")
      return
    }
  }

  @Test("a realm with another schema version is replaced if requested, unless it is open elsewhere")
  func deletion() throws {
    var configuration = Configuration(path: path(), encryptionKey: try Fixture.key())
    configuration.schema = schema(3, name)
    var writer: RealmWriter? = try opened(configuration)
    let other = configuration
    configuration.schema = schema(2, name)
    configuration.deletesIfMigrationNeeded = true
    let wanted = configuration
    let error = #expect(throws: EngineError.self) { _ = try opened(wanted) }
    #expect(error?.reason == .inUse)
    #expect(try #require(writer).realm.latest().schemaVersion() == 3)
    writer = nil
    var deletions = 0
    let fresh = try opened(configuration) { if case .deleted = $0 { deletions += 1 } }
    #expect(deletions == 1)
    #expect(try fresh.realm.latest().schemaVersion() == 2)
    #expect(try Realm(other).latest().schemaVersion() == 2)
  }

  @Test("a transaction that would exceed the version limit is refused until readers have advanced")
  func versions() throws {
    for mode in [Configuration.Mode.shared, .exclusive] {
      var configuration = Configuration(path: path("\(mode).realm"), mode: mode)
      configuration.maximumActiveVersions = 3
      let writer = try opened(configuration)
      var held: [Snapshot] = []
      var holds: [VersionHold] = []
      func commit() throws(EngineError) { _ = try writer.begin().commit() }
      try commit()
      for _ in 0..<2 {
        holds.append(try writer.realm.hold())
        held.append(try writer.realm.latest())
        if holds.count < 2 { try commit() }
      }
      try commit()
      let error = #expect(throws: EngineError.self) { try commit() }
      #expect(error?.reason == .tooManyVersions)
      withExtendedLifetime((held, holds)) {}
      (held, holds) = ([], [])
      try commit()
    }
  }

  @Test("compaction on launch passes the sizes to its condition, and is skipped while the realm is open elsewhere")
  func compaction() throws {
    var configuration = Configuration(path: path())
    configuration.schema = schema(1, name)
    var writer: RealmWriter? = try opened(configuration)
    configuration.compactsOnLaunch = { total, used in total > used && used > 0 }
    var steps: [String] = []
    func note(_ step: LaunchStep) {
      switch step {
      case .compacted: steps.append("compacted")
      case .notCompacted(let error): steps.append("\(error.reason)")
      default: steps.append("other")
      }
    }
    _ = try opened(configuration, note)
    #expect(steps == ["inUse"])
    writer = nil
    _ = try opened(configuration, note)
    #expect(steps == ["inUse", "compacted"])
    configuration.compactsOnLaunch = { _, _ in false }
    _ = try opened(configuration, note)
    #expect(steps.count == 2)
    withExtendedLifetime(writer) {}
  }

  // MARK: compaction of an open realm

  @Test("an open realm is compacted unless it is open elsewhere or a version is held")
  func compactionWhileOpen() throws {
    try FileManager.default.copyItem(atPath: Fixture.named("people").url.path, toPath: path())
    let configuration = Configuration(path: path())
    let writer = try opened(configuration)
    for _ in 0..<20 { _ = try writer.begin().commit() }
    let before = try writer.realm.latest().version

    func reason() -> EngineError.Reason? {
      do throws(EngineError) { _ = try writer.compact() } catch { return error.reason }
      return nil
    }
    var other: Realm? = try Realm(configuration)
    #expect(try #require(other).latest().version == before)
    #expect(reason() == .inUse)
    other = nil
    var hold: VersionHold? = try writer.realm.hold()
    #expect(reason() == .inUse)
    withExtendedLifetime(hold) {}
    hold = nil
    let old = try writer.realm.latest()
    let sizes = try #require(try writer.compact())
    #expect(sizes.after < sizes.before)
    #expect(!writer.realm.isCurrent(old))
    #expect(try writer.realm.latest().version == before)
    _ = try writer.begin().commit()
    #expect(try Verifier(writer.realm.latest()).problems(limit: 3) == [])
  }

  @Test("no other program replaces the file of a realm that is compacted while it is open")
  func compactionKeepsOthersOut() throws {
    try FileManager.default.copyItem(atPath: Fixture.named("people").url.path, toPath: path())
    let configuration = Configuration(path: path())
    let writer = try opened(configuration)
    _ = try writer.begin().commit()
    let replacements = Atomic<Int>(0), attempts = Atomic<Int>(0), isOver = Atomic<Bool>(false)
    let surprises = Mutex<[String]>([]), others = DispatchGroup()
    // Separate threads, because other work may occupy those of the queues for all of this time.
    for _ in 0..<2 {
      others.enter()
      Thread {
        defer { others.leave() }
        while !isOver.load(ordering: .acquiring) {
          do throws(EngineError) {
            _ = try RealmCopy.rewrite(configuration, key: nil, verifies: false)
            replacements.wrappingAdd(1, ordering: .relaxed)
          } catch {
            // Busy: a lock was not free in time, which depends on the load of the machine.
            if ![.inUse, .busy].contains(error.reason) { surprises.withLock { $0.append(error.description) } }
          }
          attempts.wrappingAdd(1, ordering: .relaxed)
        }
      }
      .start()
    }
    while attempts.load(ordering: .relaxed) == 0 { usleep(1000) }
    var compactions = 0, failures: [String] = []
    for _ in 0..<20 {
      do throws(EngineError) {
        if try writer.compact() != nil { compactions += 1 }
        _ = try writer.begin().commit()
      } catch {
        failures.append(error.description)
      }
    }
    isOver.store(true, ordering: .releasing)
    others.wait()
    #expect(failures == [])
    #expect(compactions == 20)
    #expect(surprises.withLock { $0 } == [])
    #expect(attempts.load(ordering: .relaxed) > 0)
    #expect(replacements.load(ordering: .relaxed) == 0)
    #expect(try Verifier(writer.realm.latest()).problems(limit: 3) == [])
  }

  @Test("a pipe in another folder has the name that Realm's SDKs use")
  func pipeName() {
    // std::hash<std::string> of GNU's C++ library.
    #expect(MurmurHash.hash([]) == 6_142_509_188_972_423_790)
    #expect(MurmurHash.hash(Array("/tmp/x.realm".utf8)) == 1_975_262_354_463_152_166)
    #expect(MurmurHash.hash(Array("12345678".utf8)) == 10_113_836_418_918_046_885)
    var configuration = Configuration(path: "12345678")
    configuration.fifoFolder = "/run"
    #expect(NamedPipe.paths(configuration) == ["/run/realm_10113836418918046885.note", "12345678.note"])
  }
}
