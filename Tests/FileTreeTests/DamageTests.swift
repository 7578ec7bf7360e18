// Damage affects only the damaged objects.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import FileTree
@testable import RealmPages

@Suite("Damaged files")
struct DamageTests {
  /// The content of a tree over damaged bytes.
  private struct Outcome {
    var readable = 0
    /// Listed, of size 0, and an error when opened.
    var unreadable = 0
    var failedListings = 0
  }

  /// Visits all classes; each object either has a text of its size, or size 0 and an error.
  private func visit(_ tree: FileTree) throws -> Outcome {
    var outcome = Outcome()
    for directory in try tree.list("").filter({ !$0.isDot }) {
      var entries: [ListedEntry] = []
      let error = failure { entries = try tree.list(directory.name, batch: 4, attributes: true).filter { !$0.isDot } }
      if let error {
        #expect(error.kind == "damaged")
        outcome.failedListings += 1
      }
      for entry in entries { try visit(entry, tree, &outcome) }
    }
    return outcome
  }

  private func visit(_ entry: ListedEntry, _ tree: FileTree, _ outcome: inout Outcome) throws {
    var attributes: FileAttributes?
    if let error = failure({ attributes = try tree.attributes(entry.inode) }) {
      // A damaged key: the object is listed under one that does not resolve.
      #expect(error.kind == "stale" || error.kind == "damaged")
      outcome.unreadable += 1
      return
    }
    var file: OpenFile?
    if let error = failure({ file = try tree.open(entry.inode) }) {
      #expect(error.kind == "damaged" && !error.description.isEmpty)
      #expect(attributes?.size == 0 && entry.attributes == nil)
      outcome.unreadable += 1
    }
    guard let file else { return }
    if file.maySeedPageCache { tree.pageCacheSeeded(file) }
    #expect(file.size == attributes?.size && file.size > 0)
    #expect(entry.attributes == attributes)
    tree.release(file)
    outcome.readable += 1
  }

  @Test("with any one node destroyed, each object and listing is complete or fails on its own")
  func anyNodeDestroyed() throws {
    let bytes = try Fixture.named("people").bytes()
    var total = Outcome()
    for offset in stride(from: 24, to: bytes.count - 8, by: 8)
    where bytes[offset..<offset + 4].allSatisfy({ $0 == 0x41 }) {
      var damaged = bytes
      // A count that no node of this file can have.
      damaged.replaceSubrange(offset + 5..<offset + 8, with: [0xFF, 0xFF, 0xFF])
      let scratch = try ScratchRealm(bytes: damaged)
      guard let realm = try? Realm(Configuration(path: scratch.file.path)),  // the top array: nothing can be read
        let tree = try? FileTree(realm, options: TreeOptions())  // the group or a table: no tree to show
      else { continue }
      let outcome = try visit(tree)
      total.readable += outcome.readable
      total.unreadable += outcome.unreadable
      total.failedListings += outcome.failedListings
    }
    #expect(total.readable > 0)
    #expect(total.unreadable > 0, "some damage leaves the names readable")
    #expect(total.failedListings > 0, "and some does not")
  }

  @Test("damage is logged once, with its location")
  func damageIsLogged() throws {
    let bytes = try Fixture.named("people").bytes()
    let lines = Mutex<[String]>([])
    var options = TreeOptions()
    options.log = { line in lines.withLock { $0.append(line) } }
    for offset in stride(from: 24, to: bytes.count - 8, by: 8)
    where bytes[offset..<offset + 4].allSatisfy({ $0 == 0x41 }) {
      var damaged = bytes
      damaged.replaceSubrange(offset + 5..<offset + 8, with: [0xFF, 0xFF, 0xFF])
      let scratch = try ScratchRealm(bytes: damaged)
      guard let realm = try? Realm(Configuration(path: scratch.file.path)),  // as above
        let tree = try? FileTree(realm, options: options)  // as above
      else { continue }
      lines.withLock { $0 = [] }
      let first = try visit(tree)
      let told = lines.withLock { $0 }
      _ = try visit(tree)
      #expect(lines.withLock { $0 } == told)
      #expect(told.isEmpty == (first.unreadable + first.failedListings == 0))
      #expect(told.allSatisfy { $0.contains("realmfs check") })
    }
  }

  @Test("an unreadable table makes only its own objects, and those that link to it, fail")
  func damagedTable() throws {
    let fixture = Fixture.named("people")
    let realm = try Realm(Configuration(path: fixture.url.path, mode: .immutable))
    let names = try FileTree(realm, options: TreeOptions()).list("")
      .filter { !$0.isDot }.map(\.name)
    for (slot, ref) in try realm.latest().tableSlots() {
      var damaged = try fixture.bytes()
      damaged.replaceSubrange(ref + 5..<ref + 8, with: [0xFF, 0xFF, 0xFF])
      let scratch = try ScratchRealm(bytes: damaged)
      let realm = try Realm(Configuration(path: scratch.file.path)), tree = try FileTree(realm, options: TreeOptions())
      #expect(try Set(names).isSubset(of: tree.list("").map(\.name)), "table \(slot)")
      let outcome = try visit(tree)
      #expect(outcome.failedListings <= 1)
      #expect(outcome.readable > 0)
      // The checker reports the table, and a transaction that needs it cannot be committed.
      #expect(Verifier(try realm.latest()).problems().contains { $0.place.contains("table") })
    }
  }
}
