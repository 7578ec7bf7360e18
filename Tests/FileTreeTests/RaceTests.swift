// Programs that create, replace and remove the same object at the same time, in this mount and in others.

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite("races")
struct RaceTests {
  /// The errors, with their numbers.
  private final class Failures: Sendable {
    private let all = Mutex<[String: Int]>([:])
    func count(_ body: () throws -> Void) {
      if let error = failure(body) { all.withLock { $0[error.kind, default: 0] += 1 } }
    }
    var counts: [String: Int] { all.withLock { $0 } }
  }

  @Test("a rename onto a name that is concurrently removed and created does not fail")
  func renamesDoNotRace() throws {
    let tree = try WritableTree("people")
    let renames = Failures(), others = Failures()
    onThreads(3) { thread in
      for round in 0..<150 {
        if thread == 0 {
          others.count { try tree.unlink("Dog/New.json") }
          others.count { if let problem = tree.put("Dog/New.json", #"{"weight": 1}"#) { throw Problem(problem) } }
        } else {
          let scratch = "Dog/.t\(thread)"
          _ = tree.put(scratch, "{\"weight\": \(round)}")
          renames.count { try tree.rename(scratch, to: "Dog/New.json") }
        }
      }
    }
    #expect(renames.counts == [:])
    #expect(Set(others.counts.keys).subtracting(["notFound"]) == [])
    #expect(try tree.problems().isEmpty)
  }

  private struct Problem: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }

  @Test("of concurrent RENAME_NOREPLACE and mkdir calls for one name, exactly one succeeds")
  func onlyOneTakesAName() throws {
    let tree = try WritableTree("people")
    for round in 0..<20 {
      let failures = Failures()
      onThreads(4) { thread in
        _ = tree.put("Dog/.t\(thread)", "{\"weight\": \(thread)}")
        failures.count { try tree.rename("Dog/.t\(thread)", to: "Dog/New\(round).json", .keep) }
        failures.count { _ = try tree.tree.makeDirectory(.root, Array("Class\(round)".utf8)) }
      }
      #expect(failures.counts == ["refused exists": 6])
    }
    #expect(try tree.problems().isEmpty)
  }

  /// A target whose first save waits, and signals that it does.
  private struct HeldTarget: TextTarget {
    final class Gate: Sendable {
      let arrived = DispatchSemaphore(value: 0), opened = DispatchSemaphore(value: 0)
      let isFirst = Atomic<Bool>(true)
    }
    let target: any TextTarget
    let gate = Gate()

    func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied {
      if !save.text.isCheck, gate.isFirst.exchange(false, ordering: .relaxed) {
        gate.arrived.signal()
        gate.opened.wait()
      }
      return try target.apply(save, to: transaction)
    }

    func shownPlace(_ tree: TreeContext) -> ShownPlace? { target.shownPlace(tree) }
  }

  /// Writes `first` over an object, and closes a copy of the handle, as a process does that is forked meanwhile. While
  /// that save waits, another thread calls `then` with the handle. Returns after both have ended, with the error of
  /// `then`.
  private func overtake(
    _ tree: WritableTree,
    _ first: String,
    then: @escaping @Sendable (OpenFile) throws -> Void
  ) throws -> String? {
    let name = Array("4.json".utf8), inode = try tree.tree.find("Person/4.json").inode
    let place = Overlay.Place(directory: try tree.tree.find("Person").inode, name: name)
    let target = HeldTarget(
      target: try #require(try tree.tree.tree.namespace.draftTarget(of: place) as? any TextTarget)
    )
    var access = OpenAccess()
    (access.writes, access.truncates) = (true, true)
    let file = try tree.tree.tree.drafts.openDraft(of: inode, name, target, access, by: WritableTree.me) { [] }
    try tree.write(file, first)
    let failed = Mutex<String?>(nil), done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = tree.failed("fork") { try tree.tree.flush(file) }
      done.signal()
    }
    target.gate.arrived.wait()
    let overtook = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      failed.withLock { $0 = tree.failed("then") { try then(file) } }
      overtook.signal()
      done.signal()
    }
    // Anything that does not wait for the delayed save is soon done.
    _ = overtook.wait(timeout: .now() + .milliseconds(500))
    target.gate.opened.signal()
    for _ in 0..<2 { done.wait() }
    tree.tree.release(file)
    return failed.withLock { $0 }
  }

  @Test("a forked process that closes its copy of a handle does not overwrite a newer text")
  func olderTextDoesNotComeLast() throws {
    let tree = try WritableTree("people")
    let refused = try overtake(tree, "{\"age\": 4}") { try tree.write($0, "{\"age\": true}") }
    #expect(refused == "then: refused invalid")
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == "{\"age\": true}", "the newer text is kept")
    let saved = try overtake(tree, "{\"age\": 5}") { file in
      try tree.write(file, "{\"age\": 56}")
      try tree.tree.flush(file)
    }
    #expect(saved == nil)
    #expect(failure { try tree.tree.find(".realm/rejected/Person/4.json") }?.kind == "notFound", "it was saved")
    let newer = try overtake(tree, "{\"age\": 7}") { file in
      try tree.write(file, "{\"age\": 8}", at: 0)
      try tree.tree.flush(file)
    }
    #expect(newer == nil)
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 8"))
  }

  /// Deletes an object, as another program.
  private func delete(_ path: String, _ key: ObjKey, of tree: WritableTree) throws {
    let other = try RealmWriter(Configuration(path: tree.path))
    let table = try #require(try other.realm.latest().table(named: "class_" + path.prefix { $0 != "/" }))
    let transaction = try other.begin()
    try transaction.delete(table.key, key)
    _ = try transaction.commit()
  }

  @Test("saving through a handle whose object was deleted is ESTALE, and the text is kept", arguments: [true, false])
  func savingDeletedObjectIsStale(_ byOther: Bool) throws {
    let tree = try WritableTree.ofLinks()
    let handle = try tree.open("Target/2.json"), whole = try tree.open("Target/2.json", truncates: false)
    if byOther { try delete("Target/2.json", ObjKey(1), of: tree) } else { try tree.unlink("Target/2.json") }
    for (file, text) in [(handle, #"{"name": "late"}"#), (whole, #"{"name": "later"}"#)] {
      file.draft?.memory.truncate(to: 0)
      let refused =
        tree.failed("write") { try tree.write(file, text) } ?? tree.failed("close") { try tree.tree.flush(file) }
      #expect(refused?.hasSuffix(": stale") == true)
      tree.tree.release(file)
      #expect(try tree.errors().last?.contains("Target/2.json") == true)
      #expect(try tree.tree.text(".realm/rejected/Target/2.json").hasPrefix(#"{"name": "late"#))
    }
    #expect(try tree.texts()["Target/2.json"] == nil)
  }

  @Test("a rejected text outlives its class, and is separate from those of a new class with the same name")
  func refusedTextOutlivesItsClass() throws {
    let tree = try WritableTree("people")
    for text in ["first", "second"] {
      _ = try tree.tree.makeDirectory(.root, Array("Cat".utf8))
      #expect(tree.put("Cat/0.json", "{}") == nil)
      let handle = try tree.open("Cat/0.json")
      try tree.unlink("Cat/0.json")
      try tree.tree.removeDirectory(.root, Array("Cat".utf8))
      #expect(tree.failed("write") { try tree.write(handle, "{\"\(text)\": 1}") } == "write: stale")
      tree.tree.release(handle)
      #expect(try tree.errors().last?.contains("Cat/0.json") == true)
    }
    let names = try tree.tree.list(".realm/rejected").filter { !$0.isDot }.map(\.name)
    #expect(names.count == 2 && names.first == "Cat")
    let texts = try names.map { try tree.tree.text(".realm/rejected/\($0)/0.json") }
    #expect(texts == [#"{"first": 1}"#, #"{"second": 1}"#])
  }

  @Test("removing an object that another program has removed is ENOENT")
  func removedOnce() throws {
    let tree = try WritableTree.ofLinks()
    let errors = Failures()
    onThreads(4) { _ in errors.count { try tree.unlink("Target/2.json") } }
    #expect(errors.counts == ["notFound": 3])
  }
}
