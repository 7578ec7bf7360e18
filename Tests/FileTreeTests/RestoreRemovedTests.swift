// An object that is removed to make room for a new text is restored if that text is refused.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Restoring objects after refused replacements")
struct RestoreRemovedTests {
  private static let refused = #"{"name": 7}"#

  /// Ways to replace a file in which it is removed first; each ends with a refusal.
  enum Way: CaseIterable {
    case create, createInPieces, incomplete, renameOver

    func replace(_ path: String, _ tree: WritableTree) throws -> String? {
      try tree.unlink(path)
      switch self {
      case .create: return tree.put(path, RestoreRemovedTests.refused)
      case .createInPieces: return tree.put(path, RestoreRemovedTests.refused, piece: 3)
      case .incomplete: return tree.put(path, #"{"name": "#)
      case .renameOver:
        let scratch = path + ".tmp"
        #expect(tree.put(scratch, RestoreRemovedTests.refused) == nil)
        return tree.failed("rename") { try tree.rename(scratch, to: path) }
      }
    }
  }

  @Test(
    "the object is restored with its key, its embedded objects and all links to it",
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
    #expect(tree.log.contains { $0.contains("was restored") })
  }

  @Test("an accepted text restores the object's key and all links to it")
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

  @Test("an object of a class without primary key is also restored, by number and under another name")
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

  @Test("objects are also restored with grouped commits")
  func grouped() throws {
    let tree = try WritableTree.ofLinks { $0.groupCommit = 60_000 }
    let before = try tree.texts()
    #expect(try Way.create.replace("Target/1.json", tree) != nil)
    #expect(try tree.texts() == before)
    tree.tree.finish()
    #expect(try tree.problems().isEmpty)
  }

  @Test("another program's changes in between are kept: links that it set, objects that it created")
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

    // The other program created the object itself.
    #expect(
      failure { try tree.unlink("Target/1.json") }?.kind == "refused forbidden",
      "the first removal after a refusal"
    )
    try tree.unlink("Target/1.json")
    let next = try other.begin()
    _ = try next.create(target.key, primaryKey: .int(1), values: [])
    _ = try next.commit()
    #expect(tree.put("Target/1.json", Self.refused) != nil)
    #expect(try tree.tree.text("Target/1.json").contains("\"name\": null"))
    #expect(try tree.problems().isEmpty)
  }

  @Test("an object that was only removed, or that another process replaced, is not restored")
  func realRemovalsStay() throws {
    let tree = try WritableTree.ofLinks()
    try tree.unlink("Target/1.json")
    #expect(try tree.texts()["Target/1.json"] == nil)
    // The process that started the tests is a different one.
    let other = Caller(user: 0, group: 0, process: getppid())
    for name in ["2.json", "3.json"] {
      try tree.tree.unlink(tree.tree.find("Target").inode, Array(name.utf8), by: other)
    }
    #expect(tree.put("Target/2.json", Self.refused) != nil)
    #expect(try tree.texts()["Target/2.json"] == nil)
    let links = try tree.tree.text("Holder/a.json")
    #expect(tree.put("Target/3.json", "{}") == nil)
    #expect(try tree.tree.text("Holder/a.json") == links, "a new object, which no link leads to")
    #expect(try tree.problems().isEmpty)
  }

  @Test("processes are identified by PID and start time, so a reused PID is another process")
  func processes() throws {
    let now = WritableTree.me.now
    #expect(WritableTree.me.isProcess(of: now))
    #expect(!WritableTree.me.isProcess(of: Caller(user: 0, group: 0, process: 1).now))
    #expect(!Caller(user: 0, group: 0).isProcess(of: Caller(user: 0, group: 0).now), "two that are not known")
    #expect(Caller.isRunning(getpid()) && !Caller.isRunning(0))
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { Int32($0) }
    let others = threads.filter { $0 != getpid() }.map { Caller(user: 0, group: 0, process: $0).now.thread }
    #expect(others.contains(getpid()), "what a thread removes is its process's, which may outlive it")
    let ended = Process()
    ended.executableURL = URL(fileURLWithPath: "/bin/sleep")
    ended.arguments = ["60"]
    let before = now
    usleep(20_000)
    try ended.run()
    let child = Caller(user: 0, group: 0, process: ended.processIdentifier)
    #expect(child.isProcess(of: child.now) && !WritableTree.me.isProcess(of: child.now))
    // As if its number had belonged to a process that has ended.
    #expect(!child.isProcess(of: Caller.ThreadTime(thread: child.process, time: before.time)))
    let records = RemovalRecords(), place = Overlay.Place(directory: .root, name: [1])
    records.note(place, Removal(ObjKey(1), .init(text: [1, 2, 3], links: [])), by: child)
    records.forgetEnded()
    #expect(records.usage == 3)
    ended.terminate()
    ended.waitUntilExit()
    records.forgetEnded()
    #expect(records.usage == 0, "a process that has ended replaces nothing")
  }

  @Test("a file being written keeps the object removed for it, even if others remove further files")
  func slowReplacement() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    try tree.unlink("Target/1.json")
    let file = try tree.open("Target/1.json")
    try tree.write(file, #"{"name": "#)
    tree.tree.tree.drafts.removals.forgetEnded()
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid", "it is not complete")
    #expect(try tree.tree.text("Target/1.json") == #"{"name": "#)
    #expect(tree.failed("write") { try tree.write(file, "7}", at: 9) } == "write: refused invalid")
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    tree.tree.release(file)
    #expect(try tree.texts() == before)
  }

  @Test("removing a rejected file does not delete the object")
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

  @Test("an object that cannot be restored is reported and its text kept; it may be restored later")
  func comesBackLater() throws {
    let tree = try WritableTree.ofLinks { $0.lockTimeout = .milliseconds(200) }
    let before = try tree.texts(), text = try tree.tree.text("Target/1.json")
    try tree.unlink("Target/1.json")
    let other = try RealmWriter(Configuration(path: tree.path))
    let busy = try other.begin()
    #expect(tree.put("Target/1.json", #"{"name": "busy"}"#)?.hasSuffix("refused busy") == true)
    #expect(try tree.errors().last?.contains("was not restored") == true)
    #expect(try tree.tree.text(".realm/rejected/Target/1.json.removed") == text)
    busy.rollback()
    #expect(tree.put("Target/4.json", #"{"name": "t4"}"#) == nil)
    #expect(try tree.texts() == before)
    #expect(failure { try tree.tree.find(".realm/rejected/Target/1.json.removed") }?.kind == "notFound")
  }

  @Test("a save that failed because of another writer is retried, by the same handle and name")
  func passingReasons() throws {
    let tree = try WritableTree.ofLinks { $0.lockTimeout = .milliseconds(200) }
    let before = try tree.texts(), other = try RealmWriter(Configuration(path: tree.path))
    let good = #"{"name": "again"}"#
    let first = try other.begin(), file = try tree.open("Target/2.json")
    try tree.write(file, good)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused busy")
    first.rollback()
    #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.tree.text("Target/2.json").contains("again"))
    // The object that was removed for it has its key and its links again.
    try tree.unlink("Target/1.json")
    let second = try other.begin()
    #expect(tree.put("Target/1.json", good)?.hasSuffix("refused busy") == true)
    second.rollback()
    #expect(tree.put("Target/1.json", good) == nil)
    let after = try tree.texts()
    #expect(after["Holder/a.json"] == before["Holder/a.json"])
    #expect(after["Target/1.json"]?.prefix(2) == before["Target/1.json"]?.prefix(2), "the object key")
    #expect(try tree.problems().isEmpty)
  }

  @Test("removing an object and closing an empty file in its place does not delete it")
  func nothingInItsPlace() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    try tree.unlink("Target/1.json")
    let file = try tree.open("Target/1.json")
    #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.texts() == before, "as it was, with the links to it")
    #expect(try tree.errors().last?.contains("Target/1.json") == true)
    #expect(try tree.problems().isEmpty)
  }

  @Test("an empty file that takes the name of an object which the program removed for it does not delete the object")
  func emptyFileInItsPlace() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.texts()
    tree.tree.release(try tree.open("Target/.new"))
    try tree.unlink("Target/1.json")
    #expect(failure { try tree.rename("Target/.new", to: "Target/1.json") }?.kind == "refused invalid")
    #expect(try tree.texts() == before, "as it was, with the links to it")
    #expect(try tree.errors().last?.contains("Target/1.json") == true)
    // While the program has the file open, it may still write to it.
    let file = try tree.open("Target/.new")
    try tree.unlink("Target/1.json")
    try tree.rename("Target/.new", to: "Target/1.json")
    try tree.write(file, #"{"name": "new"}"#)
    try tree.tree.flush(file)
    tree.tree.release(file)
    #expect(try tree.texts()["Holder/a.json"] == before["Holder/a.json"], "the links lead to the object again")
    #expect(try tree.problems().isEmpty)
  }

  @Test("a failed close protects the object before the last handle is released")
  func protectedAtOnce() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/4.json")
    try tree.write(file, #"{"age": "#)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    #expect(failure { try tree.unlink("Person/4.json") }?.kind == "refused forbidden")
    tree.tree.release(file)
    #expect(try tree.texts()["Person/4.json"] != nil)
  }

  @Test("the memory for removals is limited; the oldest are dropped, and reported as dropped")
  func removalsAreBounded() {
    let removals = RemovalRecords(room: 1000), me = WritableTree.me
    func place(_ number: Int) -> Overlay.Place { Overlay.Place(directory: .root, name: Array("\(number)".utf8)) }
    func note(_ number: Int, _ size: Int) {
      let content = Removal.Content(text: [UInt8](repeating: 0, count: size), links: [])
      removals.note(place(number), Removal(ObjKey(Int64(number)), content), by: me)
    }
    for number in 0..<10 {
      note(number, 300)
      #expect(removals.usage <= 1000)
    }
    note(10, 1001)
    #expect(removals.usage == 900, "what never fits pushes nothing out")
    for number in [10, 6] {
      let found = removals.take(place(number), by: me)
      #expect(found?.key == ObjKey(Int64(number)) && found?.content == nil)
    }
    for number in 7..<10 { #expect(removals.take(place(number), by: me)?.content != nil) }
    #expect(removals.take(place(9), by: me) == nil, "once")
    #expect(removals.usage == 0)
    // Content that a new file has taken counts as long as the file holds it, and is dropped before later content.
    note(11, 600)
    var taken = removals.take(place(11), by: me)
    #expect(taken?.content != nil && removals.usage == 600)
    note(12, 600)
    #expect(taken?.content == nil && removals.usage == 600)
    #expect(removals.take(place(12), by: me)?.content != nil)
    taken = nil
    #expect(removals.usage == 0)
  }

  @Test("an object that was too large to keep is reported as lost")
  func forgottenDeletionIsSaid() throws {
    let tree = try WritableTree.ofLinks()
    let long = String(repeating: "x", count: 14_000_000)
    #expect(tree.put("Target/2.json", #"{"name": "\#(long)"}"#) == nil)
    try tree.unlink("Target/2.json")
    // Newer removals displace it.
    let place = Overlay.Place(directory: .root, name: [1])
    let filler = Removal.Content(text: [UInt8](repeating: 0, count: RemovalRecords.room), links: [])
    tree.tree.tree.drafts.removals.note(place, Removal(ObjKey(1), filler), by: WritableTree.me)
    #expect(tree.put("Target/2.json", Self.refused) != nil)
    #expect(try tree.errors().last?.contains("was not restored") == true)
  }
}
