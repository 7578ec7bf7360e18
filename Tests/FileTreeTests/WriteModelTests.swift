// Random operations by several handles, on a tree without FUSE and on a model of a few lines: both must return the same
// results and have the same content afterwards. SEED=n repeats a run; STEPS=n and RUNS=n make it longer.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

/// A tree over a copy of a fixture, and the model of its class `Person`.
private final class Pair {
  let tree: FileTree
  private let writer: RealmWriter
  /// The classes of the fixture.
  private let classes: Set<String>
  let directory: InodeNumber
  var model: ClassModel
  private let scratch: ScratchRealm
  private let caller = WritableTree.me
  private var files: [Int: OpenFile] = [:]

  init() throws {
    scratch = try ScratchRealm("people")
    writer = try RealmWriter(Configuration(path: scratch.file.path))
    var options = TreeOptions()
    options.createsClasses = true
    tree = try FileTree(writer.realm, writer, options: options)
    directory = try tree.find("Person").inode
    classes = Set(try tree.list("").filter { !$0.isDot }.map(\.name))
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

  /// The content of the file called `name`; empty if there is none.
  private func text(_ name: String) -> [UInt8] { (try? tree.text("Person/\(name)")).map { Array($0.utf8) } ?? [] }

  /// Runs one operation on both. Returns the kinds of their errors, "ok" for none.
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
        try tree.unlink(directory, Array(name.utf8), by: caller)
      } model: {
        try model.unlink(name)
      }
    case .rename(let name, let newName, let rule):
      return both {
        try tree.rename(directory, Array(name.utf8), to: directory, Array(newName.utf8), rule, by: caller)
      } model: {
        if case .exchange = rule { return try model.exchange(name, newName, text) }
        // An object that is set aside leaves its text under the new name.
        let text = text(name)
        let isObject = model.files[name] == nil && name != newName
        try model.rename(name, newName, keep: rule == .keep)
        if isObject { model.files[newName]?.bytes = text }
      }
    case .makeDirectory(let name, let isClass):
      return both {
        _ = try tree.makeDirectory(isClass ? .root : directory, Array(name.utf8))
      } model: {
        if isClass { try model.makeClass(name) } else { try model.makeDirectory(name) }
      }
    case .removeDirectory(let name, let isClass):
      return both {
        try tree.removeDirectory(isClass ? .root : directory, Array(name.utf8))
      } model: {
        if isClass { try model.removeClass(name) } else { try model.removeDirectory(name) }
      }
    }
  }

  private func both(_ onTree: () throws -> Void, model onModel: () throws -> Void) -> (String, String) {
    // The model comes first: it reads the texts before the change.
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

  var version: UInt64 { get throws { try writer.realm.latest().version } }

  /// The difference between the contents of both; nil if there is none.
  func difference() throws -> String? {
    let shown = Set(try tree.list("").filter { !$0.isDot }.map(\.name))
    let expected = classes.union(model.emptyClasses)
    if shown != expected { return "classes \(shown.sorted()), expected \(expected.sorted())" }
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
      // While an object is open, the size may be that of the content of a handle.
      let open = model.handles.values.filter { $0.file.object == ClassModel.key(name) }.map(\.file.bytes.count)
      if size != text.count && !open.contains(size) { return "\(name) has size \(size), its text has \(text.count)" }
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
  case rename(String, String, RenameRule)
  case makeDirectory(String, isClass: Bool)
  case removeDirectory(String, isClass: Bool)

  /// The handle that must be open for it.
  var handle: Int? {
    switch self {
    case .write(let id, _, _), .truncate(let id, _), .flush(let id), .synchronize(let id), .release(let id): id
    case .open, .create, .unlink, .rename, .makeDirectory, .removeDirectory: nil
    }
  }

  /// The maximum number of commits that it makes.
  var commits: UInt64 {
    switch self {
    case .open, .create, .write, .truncate: 0
    case .flush, .synchronize, .release, .unlink, .rename, .makeDirectory, .removeDirectory: 1
    }
  }
}

/// Generates operations with interesting effects.
private struct OperationSource {
  var random: SplitMix64
  private var lastHandle = 0
  /// The remaining operations of a program.
  private var plan: [Operation] = []
  private static let names = [
    "4.json", "11.json", "18.json", "60.json", "1000.json", "1001.json", "a.tmp", "x.json~", ".4.json.swp", "notes",
  ]

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private mutating func name() -> String { Self.names[random.below(Self.names.count)] }

  private mutating func className() -> String { ["Person", "New", "Other"][random.below(3)] }

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

  private mutating func newHandle() -> Int {
    lastHandle += 1
    return lastHandle
  }

  /// Sequences of editors and other programs, which random operations rarely produce.
  private mutating func program() -> [Operation] {
    let object = Self.names[random.below(6)], other = Self.names[6 + random.below(4)], first = newHandle()
    let scratch = Self.names[6 + random.below(4)], second = newHandle(), text = text()
    var access = OpenAccess()
    access.writes = true
    access.truncates = true
    let save: [Operation] = [
      .create(first, object, isExclusive: false), .write(first, text, at: 0), .flush(first), .release(first),
    ]
    switch random.below(5) {
    case 0: return [.rename(object, other, .replace)] + save + [.unlink(other)]
    case 1: return [.unlink(object)] + save
    case 2:
      return [.create(first, other, isExclusive: false), .write(first, text, at: 0), .release(first)]
        + [.rename(other, object, .replace)]
    case 3:
      // Two programs that change the same property: later closes of the first one save nothing.
      let ages = (random.below(100), random.below(100))
      return [.open(first, object, access), .write(first, "{\"age\": \(ages.0)}", at: 0), .flush(first)]
        + [.open(second, object, access), .write(second, "{\"age\": \(ages.1)}", at: 0), .flush(second)]
        + [.flush(first), .release(second), .release(first)]
    default:
      return [.create(first, other, isExclusive: false), .create(second, scratch, isExclusive: false)]
        + [.rename(other, scratch, .exchange), .write(first, text, at: 0), .release(first), .release(second)]
        + [.rename(scratch, object, .replace), .unlink(other)]
    }
  }

  mutating func next(_ pair: Pair) -> Operation {
    if plan.isEmpty, random.below(12) == 0 { plan = program() }
    let handles = pair.handles, writing = pair.writingHandles
    // A file that could not be opened is not written to.
    while let id = plan.first?.handle, !handles.contains(id) { plan.removeFirst() }
    // Other operations are interleaved.
    if !plan.isEmpty, random.below(8) > 0 { return plan.removeFirst() }
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
    switch random.below(12) {
    case 0, 1, 2:
      var access = OpenAccess()
      access.writes = random.below(4) > 0
      access.truncates = access.writes && random.below(2) == 0
      access.appends = access.writes && random.below(5) == 0
      return .open(newHandle(), name(), access)
    case 3, 4: return .create(newHandle(), name(), isExclusive: random.below(4) == 0)
    case 5, 6: return .unlink(name())
    case 7, 8, 9:
      return .rename(name(), name(), [.keep, .exchange, .replace, .replace, .replace, .replace][random.below(6)])
    case 10:
      let isClass = random.below(4) > 0
      return .makeDirectory(isClass ? className() : name(), isClass: isClass)
    default:
      let isClass = random.below(4) > 0
      return .removeDirectory(isClass ? className() : name(), isClass: isClass)
    }
  }

}

@Suite("the write half of the tree, against a model")
struct WriteModelTests {
  private static func number(_ name: String, _ usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? usual
  }

  @Test("random operations by several handles match the model")
  func randomOperations() throws {
    let seed = Self.number("SEED", 1)
    for run in 0..<Self.number("RUNS", 10) {
      var source = OperationSource(seed: UInt64(seed + run))
      let pair = try Pair()
      var trace: [String] = []
      for _ in 0..<Self.number("STEPS", 150) {
        let operation = source.next(pair), version = try pair.version
        let outcome = pair.run(operation)
        let commits = try pair.version - version
        trace.append("\(operation) -> \(outcome.tree)")
        var difference = outcome.tree == outcome.model ? try pair.difference() : "expected \(outcome.model)"
        if commits > operation.commits { difference = "\(commits) commits, expected \(operation.commits)" }
        guard let difference else { continue }
        Issue.record("SEED=\(seed + run) RUNS=1: \(difference)\n\(trace.suffix(40).joined(separator: "\n"))")
        return
      }
    }
  }

  @Test("the names under which objects were created refer to exactly these objects")
  func aliases() throws {
    let seed = Self.number("SEED", 1)
    for run in 0..<Self.number("RUNS", 4) {
      var random = SplitMix64(seed: UInt64(seed + run))
      let pair = try AliasPair()
      var trace: [String] = []
      for step in 0..<Self.number("STEPS", 60) {
        let name = ["a.json", "b.json", "c d.json", "é.json"][random.below(4)]
        let choice = random.below(8)
        trace.append("\(choice) \(name) n=\(step)")
        try pair.run(choice, name, step)
        guard let difference = try pair.difference() else { continue }
        Issue.record("SEED=\(seed + run) RUNS=1: \(difference)\n\(trace.joined(separator: "\n"))")
        return
      }
    }
  }
}

/// A class without a primary key, whose objects may be created by any name, and a model of those names.
private final class AliasPair {
  private let tree: WritableTree
  /// The property `n` of the object that each name resolves to.
  private var values: [String: Int] = [:]

  init() throws { tree = try WritableTree.ofLinks() }

  /// The names that a listing has, by the property `n` of their objects.
  private func listed() throws -> [Int: String] {
    var names: [Int: String] = [:]
    for entry in try tree.tree.list("Free") where !entry.isDot { names[try value(entry.name) ?? -1] = entry.name }
    return names
  }

  private func value(_ name: String) throws -> Int? {
    let object = try JSONSerialization.jsonObject(with: Data(tree.tree.text("Free/\(name)").utf8)) as? [String: Any]
    return object?["n"] as? Int
  }

  /// Makes one change, of the kind `choice`. An object that it saves gets the number `n`.
  func run(_ choice: Int, _ name: String, _ n: Int) throws {
    let text = "{\"n\": \(n)}"
    switch choice {
    case 0, 1, 2:
      #expect(tree.put("Free/\(name)", text) == nil)
      values[name] = n
    case 3, 4:
      #expect(tree.put("Free/new.tmp", text) == nil)
      try tree.rename("Free/new.tmp", to: "Free/\(name)")
      values[name] = n
    case 5:
      #expect(failure { try tree.unlink("Free/\(name)") }?.kind == (values[name] == nil ? "notFound" : nil))
      values[name] = nil
    case 6:
      // By the name in the listing.
      guard let value = values[name], let listed = try listed()[value] else { return }
      try tree.unlink("Free/\(listed)")
      values[name] = nil
    default:
      guard let value = values[name], let listed = try listed()[value] else { return }
      #expect(tree.put("Free/\(listed)", text) == nil)
      values[name] = n
    }
  }

  /// The difference between the names and the objects that they resolve to; nil if there is none.
  func difference() throws -> String? {
    let listed = try listed().keys.sorted(), expected = values.values.sorted()
    if listed != expected { return "objects \(listed), expected \(expected)" }
    for name in ["a.json", "b.json", "c d.json", "é.json"] {
      var found: Int?
      do { found = try value(name) } catch FileTreeError.notFound { found = nil }
      if found != values[name] {
        return "\(name) leads to \(found.map(String.init) ?? "nothing"), expected \(values[name] ?? -1)"
      }
    }
    return nil
  }
}
