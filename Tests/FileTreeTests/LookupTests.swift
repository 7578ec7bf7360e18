// From names to inodes and attributes.

import Foundation
import RealmJSON
import RealmNames
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Names, sizes and inodes")
struct LookupTests {
  /// The lines of a fixture's expected tree.
  private func expected(_ fixture: Fixture) throws -> [(path: String, isClass: Bool)] {
    let file = fixture.url.deletingPathExtension().appendingPathExtension("tree.jsonl")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      let path = try #require(object?["path"] as? String)
      return (path, object?["objects"] != nil)
    }
  }

  @Test(
    "every object of every fixture is listed, found by its name, and has the size of its text",
    arguments: (Fixture.own + Fixture.sdk).filter { $0.format >= 10 }
  )
  func everyObjectIsListedAndFound(_ fixture: Fixture) throws {
    let tree = try FileTree(Realm(fixture.configuration()), options: TreeOptions())
    let lines = try expected(fixture)
    let classes = lines.filter(\.isClass).map(\.path)
    #expect(Set(try tree.list("").filter { !$0.isDot }.map(\.name)) == Set(classes))
    for name in classes {
      let directory = try tree.find(name).inode
      let objects = lines.filter { !$0.isClass && $0.path.hasPrefix(name + "/") }.map {
        $0.path.dropFirst(name.utf8.count + 1)
      }
      let listed = try tree.list(name, attributes: true).filter { !$0.isDot }
      #expect(listed.map(\.name) == objects.map(String.init))
      let wrong = try listed.filter { entry in
        let found = try tree.lookup(directory, Array(entry.name.utf8))
        let file = try tree.open(entry.inode)
        defer { tree.release(file) }
        if file.maySeedPageCache { tree.pageCacheSeeded(file) }
        let isWhole = try file.read(from: 0, count: .max) { text in
          text.byteCount == found.size && text.byteCount > 2 && text.unsafeLoad(as: UInt8.self) == UInt8(ascii: "{")
            && text.unsafeLoad(fromByteOffset: text.byteCount - 1, as: UInt8.self) == UInt8(ascii: "\n")
        }
        return found != entry.attributes || found.inode != entry.inode || !isWhole
      }
      #expect(wrong.isEmpty)
    }
  }

  @Test(
    "the fixtures of Realm's SDKs are present",
    .enabled(if: !Fixture.sdk.isEmpty, "they are not at ../shared")
  )
  func sdkFilesArePresent() { #expect(Fixture.sdk.contains { $0.format == 10 }) }

  @Test(
    "an object is found only by its exact name",
    arguments: [
      "04.json", "+4.json", "4", "4.JSON", "4.json.json", "4 .json", "%34.json", "", ".json", "5.json",
      "99999999999999999999.json", "-4.json", "%null.json", "%empty.json",
    ]
  )
  func onlyExactNames(_ name: String) throws {
    let tree = try FileTree.of("people")
    let directory = try tree.find("Person").inode
    #expect(failure { try tree.lookup(directory, Array(name.utf8)) }?.kind == "notFound")
  }

  @Test("a forgotten inode is found again by its number, unless its object was deleted")
  func lookedUpAgain() throws {
    let tree = try WritableTree("people"), dots = [Array(".".utf8), Array("..".utf8)]
    for path in ["", "Person", "Person/4.json", ".realm", ".realm/trash"] {
      let inode = try tree.tree.find(path).inode
      #expect(try tree.tree.lookup(inode, dots[0]).inode == inode)
    }
    for path in ["", "Person", ".realm"] {
      #expect(try tree.tree.lookup(tree.tree.find(path).inode, dots[1]).inode == .root)
    }
    let inode = try tree.tree.find("Person/4.json").inode
    #expect(failure { try tree.tree.lookup(inode, dots[1]) }?.kind == "stale")
    try tree.unlink("Person/4.json")
    #expect(failure { try tree.tree.lookup(inode, dots[0]) }?.kind == "stale")
  }

  @Test("embedded classes have no directory")
  func embeddedClassesHaveNoDirectory() throws {
    let tree = try FileTree.of("embedded")
    let embedded = try Fixture.named("embedded").snapshot()
    let names = try embedded.tableKeys().compactMap { try embedded.table($0) }
      .filter { $0.kind == .embedded }.compactMap(\.className)
    #expect(!names.isEmpty)
    for name in names {
      #expect(failure { try tree.find(name) }?.kind == "notFound")
      _ = try tree.find(".realm/schema/\(name).json")
    }
  }

  @Test("long string keys are found by their shortened names")
  func shortenedNames() throws {
    let tree = try FileTree.of("primary-keys")
    var count = 0
    for directory in try tree.list("").filter({ !$0.isDot }) {
      for entry in try tree.list(directory.name) where entry.name.contains("%~") {
        count += 1
        #expect(entry.name.utf8.count <= 255)
        #expect(try tree.find(directory.name + "/" + entry.name).inode == entry.inode)
        let other = entry.name.dropLast(6) + (entry.name.hasSuffix("0.json") ? "1" : "0") + ".json"
        #expect(failure { try tree.find(directory.name + "/" + other) }?.kind == "notFound")
      }
    }
    #expect(count > 0)
  }

  @Test("class directories are escaped like objects")
  func classNamesAreEscaped() throws {
    for fixture in ["name-limits", "empty-classes"] {
      let tree = try FileTree.of(fixture)
      let snapshot = try Fixture.named(fixture).snapshot()
      for key in try snapshot.tableKeys() {
        guard let name = try snapshot.table(key)?.className else { continue }
        #expect(try tree.find(NameEscaping.directory(of: name)).kind == .directory)
      }
    }
  }

  @Test("a mount of selected classes shows only these, and its link counts match")
  func subsetOfClasses() throws {
    var options = TreeOptions()
    options.classes = ["Dog"]
    let tree = try FileTree.of("people", options)
    #expect(try tree.list("").filter { !$0.isDot }.map(\.name) == ["Dog"])
    #expect(failure { try tree.find("Person") }?.kind == "notFound")
    #expect(try tree.attributes(.root).links == 4)
    #expect(try tree.text("Dog/Fido.json").contains("Fido"))

    options.classes = ["Dog", "Cat"]
    let realm = try Realm(Fixture.named("people").configuration())
    let error = failure { try FileTree(realm, options: options) }
    #expect(error?.description == "no class Cat in this realm; it has Dog, Person")
  }

  @Test("inode numbers are unique in the whole tree, and every lookup gives the same one")
  func inodesAreUniqueAndStable() throws {
    var options = TreeOptions()
    options.showControl = true
    let tree = try FileTree.of("all-types", options)
    var seen: [InodeNumber: String] = [.root: ""]
    func visit(_ path: String) throws {
      for entry in try tree.list(path) where !entry.isDot {
        let child = path + "/" + entry.name
        // The objects of a value are those of the class.
        if !(child.contains("/.by/") && entry.kind == .file) {
          #expect(seen.updateValue(child, forKey: entry.inode) == nil, "\(child) and \(seen[entry.inode] ?? "")")
        }
        #expect(try tree.find(child).inode == entry.inode)
        #expect(try tree.attributes(entry.inode).inode == entry.inode)
        if entry.kind == .directory { try visit(child) }
      }
    }
    try visit("")
    #expect(seen.count > 40)
  }

  @Test("files and directories are told apart")
  func kindsAreToldApart() throws {
    let tree = try FileTree.of("people")
    let file = try tree.find("Person/4.json").inode, directory = try tree.find("Person").inode
    #expect(failure { try tree.lookup(file, [0x78]) }?.kind == "notADirectory")
    #expect(failure { try tree.openDirectory(file) }?.kind == "notADirectory")
    #expect(failure { try tree.open(directory) }?.kind == "isADirectory")
    #expect(failure { try tree.open(.root) }?.kind == "isADirectory")
    for number: UInt64 in [0, 10, 1 << 60, 1 << 62 | 7, 1 << 63, .max, 3 << 40] {
      #expect(failure { try tree.attributes(InodeNumber(number)) }?.kind == "stale")
    }
  }

  @Test("an inode whose object does not exist is stale")
  func missingObjectIsStale() throws {
    let tree = try FileTree.of("people")
    let missing = InodeNumber(try tree.find("Person/4.json").inode.value + 1000)
    #expect(failure { try tree.attributes(missing) }?.kind == "stale")
    #expect(failure { try tree.open(missing) }?.kind == "stale")
  }
}
