// Commits by others, as detected by a reader without a lock file.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Reading by the header alone")
struct HeaderReaderTests {
  private func withReader(_ body: (RealmWriter, Realm) throws -> Void) throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      try CommitShape.small.prepare(writer)
      try body(writer, Realm(Configuration(path: path, mode: .immutable)))
    }
  }

  private func change(_ writer: RealmWriter, _ value: Int64) throws {
    let transaction = try writer.begin()
    let items = try #require(try transaction.tableKey(named: "class_Item"))
    let column = try #require(try transaction.columns(of: items).first { $0.name == "count" }).key
    try transaction.set(items, ObjKey(0), column, .int(value))
    _ = try transaction.commit()
  }

  @Test("a snapshot is no longer current after a commit")
  func isCurrent() throws {
    try withReader { writer, realm in
      let snapshot = try realm.latest()
      #expect(realm.isCurrent(snapshot))
      try change(writer, 5)
      #expect(!realm.isCurrent(snapshot))
    }
  }

  @Test("a newer version is noticed even if its top array has the position of the previous one")
  func samePlace() throws {
    try withReader { writer, realm in
      func commit(_ value: Int) throws -> Int {
        try change(writer, Int64(value))
        return try writer.realm.latest().top.ref
      }
      // The space of a version is reused after a few commits, depending on the free space.
      var seen: Set<Int> = [], value = 0
      repeat { value += 1 } while try seen.insert(commit(value)).inserted && value < 5000
      let before = try realm.latest()
      repeat { value += 1 } while try commit(value) != before.top.ref && value < 10_000
      let after = try realm.latest()
      #expect(after.top.ref == before.top.ref && after.version > before.version)
      #expect(try after.version == writer.realm.latest().version)
    }
  }
}
