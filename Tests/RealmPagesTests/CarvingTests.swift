// The objects that a recovery saves from files whose roots, tables or pages are missing.
//
// An object can be saved if the nodes that belong to it alone, or to it and others of its cluster, are intact: the
// cluster, the leaves of its columns, and its collections. CARVED=name,... selects fixtures; CARVINGS=n sets the number
// of damages for each.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Carving", .serialized)
struct CarvingTests {
  /// Fixtures of format 10 and later, plain and encrypted.
  private static let names = [
    "people", "nested", "embedded", "many-versions", "no-history", "streaming-form", "all-types", "primary-keys",
    "leaf-states", "people-encrypted", "items-10k",
  ]

  /// An object of the undamaged file.
  private struct Object {
    /// The values of all properties without links, by which it is found again.
    let values: String
    /// All values.
    let all: String
    /// The nodes that hold it.
    let nodes: [Range<Int>]
  }

  /// A sound file, and its content.
  private struct Original {
    let fixture: Fixture
    let bytes: [UInt8]
    let objects: [Object]
    /// The nodes above the clusters, with their paths: their loss must not cost an object.
    let above: [(node: Range<Int>, path: String)]

    init(_ fixture: Fixture) throws { try self.init(fixture, fixture.bytes(), fixture.snapshot()) }

    init(_ fixture: Fixture, _ bytes: [UInt8], _ snapshot: Snapshot) throws {
      (self.fixture, self.bytes) = (fixture, bytes)
      let arena = snapshot.arena, texts = ObjectTexts(snapshot)
      var objects: [Object] = [], clusters: [Range<Int>] = []
      for key in try snapshot.tableKeys() {
        // Embedded objects are saved with their owners.
        guard let table = try snapshot.table(key), table.kind != .embedded else { continue }
        let tree = table.objects
        let cursor = ObjectCursor(table)
        var shared: (ref: Int, nodes: [Range<Int>])?
        while try cursor.next() {
          guard let (cluster, row) = try tree.place(of: UInt64(bitPattern: cursor.key.value)) else { continue }
          if shared?.ref != cluster.slots.ref {
            shared = (cluster.slots.ref, try Self.nodes(arena, cluster, table))
            clusters += shared?.nodes ?? []
          }
          let own = try Self.collections(arena, cluster, row, table)
          clusters += own
          objects.append(
            Object(
              values: try texts.values(table, cursor),
              all: try texts.all(table, cursor),
              nodes: (shared?.nodes ?? []) + own
            )
          )
        }
      }
      self.objects = objects
      let known = Set(clusters.map(\.lowerBound))
      above = try Self.paths(arena, snapshot.top.ref).filter { !known.contains($0.node.lowerBound) }
    }

    /// A cluster and the leaves of its columns, without collections.
    private static func nodes(_ arena: Arena, _ cluster: Cluster, _ table: Table) throws -> [Range<Int>] {
      var nodes = [cluster.slots.ref..<cluster.slots.ref + cluster.slots.byteSize]
      for slot in 0..<cluster.slots.count {
        guard case let ref = try cluster.slots.int(slot), ref > 0, ref & 1 == 0 else { continue }
        let column = table.columns.first { $0.key.leafPosition + 1 == slot }
        // Backlinks and collections belong to one object each.
        if slot > 0, column?.collection != nil || column == nil {
          let node = try arena.node(Int(ref))
          nodes.append(node.ref..<node.ref + node.byteSize)
        } else {
          nodes += try all(arena, Int(ref))
        }
      }
      return nodes
    }

    private static func collections(
      _ arena: Arena,
      _ cluster: Cluster,
      _ row: Int,
      _ table: Table
    ) throws -> [Range<Int>] {
      var nodes: [Range<Int>] = []
      for column in table.columns where column.collection != nil {
        let ref = try arena.node(cluster.leafRef(column.key.leafPosition)).child(row)
        if ref != 0 { nodes += try all(arena, ref) }
      }
      return nodes
    }

    /// The node at `ref` and all nodes below it, each with the slots on its path.
    private static func paths(_ arena: Arena, _ ref: Int) throws -> [(node: Range<Int>, path: String)] {
      var found: [(Range<Int>, String)] = [], pending = [(ref, "top")]
      while let (ref, path) = pending.popLast() {
        let node = try arena.node(ref)
        found.append((ref..<ref + node.byteSize, path))
        guard node.hasRefs, node.width > 0 else { continue }
        for slot in 0..<node.count {
          if case let child = try node.int(slot), child > 0, child & 1 == 0 {
            pending.append((Int(child), "\(path).\(slot)"))
          }
        }
      }
      return found
    }

    /// The node at `ref` and all nodes below it.
    private static func all(_ arena: Arena, _ ref: Int) throws -> [Range<Int>] { try paths(arena, ref).map(\.node) }
  }

  /// Texts of the objects of a version.
  private final class ObjectTexts {
    private let snapshot: Snapshot
    private var cursors: [TableKey: ObjectCursor] = [:]

    init(_ snapshot: Snapshot) { self.snapshot = snapshot }

    /// The values of all properties that cannot hold links.
    func values(_ table: Table, _ cursor: ObjectCursor) throws -> String {
      try table.columns.indices
        .filter { table.columns[$0].type != .link && table.columns[$0].type != .mixed }
        .map { "\(try Value(copying: cursor.value($0)))" }
        .joined(separator: ";")
    }

    /// All values, by property name. A link is the primary key or the values of its target, and an embedded object all
    /// of its values.
    func all(_ table: Table, _ cursor: ObjectCursor) throws -> String {
      let values = try table.columns.indices.map { try Value(copying: cursor.value($0)) }
      return try zip(table.columns, values).map { column, value in
        if case .list(let elements) = value {
          // A collection of links shows no link to an object that does not exist. The order of a set with links follows
          // the keys of its targets.
          let texts = try elements.filter { column.type != .link || !isUnresolved($0) }.map { try text($0) }
          return "\(column.name): \(column.collection == .set ? texts.sorted() : texts)"
        }
        return "\(column.name): \(try text(value))"
      }
      .joined(separator: ";")
    }

    private func isUnresolved(_ value: Value) -> Bool {
      if case .link(_, let object) = value { object.isUnresolved } else { false }
    }

    private func text(_ value: Value) throws -> String {
      switch value {
      case .link(let key, let object):
        guard let table = try snapshot.table(key) else { return "a link to no table" }
        let cursor = ObjectCursor(table)
        // A link to an object that does not exist is shown as null, and is not copied.
        guard !object.isUnresolved, try cursor.seek(object) else { return "null" }
        let name = table.className ?? table.name
        if table.kind == .embedded { return "\(name)(\(try all(table, cursor)))" }
        if let index = table.primaryKeyIndex { return "\(name)/\(try Value(copying: cursor.value(index)))" }
        return "\(name)/\(try values(table, cursor))"
      case .list(let elements): return "\(try elements.map { try text($0) })"
      case .dictionary(let entries):
        return "{\(try entries.map { "\($0.key): \(try text($0.value))" }.sorted().joined(separator: ", "))}"
      default: return "\(value)"
      }
    }
  }

  /// The outcome of one recovery.
  private struct Outcome {
    var savable = 0
    var saved = 0
    /// Objects of the new file, not reported as doubtful, that the original does not have.
    var wrong = 0
    /// Saved objects of which a link, a Mixed or an embedded object differs from the original.
    var changed = 0
    /// Of these, the ones that are more than the losses that the report states.
    var unreported = 0
  }

  /// Recovers `damaged` and compares with the objects whose nodes are intact in it.
  private func outcome(
    _ original: Original,
    _ damaged: [UInt8],
    schema: Snapshot? = nil,
    _ gone: (Range<Int>) -> Bool
  ) throws -> Outcome {
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("d.realm"), target = folder.appendingPathComponent("s.realm")
      try Data(damaged).write(to: source)
      let key = original.fixture.isEncrypted ? try Fixture.key() : nil
      var outcome = Outcome(), expected: [String: Int] = [:], all: [String: Set<String>] = [:]
      for object in original.objects {
        all[object.values, default: []].insert(object.all)
        if object.nodes.contains(where: gone) { continue }
        outcome.savable += 1
        expected[object.values, default: 0] += 1
      }
      do {
        let configuration = Configuration(path: source.path, encryptionKey: key)
        let report = try RealmRecovery.run(configuration, to: target.path, schema: schema, verifies: false)
        let saved = try Realm(Configuration(path: target.path, encryptionKey: key, mode: .immutable)).latest()
        let texts = ObjectTexts(saved)
        for key in try saved.tableKeys() {
          guard let table = try saved.table(key), table.kind != .embedded else { continue }
          let part = report.parts.first { $0.name == Table.className(ofTable: table.name) ?? table.name }
          let isCertain = (part?.isWhole ?? false) && !report.isOutdated && !report.isUnreached
          let cursor = ObjectCursor(table)
          var changed = 0
          while try cursor.next() {
            let name = try texts.values(table, cursor)
            if let left = expected[name], left > 0 {
              expected[name] = left - 1
              outcome.saved += 1
            }
            if isCertain, all[name] == nil { outcome.wrong += 1 }
            if let known = all[name], case let text = try texts.all(table, cursor), !known.contains(text) {
              if Self.shows { print("\(text)\n  instead of \(known)") }
              changed += 1
            }
          }
          outcome.changed += changed
          outcome.unreported += max(0, changed - (try Self.losses(table, saved, report)))
        }
        if outcome.saved < outcome.savable { #expect(!report.isWhole) }
      } catch let error as EngineError {
        // Nothing could be saved.
        #expect(error.reason == .damaged)
      }
      return outcome
    }
  }

  private static var shows: Bool { ProcessInfo.processInfo.environment["CARVINGS_SHOW"] != nil }

  /// The largest number of objects of a class that can differ from the original according to a report.
  private static func losses(_ table: Table, _ snapshot: Snapshot, _ report: RealmRecovery.Report) throws -> Int {
    if report.isOutdated { return .max }
    var names: Set<String> = [], pending = [table]
    while let next = pending.popLast() {
      guard names.insert(Table.className(ofTable: next.name) ?? next.name).inserted else { continue }
      for column in next.columns {
        // A link that may lead anywhere.
        if column.type == .mixed { names.formUnion(report.parts.map(\.name)) }
        if let key = column.targetTable, let target = try snapshot.table(key) { pending.append(target) }
      }
    }
    return report.parts.filter { names.contains($0.name) }.reduce(0) { sum, part in
      if !part.lostProperties.isEmpty || part.madeUpNames > 0 { return .max / 4 }
      return sum + part.lostValues + part.lostLinks + part.lostObjects + part.madeUpKeys
        + part.objectsFromElsewhere.values.reduce(0, +) + part.valuesFromElsewhere.values.reduce(0, +)
    }
  }

  private static var number: Int { ProcessInfo.processInfo.environment["CARVINGS"].flatMap { Int($0) } ?? 6 }

  /// Checks that of all objects that can be saved, at least `share` are, and that all objects of classes without a
  /// reported loss are those of the original.
  private func check(
    _ kind: String,
    share: Double,
    without left: Set<String> = [],
    _ damages: (Original) throws -> [Outcome]
  ) throws {
    var all = Outcome()
    let chosen = ProcessInfo.processInfo.environment["CARVED"]?.split(separator: ",").map(String.init) ?? Self.names
    let fixtures = chosen == ["all"] ? Fixture.all.filter { $0.format >= 10 } : chosen.map { Fixture.named($0) }
    for fixture in fixtures where !left.contains(fixture.name) {
      let original = try Original(fixture)
      var sum = Outcome()
      for outcome in try damages(original) {
        sum.savable += outcome.savable
        sum.saved += outcome.saved
        sum.wrong += outcome.wrong
        sum.changed += outcome.changed
        sum.unreported += outcome.unreported
      }
      print(
        "\(kind), \(original.fixture): saved \(sum.saved) of \(sum.savable) that can be, \(sum.wrong) wrong, "
          + "\(sum.changed) changed, \(sum.unreported) unreported"
      )
      all.savable += sum.savable
      all.saved += sum.saved
      all.wrong += sum.wrong
      all.unreported += sum.unreported
    }
    print("\(kind): saved \(all.saved) of \(all.savable), \(all.wrong) wrong, \(all.unreported) unreported")
    #expect(all.wrong == 0)
    #expect(all.unreported == 0)
    #expect(Double(all.saved) >= share * Double(all.savable))
  }

  /// The bytes of a file with these ranges set to zero. In an encrypted file, whole pages are.
  private func zeroing(_ original: Original, _ ranges: [Range<Int>]) -> (bytes: [UInt8], gone: (Range<Int>) -> Bool) {
    var bytes = original.bytes
    for range in ranges {
      for place in range.clamped(to: 0..<bytes.count) { bytes[place] = 0 }
    }
    return (bytes, { node in ranges.contains { $0.overlaps(node) } })
  }

  /// Its classes have the same properties, so clusters without a table fit several of them.
  private static let ambiguous: Set<String> = ["leaf-states"]

  @Test("all objects are recovered without the two versions of the header")
  func rootsAreGone() throws {
    try check("no roots", share: 1, without: ["people-encrypted"]) { original in
      let tops = (0..<2).compactMap { slot -> Range<Int>? in
        let ref = original.bytes[8 * slot..<8 * slot + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ref > 0 && ref < original.bytes.count ? Int(ref)..<Int(ref) + 32 : nil
      }
      let footer = original.bytes.count - 16
      let isStreaming = original.bytes[0..<8].allSatisfy { $0 == 0xFF }
      let (bytes, gone) = zeroing(original, tops + (isStreaming ? [footer..<footer + 16] : []))
      return [try outcome(original, bytes, gone)]
    }
  }

  @Test("objects are recovered if any one node above the clusters is missing")
  func nodesAboveAreGone() throws {
    try check("one node above", share: 0.95, without: ["people-encrypted"]) { original in
      let step = max(1, original.above.count / Self.number)
      return try stride(from: 0, to: original.above.count, by: step).map { index in
        let (node, path) = original.above[index]
        let (bytes, gone) = zeroing(original, [node])
        let outcome = try outcome(original, bytes, gone)
        if outcome.saved < outcome.savable { print("without \(path): saved \(outcome.saved) of \(outcome.savable)") }
        return outcome
      }
    }
  }

  @Test("with the schema of another realm, objects are recovered if nothing but clusters is left")
  func onlyClusters() throws {
    // The table of the schema version belongs to no class. In "primary-keys" classes have the same properties, and
    // "items-10k" takes minutes in a debug build.
    let left = Self.ambiguous.union(["people-encrypted", "primary-keys", "items-10k"])
    try check("only clusters", share: 0.95, without: left) { original in
      let schema = try original.fixture.snapshot()
      // The second slot of a table leads to its clusters.
      let isTree = { (path: String) in
        let slots = path.split(separator: ".")
        return slots.count > 3 && slots[1] == "1" && slots[3] == "2"
      }
      let lost = original.above.filter { !isTree($0.path) }.map(\.node)
      let (bytes, gone) = zeroing(original, lost)
      return [try outcome(original, bytes, schema: schema, gone)]
    }
  }

  @Test("the objects before the end of a truncated file are recovered")
  func cut() throws {
    try check("cut", share: 0.95, without: Self.ambiguous) { original in
      var random = SplitMix64(seed: 7)
      return try (0..<Self.number).map { _ in
        let unit = original.fixture.isEncrypted ? 4096 : 1
        let length = max(24, random.below(original.bytes.count) / unit * unit)
        // A page of an encrypted file is one page after its content.
        let content = original.fixture.isEncrypted ? max(0, length - 4096) : length
        let outcome = try outcome(original, Array(original.bytes[..<length])) { $0.upperBound > content }
        if Self.shows, outcome.saved < outcome.savable { print("\(length) bytes: \(outcome)") }
        return outcome
      }
    }
  }

  @Test("if some pages of a file are zeroed or exchanged, objects on the others are recovered")
  func lostPages() throws {
    try check("lost pages", share: 0.95, without: Self.ambiguous) { original in
      var random = SplitMix64(seed: 8)
      let count = original.bytes.count / 4096
      // Not the first page, which has the properties of most classes; in an encrypted file, no metadata.
      let first = original.fixture.isEncrypted ? 2 : 1
      let candidates = (first..<max(first + 1, count)).filter { !original.fixture.isEncrypted || $0 % 65 != 0 }
      return try (0..<Self.number).map { number in
        let pages = (0...random.below(8)).map { _ in candidates[random.below(candidates.count)] }
        var bytes = original.bytes
        for (i, page) in pages.enumerated() {
          let place = (page * 4096..<page * 4096 + 4096).clamped(to: 0..<bytes.count)
          let other = pages[(i + 1) % pages.count] * 4096
          if number % 2 == 1, place.count == 4096, other + 4096 <= bytes.count {
            for k in 0..<4096 { bytes.swapAt(place.lowerBound + k, other + k) }
          } else {
            for k in place { bytes[k] = 0 }
          }
        }
        let lost = pages.map { page in
          let start = original.fixture.isEncrypted ? EncryptedLayout.page(at: page * 4096) * 4096 : page * 4096
          return start..<start + 4096
        }
        let gone: (Range<Int>) -> Bool = { node in lost.contains { $0.overlaps(node) } }
        // Zeros within a value are a different value, so only missing objects count here.
        var outcome = try outcome(original, bytes, gone)
        (outcome.wrong, outcome.unreported) = (0, 0)
        return outcome
      }
    }
  }

  @Test("a copy made while a program commits has the objects that are intact in one of the two versions")
  func torn() throws {
    var savable = 0, saved = 0, unreported = 0
    for seed in 1...UInt64(Self.number) {
      try withTemporaryFolder { folder in
        let path = folder.appendingPathComponent("w.realm").path
        var settings = RandomHistory.Settings(), random = SplitMix64(seed: seed)
        (settings.commits, settings.changesSchema, settings.triesForbidden) = (20, false, false)
        settings.fullCommits = 1
        var states: [(bytes: [UInt8], snapshot: Snapshot)] = []
        var history = RandomHistory(seed: seed, path: path, settings)
        try history.run { snapshot, _, _ in
          if snapshot.version % 3 != 0 { return }
          let copy = folder.appendingPathComponent("\(snapshot.version).realm")
          try FileManager.default.copyItem(atPath: path, toPath: copy.path)
          states.append(
            ([UInt8](try Data(contentsOf: copy)), try Realm(Configuration(path: copy.path, mode: .immutable)).latest())
          )
        }
        for (old, new) in zip(states, states.dropFirst()) {
          let originals = try [old, new].map { try Original(Fixture.named("people"), $0.bytes, $0.snapshot) }
          // The copy has read the first pages before the commits, and the others after them.
          let size = new.bytes.count, cut = min(size, random.below(size / 4096 + 1) * 4096)
          var bytes = Array((old.bytes + Array(repeating: 0, count: max(0, size - old.bytes.count)))[..<cut])
          bytes += new.bytes[cut...]
          // An object can be saved if its state in both versions is the same, and its nodes in one of them are intact.
          // Links are not compared, because their targets may be lost.
          let kept = Set(originals[0].objects.map(\.values)).intersection(originals[1].objects.map(\.values))
          var intact: Set<String> = []
          for (original, state) in zip(originals, [old, new]) {
            for object in original.objects where kept.contains(object.values) {
              let isIntact = object.nodes.allSatisfy { $0.upperBound <= size && bytes[$0] == state.bytes[$0] }
              if isIntact { intact.insert(object.values) }
            }
          }
          let found = try texts(recovered: bytes, in: folder)
          savable += intact.count
          saved += intact.intersection(found.texts).count
          if found.isWhole, found.texts != Set(originals[0].objects.map(\.values)),
            found.texts != Set(originals[1].objects.map(\.values))
          {
            unreported += 1
          }
        }
      }
    }
    print("torn copies: saved \(saved) of \(savable), \(unreported) unreported")
    #expect(savable > 0 && Double(saved) >= 0.95 * Double(savable))
    #expect(unreported == 0)
  }

  /// The values of all objects that are recovered, and true if the report states no loss.
  private func texts(recovered bytes: [UInt8], in folder: URL) throws -> (texts: Set<String>, isWhole: Bool) {
    let source = folder.appendingPathComponent("d.realm"), target = folder.appendingPathComponent("s.realm")
    try Data(bytes).write(to: source)
    defer { try? FileManager.default.removeItem(at: target) }  // it is absent if nothing was saved
    do {
      let report = try RealmRecovery.run(Configuration(path: source.path), to: target.path, verifies: false)
      let saved = try Realm(Configuration(path: target.path, mode: .immutable)).latest()
      var found: Set<String> = []
      let texts = ObjectTexts(saved)
      for key in try saved.tableKeys() {
        guard let table = try saved.table(key), table.kind != .embedded else { continue }
        let cursor = ObjectCursor(table)
        while try cursor.next() { found.insert(try texts.values(table, cursor)) }
      }
      return (found, report.isWhole)
    } catch let error as EngineError {
      #expect(error.reason == .damaged)
      return ([], false)
    }
  }

  @Test("a file full of nodes that only look like parts of tables ends the search, which is reported")
  func falseNodes() throws {
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("d.realm"), target = folder.appendingPathComponent("s.realm")
      var bytes = try Data(contentsOf: Fixture.package.appendingPathComponent("Tests/Fixtures/rescue/no-roots.realm"))
      bytes.append(Data(count: -bytes.count & 7))
      // Each is a node of 65,287 short strings, all of which are empty: the nodes after it.
      for _ in 0..<1 << 18 { bytes.append(contentsOf: [0x41, 0x41, 0x41, 0x41, 0x0C, 0x00, 0xFF, 0x07]) }
      try bytes.write(to: source)
      let report = try RealmRecovery.run(Configuration(path: source.path), to: target.path, verifies: false)
      #expect(report.isSearchIncomplete && !report.isWhole)
      #expect(report.parts.map(\.objects) == [1, 5, 19])
    }
  }
}
