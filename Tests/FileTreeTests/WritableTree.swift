// A tree that can be changed, over a realm with the schema that the tests of saving need, and the calls that programs
// make.

import Foundation
import RealmPages
import Synchronization
import TestSupport

@testable import FileTree

final class WritableTree: Sendable {
  let scratch: ScratchRealm
  let writer: RealmWriter
  let tree: FileTree
  private let lines: Lines

  /// The log lines.
  private final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  /// A tree over a copy of a fixture.
  init(_ fixture: String, change: (inout TreeOptions) -> Void = { _ in }) throws {
    scratch = try ScratchRealm(fixture)
    let lines = Lines()
    self.lines = lines
    writer = try RealmWriter(Configuration(path: scratch.file.path), create: true)
    var options = TreeOptions()
    options.createsClasses = true
    options.log = { line in lines.all.withLock { $0.append(line) } }
    change(&options)
    tree = try FileTree(writer, options: options)
  }

  /// Another tree over the realm of one.
  init(sharing other: WritableTree, _ options: TreeOptions) throws {
    (scratch, writer, lines) = (other.scratch, other.writer, other.lines)
    tree = try FileTree(writer, options: options)
  }

  /// A tree over a realm that has every way to link to a `Target`.
  static func ofLinks(change: (inout TreeOptions) -> Void = { _ in }) throws -> WritableTree {
    let tree = try WritableTree("empty", change: change)
    _ = tree.put(
      ".realm/schema.json",
      """
      {"schemaVersion": 1, "schema": [
        {"name": "Target", "primaryKey": "_id", "properties": {"_id": "int", "name": "string?", "peer": "Target",
          "peers": "Target[]", "child": "Child", "children": {"type": "list", "objectType": "Child"}}},
        {"name": "Child", "embedded": true, "properties": {"n": "int", "to": "Target", "inner": "Child"}},
        {"name": "Free", "properties": {"n": "int", "to": "Free"}},
        {"name": "Holder", "primaryKey": "_id", "properties": {"_id": "string", "one": "Target", "list": "Target[]",
          "set": "Target<>", "dict": "Target{}", "any": "mixed", "anyList": "mixed[]", "anySet": "mixed<>",
          "anyDict": "mixed{}", "child": "Child", "children": "Child[]", "free": "Free[]"}}
      ]}
      """
    )
    for id in 1...4 { _ = tree.put("Target/\(id).json", #"{"name": "t\#(id)"}"#) }
    _ = tree.put(
      "Target/1.json",
      """
      {"name": "first", "peer": 1, "peers": [1, 2, 1], "child": {"n": 1, "to": 2},
       "children": [{"n": 2}, {"n": 3, "inner": {"to": 1}}]}
      """
    )
    let link = #"{"$ref": "Target", "$id": 1}"#
    for id in ["a", "b"] {
      _ = tree.put(
        "Holder/\(id).json",
        """
        {"one": 1, "list": [2, 1, 3, 1, 1], "set": [1, 2], "dict": {"x": 1, "y": 2, "z": 1}, "any": \(link),
         "anyList": [\(link), 1, [\(link), "s", \(link)], {"k": \(link), "l": [3, \(link)]}], "anySet": [\(link), 7],
         "anyDict": {"p": \(link), "q": [\(link)], "r": null}, "child": {"n": 4, "to": 1},
         "children": [{"n": 5, "to": 1, "inner": {"to": 1}}, {"n": 6}]}
        """
      )
    }
    return tree
  }

  var path: String { scratch.file.path }

  var log: [String] { lines.all.withLock { $0 } }

  private func split(_ path: String) throws -> (parent: InodeNumber, name: [UInt8]) {
    var parts = path.split(separator: "/")
    let name = parts.removeLast()
    return (try tree.find(parts.joined(separator: "/")).inode, Array(name.utf8))
  }

  /// Opens a file for writing, as `>` does or as specified; creates it if necessary.
  func open(_ path: String, truncates: Bool = true, appends: Bool = false, by caller: Caller = me) throws -> OpenFile {
    let (parent, name) = try split(path)
    var access = OpenAccess()
    access.writes = true
    access.truncates = truncates
    access.appends = appends
    return try tree.create(parent, name, permissions: 0o644, access, isExclusive: false, by: caller).file
  }

  /// The default caller of the tests.
  static let me = Caller(user: getuid(), group: getgid(), process: getpid())

  /// Writes a file as a shell does, in pieces. Returns the first error, and its call.
  func put(_ path: String, _ text: String, piece: Int = .max) -> String? {
    let file: OpenFile
    do { file = try open(path) } catch { return "open: \((error as? FileTreeError)?.kind ?? "\(error)")" }
    defer { tree.release(file) }
    return failed("write") { try self.write(file, text, piece: piece) } ?? failed("close") { try tree.flush(file) }
  }

  /// Writes a text from an offset on, in pieces.
  func write(_ file: OpenFile, _ text: String, at offset: Int = 0, piece: Int = .max) throws {
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let end = start + min(piece, bytes.count - start)
      try tree.write(file, Array(bytes[start..<end]), at: offset + start)
      start = end
    }
  }

  func failed(_ what: String, _ body: () throws -> Void) -> String? { failure(body).map { "\(what): \($0.kind)" } }

  func unlink(_ path: String) throws {
    let (parent, name) = try split(path)
    try tree.unlink(parent, name, by: Self.me)
  }

  func rename(_ path: String, to newPath: String, _ rule: RenameRule = .replace) throws {
    let (parent, name) = try split(path), (newParent, newName) = try split(newPath)
    try tree.rename(parent, name, to: newParent, newName, rule, by: Self.me)
  }

  /// The texts of all objects by path, each with its object key.
  func texts() throws -> [String: String] {
    var texts: [String: String] = [:]
    for directory in try tree.list("") where !directory.isDot {
      for file in try tree.list(directory.name) where file.name.hasSuffix(".json") {
        let path = "\(directory.name)/\(file.name)"
        texts[path] = try tree.extendedAttribute(file.inode, "user.realm.key") + " " + tree.text(path)
      }
    }
    return texts
  }

  var version: UInt64 { get throws { try writer.realm.latest().version } }

  func problems() throws -> [Verifier.Problem] { Verifier(try writer.realm.latest(), isStrict: true).problems() }

  /// The lines of `.realm/errors`.
  func errors() throws -> [String] { try tree.text(".realm/errors").split(separator: "\n").map(String.init) }
}

extension WritableTree {
  /// Sets the size of an open file, as ftruncate does.
  func resize(_ file: OpenFile, to size: Int) throws(FileTreeError) {
    var change = MetadataChange()
    change.size = size
    _ = try tree.change(file.inode, file, change, by: Self.me)
  }
}
