// A realm that is moved, replaced or overwritten between the requests of one save.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("realms that are moved or replaced during a save")
struct MovedRealmTests {
  private let text = #"{"age": 79}"#

  /// Opens and writes an object of a tree, and calls `body` before the close. Returns the errors of the write and of
  /// the close.
  private func save(
    _ tree: WritableTree,
    _ text: String,
    beforeWrite: Bool = false,
    _ body: () throws -> Void
  ) throws -> (write: String?, close: String?) {
    let file = try tree.open("Person/4.json")
    defer { tree.tree.release(file) }
    if beforeWrite { try body() }
    let write = tree.failed("write") { try tree.write(file, text) }
    if !beforeWrite { try body() }
    return (write, tree.failed("close") { try tree.tree.flush(file) })
  }

  @Test("a request resolves the path once, and the next request resolves it again")
  func oneLook() throws {
    let tree = try WritableTree("people"), context = tree.tree.tree
    func names(_ request: Request) throws -> [String] {
      try context.serving(request).read { view in view.directories.map(\.shownName) }
    }
    let request = Request(), before = try names(request)
    try tree.scratch.replace(by: "empty-classes")
    #expect(try names(request) == before)
    #expect(try names(Request()) != before)
  }

  @Test("a save to a realm that was moved after it was opened fails", arguments: [true, false])
  func moved(beforeWrite: Bool) throws {
    let tree = try WritableTree("people"), away = tree.path + ".away"
    let before = try Data(contentsOf: URL(fileURLWithPath: tree.path))
    let failed = try save(tree, text, beforeWrite: beforeWrite) {
      try FileManager.default.moveItem(atPath: tree.path, toPath: away)
    }
    if beforeWrite { #expect(failed.write == "write: refused moved") } else { #expect(failed.write == nil) }
    #expect(failed.close == "close: refused moved")
    #expect(try Data(contentsOf: URL(fileURLWithPath: away)) == before)
    #expect(!FileManager.default.fileExists(atPath: tree.path))
    #expect(try tree.errors().contains { $0.contains("Person/4.json") })
    // Back at its path, it can be saved to again.
    try FileManager.default.moveItem(atPath: away, toPath: tree.path)
    #expect(tree.put("Person/4.json", text) == nil)
    #expect(try tree.problems().isEmpty)
  }

  @Test("a text for a realm that was replaced is not saved to the new one", arguments: [true, false])
  func replaced(beforeWrite: Bool) throws {
    let tree = try WritableTree("people")
    let failed = try save(tree, text, beforeWrite: beforeWrite) { try tree.scratch.replace(by: "people") }
    if beforeWrite { #expect(failed.write == "write: refused moved") } else { #expect(failed.write == nil) }
    #expect(failed.close == "close: refused moved")
    #expect(try !tree.tree.text("Person/4.json").contains("79"))
    #expect(tree.put("Person/4.json", text) == nil)
    #expect(try tree.tree.text("Person/4.json").contains("79"))
    #expect(try tree.problems().isEmpty)
  }

  @Test("saving an unchanged text fails if the realm at the path was replaced")
  func storedText() throws {
    let tree = try WritableTree("people"), stored = try tree.tree.text("Person/4.json")
    let failed = try save(tree, stored) { try tree.scratch.replace(by: "empty-classes") }
    #expect(failed.write == nil)
    #expect(failed.close != nil, "the realm at the path lacks the object")
  }

  @Test("saving an equal text does not succeed if another realm is at the path")
  func equalText() throws {
    let tree = try WritableTree("people")
    #expect(try tree.tree.text("Person/4.json").contains(#""age": 21"#))
    let failed = try save(tree, #"{"age":21}"#) { try tree.scratch.replace(by: "people") }
    #expect(failed.write == nil)
    #expect(failed.close == "close: refused moved")
  }

  @Test("a realm that is truncated during a save is reported, and not written to")
  func cut() throws {
    let tree = try WritableTree("people"), path = tree.path
    let failed = try save(tree, text) { #expect(truncate(path, 4096) == 0) }
    #expect(failed.write == nil)
    #expect(failed.close != nil)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 4096)
  }
}
