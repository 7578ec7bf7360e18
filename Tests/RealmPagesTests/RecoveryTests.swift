// Recovery of damaged files: readable objects are saved, the result is sound, and nothing crashes.
//
// MUTANTS=n sets the number for each file; SEED=n the first seed.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Recovery", .serialized)
struct RecoveryTests {
  /// Recovers `bytes`; the report and the new realm.
  private func recover(
    _ bytes: [UInt8],
    key: EncryptionKey? = nil,
    _ body: (RealmRecovery.Report, Snapshot) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let damaged = folder.appendingPathComponent("damaged.realm"), saved = folder.appendingPathComponent("saved.realm")
      try Data(bytes).write(to: damaged)
      defer {
        // In any case, the damaged file is unchanged, and no other file exists.
        #expect((try? Data(contentsOf: damaged)) == Data(bytes))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        #expect(Set(names).isSubset(of: ["damaged.realm", "saved.realm"]))
      }
      let report = try RealmRecovery.run(Configuration(path: damaged.path, encryptionKey: key), to: saved.path)
      let snapshot = try Realm(Configuration(path: saved.path, encryptionKey: key, mode: .immutable)).latest()
      var problems: [String] = []
      _ = Verifier(snapshot).run(limit: 5) { problems.append($0.description) }
      if !problems.isEmpty { Issue.record("\(problems)") }
      try body(report, snapshot)
    }
  }

  @Test("a valid file is recovered completely", arguments: Fixture.all)
  func whole(fixture: Fixture) throws {
    let original = try fixture.snapshot()
    try recover(fixture.bytes(), key: fixture.isEncrypted ? Fixture.key() : nil) { report, saved in
      #expect(report.isWhole, "\(report.parts.first { !$0.isWhole }.map { "\($0)" } ?? "")")
      #expect(report.version == original.version && report.format == original.fileFormat && saved.fileFormat == 24)
      for key in try original.tableKeys() {
        guard let table = try original.table(key), table.name != "pk" || original.fileFormat >= 10 else { continue }
        #expect(try saved.table(named: table.name)?.objectCount == table.objectCount)
      }
    }
  }

  @Test(
    "a file whose header leads to no version opens only as an empty one, and can be recovered",
    arguments: Fixture.all.filter { !$0.isEncrypted }
  )
  func blankHeader(fixture: Fixture) throws {
    let original = try fixture.snapshot()
    var bytes = try fixture.bytes()
    bytes.replaceSubrange(0..<16, with: repeatElement(0, count: 16))
    try recover(bytes) { report, saved in
      #expect(report.isUnreached == (original.top.ref != 0) && !report.isOutdated && report.parts.allSatisfy(\.isWhole))
      #expect(report.version == original.version && report.firstProblem == nil, "\(report.origin)")
      for key in try original.tableKeys() {
        guard let table = try original.table(key), table.name != "pk" || original.fileFormat >= 10 else { continue }
        #expect(try saved.table(named: table.name)?.objectCount == table.objectCount, "\(table.name)")
      }
    }
    try withTemporaryPath { path in
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      var configuration = Configuration(path: path)
      if original.top.ref != 0 {
        for mode in [Configuration.Mode.shared, .immutable, .exclusive] {
          configuration.mode = mode
          #expect(throws: EngineError.self) { try Realm(configuration).latest() }
          if mode != .immutable { #expect(throws: EngineError.self) { try RealmWriter(configuration, create: true) } }
        }
        #expect(throws: EngineError.self) { try RealmCopy.rewrite(configuration, key: nil) }
        let (realm, version) = try Realm.unreached(configuration)
        let shown = try realm.latest()
        #expect(version == original.version && realm.isCurrent(shown))
        #expect(try shown.tableKeys() == original.tableKeys())
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
      }
      configuration.mode = .shared
      configuration.opensUnreachedAsEmpty = true
      #expect(try Realm(configuration).latest().tableKeys().isEmpty)
    }
  }

  @Test("a damaged file is saved as far as it can be read, and never a crash", arguments: Fixture.own + Fixture.sdk)
  func mutants(fixture: Fixture) throws {
    let bytes = try fixture.bytes(), mutator = Mutator(bytes)
    let key = fixture.isEncrypted ? try Fixture.key() : nil
    let seeds = MutantRun.seeds(max(2, min(30, 400_000 / bytes.count)))
    var saved = 0
    for seed in seeds {
      let mutant = mutator.mutant(seed: seed)
      do {
        try recover(mutant, key: key) { report, snapshot in
          saved += 1
          guard key == nil, let damaged = try? mutant.withUnsafeBytes({ try Realm.snapshot(of: $0) }),
            damaged.version == report.version
          else { return }
          try expectAllReadable(of: damaged, report, snapshot, "\(fixture), SEED=\(seed)")
        }
      } catch let error as EngineError {
        let isRefused = error.description.contains("what was saved is damaged")
        #expect(!error.description.isEmpty && !isRefused, "\(fixture), SEED=\(seed)")
      }
    }
    print("\(fixture): \(seeds.count) mutants, \(saved) saved")
  }

  /// Every object that a reader of the damaged file can reach was saved, or is counted as lost.
  private func expectAllReadable(
    of damaged: Snapshot,
    _ report: RealmRecovery.Report,
    _ saved: Snapshot,
    _ place: String
  ) throws {
    for slot in (try? damaged.tableSlots().map(\.slot)) ?? [] {
      guard let table = try? damaged.table(slot: slot), let name = table.className else { continue }
      let cursor = ObjectCursor(table)
      var readable = 0
      while (try? cursor.next()) ?? false { readable += 1 }
      // A name with zero bytes is generated.
      let parts = report.parts.filter { $0.name == name || name.utf8.contains(0) && $0.madeUpNames > 0 }
      if parts.isEmpty && !report.problems.isEmpty { continue }
      #expect(
        parts.contains { $0.objects + $0.lostObjects >= readable },
        "\(place): \(name) has \(readable) objects"
      )
    }
  }

  @Test("without its newest top array, and its list of tables, a realm is recovered from that version's tables")
  func previousRoot() throws {
    var bytes = try Fixture.named("many-versions").bytes()
    let newest = try bytes.withUnsafeBytes { try Realm.snapshot(of: $0) }
    let tables = try newest.arena.node(newest.top.ref).child(Layout.Top.tables)
    for lost in [newest.top.ref, tables] {
      bytes.replaceSubrange(lost..<lost + 8, with: repeatElement(0xFF, count: 8))
      try recover(bytes) { report, saved in
        #expect(report.version == 0 && report.isUnreached && !report.isOutdated)
        for key in try newest.tableKeys() {
          guard let table = try newest.table(key) else { continue }
          #expect(try saved.table(named: table.name)?.objectCount == table.objectCount)
        }
      }
    }
  }

  @Test("without a header, a realm is found by a search and not claimed to be the newest version")
  func noHeader() throws {
    let fixture = Fixture.named("people")
    var bytes = try fixture.bytes()
    bytes.replaceSubrange(0..<24, with: repeatElement(0, count: 24))
    let original = try fixture.snapshot()
    try recover(bytes) { report, saved in
      #expect(report.origin.contains("search") && report.version == original.version)
      #expect(report.parts.allSatisfy(\.isWhole) && report.firstProblem == nil && report.problems.isEmpty)
      // A node of a former version is left, which could also be of a newer one.
      #expect(report.isUnreached && report.unreachedNodes == 1 && !report.isWhole)
      let (found, expected) = (try saved.table(named: "class_Person"), try original.table(named: "class_Person"))
      #expect(found?.objectCount == expected?.objectCount)
    }
  }

  @Test("a class flagged as embedded is saved as a top-level class if its objects have several owners")
  func embeddedFlag() throws {
    let folder = try TemporaryFolder()
    let writer = try RealmWriter(Configuration(path: folder.path("a.realm"), mode: .exclusive), create: true)
    try writer.write { transaction in
      let dog = try transaction.addClass("Dog", [ColumnSpec("name", .string)])
      _ = try transaction.addClass("Person", [ColumnSpec("dog", .link, target: dog)])
      for name in ["Rex", "Fido"] {
        let dog = try transaction.create("Dog", ["name": .text(name)])
        for _ in 0..<2 { _ = try transaction.create("Person", ["dog": .link(to: dog)]) }
      }
    }
    let snapshot = try writer.realm.latest()
    let top = try snapshot.arena.node(snapshot.table(ofClass: "Dog").ref)
    var bytes = try Array(Data(contentsOf: URL(filePath: folder.path("a.realm"))))
    bytes[top.ref + Node.headerSize + Layout.Table.flags * Int(top.width) / 8] |= 2
    try recover(bytes) { report, saved in
      let part = try #require(report.parts.first { $0.name == "Dog" })
      #expect(part.objects == 2 && part.lostObjects == 0)
      #expect(part.damage?.contains("several owners") == true && !report.isWhole)
      #expect(try saved.table(ofClass: "Dog").kind == .topLevel)
    }
  }

  @Test("a damaged leaf costs one property of its objects, and nothing else")
  func oneLeaf() throws {
    let fixture = Fixture.named("items-10k"), original = try fixture.snapshot()
    let table = try #require(
      try original.tableKeys().compactMap { try original.table($0) }.max {
        $0.objectCount < $1.objectCount
      }
    )
    let (cluster, _) = try #require(try table.objects.first(notBelow: 1000))
    let column = try #require(table.columns.first { $0.collection == nil && table.primaryKey?.key != $0.key })
    let leaf = try cluster.leafRef(column.key.leafPosition)
    var bytes = try fixture.bytes()
    bytes.replaceSubrange(leaf + 4..<leaf + 8, with: [0xFF, 0xFF, 0xFF, 0xFF])
    let name = try #require(table.className), lost = column.key
    try recover(bytes) { report, saved in
      for part in report.parts {
        #expect(part.lostObjects == 0 && part.lostLinks == 0)
        #expect(part.lostValues == (part.name == name ? cluster.count : 0))
        #expect(part.isWhole == (part.name != name))
      }
      let new = try #require(try saved.table(named: table.name))
      try expectEqual(table, new, without: lost)
    }
  }

  /// Compares the objects and their values, except for one property.
  private func expectEqual(_ table: Table, _ other: Table, without lost: ColKey) throws {
    let (before, after) = (ObjectCursor(table), ObjectCursor(other))
    while try before.next() {
      #expect(try after.next() && after.key == before.key)
      for (index, column) in table.columns.enumerated() where column.collection == nil && column.key != lost {
        #expect(try Value(copying: before.value(index)) == Value(copying: after.value(index)))
      }
    }
    #expect(try !after.next())
  }

  @Test("a file that is not a realm cannot be recovered")
  func nothing() throws {
    for bytes in [[], [UInt8](repeating: 0, count: 10), [UInt8](repeating: 7, count: 10_000)] as [[UInt8]] {
      let error = #expect(throws: EngineError.self) { try recover(bytes) { _, _ in } }
      #expect(error?.reason == .damaged || error?.reason == .notARealm)
    }
  }
}
