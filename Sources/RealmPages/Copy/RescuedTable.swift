// A damaged table of format 10 or later. Every node is read on its own, so a damaged node costs only its own content
// and that of its children. Source: docs/format/2-model.md M2 to M6.

/// A table whose names and column keys can be read.
struct RescuedTable: SourceTable {
  let key: TableKey
  let name: String
  let kind: TableKind
  private(set) var columns: [Column]
  let primaryKeyIndex: Int?
  let claimedCount: Int?
  let nextSequence: Int64
  /// The backlink columns, each with its origin table and column key.
  let backlinks: [Spec.BacklinkColumn]
  private let arena: Arena
  private let clustersRef: Int

  init(_ arena: Arena, name: String, slot: Int?, ref: Int) throws(EngineError) {
    typealias Slots = Layout.Table
    let top = try arena.refs(ref, slots: Layout.Table.key + 1)
    self.arena = arena
    self.name = name
    clustersRef = try top.child(Slots.clusters)
    let stored = TableKey(UInt32(truncatingIfNeeded: try top.int(Slots.key) >> 1))
    key = slot.map { $0 == stored.slot ? stored : TableKey(UInt32($0)) } ?? stored
    // A slot that cannot be read has no value; the rest of the table is still usable.
    func number(_ slot: Int) -> Int64? { slot < top.count ? try? top.tagged(slot) : 0 }
    let flags = number(Slots.flags) ?? 0
    kind = flags & 3 == 1 ? .embedded : flags & 3 == 2 ? .asymmetric : .topLevel
    nextSequence = max(0, number(Slots.sequence) ?? 0)
    (columns, backlinks) = try Self.readColumns(arena, top)
    // Likewise.
    let primaryKey = top.count > Slots.primaryKey ? (try? top.int(Slots.primaryKey)) ?? 0 : 0
    primaryKeyIndex = primaryKey & 1 == 0 ? nil : columns.firstIndex { $0.key.value == primaryKey >> 1 }
    // If the root cannot be read, the number of objects is unknown.
    let claimed = try? ClusterTree(arena: arena, rootRef: clustersRef).count()
    claimedCount = claimed.flatMap { $0 <= 64 * arena.limit ? $0 : nil }
  }

  private static func readColumns(
    _ arena: Arena,
    _ top: Node
  ) throws(EngineError) -> ([Column], [Spec.BacklinkColumn]) {
    do throws(EngineError) {
      let spec = try Spec(arena, tableTop: top, place: "")
      return (spec.columns, spec.backlinks)
    } catch {
      // An array other than the column keys is damaged: the keys alone define most of a column.
      let node = try arena.refs(top.child(Layout.Table.spec), slots: Layout.Spec.count)
      let keys = try arena.integers(node.child(Layout.Spec.keys))
      // Names that cannot be read are made up, other attributes left out.
      let names = ifReadable { () throws(EngineError) in try arena.node(node.child(Layout.Spec.names)) }
      let attributes = ifReadable { () throws(EngineError) in try arena.integers(node.child(Layout.Spec.attributes)) }
      let enumRefs = ifReadable { () throws(EngineError) in try arena.integers(node.child(Layout.Spec.enumerations)) }
      let opposites = ifReadable { () throws(EngineError) in
        try arena.integers(top.childIfPresent(Layout.Table.oppositeTables))
      }
      var columns: [Column] = []
      for i in 0..<min(keys.count, 0xFFFF) {
        let key = ColKey(try keys.int(i))
        guard let type = Spec.valueType(key.typeCode) else { continue }
        let name = names.flatMap { names in
          ifReadable { () throws(EngineError) in try StringLeaf.short(names, i)?.string ?? "" }
        }
        let attribute = ifReadable { () throws(EngineError) in try attributes?.int(i) ?? 0 } ?? 0
        let target = ifReadable { () throws(EngineError) in
          try opposites.map { (node) throws(EngineError) in try node.int(key.leafPosition) }
        }
        columns.append(
          Column(
            name: (name ?? "").isEmpty ? "property_\(i)" : name ?? "",
            key: key,
            type: type,
            collection: Spec.collection(key),
            isNullable: key.attributes & Spec.Attribute.nullable != 0,
            index: attribute & Int64(Spec.Attribute.fullText) != 0
              ? .fullText : attribute & Int64(Spec.Attribute.indexed) != 0 ? .general : nil,
            targetTable: type == .link
              ? target.flatMap { $0 }.map { TableKey(UInt32(truncatingIfNeeded: $0)) } ?? TableKey.none : nil,
            enumRef: ifReadable { () throws(EngineError) in try enumRefs?.childIfPresent(i) ?? 0 } ?? 0,
            indexRef: 0,
            dictionaryKeyType: Spec.TypeCode.string
          )
        )
      }
      return (columns, [])
    }
  }

  /// Completes link columns whose target cannot be read here, using the backlink columns of the other tables.
  mutating func completeTargets(from others: [RescuedTable]) {
    for (i, column) in columns.enumerated() where column.type == .link {
      if let target = column.targetTable, others.contains(where: { $0.key == target }) { continue }
      let found = others.first { other in
        other.backlinks.contains { $0.originTable == key && $0.originColumn == column.key }
      }
      if let found { columns[i] = column.leading(to: found.key) }
    }
  }

  // MARK: objects

  private final class Walk {
    let effort: Effort
    var last: Int64 = -1

    init(_ effort: Effort) { self.effort = effort }
  }

  func forEachObject(
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError) {
    try visit(clustersRef, offset: 0, depth: 0, Walk(effort), body, onDamage)
  }

  private static let maximumDepth = 9

  private func visit(
    _ ref: Int,
    offset: UInt64?,
    depth: Int,
    _ walk: Walk,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    _ onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError) {
    let node: Node
    do throws(EngineError) {
      try walk.effort.spend(Node.headerSize, at: ref)
      node = try arena.refs(ref, slots: 1)
      if !node.isInner { try walk.effort.spend((1 + columns.count) * Node.headerSize, at: ref) }
      if depth > Self.maximumDepth { throw .damaged("a cluster too deep", ref: ref) }
    } catch { return try onDamage(error) }
    if !node.isInner { return try visit(leaf: node, offset: offset, walk, body, onDamage) }
    var offsets: Node?
    var isCompact = false
    do throws(EngineError) {
      let starts = try node.child(Layout.InnerCluster.starts)
      isCompact = starts == 0
      if !isCompact { offsets = try arena.integers(starts) }
    } catch { try onDamage(error) }
    // Damage in the level costs the keys, not the objects.
    let level = node.count > 1 ? (try? node.tagged(Layout.InnerCluster.level)) ?? 0 : 0
    for i in 0..<max(0, node.count - Layout.InnerCluster.firstChild) {
      if walk.effort.isSpent { return }
      var start = offset
      if isCompact, (1...8).contains(level) {
        start = offset.map { $0 &+ UInt64(i) << (8 * UInt64(level)) }
      } else {
        // Likewise.
        let relative = try? offsets?.unsigned(i)
        start = if let offset, let relative { offset &+ relative } else { nil }
      }
      let child: Int
      do throws(EngineError) { child = try node.child(i + 3) } catch {
        try onDamage(error)
        continue
      }
      try visit(child, offset: start, depth: depth + 1, walk, body, onDamage)
    }
  }

  private func visit(
    leaf node: Node,
    offset: UInt64?,
    _ walk: Walk,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    _ onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError) {
    let cluster = RescuedCluster(arena, columns, node)
    do throws(EngineError) { cluster.keys = try Cluster(arena, node, offset: offset ?? 0) } catch {
      try onDamage(error)
    }
    for row in 0..<(cluster.keys?.count ?? cluster.longestLeaf) {
      cluster.row = row
      cluster.key = nil
      // A key that cannot be read, or is out of order, is unknown.
      if offset != nil, let key = try? cluster.keys?.key(row), key < UInt64(Int64.max), Int64(key) > walk.last {
        walk.last = Int64(key)
        cluster.key = ObjKey(Int64(key))
      }
      try body(cluster)
    }
  }
}

/// The objects of one cluster, in order.
private final class RescuedCluster: SourceObject {
  var key: ObjKey?
  var row = 0
  var keys: Cluster?
  private let arena: Arena
  private let columns: [Column]
  private let slots: Node
  private var leaves: [Result<ColumnLeaf, EngineError>?]

  init(_ arena: Arena, _ columns: [Column], _ slots: Node) {
    self.arena = arena
    self.columns = columns
    self.slots = slots
    leaves = Array(repeating: nil, count: columns.count)
  }

  /// The number of rows according to the leaves.
  var longestLeaf: Int {
    // A leaf that cannot be read is not counted.
    let counts = columns.indices.compactMap { (try? leaf($0))?.count }
    return counts.filter { $0 <= Cluster.maximumCount }.max() ?? 0
  }

  private func leaf(_ index: Int) throws(EngineError) -> ColumnLeaf {
    if let known = leaves[index] { return try known.get() }
    let column = columns[index]
    let result = Result { () throws(EngineError) -> ColumnLeaf in
      let ref = try slots.childIfPresent(column.key.leafPosition + 1)
      if ref == 0 { throw .damaged("no leaf for property \"\(column.name)\"", ref: slots.ref) }
      let leaf = try column.leaf(arena, ref)
      if let keys, leaf.count != keys.count {
        throw .damaged("a leaf of \(leaf.count) values in a cluster of \(keys.count)", ref: ref)
      }
      return leaf
    }
    leaves[index] = result
    return try result.get()
  }

  func value(_ index: Int) throws(EngineError) -> ValueView { try leaf(index).value(row, arena) }

  func forEachElement(
    _ index: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    onDamage: (EngineError) -> Void
  ) -> Bool {
    do throws(EngineError) {
      guard columns[index].collection == .list, case .collections(let refs, _, let element, _) = try leaf(index) else {
        return false
      }
      let root = try refs.child(row)
      if root != 0 { visit(root, element, depth: 0, effort, body, onDamage) }
    } catch { onDamage(error) }
    return true
  }

  /// Visits the elements leaf by leaf.
  private func visit(
    _ ref: Int,
    _ element: ElementType,
    depth: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    _ onDamage: (EngineError) -> Void
  ) {
    do throws(EngineError) {
      if depth > BPlusTree.maximumDepth { throw .damaged("a tree that is too deep", ref: ref) }
      let node = try arena.node(ref)
      if !node.isInner {
        let leaf = try ColumnLeaf(arena, ref, element, inTree: true)
        try effort.enter(leaf: leaf.count, element, at: ref)
        for i in 0..<leaf.count {
          do throws(EngineError) { body(try leaf.value(i, arena)) } catch { onDamage(error) }
        }
        return
      }
      try effort.spend(Node.headerSize, at: ref)
      // A damaged count is limited: otherwise millions of invalid slots would each be reported as an error.
      let children = min(max(0, node.count - 2), BPlusTree.maximumChildren)
      if children < node.count - 2 {
        onDamage(EngineError.damaged("an inner node of \(node.count - 2) children", ref: ref))
      }
      for i in 1..<children + 1 {
        if effort.isSpent { return }
        do throws(EngineError) {
          visit(try node.child(i), element, depth: depth + 1, effort, body, onDamage)
        } catch { onDamage(error) }
      }
    } catch { onDamage(error) }
  }
}

extension Column {
  /// A copy of the column with another link target.
  fileprivate func leading(to target: TableKey) -> Column {
    Column(
      name: name,
      key: key,
      type: type,
      collection: collection,
      isNullable: isNullable,
      index: index,
      targetTable: target,
      enumRef: enumRef,
      indexRef: indexRef,
      dictionaryKeyType: dictionaryKeyType
    )
  }
}
