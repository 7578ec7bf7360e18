// What a reader without a lock file notices of commits by others.

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

  @Test("a snapshot is not current any more after a commit")
  func isCurrent() throws {
    try withReader { writer, realm in
      let snapshot = try realm.latest()
      #expect(realm.isCurrent(snapshot))
      try change(writer, 5)
      #expect(!realm.isCurrent(snapshot))
    }
  }

  @Test("a later version is noticed whose top array is where that of the one before was")
  func samePlace() throws {
    try withReader { writer, realm in
      var repeated = 0
      for round in 0..<60 {
        let before = try realm.latest()
        try change(writer, Int64(2 * round))
        try change(writer, Int64(2 * round + 1))
        let after = try realm.latest()
        if after.top.ref == before.top.ref { repeated += 1 }
        #expect(after.version == before.version + 2)
        #expect(try after.version == writer.realm.latest().version)
      }
      #expect(repeated > 0)
    }
  }
}
