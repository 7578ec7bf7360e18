// Former versions and deleted objects, which are searched for while other programs commit.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import RealmWeb

@Suite("Former versions and deleted objects in a browser")
struct FormerVersionTests {
  /// A realm whose objects a, b, c are created by one commit; the next one deletes b, the last one changes a.
  private func served() throws -> ServedRealm {
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_A")
      let name = try transaction.addColumn(table, ColumnSpec("name", .string))
      for text in ["a", "b", "c"] {
        try transaction.set(table, try transaction.create(table), name, .text(text))
      }
    }
    let writer = try RealmWriter(Configuration(path: served.path))
    try Self.commit(writer) { transaction, table, _ in try transaction.delete(table, ObjKey(1)) }
    try Self.commit(writer) { transaction, table, name in try transaction.set(table, ObjKey(0), name, .text("A")) }
    return try served.open()
  }

  @discardableResult
  private static func commit(
    _ writer: RealmWriter,
    _ change: (borrowing WriteTransaction, TableKey, ColKey) throws -> Void
  ) throws -> UInt64 {
    let transaction = try writer.begin()
    let key = try #require(try transaction.tableKey(named: "class_A"))
    let table = try #require(try writer.realm.latest().table(key))
    try change(transaction, key, try #require(table.columns.first).key)
    return try transaction.commit()
  }

  private func names(_ answer: [String: Any]) throws -> [String?] {
    try #require(answer["rows"] as? [[String: Any]]).map { ($0["values"] as? [String: Any])?["name"] as? String }
  }

  @Test("the versions in the file are listed, and each whole one can be read")
  func versions() throws {
    let served = try served()
    let answer = try served.get("versions"), newest = try #require(answer["version"] as? Int)
    let listed = try #require(answer["versions"] as? [[String: Any]])
    let whole = listed.filter { $0["state"] as? String == "whole" }.compactMap { $0["version"] as? Int }
    #expect(whole.starts(with: [newest, newest - 1, newest - 2]))
    let rows = "classes/A/rows?version="
    #expect(try names(served.get("classes/A/rows")) == ["A", "c"])
    #expect(try names(served.get(rows + "\(newest - 1)")) == ["a", "c"])
    #expect(try names(served.get(rows + "\(newest - 2)")) == ["a", "b", "c"])
    #expect(try names(served.get(rows + "\(newest - 2)&query=name%20%3D%3D%20'b'&sort=name")) == ["b"])
    #expect(try served.get("classes/A/objects/1?version=\(newest - 2)")["version"] as? Int == newest - 2)
    for (target, status) in [
      (rows + "\(newest + 1)", 404), (rows + "x", 400), ("changes?version=1", 400), ("versions?version=1", 400),
      ("classes/A/deleted?version=1", 400),
    ] {
      #expect(try served.request("GET", "/api/" + target).status == status, "\(target)")
    }
    let change = "classes/A/objects/0?version=\(newest)"
    #expect(try served.change("PATCH", change, #"{"name":"x"}"#).status == 400)
  }

  @Test("a former version that is shown stays as it is while another program commits")
  func shownVersion() throws {
    let served = try served()
    let newest = try #require(served.get("info")["version"] as? Int), target = "classes/A/rows?version=\(newest - 2)"
    #expect(try names(served.get(target)) == ["a", "b", "c"])
    let writer = try RealmWriter(Configuration(path: served.path))
    for number in 0..<20 {
      try Self.commit(writer) { transaction, table, name in
        try transaction.set(table, ObjKey(0), name, .text(String(repeating: "\(number)", count: 3000)))
      }
      #expect(try names(served.get(target)) == ["a", "b", "c"])
    }
  }

  @Test("deleted objects are listed with their last state")
  func deleted() throws {
    let served = try served()
    let newest = try #require(served.get("info")["version"] as? Int)
    let answer = try served.get("classes/A/deleted")
    let row = try #require((answer["rows"] as? [[String: Any]])?.first)
    #expect(try names(answer) == ["b"] && answer["more"] as? Bool == false)
    #expect(row["key"] as? String == "1" && row["lastVersion"] as? Int == newest - 2)
    #expect(row["confidence"] as? String == "certain")
    #expect((row["json"] as? [String: Any])?["name"] as? String == "b")
    let writer = try RealmWriter(Configuration(path: served.path))
    try Self.commit(writer) { transaction, table, _ in try transaction.delete(table, ObjKey(2)) }
    let first = try served.get("classes/A/deleted?limit=1")
    #expect(try names(first) == ["c"] && first["more"] as? Bool == true)
    #expect(try Set(names(served.get("classes/A/deleted"))) == ["b", "c"])
    #expect(try served.request("GET", "/api/classes/B/deleted").status == 404)
    #expect(try served.request("GET", "/api/classes/A/deleted?limit=0").status == 400)
  }

  @Test("programs can commit during a search, which is then repeated on the newest version")
  func commitsDuringSearch() throws {
    let served = try served()
    let browsed = BrowsedRealm(realm: try Realm(Configuration(path: served.path)), writer: nil, path: served.path)
    let writer = try RealmWriter(Configuration(path: served.path))
    var searched: [UInt64] = [], committed: UInt64 = 0
    let found = try browsed.search { snapshot in
      searched.append(snapshot.version)
      if searched.count == 1 {
        // With the lock held, this would wait until its timeout.
        committed = try Self.commit(writer) { transaction, table, _ in _ = try transaction.create(table) }
        throw WebError(500, "the state that is being overwritten")
      }
      return snapshot.version
    }
    #expect(searched.count == 2 && found == committed && searched[0] < committed)
  }

  @Test("a search that commits keep interrupting fails with a reason")
  func constantCommits() throws {
    let served = try served()
    let browsed = BrowsedRealm(realm: try Realm(Configuration(path: served.path)), writer: nil, path: served.path)
    let writer = try RealmWriter(Configuration(path: served.path))
    var searches = 0
    let error = #expect(throws: WebError.self) {
      try browsed.search { _ in
        searches += 1
        try Self.commit(writer) { transaction, table, _ in _ = try transaction.create(table) }
      }
    }
    #expect(error?.status == 503 && error?.message.contains("commit") == true && searches > 1)
  }
}
