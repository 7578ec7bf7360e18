// Recovery of encrypted files whose table of initialization vectors is overwritten.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Encrypted pages without metadata slots", .serialized)
struct LostSlotTests {
  /// A compact encrypted file of some 90 pages, all of which are in use, and its objects.
  private struct Sample {
    let key: EncryptionKey
    let bytes: [UInt8]
    /// The values of each object by object key.
    let rows: [Int64: [Value]]

    init() throws {
      key = try #require(EncryptionKey((0..<64).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }))
      let key = key
      (bytes, rows) = try withTemporaryFolder { folder in
        let plain = folder.appendingPathComponent("p.realm").path,
          target = folder.appendingPathComponent("e.realm").path
        let writer = try RealmWriter(Configuration(path: plain), create: true)
        let transaction = try writer.begin()
        let table = try transaction.addTable("class_Item")
        let number = try transaction.addColumn(table, ColumnSpec("number", .int))
        let text = try transaction.addColumn(table, ColumnSpec("text", .string))
        for index in 0..<9_000 {
          let object = try transaction.create(table)
          try transaction.set(table, object, number, .int(Int64(index) &* 7_919))
          try transaction.set(table, object, text, .text("item \(index) of a realm that is encrypted"))
        }
        _ = try transaction.commit()
        _ = try RealmCopy.write(Configuration(path: plain), to: target, key: key)
        let snapshot = try Realm(Configuration(path: target, encryptionKey: key, mode: .immutable)).latest()
        return ([UInt8](try Data(contentsOf: URL(fileURLWithPath: target))), try LostSlotTests.rows(snapshot))
      }
    }
  }

  private static let sample = Result { try Sample() }

  private static func rows(_ snapshot: Snapshot) throws -> [Int64: [Value]] {
    guard let table = try snapshot.table(named: "class_Item") else { return [:] }
    var rows: [Int64: [Value]] = [:]
    let cursor = ObjectCursor(table)
    while try cursor.next() {
      rows[cursor.key.value] = try table.columns.indices.map { try Value(copying: cursor.value($0)) }
    }
    return rows
  }

  /// Overwrites `range` with zeros, or with random bytes.
  private func recover(
    _ range: Range<Int>,
    seed: UInt64?,
    _ body: (RealmRecovery.Report, [Int64: [Value]]) throws -> Void
  ) throws {
    let sample = try Self.sample.get()
    var bytes = sample.bytes, random = SplitMix64(seed: seed ?? 0)
    for place in range { bytes[place] = seed == nil ? 0 : UInt8(random.below(256)) }
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("d.realm"), target = folder.appendingPathComponent("s.realm")
      try Data(bytes).write(to: source)
      let report = try RealmRecovery.run(
        Configuration(path: source.path, encryptionKey: sample.key),
        to: target.path
      )
      let saved = try Realm(Configuration(path: target.path, encryptionKey: sample.key, mode: .immutable)).latest()
      try body(report, Self.rows(saved))
    }
  }

  /// Fails for a value that is neither that of the object nor the default of a property that is reported lost.
  private func check(_ report: RealmRecovery.Report, _ rows: [Int64: [Value]]) throws {
    let sample = try Self.sample.get()
    var lost = 0
    for (key, row) in rows {
      let original = try #require(sample.rows[key])
      for (value, expected) in zip(row, original) where value != expected {
        #expect(value == .int(0) || value == .string([]))
        lost += 1
      }
    }
    #expect(lost == report.parts.reduce(0) { $0 + $1.lostValues })
    if report.isWhole { #expect(rows == sample.rows) }
  }

  @Test("a counter that is lost follows from the other one if the MAC proves the page", arguments: [nil, 1, 2])
  func firstSlot(seed: UInt64?) throws {
    try recover(0..<16, seed: seed) { report, rows in
      try check(report, rows)
      #expect(report.isWhole && report.lostSlots == LostSlots(count: 1, unverified: 0, withoutStart: 0))
    }
  }

  @Test(
    "without slots, nothing but the first four bytes of a page are lost, and the pages are reported as not verified",
    arguments: [nil, 1, 2]
  )
  func severalSlots(seed: UInt64?) throws {
    try recover(0..<672, seed: seed) { report, rows in
      try check(report, rows)
      #expect(!report.isWhole && report.lostSlots.unverified == 11)
      #expect(rows.count >= 8_000)
    }
    try recover(0..<4096, seed: seed) { report, rows in
      try check(report, rows)
      #expect(!report.isWhole && report.lostSlots.unverified == 64)
      #expect(rows.count >= 4_000)
    }
  }

  @Test("no damage of the table makes a value wrong, or a recovery claim to be whole that lost something")
  func randomDamages() throws {
    let group = 65 * 4096
    var random = SplitMix64(seed: 5)
    for index in 0..<40 {
      let start = random.below(2) * group + random.below(4096)
      let length = min(1 << random.below(10), 4096 - start % group)
      try recover(start..<start + length, seed: index % 2 == 0 ? nil : UInt64(index)) { report, rows in
        try check(report, rows)
      }
    }
  }

  @Test("a damaged page whose slot is in order is not read")
  func damagedPage() throws {
    try recover(5 * 4096 + 100..<5 * 4096 + 101, seed: 3) { report, rows in
      try check(report, rows)
      #expect(!report.isWhole && report.lostSlots.count == 0)
    }
  }

  @Test("the right key is told apart from a wrong one, with and without slots")
  func keys() throws {
    let sample = try Self.sample.get(), wrong = try #require(EncryptionKey([UInt8](repeating: 3, count: 64)))
    var bytes = sample.bytes, random = SplitMix64(seed: 4)
    for group in 0..<(bytes.count / 4096 + 64) / 65 {
      for place in 0..<4096 { bytes[group * 65 * 4096 + place] = UInt8(random.below(256)) }
    }
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("d.realm"), target = folder.appendingPathComponent("s.realm").path
      try Data(bytes).write(to: file)
      for (key, reason) in [(sample.key, EngineError.Reason.damaged), (wrong, .wrongKey)] {
        let error = #expect(throws: EngineError.self) {
          try Realm(Configuration(path: file.path, encryptionKey: key, mode: .immutable)).latest()
        }
        #expect(error?.reason == reason)
      }
      let error = #expect(throws: EngineError.self) {
        try RealmRecovery.run(Configuration(path: file.path, encryptionKey: wrong), to: target)
      }
      #expect(error?.reason == .wrongKey)
    }
  }
}
