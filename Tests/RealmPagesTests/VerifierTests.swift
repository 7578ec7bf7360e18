// The verifier: sound files are found sound, and each kind of damage is found.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Verifier")
struct VerifierTests {
  @Test("every real file is valid", arguments: Fixture.all)
  func sound(fixture: Fixture) throws {
    let snapshot = try fixture.snapshot()
    var problems: [String] = []
    let summary = Verifier(snapshot).run { problems.append($0.description) }
    #expect(problems == [])
    #expect(summary.isSound)
    // Almost no memory: pages are dropped wherever possible.
    let again = try fixture.snapshot()
    let bounded = Verifier(again, memory: .bounded(1)).run { problems.append($0.description) }
    #expect(problems == [] && bounded.objects == summary.objects && bounded.nodes == summary.nodes)
    #expect(summary.bytes + summary.freeBytes + Header.size == snapshot.logicalSize)
    let tables = try snapshot.tableKeys().compactMap { try snapshot.table($0) }
    #expect(summary.tables == tables.count)
    #expect(summary.objects == tables.reduce(0) { $0 + $1.objectCount })
  }

  @Test("the number of reported problems is limited, the number found is not")
  func limit() throws {
    var file = try Patchable("many-versions")
    let versions = try file.node(file.snapshot.top.freeRefs[2])
    for i in 0..<versions.count { file.set(versions, i, 30_000) }
    var reported = 0
    let summary = try Verifier(file.open()).run(limit: 5) { _ in reported += 1 }
    #expect(reported == 5)
    #expect(summary.problems > 5 && !summary.isSound)
  }

  // MARK: Storage

  @Test("reserved bits of the header")
  func header() throws {
    try expect("byte 22", in: "people") { $0.bytes[22] = 1 }
    try expect("unknown bits in the flags", in: "people") { $0.bytes[23] |= 0x40 }
    try expect("other slot", in: "people") { file in file.bytes[8 * (1 - Int(file.bytes[23] & 1))] |= 4 }
    try expect("second top ref", in: "streaming-form") { $0.bytes[8] = 8 }
  }

  @Test("the AAAA checksum of node headers, and the kind of history")
  func marks() throws {
    for byte in 0..<4 {
      try expect("that it begins with was changed", in: "people") { $0.bytes[$0.snapshot.top.ref + byte] ^= 0x10 }
    }
    // Nodes of early versions begin with something else.
    var file = try Patchable("people")
    file.bytes.replaceSubrange(file.snapshot.top.ref..<file.snapshot.top.ref + 4, with: [0, 0, 0x48, 0])
    #expect(Verifier(try file.open()).problems() == [])
    try expect("of the unknown type 10", in: "people") { file in
      let top = try file.node(file.snapshot.top.ref)
      file.set(top, 7, 10 << 1 | 1)
    }
    try expect("with the schema version 9", in: "people") { file in
      let top = try file.node(file.snapshot.top.ref)
      file.set(top, 9, 9 << 1 | 1)
    }
  }

  @Test("space that is neither used nor free, or both")
  func tiling() throws {
    try expect("neither used nor free", in: "people") { file in
      let sizes = try file.node(file.snapshot.top.freeRefs[1])
      try file.set(sizes, 0, sizes.int(0) - 8)
    }
    try expect("are not free at", in: "people") { file in
      let sizes = try file.node(file.snapshot.top.freeRefs[1])
      try file.set(sizes, 0, sizes.int(0) + 8)
    }
    try expect("not sorted", in: "many-versions") { file in
      let positions = try file.node(file.snapshot.top.freeRefs[0])
      let (a, b) = (try positions.int(0), try positions.int(1))
      file.set(positions, 0, b)
      file.set(positions, 1, a)
    }
    try expect("but the file is at", in: "many-versions") { file in
      let versions = try file.node(file.snapshot.top.freeRefs[2])
      file.set(versions, 0, versions.width == 8 ? 127 : 30_000)
    }
  }

  @Test("a node with two parents, a lost node, a ref outside of the file")
  func refs() throws {
    try expect("another slot leads to as well", in: "people") { file in
      let (spec, _) = try file.table("class_Person")
      try file.set(spec, 0, spec.int(2))
    }
    try expect("neither used nor free", in: "people") { file in
      let (_, cluster) = try file.table("class_Person")
      for i in 1..<cluster.count where try cluster.int(i) != 0 { return file.set(cluster, i, 0) }
    }
    try expect("outside of the file", in: "people") { file in
      let (spec, _) = try file.table("class_Person")
      file.set(spec, 0, 0x7ff8)
    }
  }

  @Test("refs in more bits than they need")
  func width() throws {
    try expect("not the fewest", in: "people") { file in
      let (_, cluster) = try file.table("class_Person")
      let slots = try (0..<cluster.count).map { try cluster.int($0) }
      // Small numbers in a node as wide as before.
      for i in slots.indices { file.set(cluster, i, 1) }
    }
  }

  // MARK: Model

  @Test("attributes of a column that differ between spec and column key")
  func attributes() throws {
    try expect("in the column key", in: "people") { file in
      let (spec, _) = try file.table("class_Person")
      let attributes = try file.node(spec.child(2))
      try file.set(attributes, 0, attributes.int(0) ^ 16)
    }
  }

  @Test("a count of objects that is wrong")
  func counts() throws {
    try expect("objects, but has", in: "items-10k") { file in
      let table = try #require(try file.snapshot.table(named: "class_Item"))
      let root = try file.node(table.objects.rootRef)
      try file.set(root, 2, root.int(2) + 2)
    }
  }

  @Test("a link without its backlink")
  func backlinks() throws {
    for fixture in ["people", "embedded", "all-types"] {
      var found = 0
      try expect("backlinks from there", in: fixture) { file in
        for key in try file.snapshot.tableKeys() {
          guard let table = try file.snapshot.table(key), let cluster = try table.objects.first(notBelow: 0)?.cluster
          else { continue }
          for column in table.backlinks {
            let leaf = try file.node(cluster.leafRef(column.key.leafPosition))
            for row in 0..<leaf.count where try leaf.int(row) & 1 != 0 && leaf.int(row) > 2 && found == 0 {
              found += 1
              try file.set(leaf, row, leaf.int(row) - 2)
            }
          }
        }
      }
    }
  }

  @Test(
    "a missing backlink is found even when there are more links than are reported",
    arguments: [0, 99, 100, 10_000]
  )
  func manyLinks(named: Int) throws {
    let snapshot = try Fixture.named("people").snapshot()
    var tables: [TableKey: Table] = [:], first: (table: TableKey, column: ColKey)?
    for key in try snapshot.tableKeys() {
      tables[key] = try snapshot.table(key)
      if let column = tables[key]?.columns.first(where: { $0.type == .link }) { first = first ?? (key, column.key) }
    }
    let origin = try #require(first)
    for missing in [0, 1] {
      var problems: [Verifier.Problem] = []
      let context = CheckContext(snapshot, isStrict: false, memory: .whole, limit: 10) { problems.append($0) }
      func walk(_ ledger: LinkLedger) -> LinkLedger {
        var ledger = ledger
        let column = ledger.number(origin.table, origin.column)
        for i in 0..<1000 as Range<Int64> { ledger.forward(column, from: i, to: origin.table, 0) }
        for i in (0..<Int64(1000 - missing)).reversed() { ledger.backward(column, from: i, to: origin.table, 0) }
        return ledger
      }
      var ledger = walk(LinkLedger(naming: named)), secondWalks = 0
      ledger.compare(context, tables: tables) { second in
        secondWalks += 1
        return walk(second)
      }
      #expect(problems.count == missing)
      #expect(secondWalks == (named < 2000 ? 0 : missing))
      let text = named < 2000 ? "links and backlinks differ" : "1 links to"
      #expect(problems.allSatisfy { $0.text.contains(text) }, "\(problems)")
    }
  }

  @Test("an embedded object without an owner")
  func owners() throws {
    try expect("with 0 owners", in: "embedded") { file in
      for key in try file.snapshot.tableKeys() {
        guard let table = try file.snapshot.table(key), table.kind == .embedded,
          let cluster = try table.objects.first(notBelow: 0)?.cluster
        else { continue }
        for column in table.backlinks {
          let leaf = try file.node(cluster.leafRef(column.key.leafPosition))
          for row in 0..<leaf.count where try leaf.int(row) & 1 != 0 { return file.set(leaf, row, 0) }
        }
      }
    }
  }

  @Test("a primary key that is missing from its index")
  func index() throws {
    try expect("under another value", in: "people") { file in
      let table = try #require(try file.snapshot.table(named: "class_Person"))
      let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
      let leaf = try file.node(cluster.leafRef(try #require(table.primaryKey).key.leafPosition))
      try file.set(leaf, leaf.count - 1, leaf.int(leaf.count - 1) ^ 1)
    }
  }

  @Test("a word that is missing from a full-text index")
  func fullText() throws {
    try expect(nil, in: "strings") { file in
      for key in try file.snapshot.tableKeys() {
        guard let table = try file.snapshot.table(key),
          let column = table.columns.first(where: { $0.index == .fullText }),
          let (cluster, _) = try table.objects.first(notBelow: 0)
        else { continue }
        let leaf = try file.node(cluster.leafRef(column.key.leafPosition))
        // The first letter of the first text, whatever the form of the leaf.
        let view = try #require(try StringLeaf(file.snapshot.arena, leaf.ref).value(0, file.snapshot.arena))
        let offset = view.base - file.snapshot.arena.space.base
        file.bytes[offset] = file.bytes[offset] == 0x71 ? 0x7a : 0x71
        return
      }
    }
  }

  @Test("a dictionary whose keys are out of order, and when strict a nested collection without a key")
  func nested() throws {
    try expect("has no key", in: "nested", isStrict: true) { file in
      let table = try #require(try file.snapshot.table(named: "class_Doc"))
      let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
      let column = try #require(table.columns.first { $0.name == "body" })
      let leaf = try file.node(cluster.leafRef(column.key.leafPosition))
      let keys = try file.node(leaf.child(5))
      for i in 0..<keys.count { file.set(keys, i, 0) }
    }
    try expect("out of order", in: "nested") { file in
      let table = try #require(try file.snapshot.table(named: "class_Doc"))
      let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
      let column = try #require(table.columns.first { $0.name == "meta" })
      let roots = try file.node(cluster.leafRef(column.key.leafPosition))
      let dictionary = try file.node(roots.child(0)), keys = try file.node(dictionary.child(0))
      // Two short strings are exchanged.
      let (a, b) = (file.offset(keys, 0), file.offset(keys, 1)), width = Int(keys.width)
      let first = Array(file.bytes[a..<a + width])
      file.bytes.replaceSubrange(a..<a + width, with: Array(file.bytes[b..<b + width]))
      file.bytes.replaceSubrange(b..<b + width, with: first)
    }
  }

  @Test("two collections nested in one list, or in one dictionary, with the same key")
  func nestedKeys() throws {
    var found = 0
    for ref in try Patchable("nested").refs(where: { $0.hasRefs && !$0.isInner && $0.count == 6 }) {
      var file = try Patchable("nested")
      let slot = try file.node(ref).int(5)
      // A leaf of Mixed values refers to the keys; other nodes of six slots do not.
      guard slot != 0, slot & 1 == 0, case let keys = try file.node(Int(slot)), !keys.hasRefs else { continue }
      let used = try (0..<keys.count).filter { try keys.int($0) != 0 }
      guard used.count > 1 else { continue }
      try file.set(keys, used[1], keys.int(used[0]))
      let problems = try Verifier(file.open()).problems().map(\.text)
      let isFound = problems.contains { $0.hasPrefix("two nested collections with the key") }
      // The objects of a property distinguish them.
      if try file.isColumn(ref) { #expect(!isFound) } else if isFound { found += 1 }
    }
    #expect(found > 0)
  }

  @Test("context flags beside the first nodes of link trees, and in other trees")
  func contextFlags() throws {
    let mark = { (file: inout Patchable, ref: Int) in file.bytes[ref + 4] |= 0x20 }
    for object in 0..<5 where object != 3 {
      // A leaf that is not the first, and in the tree of three levels an inner node.
      try expect("unexpected flags", in: "rare-states") { file in
        let root = try file.links(object)
        #expect(root.isInner)
        try mark(&file, root.child(root.count - 2))
      }
    }
    // The second leaf of the first inner node.
    try expect("unexpected flags", in: "rare-states") { file in
      let root = try file.links(4), inner = try file.node(root.child(1))
      #expect(root.isInner && root.count == 4 && inner.isInner)
      try mark(&file, inner.child(2))
    }
    // The tree of backlinks: its root, its first leaf.
    for depth in 0..<2 {
      try expect("unexpected flags", in: "rare-states") { file in
        let table = try #require(try file.snapshot.table(named: "class_Target"))
        let (cluster, _) = try #require(try table.objects.first(notBelow: 0))
        var node = try file.node(file.node(cluster.leafRef(table.backlinks[0].key.leafPosition)).child(0))
        #expect(node.isInner)
        if depth == 1 { node = try file.node(node.child(1)) }
        mark(&file, node.ref)
      }
    }
  }

  @Test("more history entries than versions")
  func history() throws {
    try expect("entries at version", in: "empty") { file in
      // One entry of a small-blobs leaf is replaced by as many as its nodes have room for, all empty except the first.
      let root = try file.node(file.snapshot.top.historyRef)
      let ends = try file.node(root.child(0)), nulls = try file.node(root.child(2)), count = 64 / Int(ends.width)
      for node in [ends, nulls] { file.bytes[node.ref + 7] = UInt8(count) }
      for i in 1..<count { try file.set(ends, i, ends.int(0)) }
    }
  }

  // MARK: Flips

  @Test("nearly every flipped bit in the header of a node is found", arguments: ["people", "embedded", "nested"])
  func headerFlips(name: String) throws {
    var file = try Patchable(name)
    var refs: [Int] = []
    for ref in stride(from: 24, to: file.snapshot.logicalSize, by: 8) where file.isReachable(ref) { refs.append(ref) }
    var flips = 0, missed = 0
    for ref in refs {
      for byte in 4..<8 {
        let bit = UInt8(1) << UInt8((ref / 8 + byte) & 7)
        file.bytes[ref + byte] ^= bit
        flips += 1
        if (try? file.open()).map({ Verifier($0).problems(limit: 1).isEmpty }) ?? false { missed += 1 }
        file.bytes[ref + byte] ^= bit
      }
    }
    // A node of zeros can change its width or count and mean the same.
    #expect(missed * 12 < flips, "\(missed) of \(flips) flips were not found")
  }

  // MARK: Formats 2 to 9

  @Test("old files whose columns, indexes and links disagree", arguments: ["v5-core-1.5.1", "v9-core-5.23.9"])
  func legacy(name: String) throws {
    try expect("rows where other columns have", in: "old/" + name) { file in
      let leaf = try file.root(of: "class_Plain") { $0.columns[2].root }
      // The count is the last byte of the header.
      file.bytes[leaf.ref + 7] -= 1
    }
    try expect("in the index twice", in: "old/" + name) { file in
      let index = try file.root(of: "class_Person") { $0.columns[1].indexRoot ?? 0 }
      try file.set(index, 1, index.int(2))
    }
    try expect("under another value", in: "old/" + name) { file in
      let index = try file.root(of: "class_Person") { $0.columns[1].indexRoot ?? 0 }
      let keys = try file.node(index.child(0))
      try file.set(keys, keys.count - 1, keys.int(keys.count - 1) + 1)
    }
    try expect("backlinks from there", in: "old/" + name) { file in
      let leaf = try file.root(of: "class_Dog") { $0.backlinks[1].root }
      let row = try #require(try (0..<leaf.count).first { try leaf.int($0) & 1 == 0 && leaf.int($0) != 0 })
      file.set(leaf, row, 1)
    }
    try expect("has no element 15", in: "old/" + name) { file in
      let leaf = try file.root(of: "class_Enum") { $0.columns[0].root }
      // Two elements of 4 bits.
      file.bytes[leaf.ref + Node.headerSize] = 0xFF
    }
  }

  @Test("a subtable and a Mixed value that lead to one node")
  func sharedSubtable() throws {
    try expect("which another slot leads to as well", in: "old/v5-core-1.5.1") { file in
      let rows = try file.root(of: "class_Sub") { $0.columns[1].root }
      let refs = try (0..<rows.count).filter { try rows.int($0) != 0 }
      try file.set(rows, refs[0], rows.int(refs[1]))
    }
  }

  /// Changes a fixture and expects a problem whose text contains `text`.
  private func expect(
    _ text: String?,
    in name: String,
    isStrict: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ edit: (inout Patchable) throws -> Void
  ) throws {
    var file = try Patchable(name)
    try edit(&file)
    // Other programs must not report it as damaged.
    if isStrict { #expect(try Verifier(file.open()).problems() == [], sourceLocation: sourceLocation) }
    let problems = try Verifier(file.open(), isStrict: isStrict).problems().map(\.description)
    #expect(
      problems.contains { text.map($0.contains) ?? true },
      "\(name): \(problems)",
      sourceLocation: sourceLocation
    )
    let isFound = !Verifier(try file.open(), isStrict: isStrict, memory: .bounded).problems().isEmpty
    #expect(isFound, "in bounded memory", sourceLocation: sourceLocation)
  }
}

/// A fixture whose bytes can be changed, with its nodes as they were before.
private struct Patchable {
  var bytes: [UInt8]
  let snapshot: Snapshot
  private let reachable: Set<Int>

  init(_ name: String) throws {
    bytes = try Fixture.named(name).bytes()
    snapshot = try bytes.withUnsafeBytes { try Realm.snapshot(of: $0) }
    var reachable: Set<Int> = [], pending = [snapshot.top.ref]
    while let ref = pending.popLast() {
      reachable.insert(ref)
      let node = try snapshot.arena.node(ref)
      for i in 0..<(node.hasRefs ? node.count : 0) {
        let element = try node.int(i)
        if element != 0 && element & 1 == 0 { pending.append(Int(element)) }
      }
    }
    self.reachable = reachable
  }

  func isReachable(_ ref: Int) -> Bool { reachable.contains(ref) }

  /// The version in the changed bytes.
  func open() throws -> Snapshot { try bytes.withUnsafeBytes { try Realm.snapshot(of: $0) } }

  func node(_ ref: Int) throws -> Node { try snapshot.arena.node(ref) }

  /// The refs of the nodes that are so.
  func refs(where isWanted: (Node) throws -> Bool) throws -> [Int] {
    try reachable.sorted().filter { try isWanted(node($0)) }
  }

  /// The root of a list of links of the class LinkFlags.
  func links(_ object: Int) throws -> Node {
    let table = try #require(try snapshot.table(named: "class_LinkFlags"))
    let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
    return try node(node(cluster.leafRef(table.columns[1].key.leafPosition)).child(object))
  }

  /// True if the leaf at `ref` holds the values of a property.
  func isColumn(_ ref: Int) throws -> Bool {
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), let cluster = try table.objects.first(notBelow: 0)?.cluster else {
        continue
      }
      for column in table.columns where try cluster.leafRef(column.key.leafPosition) == ref { return true }
    }
    return false
  }

  /// The spec and the first cluster of a table.
  func table(_ name: String) throws -> (spec: Node, cluster: Node) {
    let table = try #require(try snapshot.table(named: name))
    let cluster = try #require(try table.objects.first(notBelow: 0)?.cluster)
    return (try node(node(table.ref).child(0)), cluster.slots)
  }

  /// The root of a column or index of a table of formats 2 to 9.
  func root(of name: String, _ position: (LegacySpec) -> Int) throws -> Node {
    let rows = try #require(try snapshot.table(named: name)?.legacyRows)
    return try node(node(rows.rootsRef).child(position(rows.spec)))
  }

  /// Where element `index` of a node of at least 8 bits an element begins.
  func offset(_ node: Node, _ index: Int) -> Int {
    let width = node.scheme == .multiply ? Int(node.width) : Int(node.width) / 8
    return node.ref + Node.headerSize + index * width
  }

  /// Writes an element of a node of integers.
  mutating func set(_ node: Node, _ index: Int, _ value: Int64) {
    let width = Int(node.width)
    if width >= 8 {
      let at = offset(node, index)
      for i in 0..<width / 8 { bytes[at + i] = UInt8(truncatingIfNeeded: value >> Int64(8 * i)) }
      return
    }
    for bit in 0..<width {
      let at = index * width + bit, byte = node.ref + Node.headerSize + at / 8, mask = UInt8(1) << UInt8(at % 8)
      if value >> Int64(bit) & 1 != 0 { bytes[byte] |= mask } else { bytes[byte] &= ~mask }
    }
  }
}
