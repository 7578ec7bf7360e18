// Programs that make, replace and remove the same object at the same time, in this mount and in others.

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite("races")
struct RaceTests {
  /// What failed, and how often.
  private final class Failures: Sendable {
    private let all = Mutex<[String: Int]>([:])
    func count(_ body: () throws -> Void) {
      if let error = failure(body) { all.withLock { $0[error.kind, default: 0] += 1 } }
    }
    var counts: [String: Int] { all.withLock { $0 } }
  }

  @Test("a rename onto a name that others remove and make does not fail")
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

  @Test("of many that take a name by RENAME_NOREPLACE or mkdir, one gets it")
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
      if case .memory(let memory, _) = file.content { memory.truncate(to: 0) }
      let refused =
        tree.failed("write") { try tree.write(file, text) } ?? tree.failed("close") { try tree.tree.flush(file) }
      #expect(refused?.hasSuffix(": stale") == true)
      tree.tree.release(file)
      #expect(try tree.errors().last?.contains("Target/2.json") == true)
      #expect(try tree.tree.text(".realm/rejected/Target/2.json").hasPrefix(#"{"name": "late"#))
    }
    #expect(try tree.texts()["Target/2.json"] == nil)
  }

  @Test("a refused text outlives its class, and does not mix with those of a class that takes the name")
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

  @Test("removing what another program has removed says that it is not there")
  func removedOnce() throws {
    let tree = try WritableTree.ofLinks()
    let errors = Failures()
    onThreads(4) { _ in errors.count { try tree.unlink("Target/2.json") } }
    #expect(errors.counts == ["notFound": 3])
  }
}
