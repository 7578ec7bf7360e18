// A damaged table of format 10 or later. Every node is read on its own, so a damaged node causes the loss of only its
// own content and that of its children. Source: docs/format/2-model.md M2 to M6.

/// A range of object keys, which are compared as unsigned numbers.
typealias KeyRange = Range<UInt64>

/// A table of which some columns can be read.
struct RescuedTable: SourceTable {
  let key: TableKey
  private(set) var name: String
  private(set) var kind: TableKind
  /// The reason why the kind differs from the stored one; nil if it does not.
  private(set) var kindNote: String?
  private(set) var columns: [Column]
  let primaryKeyIndex: Int?
  let claimedCount: Int?
  let nextSequence: Int64
  private(set) var madeUpNames = 0
  /// The backlink columns, each with its origin table and column key.
  let backlinks: [Spec.BacklinkColumn]
  private let arena: Arena
  /// The ref of the top array; nil if it is lost.
  let top: Int?
  /// The roots of its clusters.
  private(set) var roots: [Root]

  /// The root of a tree of clusters, or a single cluster.
  struct Root {
    let ref: Int
    /// The key with which the tree begins; nil if unknown.
    let start: UInt64?
  }

  /// All keys of objects.
  static let allKeys: KeyRange = 0..<1 << 63

  /// Reads the table whose top array is at `ref`. If its columns are lost, uses those of `spare`.
  init(
    _ arena: Arena,
    name: String,
    slot: Int?,
    ref: Int,
    spare: CarvedStructures.Form? = nil
  ) throws(EngineError) {
    typealias Slots = Layout.Table
    let top = try arena.refs(ref, slots: Layout.Table.key + 1)
    self.arena = arena
    self.name = name
    self.top = ref
    let clusters = try top.child(Slots.clusters)
    roots = [Root(ref: clusters, start: 0)]
    let stored = TableKey(UInt32(truncatingIfNeeded: try top.int(Slots.key) >> 1))
    key = slot.map { $0 == stored.slot ? stored : TableKey(UInt32($0)) } ?? stored
    // A slot that cannot be read has no value; the rest of the table is still usable.
    func number(_ slot: Int) -> Int64? { slot < top.count ? try? top.tagged(slot) : 0 }
    let flags = number(Slots.flags) ?? 0
    nextSequence = max(0, number(Slots.sequence) ?? 0)
    var spareIsUsed = false
    do { (columns, backlinks, madeUpNames) = try Self.readColumns(arena, top) } catch {
      guard let spare else { throw error }
      spareIsUsed = true
      let opposites = ifReadable { () throws(EngineError) in
        try arena.integers(top.childIfPresent(Slots.oppositeTables))
      }
      (columns, backlinks, madeUpNames) = (spare.columns.leading(to: opposites), [], spare.madeUpNames)
    }
    // Likewise.
    let primaryKey = top.count > Slots.primaryKey ? (try? top.int(Slots.primaryKey)) ?? 0 : 0
    // Columns of another realm have the position and the type, but another tag.
    let known: Int64 = spareIsUsed ? 0x3FFF_FFFF : .max
    primaryKeyIndex =
      primaryKey & 1 == 0 ? nil : columns.firstIndex { $0.key.value & known == primaryKey >> 1 & known }
    // Objects with a primary key, and those of engines, are not embedded, whatever damage has made of the flags.
    let mayBeEmbedded = primaryKeyIndex == nil && (name.isEmpty || Table.className(ofTable: name) != nil)
    kind = flags & 3 == 1 && mayBeEmbedded ? .embedded : flags & 3 == 2 ? .asymmetric : .topLevel
    if columns.isEmpty, backlinks.isEmpty, Self.hasColumns(arena, clusters) {
      throw .damaged("the columns of the table are lost", ref: ref)
    }
    // If the root cannot be read, the number of objects is unknown.
    let claimed = try? ClusterTree(arena: arena, rootRef: clusters).count()
    claimedCount = claimed.flatMap { $0 <= 64 * arena.limit ? $0 : nil }
  }

  /// A table that lost its top array: `columns` are those of a spec found in the file. The values that only the top
  /// array contains are copied from `model`, another version of the table.
  init(_ arena: Arena, name: String, key: TableKey, columns: [Column], model: RescuedTable?, roots: [Root]) {
    self.arena = arena
    self.name = name
    self.key = key
    top = nil
    kind = model?.kind ?? .topLevel
    nextSequence = model?.nextSequence ?? 0
    backlinks = model?.backlinks ?? []
    claimedCount = nil
    self.roots = roots
    let known = model?.columns ?? []
    self.columns = columns.map { column in
      known.first { $0.key == column.key }.flatMap { $0.targetTable }.map { column.leading(to: $0) } ?? column
    }
    let primaryKey = model.flatMap { (model) in model.primaryKeyIndex.map { model.columns[$0].key } }
    primaryKeyIndex = primaryKey.flatMap { key in columns.firstIndex { $0.key == key } }
  }

  /// A table without objects: a class of `schema`, another realm, with these columns in the order of the class.
  init(_ arena: Arena, _ schema: Table, key: TableKey, columns: [Column]) {
    (self.arena, self.key, self.columns) = (arena, key, columns)
    (name, kind, primaryKeyIndex) = (schema.name, schema.kind, schema.primaryKeyIndex)
    (top, nextSequence, backlinks, claimedCount, roots) = (nil, 0, [], nil, [])
  }

  /// The table under another name.
  func named(_ name: String) -> RescuedTable {
    var table = self
    table.name = name
    return table
  }

  /// The table with another first key of its clusters.
  func beginning(at start: UInt64) -> RescuedTable {
    var table = self
    table.roots = roots.map { Root(ref: $0.ref, start: start) }
    return table
  }

  private static func readColumns(
    _ arena: Arena,
    _ top: Node
  ) throws(EngineError) -> ([Column], [Spec.BacklinkColumn], madeUpNames: Int) {
    do throws(EngineError) {
      let spec = try Spec(arena, tableTop: top, place: "")
      if spec.columns.contains(where: { $0.name.utf8.contains(0) }) { throw .damaged("a name with zero bytes") }
      return (spec.columns, spec.backlinks, 0)
    } catch {
      // An array other than the column keys is damaged: the keys alone define most of a column.
      let opposites = ifReadable { () throws(EngineError) in
        try arena.integers(top.childIfPresent(Layout.Table.oppositeTables))
      }
      let key = try top.int(Layout.Table.key) >> 1
      let (columns, madeUpNames) = try columns(
        arena,
        spec: top.child(Layout.Table.spec),
        oppositeTables: opposites,
        of: TableKey(UInt32(truncatingIfNeeded: key)),
        at: positions(arena, top)
      )
      return (columns, [], madeUpNames)
    }
  }

  /// The positions of the leaves of the first cluster: of named columns, and of backlink columns. A position where the
  /// opposite column is a property has backlinks. Nil if they cannot be read. Source: docs/format/2-model.md M7.
  private static func positions(_ arena: Arena, _ top: Node) -> (named: [Int], hidden: [Int])? {
    ifReadable { () throws(EngineError) in
      let tree = ClusterTree(arena: arena, rootRef: try top.child(Layout.Table.clusters))
      let opposites = try arena.integers(top.childIfPresent(Layout.Table.oppositeColumns))
      guard let (cluster, _) = try tree.first(notBelow: 0) else { return nil }
      var named: [Int] = [], hidden: [Int] = []
      for slot in Layout.Cluster.firstColumn..<max(Layout.Cluster.firstColumn, cluster.slots.count)
      where try cluster.slots.int(slot) != 0 {
        let position = slot - Layout.Cluster.firstColumn
        let opposite = position < opposites.count ? ColKey(try opposites.int(position)) : .none
        if opposite == .none || opposite.typeCode == Spec.TypeCode.backlink {
          named.append(position)
        } else {
          hidden.append(position)
        }
      }
      return (named, hidden)
    } ?? nil
  }

  /// True if the first cluster has leaves of columns.
  private static func hasColumns(_ arena: Arena, _ clusters: Int) -> Bool {
    let tree = ClusterTree(arena: arena, rootRef: clusters)
    guard let (cluster, _) = ifReadable({ () throws(EngineError) in try tree.first(notBelow: 0) }) ?? nil else {
      return false
    }
    return (1..<max(1, cluster.slots.count)).contains { slot in
      ifReadable { () throws(EngineError) in try cluster.slots.int(slot) != 0 } ?? true
    }
  }

  /// The columns of the spec at `ref` as far as they can be read. Names that cannot be read are generated, and other
  /// attributes are left out. Without `oppositeTables`, the targets of links are unknown. Keys that cannot be read are
  /// derived for `table`: from the positions `places`, in ascending order, or as if no column had ever been removed.
  static func columns(
    _ arena: Arena,
    spec ref: Int,
    oppositeTables: Node?,
    of table: TableKey? = nil,
    at places: (named: [Int], hidden: [Int])? = nil
  ) throws(EngineError) -> ([Column], madeUpNames: Int) {
    let node = try arena.refs(ref, slots: Layout.Spec.count)
    let names = ifReadable { () throws(EngineError) in try arena.node(node.child(Layout.Spec.names)) }
    let types = ifReadable { () throws(EngineError) in try arena.integers(node.child(Layout.Spec.types)) }
    let attributes = ifReadable { () throws(EngineError) in try arena.integers(node.child(Layout.Spec.attributes)) }
    let keys = try columnKeys(arena, node, types, attributes, names?.count ?? 0, table, places)
    let enumRefs = ifReadable { () throws(EngineError) in try arena.integers(node.child(Layout.Spec.enumerations)) }
    let (columns, madeUpNames) = columns(keys, names, attributes, enumRefs)
    return (columns.leading(to: oppositeTables), madeUpNames)
  }

  /// The columns with these keys, with generated names and unknown link targets.
  static func columns(_ keys: [ColKey]) -> [Column] { columns(keys, nil, nil, nil).columns }

  private static func columns(
    _ keys: [ColKey],
    _ names: Node?,
    _ attributes: Node?,
    _ enumRefs: Node?
  ) -> (columns: [Column], madeUpNames: Int) {
    var columns: [Column] = [], madeUpNames = 0
    for (i, key) in keys.enumerated() {
      guard let type = Spec.valueType(key.typeCode) else { continue }
      let name = names.flatMap { names in
        ifReadable { () throws(EngineError) in try StringLeaf.name(names, i) }
      }
      let attribute = ifReadable { () throws(EngineError) in try attributes?.int(i) ?? 0 } ?? 0
      if (name ?? "").isEmpty { madeUpNames += 1 }
      columns.append(
        Column(
          name: (name ?? "").isEmpty ? "property_\(i)" : name ?? "",
          key: key,
          type: type,
          collection: Spec.collection(key),
          isNullable: key.attributes & Spec.Attribute.nullable != 0,
          index: attribute & Int64(Spec.Attribute.fullText) != 0
            ? .fullText : attribute & Int64(Spec.Attribute.indexed) != 0 ? .general : nil,
          targetTable: type == .link ? TableKey.none : nil,
          enumRef: ifReadable { () throws(EngineError) in try enumRefs?.childIfPresent(i) ?? 0 } ?? 0,
          indexRef: 0,
          dictionaryKeyType: Spec.TypeCode.string
        )
      )
    }
    return (columns, madeUpNames)
  }

  /// The keys of all columns. Source: docs/format/2-model.md M4.
  private static func columnKeys(
    _ arena: Arena,
    _ spec: Node,
    _ types: Node?,
    _ attributes: Node?,
    _ names: Int,
    _ table: TableKey?,
    _ places: (named: [Int], hidden: [Int])?
  ) throws(EngineError) -> [ColKey] {
    let count = max(names, types?.count ?? 0)
    do throws(EngineError) {
      let keys = try arena.integers(spec.child(Layout.Spec.keys))
      if keys.count < count || keys.count > 0xFFFF { throw .damaged("the keys of columns are lost", ref: keys.ref) }
      var all: [ColKey] = []
      for i in 0..<keys.count { all.append(ColKey(try keys.int(i))) }
      return all
    } catch {
      guard let types, let attributes, let table, types.count == attributes.count, types.count <= 0xFFFF else {
        throw error
      }
      var all: [ColKey] = [], positions = Array(0..<types.count)
      if let places {
        let kinds = (0..<types.count).map { i in (try? types.int(i)) ?? 0 }.map { $0 & 0x3F }  // all exist
        let hidden = kinds.count { $0 == Spec.TypeCode.backlink }
        if places.hidden.count == hidden, places.named.count == kinds.count - hidden {
          positions = places.named + places.hidden
        }
      }
      for i in 0..<types.count {
        let type = try types.int(i) & 0x3F, attribute = try attributes.int(i) & 0xFF & ~Int64(Spec.Attribute.indexed)
        all.append(ColKey(Int64(positions[i]) | type << 16 | attribute << 22 | Int64(table.value) << 30))
      }
      return all
    }
  }

  /// Replaces generated names with those that another version of the table has for the same columns.
  mutating func completeNames(from other: RescuedTable) {
    if madeUpNames == 0 || other.madeUpNames > 0 { return }
    for (i, column) in columns.enumerated() {
      guard let known = other.columns.first(where: { $0.key == column.key }) else { return }
      columns[i] = column.with(name: known.name, index: known.index)
    }
    madeUpNames = 0
  }

  /// Completes generated names, and links that lead to none of the tables in `known`, with those of `others`, the
  /// columns of the class in another realm, if they have the same types in the same order.
  mutating func complete(from others: [Column], _ known: Set<TableKey>) {
    guard let named = columns.named(like: others) else { return }
    if madeUpNames > 0 { (columns, madeUpNames) = (named, 0) }
    columns = columns.leading(like: others, unlessIn: known)
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

  /// Turns a class stored as embedded into a top-level class if the links to its objects contradict that flag: an
  /// embedded object has one owner, so the flag is damaged. Objects without an owner prove nothing, because Realm's
  /// engine leaves such objects behind when a property or class is removed.
  ///
  /// Cost: a walk over the clusters.
  mutating func correctKind(_ effort: Effort) {
    guard kind == .embedded, claimedCount ?? 1 > 0 else { return }
    // One damaged backlink must not decide.
    var shared = 0
    // The closures do not throw, so nothing is thrown here.
    try? forEachObject(
      effort,
      in: nil,
      { object in
        if let owners = (object as? RescuedCluster)?.owners(backlinks), owners > 1 { shared += 1 }
      },
      onLoss: { _, _ in }
    )
    if shared < 2 { return }
    kind = .topLevel
    kindNote = "stored as embedded, but some objects have several owners: saved as a class of its own"
  }

  // MARK: objects

  func forEachObject(
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError) {
    try forEachObject(effort, in: nil, body) { (error, _) throws(EngineError) in try onDamage(error) }
  }

  /// Like `forEachObject(_:_:onDamage:)`, but passes only objects whose keys are in `wanted`, unless it is nil.
  /// `onLoss` also gets the range of keys that the damaged node had, if known.
  func forEachObject(
    _ effort: Effort,
    in wanted: [KeyRange]?,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onLoss: (EngineError, KeyRange?) throws(EngineError) -> Void
  ) throws(EngineError) {
    for root in roots {
      let range = root.start.flatMap { $0 < Self.allKeys.upperBound ? $0..<Self.allKeys.upperBound : nil }
      let walk = Walk(effort, wanted)
      try visit(root.ref, range, depth: 0, walk, body, onLoss)
    }
  }

  private final class Walk {
    let effort: Effort
    let wanted: [KeyRange]?
    var last: Int64 = -1

    init(_ effort: Effort, _ wanted: [KeyRange]?) { (self.effort, self.wanted) = (effort, wanted) }

    /// True if objects with keys in `range` may be wanted.
    func wants(_ range: KeyRange?) -> Bool {
      guard let wanted else { return true }
      return range.map { range in wanted.contains { $0.overlaps(range) } } ?? false
    }
  }

  private static let maximumDepth = 9

  private func visit(
    _ ref: Int,
    _ range: KeyRange?,
    depth: Int,
    _ walk: Walk,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    _ onLoss: (EngineError, KeyRange?) throws(EngineError) -> Void
  ) throws(EngineError) {
    if !walk.wants(range) { return }
    let node: Node
    do throws(EngineError) {
      try walk.effort.spend(Node.headerSize, at: ref)
      node = try arena.refs(ref, slots: 1)
      if !node.isInner { try walk.effort.spend((1 + columns.count) * Node.headerSize, at: ref) }
      if depth > Self.maximumDepth { throw .damaged("a cluster too deep", ref: ref) }
    } catch { return try onLoss(error, range) }
    if !node.isInner { return try visit(leaf: node, range, walk, body, onLoss) }
    var offsets: Node?
    var isCompact = false
    do {
      let starts = try node.child(Layout.InnerCluster.starts)
      isCompact = starts == 0
      if !isCompact { offsets = try arena.integers(starts) }
    } catch { try onLoss(error, nil) }
    // A damaged level makes the keys unknown; the objects are still read.
    let level = node.count > 1 ? (try? node.tagged(Layout.InnerCluster.level)) ?? 0 : 0
    /// The key at which a child begins; nil if unknown.
    func start(_ child: Int) -> UInt64? {
      guard let first = range?.lowerBound else { return nil }
      if isCompact { return (1...8).contains(level) ? first &+ UInt64(child) << (8 * UInt64(level)) : nil }
      // Likewise.
      return (try? offsets?.unsigned(child)).flatMap { $0 }.map { first &+ $0 }
    }
    let children = max(0, node.count - Layout.InnerCluster.firstChild)
    for i in 0..<children {
      if walk.effort.isSpent { return }
      let end = (i + 1 < children ? start(i + 1) : nil) ?? range?.upperBound
      let own = start(i).flatMap { start in end.flatMap { start < $0 ? start..<$0 : nil } }
      let child: Int
      do { child = try node.child(i + Layout.InnerCluster.firstChild) } catch {
        try onLoss(error, own)
        continue
      }
      try visit(child, own, depth: depth + 1, walk, body, onLoss)
    }
  }

  private func visit(
    leaf node: Node,
    _ range: KeyRange?,
    _ walk: Walk,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    _ onLoss: (EngineError, KeyRange?) throws(EngineError) -> Void
  ) throws(EngineError) {
    arena.space.noteRead(node.ref, node.byteSize)
    let cluster = RescuedCluster(arena, columns, node)
    do { cluster.keys = try Cluster(arena, node, offset: range?.lowerBound ?? 0) } catch {
      try onLoss(error, nil)
    }
    for row in 0..<(cluster.keys?.count ?? cluster.longestLeaf) {
      cluster.row = row
      cluster.key = nil
      // A key that cannot be read, or is out of order, is unknown.
      if range != nil, let key = try? cluster.keys?.key(row), key < UInt64(Int64.max), Int64(key) > walk.last {
        walk.last = Int64(key)
        cluster.key = ObjKey(Int64(key))
      }
      if let wanted = walk.wanted {
        guard let key = cluster.key, wanted.contains(where: { $0.contains(UInt64(bitPattern: key.value)) }) else {
          continue
        }
      }
      try body(cluster)
    }
  }

  /// The property at `index` of the object with this key.
  func value(of key: ObjKey, _ index: Int) throws(EngineError) -> ValueView {
    for root in roots where root.start == 0 {
      let tree = ClusterTree(arena: arena, rootRef: root.ref)
      guard let (cluster, row) = try tree.place(of: UInt64(bitPattern: key.value)) else { continue }
      let found = RescuedCluster(arena, columns, cluster.slots)
      (found.keys, found.row) = (cluster, row)
      return try found.value(index)
    }
    throw EngineError(.damaged, "\(name): no object \(key)")
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

  /// The number of links to the object; nil if it cannot be read. Source: docs/format/2-model.md M7.
  func owners(_ backlinks: [Spec.BacklinkColumn]) -> Int? {
    ifReadable { () throws(EngineError) in
      var count = 0
      for backlink in backlinks {
        let element = try arena.integers(slots.child(backlink.key.leafPosition + 1)).int(row)
        // One link, or the ref of an array of them.
        if element & 1 != 0 { count += 1 } else if element != 0 { count += try arena.integers(Int(element)).count }
      }
      return count
    }
  }

  func forEachElement(
    _ index: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    onDamage: (EngineError) -> Void
  ) -> Bool {
    do {
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
          do { body(try leaf.value(i, arena)) } catch { onDamage(error) }
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
        do {
          visit(try node.child(i), element, depth: depth + 1, effort, body, onDamage)
        } catch { onDamage(error) }
      }
    } catch { onDamage(error) }
  }
}

extension [Column] {
  /// True if the columns have the same names and types as `others`, in the same order.
  func isNamed(like others: [Column]) -> Bool { named(like: others)?.map(\.name) == map(\.name) }

  /// The columns with the names and indexes of `others`; nil unless those have the same types in the same order.
  func named(like others: [Column]) -> [Column]? {
    let types: (Column) -> Int64 = { $0.key.value >> 16 & 0x3FFF }
    if !elementsEqual(others, by: { types($0) == types($1) }) { return nil }
    return zip(self, others).map { $0.with(name: $1.name, index: $1.index) }
  }

  /// The columns with the link targets that `oppositeTables` has at their positions, as far as they can be read.
  fileprivate func leading(to oppositeTables: Node?) -> [Column] {
    guard let oppositeTables else { return self }
    return map { column in
      let target = ifReadable { () throws(EngineError) in try oppositeTables.int(column.key.leafPosition) }
      guard column.type == .link, let target else { return column }
      return column.leading(to: TableKey(UInt32(truncatingIfNeeded: target)))
    }
  }
}

extension Column {
  /// A copy of the column with another link target; the same target if it is nil.
  func leading(to target: TableKey?) -> Column { with(name: name, index: index, target: target) }

  /// A copy of the column with another name and index.
  fileprivate func with(name: String, index: IndexKind?, target: TableKey? = nil) -> Column {
    Column(
      name: name,
      key: key,
      type: type,
      collection: collection,
      isNullable: isNullable,
      index: index,
      targetTable: target ?? targetTable,
      enumRef: enumRef,
      indexRef: indexRef,
      dictionaryKeyType: dictionaryKeyType
    )
  }
}

extension [Column] {
  /// The columns with the targets of `others`, except for those that lead to a table in `known`.
  func leading(like others: [Column], unlessIn known: Set<TableKey>) -> [Column] {
    zip(self, others).map { column, other in
      column.targetTable.map { known.contains($0) } ?? false ? column : column.leading(to: other.targetTable)
    }
  }
}
