// Users of one mount cannot affect each other's texts.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Texts of several users")
struct PrivateTextTests {
  private let ada = Caller(user: 70_001, group: 70_001), bob = Caller(user: 70_002, group: 70_002)

  /// Saves as a program of a user does; returns the error, if any.
  private func save(_ tree: WritableTree, _ path: String, _ text: String, by caller: Caller) -> String? {
    let file: OpenFile
    do { file = try tree.open(path, by: caller) } catch {
      return "open: \((error as? FileTreeError)?.kind ?? "\(error)")"
    }
    defer { tree.tree.release(file) }
    return tree.failed("write") { try tree.tree.write(file, Array(text.utf8), at: 0, by: caller) }
      ?? tree.failed("close") { try tree.tree.flush(file, by: caller) }
  }

  private func kept(_ caller: Caller, _ name: String = "4.json") -> String {
    ".realm/rejected/Person@\(caller.user)/\(name)"
  }

  @Test("a rejected text is neither replaced nor removed by another user's save")
  func textsAreApart() throws {
    let tree = try WritableTree("people")
    #expect(save(tree, "Person/4.json", #"{"age": "ada"}"#, by: ada) != nil)
    #expect(save(tree, "Person/4.json", #"{"age": "bob"}"#, by: bob) != nil)
    #expect(try tree.tree.text(kept(ada)) == #"{"age": "ada"}"#)
    #expect(try tree.tree.text(kept(bob)) == #"{"age": "bob"}"#)
    let directory = try tree.tree.find(".realm/rejected/Person@\(ada.user)")
    #expect(directory.owner == ada.user && directory.permissions == 0o700)
    #expect(save(tree, "Person/4.json", #"{"age": 7}"#, by: bob) == nil)
    #expect(try tree.tree.text(kept(ada)) == #"{"age": "ada"}"#)
    #expect(failure { try tree.tree.find(kept(bob)) }?.kind == "notFound")
    let name = Array("4.json".utf8)
    #expect(failure { try tree.tree.unlink(directory.inode, name, by: bob) }?.kind == "refused noAccess")
    try tree.tree.unlink(directory.inode, name, by: ada)
    #expect(save(tree, ".realm/schema.json", "{ada", by: ada) != nil)
    #expect(save(tree, ".realm/schema.json", "{bob", by: bob) != nil)
    #expect(try tree.tree.text(".realm/rejected/@\(ada.user)/schema.json") == "{ada")
    #expect(save(tree, ".realm/schema.json", "{root", by: WritableTree.me) != nil)
    #expect(try tree.tree.text(".realm/rejected/schema.json") == "{root")
  }

  @Test("a private file is not renamed, replaced or removed by another user")
  func scratchFiles() throws {
    let tree = try WritableTree("people"), person = try tree.tree.find("Person").inode
    func make(_ name: String, _ permissions: UInt32) throws {
      var access = OpenAccess()
      access.writes = true
      let bytes = Array(name.utf8)
      let made = try tree.tree.create(person, bytes, permissions: permissions, access, isExclusive: true, by: ada)
      try tree.tree.write(made.file, Array(#"{"name": "private"}"#.utf8), at: 0, by: ada)
      try tree.tree.flush(made.file, by: ada)
      tree.tree.release(made.file)
    }
    func rename(_ name: String, _ goal: String, by caller: Caller, _ rule: RenameRule = .replace) -> String? {
      failure { try tree.tree.rename(person, Array(name.utf8), to: person, Array(goal.utf8), rule, by: caller) }?.kind
    }
    try make("hers", 0o600)
    try make("shared", 0o666)
    for goal in ["4.json", "other", "new.json"] { #expect(rename("hers", goal, by: bob) == "refused noAccess") }
    #expect(rename("hers", "4.json", by: bob, .exchange) == "refused noAccess")
    #expect(rename("shared", "hers", by: bob) == "refused noAccess")
    #expect(failure { try tree.tree.unlink(person, Array("hers".utf8), by: bob) }?.kind == "refused noAccess")
    #expect(try !tree.tree.text("Person/4.json").contains("private"))
    #expect(rename("hers", "4.json", by: ada) == nil)
    #expect(try tree.tree.text("Person/4.json").contains("private"))
    #expect(rename("shared", "common", by: bob) == nil)
    try tree.tree.unlink(person, Array("common".utf8), by: bob)
  }

  @Test("error messages quote a text only to its author, root and the user who mounted")
  func reasons() throws {
    let tree = try WritableTree("people"), object = try tree.tree.find("Person/4.json").inode
    #expect(save(tree, "Person/4.json", #"{"age": "secret words"}"#, by: ada) != nil)
    func attribute(_ caller: Caller) throws -> String {
      try tree.tree.extendedAttribute(object, "user.realmfs.error", by: caller)
    }
    func errors(_ caller: Caller) throws -> String {
      let inode = try tree.tree.find(".realm/errors").inode
      let file = try tree.tree.open(inode, by: caller)
      defer { tree.tree.release(file) }
      var text = ""
      try file.read(from: 0, count: 1 << 20) {
        text = unsafe String(decoding: $0.withUnsafeBytes { Array($0) }, as: UTF8.self)
      }
      #expect(try tree.tree.attributes(inode, user: caller.user).size == text.utf8.count)
      let control = try tree.tree.find(".realm").inode
      #expect(try tree.tree.lookup(control, Array("errors".utf8), user: caller.user).size == text.utf8.count)
      return text
    }
    for caller in [ada, WritableTree.me, Caller(user: 0, group: 0)] {
      #expect(try attribute(caller).contains("secret"))
      #expect(try errors(caller).contains("secret"))
    }
    for text in [try attribute(bob), try errors(bob)] {
      #expect(!text.contains("secret") && text.contains("line 1, column 9"))
    }
    #expect(save(tree, "Person/4.json", #"{"age": "other words"}"#, by: bob) != nil)
    #expect(try attribute(ada).contains("secret") && attribute(bob).contains("other words"))
    #expect(save(tree, "Person/4.json", #"{"age": 7}"#, by: bob) == nil)
    #expect(try attribute(ada).contains("secret"))
    #expect(try !attribute(bob).contains("words"))
  }

  @Test("no user can exhaust the memory for the saves of others; the oldest rejected texts are dropped")
  func shares() throws {
    let limit = 1 << 20
    let tree = try WritableTree("people") { $0.memoryLimit = limit }
    let text = #"{"age": ""# + String(repeating: "x", count: 60_000) + #""}"#
    let objects = try tree.tree.list("Person").map(\.name).filter { $0.hasSuffix(".json") }
    for name in objects { #expect(save(tree, "Person/\(name)", text, by: ada) != nil) }
    let names = try tree.tree.list(".realm/rejected/Person@\(ada.user)").map(\.name).filter { $0.hasSuffix(".json") }
    #expect(names.count < objects.count && names.count > 2)
    #expect(names.contains(objects.last ?? "") && !names.contains(objects.first ?? ""))
    #expect(try tree.tree.text(".realm/errors").contains("half of the memory"))
    // Other files of the same user leave room, too.
    let file = try tree.open("Person/scratch", by: ada)
    var written = 0
    while failure({ try tree.tree.write(file, [UInt8](repeating: 1, count: 10_000), at: written, by: ada) }) == nil {
      written += 10_000
    }
    #expect(written > 0 && written < limit * 3 / 4)
    #expect(save(tree, "Person/4.json", #"{"age": 8}"#, by: bob) == nil)
    tree.tree.release(file)
  }
}
