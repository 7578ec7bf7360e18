// Commits by other programs: what becomes visible, which times change, what is announced, and what stays the same.

import Foundation
import RealmJSON
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite("Changes by other programs")
struct ChangeTests {
  /// The object key of `Person/4.json`.
  private func key(_ tree: FileTree) throws -> ObjKey {
    let text = try tree.extendedAttribute(tree.find("Person/4.json").inode, "user.realm.key")
    return ObjKey(try #require(Int64(text)))
  }

  @Test("a commit is visible at the next lookup, changes only its objects' times, and keeps inodes")
  func commitShows() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    let person = try tree.find("Person/4.json"), dog = try tree.find("Dog/Fido.json"), root = try tree.attributes(.root)
    let directory = try tree.find("Person"), other = try tree.find("Person/11.json")
    try scratch.commit("Person", key(tree), "age", 1_234_567)
    let after = try tree.find("Person/4.json")
    #expect(after.inode == person.inode)
    #expect(try tree.text("Person/4.json").contains("1234567"))
    #expect(try tree.text("Person/4.json").utf8.count == after.size)
    #expect((after.modifiedSeconds, after.modifiedNanoseconds) > (person.modifiedSeconds, person.modifiedNanoseconds))
    #expect(try tree.find("Person").modifiedSeconds >= directory.modifiedSeconds)
    #expect(try tree.find("Person/11.json") == other)
    #expect(try tree.find("Dog/Fido.json") == dog)
    #expect(try tree.attributes(.root) != root)
    #expect(try tree.text(".realm/version") == "6\n")
    #expect(try tree.extendedAttribute(after.inode, "user.realm.version") == "6")
  }

  @Test("handles opened after a commit bypass the page cache; earlier ones keep their text")
  func handlesAcrossCommits() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    let inode = try tree.find("Person/4.json").inode
    let old = try tree.open(inode)
    tree.pageCacheSeeded(old)
    #expect(old.caching == .keep)
    try scratch.commit("Person", key(tree), "age", 77)
    let new = try tree.open(inode)
    #expect(new.caching == .bypass && !new.maySeedPageCache)
    #expect(new.wholeText.contains("\"age\": 77") && !old.wholeText.contains("\"age\": 77"))
    let dog = try tree.open(tree.find("Dog/Fido.json").inode)
    #expect(dog.caching == .keep)
    for file in [old, new, dog] { tree.release(file) }
  }

  @Test("a version is announced once, with the directories that changed and the open files")
  func announcements() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    let seen = Atomic<Int>(0)
    tree.observeVersions { _ in seen.add(1, ordering: .relaxed) }
    let reader = try tree.changeReader()
    #expect(try tree.nextChange(reader) == nil)
    let file = try tree.open(tree.find("Person/4.json").inode)
    tree.pageCacheSeeded(file)
    let key = try key(tree)
    try scratch.commit("Person", key, "age", 1, count: 3)
    try tree.refresh()
    #expect(seen.load(ordering: .relaxed) == 1)
    let change = try #require(try tree.nextChange(reader))
    #expect(change.directories.map { String(decoding: $0.name, as: UTF8.self) } == [".realm", "Person"])
    #expect(change.inodes == [.root, file.inode])
    #expect(try tree.nextChange(reader) == nil)
    tree.release(file)

    try scratch.replace(by: "nested")
    let other = try #require(try tree.nextChange(reader))
    let names = Set(other.directories.map { String(decoding: $0.name, as: UTF8.self) })
    #expect(names.isSuperset(of: ["Person", "Dog", ".realm"]) && names.count > 3, "gone and new classes")
    #expect(other.inodes == [.root])
  }

  @Test("names stay valid if only texts change, unless the kernel knows names that depend on texts")
  func namesThatStay() throws {
    let writable = try WritableTree("people"), tree = writable.tree
    let person = try tree.find("Person/4.json"), reader = try tree.changeReader()
    #expect(writable.put("Person/4.json", #"{"age": 50}"#) == nil)
    let saved = try #require(try tree.nextChange(reader))
    #expect(saved.namesStay && saved.inodes == [.root, person.inode])
    let query = try tree.lookup(tree.find("Person/.where").inode, Array("age > 30".utf8))
    #expect(writable.put("Person/4.json", #"{"age": 20}"#) == nil)
    let selected = try #require(try tree.nextChange(reader))
    #expect(!selected.namesStay && selected.inodes == [.root], "4.json is in .where no more")
    tree.forget(query.inode, lookups: 100)
    tree.forget(try tree.find("Person/.where").inode, lookups: 100)
    #expect(writable.put("Person/4.json", #"{"age": 21}"#) == nil)
    #expect(try #require(try tree.nextChange(reader)).namesStay)
    // Two versions that are announced together, one of which created an object.
    #expect(writable.put("Person/4.json", #"{"age": 51}"#) == nil)
    try tree.refresh()
    #expect(writable.put("Person/7001.json", "{}") == nil)
    #expect(try #require(try tree.nextChange(reader)).namesStay == false)
    try writable.unlink("Dog/Rex.json")
    #expect(try #require(try tree.nextChange(reader)).namesStay == false)
  }

  @Test("a commit by another program does not invalidate names if it only changes objects")
  func namesThatOthersChange() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree(), reader = try tree.changeReader()
    let inode = try tree.find("Person/4.json").inode
    try scratch.commit("Person", key(tree), "age", 1)
    let change = try #require(try tree.nextChange(reader))
    #expect(change.namesStay && change.inodes == [.root, inode])
    let writer = try RealmWriter(Configuration(path: scratch.file.path))
    let table = try #require(try writer.realm.latest().table(named: "class_Person")).key
    let transaction = try writer.begin()
    _ = try transaction.create(table, primaryKey: .int(70_001))
    _ = try transaction.commit()
    #expect(try #require(try tree.nextChange(reader)).namesStay == false)
  }

  @Test("the text of an object changes with the embedded objects in it, and with no others")
  func embeddedChangesCount() throws {
    func tables(_ bytes: [UInt8]) throws -> [(ordinal: TableOrdinal, table: Table)] {
      let scratch = try ScratchRealm(bytes: bytes)
      let snapshot = try Realm(Configuration(path: scratch.file.path)).latest()
      return try snapshot.tableKeys().map { (UInt32($0.slot), try #require(try snapshot.table($0))) }
    }
    func stamp(_ generation: UInt64) -> ChangeStamp {
      let time = Timestamp(seconds: 1, nanoseconds: 0)
      return ChangeStamp(generation: generation, modified: time, version: 1, touched: time, noticed: nil)
    }
    let bytes = try Fixture.named("embedded").bytes()
    let first = try ChangeTimes().advanced(to: tables(bytes), file: 0, stamp: stamp(1), changed: nil)
    var moves: [[String]] = []
    for place in Self.embeddedContentVersions(bytes) {
      var changed = bytes
      changed[place] += 2
      let after = try tables(changed)
      let second = first.advanced(to: after, file: 0, stamp: stamp(2), changed: nil)
      moves.append(after.filter { second[$0.ordinal]?.generation == 2 }.map(\.table.name))
    }
    // Leftovers of earlier versions change no time.
    moves.removeAll(where: \.isEmpty)
    #expect(moves.count == 2, "Address, and Geo in it")
    #expect(moves.allSatisfy { $0.contains("class_Contact") && !$0.contains("metadata") })
  }

  /// Where the top arrays of embedded tables have their content version, as a tagged number.
  private static func embeddedContentVersions(_ bytes: [UInt8]) -> [Int] {
    stride(from: 24, to: bytes.count - 64, by: 8).compactMap { node in
      // A node of 14 refs or tagged numbers of 16 bits: slot 6 is the content version, slot 12 the kind.
      guard bytes[node..<node + 8] == [0x41, 0x41, 0x41, 0x41, 0x45, 0, 0, 14], bytes[node + 8 + 24] == 3 else {
        return nil
      }
      return node + 8 + 12
    }
  }

  @Test("times increase even if two commits fall into one clock tick, and never go back")
  func timesAlwaysMove() throws {
    let snapshot = try Fixture.named("people").snapshot()
    let person = try #require(try snapshot.table(named: "class_Person"))
    let time = Timestamp(seconds: 100, nanoseconds: 999_999_999)
    func stamp(_ generation: UInt64, _ time: Timestamp) -> ChangeStamp {
      ChangeStamp(generation: generation, modified: time, version: 1, touched: time, noticed: nil)
    }
    let first = ChangeTimes().advanced(to: [(0, person)], file: 1, stamp: stamp(1, time), changed: nil)
    #expect(first[0] == stamp(1, time) && first[1] == nil)
    let later = stamp(2, Timestamp(seconds: 200, nanoseconds: 0))
    let same = first.advanced(to: [(0, person)], file: 1, stamp: later, changed: nil)
    #expect(same[0] == stamp(1, time), "nothing changed")
    let earlier = stamp(3, Timestamp(seconds: 50, nanoseconds: 0))
    let other = same.advanced(to: [(0, person)], file: 2, stamp: earlier, changed: nil)
    #expect(other[0] == stamp(3, Timestamp(seconds: 101, nanoseconds: 0)), "another file with an earlier time")
  }

  @Test("a commit by another program changes only the times of the objects that it changed")
  func changedObjectsAlone() throws {
    let scratch = try ScratchRealm("embedded")
    let tree = try scratch.tree()
    let writer = try RealmWriter(Configuration(path: scratch.file.path))
    let names = try tree.list("Contact").filter { !$0.isDot }.map(\.name)
    /// When each object changed last.
    func times() throws -> [String: Int64] {
      var all: [String: Int64] = [:]
      for name in try tree.list("Contact").filter({ !$0.isDot }).map(\.name) {
        let found = try tree.find("Contact/\(name)")
        all[name] = found.modifiedSeconds * 1_000_000_000 + Int64(found.modifiedNanoseconds)
      }
      return all
    }
    func patch(_ texts: [(target: PatchTarget, text: String)], deleting: ObjKey? = nil) throws {
      let transaction = try writer.begin()
      let table = try #require(try transaction.tableKey(named: "class_Contact"))
      for (target, text) in texts {
        _ = try ObjectPatcher().apply(JSONText(Array(text.utf8)), to: target, of: table, in: transaction)
      }
      if let deleting { try transaction.delete(table, deleting) }
      _ = try transaction.commit()
    }
    func moved(_ old: [String: Int64], _ new: [String: Int64]) -> [String] {
      new.filter { old[$0.key] != $0.value }.map(\.key).sorted()
    }
    let first = try times()
    #expect(names.count > 2)
    func key(_ name: String) throws -> ObjKey {
      let text = try tree.extendedAttribute(tree.find("Contact/\(name)").inode, "user.realm.key")
      return ObjKey(try #require(Int64(text)))
    }
    // Twice, so that a second commit moves the time again.
    var last = first
    for round in 1...2 {
      try patch([(.object(try key(names[0])), #"{"name": "\#(round)"}"#)])
      let next = try times()
      #expect(moved(last, next) == [names[0]] && next[names[0]] ?? 0 > last[names[0]] ?? 0)
      last = next
    }
    // Two commits between two accesses, one of which deletes.
    try patch([(.object(try key(names[1])), #"{"name": "x"}"#)])
    try patch([], deleting: try key(names[2]))
    let next = try times()
    #expect(moved(last, next) == [names[1]] && next[names[2]] == nil)
    // The values of an embedded object are in the text of its owner.
    let transaction = try writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_Contact"))
    let home = try #require(try transaction.columns(of: table).first { $0.name == "home" })
    guard case .link(let inner, let address) = try transaction.value(table, key(names[3]), home.key) else {
      Issue.record("\(names[3]) has no home")
      return
    }
    let street = try #require(try transaction.columns(of: inner).first { $0.name == "street" })
    try transaction.set(inner, address, street.key, .string(Array("moved".utf8)))
    _ = try transaction.commit()
    #expect(try moved(next, times()) == [names[3]])
  }

  @Test("times are dropped when there are too many, and never go back")
  func forgottenTimes() {
    func time(_ seconds: Int64) -> Timestamp { Timestamp(seconds: seconds, nanoseconds: 0) }
    let times = ObjectTimes(limit: 2)
    let one = InodeNumber(101), two = InodeNumber(102), three = InodeNumber(103), four = InodeNumber(104)
    times.set(time(10), of: [one], version: 3)
    times.move(two, to: time(20), version: 4)
    #expect(times.time(of: one, since: 3) == time(10) && times.time(of: one, since: 4) == nil)
    #expect(times.time(of: three, since: 0) == nil)
    times.move(three, to: time(30), version: 5)
    #expect([one, two, three, four].map { times.time(of: $0, since: 5) } == [time(30), time(30), time(30), time(30)])
    #expect(times.time(of: one, since: 6) == nil)
    // A slow clock moves a time forward, too.
    times.move(three, to: time(29), version: 6)
    #expect(times.time(of: three, since: 6) == Timestamp(seconds: 30, nanoseconds: 1))
  }

  @Test("eight threads read complete texts while the realm is replaced and committed to")
  func readersDuringChanges() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree(TreeOptions(), .immutable)
    let end = Date().addingTimeInterval(2)
    let problems = Mutex<[String]>([])
    let reads = Atomic<Int>(0)
    onThreads(9) { number in
      while Date() < end {
        do {
          if number == 0 {
            try scratch.replace(by: reads.load(ordering: .relaxed) % 2 == 0 ? "people" : "many-versions")
            usleep(500)
            continue
          }
          let directories = try tree.list("", attributes: true).filter { !$0.isDot }
          for directory in directories {
            for entry in try tree.list(directory.name, batch: 7, attributes: number % 2 == 0).prefix(40)
            where !entry.isDot {
              let file = try tree.open(entry.inode)
              if file.maySeedPageCache { tree.pageCacheSeeded(file) }
              if (try? JSONSerialization.jsonObject(with: Data(file.wholeText.utf8))) == nil {  // reported below
                problems.withLock { $0.append("\(entry.name): \(file.wholeText)") }
              }
              tree.release(file)
              reads.add(1, ordering: .relaxed)
            }
          }
        } catch let error as FileTreeError where ["stale", "notFound"].contains(error.kind) {
          continue  // the class went away with the file
        } catch {
          problems.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(problems.withLock { Array($0.prefix(3)) }.isEmpty)
    #expect(reads.load(ordering: .relaxed) > 100)
    #expect(tree.tree.namespace.objectInodes.count == 0 && tree.tree.handles.openFiles.inodes.isEmpty)
  }

  @Test("links to a missing object show it once it is created, and count as changed")
  func hiddenLinks() throws {
    let tree = try WritableTree("unresolved-links"), files = tree.tree
    let before = try files.find("Origin/2.json"), text = try files.text("Origin/2.json")
    #expect(text.contains("\"one\": null") && !text.contains("\"many\": [\n    \"live\",\n    \"many\""))
    #expect(tree.put("Target/one.json", "{}") == nil)
    #expect(tree.put("Target/many.json", "{}") == nil)
    let after = try files.find("Origin/2.json"), shown = try files.text("Origin/2.json")
    #expect(shown.contains("\"one\": \"one\""))
    #expect(shown.contains("\"many\": [\n    \"live\",\n    \"many\",\n    \"live\"\n  ]"))
    #expect((after.modifiedSeconds, after.modifiedNanoseconds) > (before.modifiedSeconds, before.modifiedNanoseconds))
    // Hidden values persist through saves of other properties, and of the same text.
    #expect(tree.put("Origin/4.json", try files.text("Origin/4.json")) == nil)
    #expect(tree.put("Origin/4.json", #"{"some": ["live"]}"#) == nil)
    #expect(tree.put("Target/twice.json", "{}") == nil)
    #expect(try files.text("Origin/4.json").components(separatedBy: "\"twice\"").count == 6)
    #expect(try tree.problems() == [])
  }
}
