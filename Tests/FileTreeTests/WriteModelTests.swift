// Random operations by several handles, on a tree without FUSE and on a model of a few lines: what both answer, and
// what both show afterwards, must be the same. SEED=.. replays a run, STEPS=.. and RUNS=.. make it longer.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

/// A tree over a copy of a fixture, and the model of its class `Person`.
private final class Pair {
  let tree: FileTree
  let directory: InodeNumber
  var model: ClassModel
  private let scratch: ScratchRealm
  private let caller = Caller(user: 0, group: 0)
  private var files: [Int: OpenFile] = [:]

  init() throws {
    scratch = try ScratchRealm("people")
    let writer = try RealmWriter(Configuration(path: scratch.file.path))
    // No test depends on how fast the machine is.
    let deletions = RecentDeletions(memory: .seconds(1_000_000))
    tree = try FileTree(writer.realm, writer, options: TreeOptions(), deletions: deletions)
    directory = try tree.find("Person").inode
    var objects: [Int: ClassModel.Properties] = [:]
    for entry in try tree.list("Person") where !entry.isDot {
      let key = try #require(ClassModel.key(entry.name))
      objects[key] = ClassModel.parse(Array(try tree.text("Person/\(entry.name)").utf8))
    }
    model = ClassModel(
      objects,
      defaults: [
        "_id": "[0]", "name": "[\"\"]", "age": "[null]", "email": "[null]", "dog": "[null]", "friends": "[[]]",
        "joined": "[\"1970-01-01T00:00:00Z\"]",
      ]
    )
  }

  deinit {
    for file in files.values { tree.release(file) }
    tree.finish()
  }

  var handles: [Int] { files.keys.sorted() }
  var writingHandles: [Int] { model.handles.filter { $0.value.writes }.keys.sorted() }

  private func inode(_ name: String) throws -> InodeNumber {
    let attributes = try tree.lookup(directory, Array(name.utf8))
    tree.forget(attributes.inode, lookups: 1)
    return attributes.inode
  }

  /// What the file called `name` holds; empty if there is none.
  private func text(_ name: String) -> [UInt8] { (try? tree.text("Person/\(name)")).map { Array($0.utf8) } ?? [] }

  /// Runs one operation on both; the kinds of their errors, "ok" for none.
  func run(_ operation: Operation) -> (tree: String, model: String) {
    switch operation {
    case .open(let id, let name, let access):
      let text = text(name)
      return both {
        let file = try tree.open(try inode(name), access)
        files[id] = file
        if file.maySeedPageCache { tree.pageCacheSeeded(file) }
      } model: {
        try model.open(
          id,
          name,
          writes: access.writes,
          truncates: access.truncates,
          appends: access.appends,
          text: text
        )
      }
    case .create(let id, let name, let isExclusive):
      let text = text(name)
      var access = OpenAccess()
      access.writes = true
      return both {
        let created = try tree.create(
          directory,
          Array(name.utf8),
          permissions: 0o644,
          access,
          isExclusive: isExclusive,
          by: caller
        )
        tree.forget(created.attributes.inode, lookups: 1)
        files[id] = created.file
      } model: {
        try model.create(id, name, isExclusive: isExclusive, text: text)
      }
    case .write(let id, let text, let offset):
      return both {
        guard let file = files[id] else { return }
        try tree.write(file, Array(text.utf8), at: offset)
      } model: {
        try model.write(id, Array(text.utf8), at: offset)
      }
    case .truncate(let id, let size):
      return both {
        guard let file = files[id] else { return }
        var change = MetadataChange()
        change.size = size
        _ = try tree.change(file.inode, file, change, by: caller)
      } model: {
        guard let file = model.handles[id]?.file else { return }
        model.truncate(file, size)
      }
    case .flush(let id):
      return both {
        try files[id].map { try tree.flush($0) }
      } model: {
        try model.flush(id)
      }
    case .synchronize(let id):
      return both {
        try files[id].map { try tree.synchronize($0) }
      } model: {
        try model.synchronize(id)
      }
    case .release(let id):
      return both {
        if let file = files.removeValue(forKey: id) { tree.release(file) }
      } model: {
        model.release(id)
      }
    case .unlink(let name):
      return both {
        try tree.unlink(directory, Array(name.utf8))
      } model: {
        try model.unlink(name)
      }
    case .rename(let name, let newName, let keep):
      return both {
        try tree.rename(
          directory,
          Array(name.utf8),
          to: directory,
          Array(newName.utf8),
          keep ? .keep : .replace,
          by: caller
        )
      } model: {
        // An object that is set aside leaves its text under the new name.
        let text = text(name)
        let isObject = model.files[name] == nil && name != newName
        try model.rename(name, newName, keep: keep)
        if isObject { model.files[newName]?.bytes = text }
      }
    }
  }

  private func both(_ onTree: () throws -> Void, model onModel: () throws -> Void) -> (String, String) {
    // The model first: it reads texts as they are before.
    let expected: String
    do {
      try onModel()
      expected = "ok"
    } catch {
      expected = (error as? ClassModel.Refusal)?.kind ?? "\(error)"
    }
    do {
      try onTree()
      return ("ok", expected)
    } catch {
      return ((error as? FileTreeError)?.kind ?? "\(error)", expected)
    }
  }

  /// What differs between what both show; nil if nothing does.
  func difference() throws -> String? {
    let names = try tree.list("Person").filter { !$0.isDot }.map(\.name).sorted()
    if names != model.names { return "names \(names), expected \(model.names)" }
    for name in names {
      let text = Array(try tree.text("Person/\(name)").utf8)
      if let file = model.files[name] {
        if text != file.bytes { return "\(name) holds \(Self.shown(text)), expected \(Self.shown(file.bytes))" }
      } else if let key = ClassModel.key(name), let expected = model.objects[key] {
        let found = ClassModel.parse(text)
        if found != expected { return "\(name) is \(Self.shown(text)), expected \(expected)" }
      }
      let size = try tree.find("Person/\(name)").size
      let written = model.handles.values.contains { $0.file.object == ClassModel.key(name) && $0.writes }
      if size != text.count && !written { return "\(name) has size \(size), its text has \(text.count)" }
    }
    for (id, file) in files {
      let bytes = try file.read(from: 0, count: .max) { span in span.withUnsafeBytes { Array($0) } }
      let expected = model.handles[id]?.file.bytes ?? []
      if bytes != expected { return "handle \(id) reads \(Self.shown(bytes)), expected \(Self.shown(expected))" }
    }
    return nil
  }

  private static func shown(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

private enum Operation {
  case open(Int, String, OpenAccess)
  case create(Int, String, isExclusive: Bool)
  case write(Int, String, at: Int)
  case truncate(Int, Int)
  case flush(Int)
  case synchronize(Int)
  case release(Int)
  case unlink(String)
  case rename(String, String, keep: Bool)
}

/// Picks operations that are worth trying.
private struct OperationSource {
  var random: SplitMix64
  private var lastHandle = 0
  private static let names = [
    "4.json", "11.json", "18.json", "60.json", "1000.json", "1001.json", "a.tmp", "x.json~", ".4.json.swp", "notes",
  ]

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private mutating func name() -> String { Self.names[random.below(Self.names.count)] }

  private mutating func text() -> String {
    let age = random.below(100)
    switch random.below(12) {
    case 0, 1, 2: return "{\"age\": \(age)}"
    case 3: return "{\"age\": null, \"friends\": [4, 18]}"
    case 4: return "{\"friends\": [\(["4", "60", "1000", "11, 11", ""][random.below(5)])]}\n"
    case 5: return "{\"name\": \"n\(age)\"}"
    case 6: return "{\"_id\": \([4, 11, 1000, 5][random.below(4)]), \"age\": \(age)}"
    case 7: return "{\"age\": \"x\"}"
    case 8: return "{\"age\": \(age)"
    case 9: return "hello"
    case 10: return "{\"friends\": [99999]}"
    default: return "{\"unknown\": 1}"
    }
  }

  mutating func next(_ pair: Pair) -> Operation {
    let handles = pair.handles, writing = pair.writingHandles
    let choice = random.below(100)
    if !writing.isEmpty && choice < 30 {
      let id = writing[random.below(writing.count)]
      let offset = random.below(5) == 0 ? random.below(40) : 0
      return .write(id, text(), at: offset)
    }
    if !writing.isEmpty && choice < 35 { return .truncate(writing[random.below(writing.count)], random.below(3) * 9) }
    if !handles.isEmpty && choice < 48 { return .flush(handles[random.below(handles.count)]) }
    if !handles.isEmpty && choice < 51 { return .synchronize(handles[random.below(handles.count)]) }
    if !handles.isEmpty && (choice < 64 || handles.count > 6) {
      return .release(handles[random.below(handles.count)])
    }
    lastHandle += 1
    switch random.below(10) {
    case 0, 1, 2:
      var access = OpenAccess()
      access.writes = random.below(4) > 0
      access.truncates = access.writes && random.below(2) == 0
      access.appends = access.writes && random.below(5) == 0
      return .open(lastHandle, name(), access)
    case 3, 4: return .create(lastHandle, name(), isExclusive: random.below(4) == 0)
    case 5, 6: return .unlink(name())
    default: return .rename(name(), name(), keep: random.below(6) == 0)
    }
  }
}

@Suite("the write half of the tree, against a model")
struct WriteModelTests {
  private static func number(_ name: String, _ usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? usual
  }

  @Test("random operations by several handles do what the model says")
  func randomOperations() throws {
    let seed = Self.number("SEED", 1)
    for run in 0..<Self.number("RUNS", 10) {
      var source = OperationSource(seed: UInt64(seed + run))
      let pair = try Pair()
      var trace: [String] = []
      for _ in 0..<Self.number("STEPS", 150) {
        let operation = source.next(pair)
        let outcome = pair.run(operation)
        trace.append("\(operation) -> \(outcome.tree)")
        let difference = outcome.tree == outcome.model ? try pair.difference() : "expected \(outcome.model)"
        guard let difference else { continue }
        Issue.record("SEED=\(seed + run) RUNS=1: \(difference)\n\(trace.suffix(40).joined(separator: "\n"))")
        return
      }
    }
  }
}
