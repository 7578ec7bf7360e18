// Transactions over several files: visibility, commits and conflicts, and uncommitted changes. TRANSACTION_RUNS=n runs
// more random interleavings; SEED=n repeats one.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

private let staged = ".realm/tx/t"

@Suite("Transactions over several files")
struct StagedTransactionTests {
  /// A tree with the classes Item, which has a primary key, and Free, which has none.
  private func items(change: (inout TreeOptions) -> Void = { _ in }) throws -> WritableTree {
    let tree = try WritableTree("empty", change: change)
    let schema = """
      {"schemaVersion": 1, "schema": [
        {"name": "Item", "primaryKey": "_id", "properties": {"_id": "int", "a": "int", "b": "int", "to": "Item",
          "all": "Item[]", "some": "Item<>", "by": "Item{}", "any": "mixed"}},
        {"name": "Free", "properties": {"n": "int"}}]}
      """
    try #require(tree.put(".realm/schema.json", schema) == nil)
    for id in 0..<4 { try #require(tree.put("Item/\(id).json", #"{"a": \#(id), "b": 0}"#) == nil) }
    return tree
  }

  private func begin(_ tree: WritableTree, _ path: String = staged) throws {
    let parts = path.split(separator: "/")
    let parent = try tree.tree.find(parts.dropLast().joined(separator: "/")).inode
    _ = try tree.tree.makeDirectory(parent, Array((parts.last ?? "").utf8), by: WritableTree.me)
  }

  private func commit(_ tree: WritableTree, _ path: String = staged) -> String? { tree.put("\(path)/.commit", "1\n") }

  private func exists(_ tree: WritableTree, _ path: String) -> Bool { (try? tree.tree.find(path)) != nil }

  @Test("only the user who began a transaction, or root, can end it")
  func belongs() throws {
    let tree = try items(), home = try tree.tree.find(".realm/tx").inode
    let owner = Caller(user: 1000, group: 1000), other = Caller(user: 1001, group: 1001)
    let directory = try tree.tree.makeDirectory(home, Array("t".utf8), permissions: 0o700, by: owner)
    #expect(directory.owner == 1000 && directory.group == 1000 && directory.permissions == 0o700)
    #expect(try tree.tree.attributes(home).permissions & 0o1000 != 0)
    for name in [".commit", ".test", ".abort"] {
      let file = try tree.tree.find("\(staged)/\(name)")
      #expect(file.owner == 1000 && file.permissions == 0o600)
    }
    #expect(failure { try tree.tree.removeDirectory(home, Array("t".utf8), by: other) }?.kind == "refused forbidden")
    let abort = try tree.tree.find("\(staged)/.abort").inode
    var access = OpenAccess()
    (access.writes, access.truncates) = (true, true)
    #expect(failure { try tree.tree.open(abort, access, by: other) }?.kind == "refused forbidden")
    #expect(exists(tree, staged))
    try tree.tree.removeDirectory(home, Array("t".utf8), by: owner)
    _ = try tree.tree.makeDirectory(home, Array("t".utf8), permissions: 0o700, by: owner)
    try tree.tree.removeDirectory(home, Array("t".utf8), by: Caller(user: 0, group: 0))
    #expect(!exists(tree, staged))
  }

  @Test("a transaction reports its outcome, even after its end and when its name is reused")
  func outcomes() throws {
    let tree = try items(), home = try tree.tree.find(".realm/tx").inode, name = Array("t".utf8)
    func outcome(_ directory: InodeNumber, by user: UInt32 = 0) throws -> TransactionOutcome? {
      let caller = Caller(user: user, group: user)
      return TransactionOutcome(try tree.tree.extendedAttribute(directory, TransactionOutcome.attribute, by: caller))
    }
    let first = try tree.tree.makeDirectory(home, name, by: WritableTree.me).inode
    #expect(try outcome(first) == .open)
    #expect(failure { try outcome(first, by: 7) }?.kind == "refused noAccess")
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": "x"}"#) != nil)
    #expect(commit(tree) != nil)
    #expect(try outcome(first) == .open)
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 10}"#) == nil)
    #expect(commit(tree) == nil)
    #expect(try outcome(first) == .committed(try tree.version))
    let second = try tree.tree.makeDirectory(home, name, by: WritableTree.me).inode
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 11}"#) == nil)
    #expect(tree.put("\(staged)/.abort", "1\n") == nil)
    let third = try tree.tree.makeDirectory(home, name, by: WritableTree.me).inode
    #expect(try outcome(second) == .dropped(by: WritableTree.me.user))
    #expect(try outcome(third) == .open)
    #expect(commit(tree) == nil)
    #expect(try outcome(third) == .committed(try tree.version))
    let last = try tree.tree.makeDirectory(home, name, by: WritableTree.me).inode
    tree.tree.finish()
    #expect(try outcome(last) == .dropped(by: nil))
    for outcome in [TransactionOutcome.open, .committed(3), .dropped(by: 4), .dropped(by: nil)] {
      #expect(TransactionOutcome(outcome.description) == outcome)
    }
    for text in ["", "committed", "committed x", "open 3", "dropped x", "dropped 1 2"] {
      #expect(TransactionOutcome(text) == nil)
    }
  }

  @Test("changes are visible only in the transaction until it is committed as one version")
  func commit() throws {
    let tree = try items(), version = try tree.version, before = try tree.texts()
    try begin(tree)
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 10}"#) == nil)
    #expect(tree.put("\(staged)/Item/9.json", #"{"a": 9, "to": 1}"#) == nil)
    try tree.unlink("\(staged)/Item/2.json")
    #expect(tree.put("\(staged)/Free/new.json", #"{"n": 7}"#) == nil)
    #expect(try tree.texts() == before)
    #expect(try tree.version == version)
    #expect(try tree.tree.text("\(staged)/Item/.count") == "4\n")
    #expect(
      try tree.tree.list("\(staged)/Item/.where/a >= 9").map(\.name).filter { $0.hasSuffix("json") }.sorted() == [
        "1.json", "9.json",
      ]
    )
    #expect(commit(tree) == nil)
    #expect(try tree.version == version + 1)
    #expect(!exists(tree, staged))
    #expect(!exists(tree, "Item/2.json"))
    #expect(try tree.tree.text("Item/9.json").contains(#""to": 1"#))
    #expect(try tree.tree.text("Item/1.json").contains(#""a": 10"#))
    #expect(try tree.tree.list("Free").filter { $0.name.hasSuffix("json") }.count == 1)
    #expect(try tree.problems().isEmpty)
  }

  @Test("new objects without a primary key do not conflict unless named by object key; links to them are adjusted")
  func keylessObjects() throws {
    let tree = try WritableTree.ofLinks()
    func names() throws -> [String] {
      try tree.tree.list("Free").map(\.name).filter { $0.hasSuffix(".json") }.sorted()
    }
    func texts() throws -> [String] { try names().map { try tree.tree.text("Free/\($0)") } }
    try begin(tree)
    #expect(tree.put("\(staged)/Free/one.json", #"{"n": 1, "to": 1}"#) == "write: refused invalid", "not there yet")
    #expect(tree.put("\(staged)/Free/one.json", #"{"n": 1}"#) == nil)
    #expect(tree.put("\(staged)/Free/two.json", #"{"n": 2, "to": 0}"#) == nil)
    #expect(tree.put("\(staged)/Free/one.json", #"{"to": 1}"#) == nil)
    #expect(tree.put("\(staged)/Holder/a.json", #"{"free": [1, 0]}"#) == nil)
    #expect(tree.put("Free/others.json", #"{"n": 10}"#) == nil)
    #expect(tree.put("\(staged)/.test", "1\n") == nil)
    #expect(commit(tree) == nil)
    #expect(try names() == ["0.json", "2.json", "1.json"].sorted())
    let all = try texts()
    #expect(all[0].contains(#""n": 10"#) && all[0].contains(#""to": null"#))
    #expect(all[1].contains(#""n": 2"#) && all[1].contains(#""to": 2"#))
    #expect(all[2].contains(#""n": 1"#) && all[2].contains(#""to": 1"#))
    #expect(try tree.tree.text("Holder/a.json").contains("\"free\": [\n    1,\n    2\n  ]"))
    // A chosen key is kept, or refused.
    try begin(tree)
    #expect(tree.put("\(staged)/Free/7.json", #"{"n": 7}"#) == nil)
    #expect(tree.put("Free/7.json", #"{"n": 70}"#) == nil)
    #expect(commit(tree) == "open: refused conflict")
    #expect(try tree.tree.text("Free/7.json").contains(#""n": 70"#))
    #expect(try tree.problems().isEmpty)
  }

  @Test("a transaction on a file that was never written to, such as a copy, keeps its snapshot")
  func beforeFirstWrite() throws {
    let tree = try WritableTree("streaming-form")
    let name = try #require(try tree.tree.list("").first { !$0.isDot }?.name)
    try begin(tree)
    let files = try tree.tree.list("\(staged)/\(name)").map(\.name).filter { $0.hasSuffix(".json") }
    let texts = try files.map { try tree.tree.text("\(staged)/\(name)/\($0)") }
    #expect(!files.isEmpty)
    for number in 0..<5 {
      #expect(tree.put("\(name)/new.json", "{}") == nil)
      for file in try tree.tree.list(name).map(\.name) where file.hasSuffix(".json") {
        try tree.unlink("\(name)/\(file)")
      }
      #expect(try files.map { try tree.tree.text("\(staged)/\(name)/\($0)") } == texts, "\(number)")
    }
    #expect(tree.put("\(staged)/\(name)/other.json", "{}") == nil)
    let count = try tree.texts().count
    #expect(commit(tree) == nil)
    #expect(try tree.texts().count == count + 1)
    #expect(try tree.problems().isEmpty)
  }

  @Test("truncating .commit commits, as when a shell redirects to it; the data written afterwards is ignored")
  func emptied() throws {
    let tree = try items(), shell = Caller(user: 0, group: 0, process: 2_000_000_001), version = try tree.version
    try begin(tree)
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 10}"#) == nil)
    let file = try tree.open("\(staged)/.commit", truncates: false, by: shell)
    var change = MetadataChange()
    change.size = 0
    _ = try tree.tree.change(tree.tree.find("\(staged)/.commit").inode, nil, change, by: shell)
    #expect(try tree.version == version + 1)
    #expect(throws: Never.self) { try tree.write(file, "1\n") }
    #expect(throws: Never.self) { try tree.tree.flush(file, by: shell) }
    tree.tree.release(file)
    #expect(try tree.version == version + 1)
  }

  @Test("touching .commit commits, .test checks, and .abort and rmdir discard")
  func commands() throws {
    let tree = try items(), version = try tree.version
    var now = MetadataChange()
    now.modified = .now
    for (command, isThere, committed) in [(".test", true, 0), (".abort", false, 0), (".commit", false, 1)] {
      try begin(tree)
      #expect(tree.put("\(staged)/Item/1.json", #"{"a": 77}"#) == nil)
      _ = try tree.tree.change(tree.tree.find("\(staged)/\(command)").inode, nil, now, by: WritableTree.me)
      #expect(exists(tree, staged) == isThere, "\(command)")
      #expect(try tree.version == version + UInt64(committed), "\(command)")
      if isThere { try tree.tree.removeDirectory(tree.tree.find(".realm/tx").inode, Array("t".utf8)) }
      #expect(!exists(tree, staged))
    }
    #expect(try tree.tree.text("Item/1.json").contains(#""a": 77"#))
  }

  @Test("new objects can link to each other in any order, and show their links before the commit")
  func order() throws {
    let tree = try items()
    try begin(tree)
    let link = #"{"$ref": "Item", "$id": 21}"#
    let texts = [
      20: #"{"to": 21, "all": [21, 0, 22, 21], "some": [22, 21], "by": {"x": 21, "y": null}, "any": [\#(link)]}"#,
      21: #"{"to": 20, "all": [20]}"#, 22: #"{"to": 22, "a": 5}"#,
    ]
    let failure = tree.put("\(staged)/Item/20.json", texts[20] ?? "")
    try #require(failure == nil, "\(tree.log)")
    #expect(try tree.tree.text("\(staged)/Item/20.json").contains(#""to": 21"#))
    #expect(tree.put("\(staged)/.commit", "1\n") == "open: refused invalid")
    #expect(try tree.tree.text("\(staged)/.log").contains(#"there is no Item with the primary key \"21\""#))
    // Rendered text can be written back.
    let shown = try tree.tree.text("\(staged)/Item/20.json")
    #expect(tree.put("\(staged)/Item/20.json", shown) == nil)
    #expect(try tree.tree.text("\(staged)/Item/20.json") == shown)
    // A link that shows can be cleared and set again.
    #expect(tree.put("\(staged)/Item/20.json", #"{"to": null, "all": [0]}"#) == nil)
    #expect(try tree.tree.text("\(staged)/Item/20.json").contains(#""to": null"#))
    #expect(tree.put("\(staged)/Item/20.json", shown) == nil)
    #expect(try tree.tree.text("\(staged)/Item/20.json") == shown)
    for id in [22, 21] { #expect(tree.put("\(staged)/Item/\(id).json", texts[id] ?? "") == nil) }
    #expect(commit(tree) == nil)
    #expect(try tree.tree.text("Item/20.json") == shown)
    #expect(try tree.tree.text("Item/21.json").contains(#""to": 20"#))
    #expect(try tree.tree.text("Item/22.json").contains(#""to": 22"#))
    #expect(try tree.problems().isEmpty)
  }

  @Test("a rejected text prevents the commit until it is corrected")
  func refusal() throws {
    let tree = try items(), version = try tree.version
    try begin(tree)
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 1000}"#) == nil)
    #expect(tree.put("\(staged)/Item/2.json", #"{"a": "x"}"#) == "write: refused invalid")
    #expect(commit(tree) == "open: refused invalid")
    #expect(try tree.tree.text("\(staged)/.log").contains("Item/2.json"))
    #expect(try tree.version == version)
    #expect(tree.put("\(staged)/Item/2.json", #"{"a": 2000}"#) == nil)
    #expect(commit(tree) == nil)
    #expect(try tree.tree.text("Item/2.json").contains("2000"))
    try begin(tree)
    #expect(tree.put("\(staged)/.realm/schema.json", "{") == "close: refused invalid")
    #expect(commit(tree) == "open: refused invalid")
    try tree.unlink("\(staged)/.realm/rejected/schema.json")
    #expect(commit(tree) == nil)
  }

  @Test("objects changed elsewhere are conflicts, which are all reported, and nothing is committed")
  func conflicts() throws {
    let tree = try items()
    try begin(tree)
    for id in 0..<3 { #expect(tree.put("\(staged)/Item/\(id).json", #"{"a": 100}"#) == nil) }
    #expect(tree.put("\(staged)/Item/30.json", "{}") == nil)
    try tree.unlink("\(staged)/Item/3.json")
    let other = try RealmWriter(Configuration(path: tree.path))
    #expect(tree.put("Item/0.json", #"{"b": 1}"#) == nil)
    try tree.unlink("Item/1.json")
    #expect(tree.put("Item/30.json", #"{"b": 1}"#) == nil)
    // A link to an object that is deleted there.
    let transaction = try other.begin()
    let table = try #require(try transaction.tableKey(named: "class_Item"))
    let to = try #require(try transaction.columns(of: table).first { $0.name == "to" })
    let three = try #require(try transaction.objectKey(table, primaryKey: .int(3)))
    _ = try transaction.create(table, primaryKey: .int(40), values: [(to.key, .link(table, three))])
    _ = try transaction.commit()
    let before = try tree.texts(), version = try tree.version
    #expect(commit(tree) == "open: refused conflict")
    #expect(try tree.texts() == before)
    #expect(try tree.version == version)
    let log = try tree.tree.text("\(staged)/.log")
    for name in ["Item/0.json", "Item/1.json"] { #expect(log.contains(name)) }
    #expect(!log.contains("Item/2.json"))
    // Without these two, the others are found.
    try tree.tree.removeDirectory(tree.tree.find(".realm/tx").inode, Array("t".utf8))
    try begin(tree)
    try tree.unlink("\(staged)/Item/3.json")
    #expect(tree.put("\(staged)/Item/31.json", "{}") == nil)
    #expect(tree.put("Item/31.json", "{}") == nil)
    #expect(tree.put("Item/2.json", #"{"to": 3}"#) == nil)
    #expect(commit(tree) == "open: refused conflict")
    #expect(try tree.tree.text("\(staged)/.log").contains("links to it now"))
    #expect(exists(tree, "Item/3.json"))
  }

  @Test("a schema is changed together with its objects; a concurrent change of it is a conflict")
  func schema() throws {
    let tree = try items()
    let text = try tree.tree.text(".realm/schema.json")
    let wider = text.replacingOccurrences(of: #""n": {"#, with: #""more": {"type": "string"}, "n": {"#)
    try begin(tree)
    #expect(tree.put("\(staged)/.realm/schema.json", wider) == nil)
    #expect(tree.put("\(staged)/Free/3.json", #"{"more": "new"}"#) == nil)
    #expect(commit(tree) == nil)
    #expect(try tree.tree.text("Free/3.json").contains(#""more": "new""#))
    try begin(tree)
    try begin(tree, "\(staged)/Kind")
    _ = try tree.tree.makeDirectory(.root, Array("Sort".utf8))
    #expect(commit(tree) == "open: refused conflict")
    #expect(try tree.problems().isEmpty)
  }

  @Test("after the end nothing is saved, and files cannot be renamed out of a transaction")
  func end() throws {
    let tree = try items(), before = try tree.texts()
    try begin(tree)
    let file = try tree.open("\(staged)/Item/1.json")
    try tree.write(file, #"{"a": 5"#)
    #expect(
      tree.failed("rename") { try tree.rename("\(staged)/Item/1.json", to: "Item/x") } == "rename: refused otherTree"
    )
    try tree.tree.removeDirectory(tree.tree.find(".realm/tx").inode, Array("t".utf8))
    #expect(tree.failed("write") { try tree.write(file, "}", at: 7) } == nil)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: stale")
    tree.tree.release(file)
    #expect(try tree.texts() == before)
  }

  @Test("the memory of transactions is limited, reused and released")
  func memory() throws {
    let tree = try items { $0.memoryLimit = 4 << 20 }
    try begin(tree)
    for n in 0..<3000 { try #require(tree.put("\(staged)/Item/1.json", #"{"a": \#(n)}"#) == nil) }
    let lines = (0..<60_000).map { #"{"_id": \#($0 + 100), "any": "\#(String(repeating: "x", count: 60))"}"# }
    var refusal: String?
    for start in stride(from: 0, to: lines.count, by: 5000) where refusal == nil {
      refusal = tree.put("\(staged)/Item/.all.jsonl", lines[start..<start + 5000].joined(separator: "\n") + "\n")
    }
    #expect(refusal == "close: refused noSpace")
    try tree.tree.removeDirectory(tree.tree.find(".realm/tx").inode, Array("t".utf8))
    #expect(tree.tree.tree.subtrees.transactions.budget.used == 0)
    try begin(tree)
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 1}"#) == nil)
    #expect(commit(tree) == nil)
  }

  @Test("transactions that are open at unmount are discarded and logged")
  func finish() throws {
    let tree = try items(), version = try tree.version
    try begin(tree)
    #expect(tree.put("\(staged)/Item/1.json", #"{"a": 5}"#) == nil)
    tree.tree.finish()
    #expect(try tree.version == version)
    #expect(tree.log.contains { $0.contains(".realm/tx/t: still open, dropped: 1 changed object is lost") })
  }

  // MARK: random interleavings

  private static let environment = ProcessInfo.processInfo.environment
  private static let seeds: Range<UInt64> =
    environment["SEED"].flatMap(UInt64.init).map { $0..<$0 + 1 }
    ?? 0..<(environment["TRANSACTION_RUNS"].flatMap(UInt64.init) ?? 12)

  /// The objects: how they were created, and their values.
  private typealias State = [Int: [Int]]

  @Test("concurrent transactions, saves and programs: all or nothing, with exactly the expected conflicts")
  func interleavings() throws {
    for seed in Self.seeds {
      do { try interleave(seed) } catch { Issue.record("SEED=\(seed): \(error)") }
    }
  }

  private func interleave(_ seed: UInt64) throws {
    let tree = try items(), other = try RealmWriter(Configuration(path: tree.path))
    var random = SplitMix64(seed: seed)
    var main: State = [:]
    for id in 0..<4 { main[id] = [id, 0] }
    var open: [String: (base: State, now: State)] = [:]
    // An object that is deleted and created again may be the same one or not, so none is created again.
    var next = 10
    for step in 0..<60 {
      let name = "\(".realm/tx/")\(random.below(2))"
      switch random.below(10) {
      case 0...4:
        if open[name] == nil {
          try begin(tree, name)
          open[name] = (main, main)
          continue
        }
        let now = open[name]?.now ?? [:]
        open[name]?.now = try edit(tree, name + "/", now, &random, &next)
      case 5...6: main = try edit(tree, "", main, &random, &next)
      case 7:
        guard let id = main.keys.sorted().randomElement(using: &random) else { continue }
        let transaction = try other.begin(), value = random.below(3)
        let table = try #require(try transaction.tableKey(named: "class_Item"))
        let b = try #require(try transaction.columns(of: table).first { $0.name == "b" })
        let key = try #require(try transaction.objectKey(table, primaryKey: .int(Int64(id))))
        try transaction.set(table, key, b.key, .int(Int64(value)))
        _ = try transaction.commit()
        main[id]?[1] = value
      default:
        guard let (base, now) = open[name] else { continue }
        let mine = Set(base.keys).union(now.keys).filter { base[$0] != now[$0] }
        let isConflict = mine.contains { main[$0] != base[$0] }
        let isTest = random.below(3) == 0
        let failure = tree.put("\(name)/\(isTest ? ".test" : ".commit")", "1\n")
        try #require(failure == (isConflict ? "open: refused conflict" : nil), "step \(step)")
        if isTest { break }
        if !isConflict { for id in mine { main[id] = now[id] } }
        open[name] = nil
        if isConflict {
          try tree.tree.removeDirectory(tree.tree.find(".realm/tx").inode, Array(name.suffix(1).utf8))
        }
      }
      try #require(try state(tree, "") == main, "step \(step)")
      for (name, (_, now)) in open { try #require(try state(tree, name + "/") == now, "step \(step), \(name)") }
    }
    #expect(try tree.problems().isEmpty)
  }

  private func edit(
    _ tree: WritableTree,
    _ root: String,
    _ state: State,
    _ random: inout SplitMix64,
    _ next: inout Int
  ) throws -> State {
    var state = state
    let ids = state.keys.sorted(), property = random.below(2), value = random.below(3)
    if ids.isEmpty || random.below(5) == 0 {
      // Other programs may create the same one.
      let id = next + random.below(2)
      if state[id] != nil || (try? tree.tree.find("Item/\(id).json")) != nil { return state }
      next += random.below(2)
      try #require(tree.put("\(root)Item/\(id).json", #"{"a": \#(value)}"#) == nil)
      state[id] = [value, 0]
    } else if random.below(6) == 0 {
      let id = ids[random.below(ids.count)]
      try tree.unlink("\(root)Item/\(id).json")
      state[id] = nil
      if id >= next { next = id + 1 }
    } else {
      let id = ids[random.below(ids.count)]
      let text = #"{"\#(["a", "b"][property])": \#(value)}"#
      try #require(tree.put("\(root)Item/\(id).json", text) == nil)
      state[id]?[property] = value
    }
    return state
  }

  private func state(_ tree: WritableTree, _ root: String) throws -> State {
    var state: State = [:]
    for line in try allLines(tree, "\(root)Item") {
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      state[try #require(object["_id"] as? Int)] = [
        try #require(object["a"] as? Int), try #require(object["b"] as? Int),
      ]
    }
    return state
  }

  private func allLines(_ tree: WritableTree, _ directory: String) throws -> [String] {
    try tree.tree.list(directory).filter { $0.name.hasSuffix(".json") }
      .map { try tree.tree.text("\(directory)/\($0.name)").replacingOccurrences(of: "\n", with: "") }
  }
}
