// An object that is removed to make room for a new text comes back if that text is refused.

import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("refused replacements")
struct TakeBackTests {
  private static let refused = #"{"name": 7}"#

  /// Ways to replace a file in which it is removed first; each ends with a refusal.
  enum Way: CaseIterable {
    case create, createInPieces, incomplete, renameOver

    func replace(_ path: String, _ tree: WritableTree) throws -> String? {
      try tree.unlink(path)
      switch self {
      case .create: return tree.put(path, TakeBackTests.refused)
      case .createInPieces: return tree.put(path, TakeBackTests.refused, piece: 3)
      case .incomplete: return tree.put(path, #"{"name": "#)
      case .renameOver:
        let scratch = path + ".tmp"
        #expect(tree.put(scratch, TakeBackTests.refused) == nil)
        return tree.failed("rename") { try tree.rename(scratch, to: path) }
      }
    }
  }

  @Test(
    "the object is back as it was, with its key, its embedded objects and every link to it",
    arguments: Way.allCases
  )
  func refusedReplacementComesBack(_ way: Way) throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts(), version = try tree.version
    #expect(before.count == 6)
    #expect(try way.replace("Target/1.json", tree)?.hasSuffix("refused invalid") == true)
    #expect(try tree.texts() == before)
    #expect(try tree.version == version + 2, "one commit removes it, one brings it back")
    #expect(try tree.problems().isEmpty)
    #expect(try tree.errors().last?.contains("Target/1.json") == true)
    #expect(try tree.tree.text(".realm/rejected/Target/1.json").hasPrefix("{\"name\": "))
    #expect(tree.log.contains { $0.contains("is back") })
  }

  @Test("a text that is taken gives the object its key and every link again")
  func replacementKeepsLinks() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    try tree.unlink("Target/1.json")
    #expect(tree.put("Target/1.json", #"{"name": "new"}"#) == nil)
    let after = try tree.texts()
    #expect(before["Holder/a.json"] == after["Holder/a.json"])
    #expect(before["Holder/b.json"] == after["Holder/b.json"])
    #expect(before["Target/1.json"]?.prefix(2) == after["Target/1.json"]?.prefix(2), "the object key")
    #expect(try tree.problems().isEmpty)
  }

  @Test("an object of a class without primary key comes back too, by its number and by another name")
  func withoutPrimaryKey() throws {
    let tree = try WritableTree.ofLinks()
    #expect(tree.put("Free/mine.json", #"{"n": 1}"#) == nil)
    #expect(tree.put("Free/7.json", #"{"n": 7, "to": 0}"#) == nil)
    #expect(tree.put("Holder/a.json", #"{"free": [7, 0, 7]}"#) == nil)
    let before = try tree.texts()
    for name in ["Free/7.json", "Free/mine.json"] {
      try tree.unlink(name)
      #expect(tree.put(name, #"{"n": "x"}"#) != nil)
      #expect(try tree.texts() == before)
      #expect(try tree.tree.text(name).contains("\"n\": "))
    }
    #expect(try tree.problems().isEmpty)
  }

  @Test("several objects at once, of which some are refused")
  func severalReplacements() throws {
    let tree = try WritableTree.ofLinks()
    var expected = try tree.texts()
    for id in 1...4 { try tree.unlink("Target/\(id).json") }
    for id in [4, 3, 2, 1] {
      let text = id % 2 == 0 ? #"{"name": "new"}"# : Self.refused
      #expect((tree.put("Target/\(id).json", text) == nil) == (id % 2 == 0))
    }
    for id in [2, 4] { expected["Target/\(id).json"] = expected["Target/\(id).json"]?.replacing("t\(id)", with: "new") }
    let found = try tree.texts()
    for (path, text) in expected { #expect(found[path] == text, "\(path)") }
    #expect(try tree.problems().isEmpty)
  }

  @Test("with grouped commits too")
  func grouped() throws {
    let tree = try WritableTree.ofLinks { $0.groupCommit = 60_000 }
    let before = try tree.texts()
    #expect(try Way.create.replace("Target/1.json", tree) != nil)
    #expect(try tree.texts() == before)
    tree.tree.finish()
    #expect(try tree.problems().isEmpty)
  }

  @Test("what another program committed in between stands: links that it set, objects that it made")
  func comesBackBetweenOthers() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    let other = try RealmWriter(Configuration(path: tree.path))
    let holder = try #require(try other.realm.latest().table(named: "class_Holder"))
    let target = try #require(try other.realm.latest().table(named: "class_Target"))
    let one = try #require(holder.columns.first { $0.name == "one" })
    let a = ObjKey(0), b = ObjKey(1)

    try tree.unlink("Target/1.json")
    let transaction = try other.begin()
    try transaction.set(holder.key, a, one.key, .link(target.key, ObjKey(1)))
    try transaction.delete(holder.key, b)
    _ = try transaction.commit()
    #expect(tree.put("Target/1.json", Self.refused) != nil)
    let after = try tree.texts()
    #expect(after["Holder/b.json"] == nil)
    #expect(after["Target/1.json"] == before["Target/1.json"])
    #expect(after["Holder/a.json"] == before["Holder/a.json"]?.replacing("\"one\": 1", with: "\"one\": 2"))
    #expect(try tree.problems().isEmpty)

    // The other program made the object itself.
    try tree.unlink("Target/1.json")
    let next = try other.begin()
    _ = try next.create(target.key, primaryKey: .int(1), values: [])
    _ = try next.commit()
    #expect(tree.put("Target/1.json", Self.refused) != nil)
    #expect(try tree.tree.text("Target/1.json").contains("\"name\": null"))
    #expect(try tree.problems().isEmpty)
  }

  @Test("nothing comes back that was only removed, or whose new file was only made, or that another file follows late")
  func realDeletionsStay() throws {
    let tree = try WritableTree.ofLinks()
    try tree.unlink("Target/1.json")
    #expect(tree.put("Target/1.json", "") == nil)
    try tree.unlink("Target/1.json")
    #expect(try tree.texts()["Target/1.json"] == nil)
    try tree.unlink("Target/2.json")
    let place = Overlay.Place(directory: try tree.tree.find("Target").inode, name: Array("2.json".utf8))
    tree.tree.tree.deletions.age(by: RecentDeletions.memory)
    #expect(tree.tree.tree.deletions.find(place) == nil)
    #expect(tree.put("Target/2.json", Self.refused) != nil)
    #expect(try tree.texts()["Target/2.json"] == nil)
  }

  @Test("a file that is being written holds the deletion, however long that takes")
  func slowReplacement() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    try tree.unlink("Target/1.json")
    let file = try tree.open("Target/1.json")
    try tree.write(file, #"{"name": "#)
    tree.tree.tree.deletions.age(by: RecentDeletions.memory)
    tree.tree.tree.forgetOldDeletions()
    #expect(
      tree.failed("write") { try tree.write(file, "7}", at: 9) } ?? tree.failed("close") { try tree.tree.flush(file) }
        != nil
    )
    _ = tree.failed("close") { try tree.tree.flush(file) }
    tree.tree.release(file)
    #expect(try tree.texts() == before)
  }

  @Test("a program that removes the file that it could not write has not removed the object")
  func clearedUpReplacement() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    try tree.unlink("Target/1.json")
    let file = try tree.open("Target/1.json")
    #expect(
      tree.failed("write") { try tree.write(file, Self.refused) } ?? tree.failed("close") { try tree.tree.flush(file) }
        != nil
    )
    try tree.unlink("Target/1.json")
    _ = tree.failed("close") { try tree.tree.flush(file) }
    tree.tree.release(file)
    #expect(try tree.texts() == before)
  }

  @Test("what cannot come back says so, and its text is kept; what can later comes back later")
  func comesBackLater() throws {
    let tree = try WritableTree.ofLinks { $0.lockTimeout = .milliseconds(200) }
    let before = try tree.texts(), text = try tree.tree.text("Target/1.json")
    try tree.unlink("Target/1.json")
    let other = try RealmWriter(Configuration(path: tree.path))
    let busy = try other.begin()
    #expect(tree.put("Target/1.json", #"{"name": "busy"}"#)?.hasSuffix("refused busy") == true)
    #expect(try tree.errors().last?.contains("is not back") == true)
    #expect(try tree.tree.text(".realm/rejected/Target/1.json.removed") == text)
    busy.rollback()
    #expect(tree.put("Target/4.json", #"{"name": "t4"}"#) == nil)
    #expect(try tree.texts() == before)
    #expect(failure { try tree.tree.find(".realm/rejected/Target/1.json.removed") }?.kind == "notFound")
  }

  @Test("what is remembered is bounded; the oldest goes first, and what is gone is not taken for what was never there")
  func deletionsAreBounded() {
    let deletions = RecentDeletions(room: 1000)
    func place(_ number: Int) -> Overlay.Place { Overlay.Place(directory: .root, name: Array("\(number)".utf8)) }
    for number in 0..<10 {
      deletions.note(place(number), ObjKey(1), .init(text: [UInt8](repeating: 0, count: 300), links: []))
      #expect(deletions.usage <= 1000)
    }
    #expect(deletions.find(place(9))?.content != nil && deletions.find(place(7))?.content != nil)
    #expect(deletions.find(place(6)) != nil && deletions.find(place(6))?.content == nil)
    deletions.note(place(10), ObjKey(1), .init(text: [UInt8](repeating: 0, count: 1001), links: []))
    #expect(deletions.find(place(10)) != nil && deletions.find(place(10))?.content == nil)
    #expect(deletions.find(place(9))?.content != nil, "what never fits pushes nothing out")
    deletions.age(by: RecentDeletions.memory)
    deletions.forgetOld { $0 == place(9) }
    #expect(deletions.find(place(9)) == nil && deletions.find(place(9), isInUse: true)?.content != nil)
    #expect(deletions.find(place(8), isInUse: true) == nil)
    #expect(deletions.usage == 300)
    deletions.forget(place(9))
    #expect(deletions.usage == 0)
  }

  @Test("an object that was too large to remember is said to be gone")
  func forgottenDeletionIsSaid() throws {
    let tree = try WritableTree.ofLinks()
    let long = String(repeating: "x", count: 14_000_000)
    #expect(tree.put("Target/2.json", #"{"name": "\#(long)"}"#) == nil)
    try tree.unlink("Target/2.json")
    // Others push it out.
    let place = Overlay.Place(directory: .root, name: [1])
    let filler = RecentDeletions.Content(text: [UInt8](repeating: 0, count: RecentDeletions.room), links: [])
    tree.tree.tree.deletions.note(place, ObjKey(1), filler)
    #expect(tree.put("Target/2.json", Self.refused) != nil)
    #expect(try tree.errors().last?.contains("is not back") == true)
  }
}
