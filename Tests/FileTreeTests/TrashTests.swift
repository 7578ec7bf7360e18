// `.realm/trash`: the texts that objects had.

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite("Trash")
struct TrashTests {
  @Test("texts replaced by a save, a property or a removal are in the trash, except equal ones")
  func formerTextsAreKept() throws {
    let tree = try WritableTree("people")
    #expect(try names(tree, ".realm/trash") == [])
    let original = try tree.tree.text("Person/4.json")
    #expect(tree.put("Person/4.json", original) == nil)
    #expect(tree.put("Person/4.json", #"{"age": "old"}"#) != nil)
    #expect(tree.put("Person/7001.json", "{}") == nil)
    #expect(try names(tree, ".realm/trash") == [], "nothing was replaced")
    #expect(tree.put("Person/4.json", #"{"age": 98}"#) == nil)
    #expect(try tree.tree.text(".realm/trash/Person/4.json") == original)
    let second = try tree.tree.text("Person/4.json")
    #expect(tree.put("Person/.fields/4/age", "99") == nil)
    #expect(try tree.tree.text(".realm/trash/Person/4.json") == second)
    let third = try tree.tree.text("Person/4.json")
    try tree.unlink("Person/4.json")
    #expect(try tree.tree.text(".realm/trash/Person/4.json") == third)
    let all = try names(tree, ".realm/trash/Person")
    #expect(all.count == 3 && all.last == "4.json", "\(all)")
    #expect(try all.map { try tree.tree.text(".realm/trash/Person/\($0)") } == [original, second, third])
    #expect(all.dropLast().allSatisfy { $0.wholeMatch(of: /4\.json\.\d{8}T\d{6}\.\d{9}Z/) != nil })
    // Copying a text back restores the object.
    #expect(tree.put("Person/4.json", original) == nil)
    #expect(try tree.tree.text("Person/4.json") == original)
    #expect(try tree.problems().isEmpty)
  }

  @Test("writing lines to .all.jsonl keeps each former text once")
  func linesKeepTextsOnce() throws {
    let tree = try WritableTree.ofLinks()
    let before = try tree.tree.text("Target/2.json")
    #expect(tree.put("Target/.all.jsonl", "{\"_id\": 2, \"peer\": 9}\n{\"_id\": 9}\n") == nil)
    #expect(try names(tree, ".realm/trash/Target").filter { $0.hasPrefix("2.json") } == ["2.json"])
    #expect(try tree.tree.text(".realm/trash/Target/2.json") == before)
    #expect(try !names(tree, ".realm/trash/Target").contains("9.json"))
  }

  @Test("former texts can be read and removed but not written, and are not unsaved files")
  func formerTextsAreNoFiles() throws {
    let tree = try WritableTree("people")
    try tree.unlink("Dog/Rex.json")
    #expect(tree.put(".realm/trash/Dog/Rex.json", "{}") == "open: refused forbidden")
    #expect(tree.put(".realm/trash/Dog/other", "x") == "open: refused forbidden")
    #expect(tree.put(".realm/trash/other", "x") == "open: refused forbidden")
    #expect(try tree.tree.text(".realm/unsaved") == "")
    #expect(try tree.tree.find(".realm/trash/Dog/Rex.json").permissions & 0o222 == 0)
    try tree.unlink(".realm/trash/Dog/Rex.json")
    #expect(try names(tree, ".realm/trash") == [])
  }

  @Test("the oldest texts are dropped first, by number and by size")
  func trashIsBounded() throws {
    let tree = try WritableTree("people")
    let text = String(repeating: "x", count: 3 << 20)
    for age in 0..<5 { #expect(tree.put("Person/4.json", #"{"age": \#(age), "name": "\#(text)"}"#) == nil) }
    let kept = try names(tree, ".realm/trash/Person")
    #expect(kept.count == 2, "two texts of 3 MiB are within 8 MiB, a third is not: \(kept)")
    #expect(try tree.tree.text(".realm/trash/Person/4.json").contains(#""age": 3"#))
    #expect(try tree.tree.text(".realm/trash/Person/\(kept[0])").contains(#""age": 2"#))
  }

  @Test("--trash receives each text before the commit; failures are reported but do not prevent saving")
  func textsGoOutside() throws {
    let kept = Mutex<[String]>([])
    let tree = try WritableTree("people") { options in
      options.keepFormerText = { className, name, text in
        kept.withLock { $0.append("\(className ?? ".realm")/\(name) \(String(decoding: text, as: UTF8.self))") }
        return className == "Dog" ? "no room" : nil
      }
    }
    let person = try tree.tree.text("Person/4.json"), dog = try tree.tree.text("Dog/Rex.json")
    #expect(tree.put("Person/4.json", #"{"age": 98}"#) == nil)
    try tree.unlink("Dog/Rex.json")
    #expect(kept.withLock { $0 } == ["Person/4.json \(person)", "Dog/Rex.json \(dog)"])
    #expect(tree.log == ["Dog/Rex.json: its former text was not kept: no room"])
    #expect(try tree.errors().contains { $0.contains("its former text was not kept: no room") })
    #expect(failure { try tree.tree.find("Dog/Rex.json") }?.kind == "notFound")
  }

  @Test("the previous schema is kept, and can be restored")
  func formerSchemaIsKept() throws {
    let outside = Mutex<[String]>([])
    let tree = try WritableTree("people") { options in
      options.keepFormerText = { className, name, text in
        if className == nil { outside.withLock { $0.append("\(name) \(String(decoding: text, as: UTF8.self))") } }
        return nil
      }
    }
    let original = try tree.tree.text(".realm/schema.json")
    #expect(tree.put(".realm/schema.json", original) == nil)
    #expect(try names(tree, ".realm/trash") == [], "nothing was changed")
    let dog = try tree.tree.text(".realm/schema/Dog.json")
    let wider = dog.replacing(#""properties": {"#, with: #""properties": { "tag": "string?","#)
    #expect(tree.put(".realm/schema/Dog.json", wider) == nil)
    #expect(try tree.tree.text(".realm/trash/schema.json") == original)
    #expect(outside.withLock { $0 } == ["schema.json \(original)"])
    #expect(tree.put(".realm/schema.json", #"{"schemaVersion": 0, "schema": []}"#) != nil)
    #expect(try tree.tree.text(".realm/trash/schema.json") == original, "what is refused replaces nothing")
    #expect(try names(tree, ".realm/trash") == ["schema.json"])
    try tree.unlink(".realm/trash/schema.json")
    #expect(try names(tree, ".realm/trash") == [])
    #expect(try tree.problems().isEmpty)
  }

  private func names(_ tree: WritableTree, _ path: String) throws -> [String] {
    try tree.tree.list(path).filter { !$0.isDot }.map(\.name)
  }
}
