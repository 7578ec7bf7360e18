// Edits cluster trees: inserts and removes rows, splits clusters of 256 objects and merges small ones. Source:
// docs/format/2-model.md M6.

private typealias Inner = Layout.InnerCluster
private typealias Leaf = Layout.Cluster

/// One column of a cluster.
struct ClusterColumn {
  enum Kind {
    case scalar(ElementType, enumRef: Int)
    /// One root ref per row; 0 for an empty collection.
    case collection
    /// Incoming links: per row 0, a tagged object key, or the root ref of a tree of keys. See
    /// docs/format/1-storage.md S14.
    case backlink
  }

  /// The leaf is in slot `position + Leaf.firstColumn`.
  let position: Int
  let kind: Kind
}

/// The columns of a table, as laid out in its clusters.
final class RowLayout: Sendable {
  let columns: [ClusterColumn]
  /// The number of slots of a cluster with a leaf for every column.
  let slotCount: Int

  /// No columns.
  static let empty = RowLayout([])

  init(_ columns: [ClusterColumn]) {
    self.columns = columns
    slotCount = (columns.map(\.position).max() ?? -1) + 1 + Leaf.firstColumn
  }
}

/// Edits the cluster tree that a slot refers to.
struct ClusterTreeEditor {
  let editor: NodeEditor
  let root: Slot
  let layout: RowLayout

  private var columns: [ClusterColumn] { layout.columns }

  private var slab: Slab { editor.slab }
  private var arena: Arena { editor.arena }

  /// The location of an object: its dirty cluster and its row.
  struct Place {
    let cluster: Int
    let row: Int
  }

  /// Creates an empty tree and returns its ref.
  static func make(_ editor: NodeEditor, _ layout: RowLayout) -> Int {
    let ref = editor.slab.makeInts(.hasRefs, repeating: 0, count: layout.slotCount)
    editor.slab.setTagged(ref, Leaf.head, 0)
    for column in layout.columns {
      editor.slab.setChild(ref, column.position + Leaf.firstColumn, makeColumnLeaf(editor, column))
    }
    return ref
  }

  private static func makeColumnLeaf(_ editor: NodeEditor, _ column: ClusterColumn) -> Int {
    switch column.kind {
    case .scalar(let element, _): editor.makeLeaf(element, inTree: false)
    case .collection, .backlink: editor.slab.makeInts(.hasRefs)
    }
  }

  // MARK: objects

  /// Returns the location of the object with this key, in a dirty cluster; nil if there is none. Cost: O(log n).
  func find(_ key: UInt64) throws(EngineError) -> Place? {
    var slot = root, local = key
    while true {
      let ref = try editor.dirty(slot)
      if slab.node(ref).isInner {
        let (child, start) = try child(ref, local)
        local &-= start
        slot = Slot(parent: ref, index: child + Inner.firstChild)
        continue
      }
      let cluster = try Cluster(arena, slab.node(ref), offset: 0)
      let row = try cluster.lowerBound(local)
      guard row < cluster.count, try cluster.key(row) == local else { return nil }
      return Place(cluster: ref, row: row)
    }
  }

  /// Inserts one of `rows`, whose key must be new. Cost: O(log n + 256).
  func insert(_ rows: NewRows, _ row: Int) throws(EngineError) {
    if let split = try insert(root, rows.keys[row], rows, row) {
      let left = try editor.ref(root)
      let isInner = slab.node(left).isInner
      let depth = isInner ? Int(slab.int(left, Inner.level) >> 1) + 1 : 1
      let leftCount = try count(left), rightCount = try count(split.right)
      // The compact form is possible if the children begin where those of a full node would.
      let isCompact = split.key == 1 << (8 * UInt64(depth))
      let offsets = isCompact ? 0 : slab.makeUnsigned([0, split.key])
      editor.set(
        root,
        slab.makeInts(
          [.inner, .hasRefs],
          [
            Int64(offsets), Int64(depth) << 1 | 1, Int64(leftCount + rightCount) << 1 | 1, Int64(left),
            Int64(split.right),
          ]
        )
      )
    }
  }

  /// Appends objects whose keys ascend and follow all others. Cost: O(log n) for each cluster filled.
  func append(_ rows: NewRows) throws(EngineError) {
    var next = rows.start
    while next < rows.count {
      let count = try appendToLast(rows, next)
      if count == 0 { try insert(rows, next) }
      next += max(1, count)
    }
  }

  /// Appends the rows from `first` on to the last cluster while it has room. Returns their number.
  private func appendToLast(_ rows: NewRows, _ first: Int) throws(EngineError) -> Int {
    var ref = try editor.dirty(root), inner: [Int] = [], offset: UInt64 = 0
    while slab.node(ref).isInner {
      let (child, start) = try child(ref, .max)
      inner.append(ref)
      offset &+= start
      ref = try editor.dirty(Slot(parent: ref, index: child + Inner.firstChild))
    }
    let count = try Cluster(arena, slab.node(ref), offset: 0).count
    let added = first..<min(rows.count, first + max(0, Cluster.maximumCount - count))
    if added.isEmpty { return 0 }
    try append(rows, added, to: ref, count: count, offset: offset)
    for ref in inner { slab.setTagged(ref, Inner.count, slab.int(ref, Inner.count) >> 1 + Int64(added.count)) }
    return added.count
  }

  /// Removes an existing object and its values. The caller handles links and collections.
  func remove(_ key: UInt64) throws(EngineError) {
    _ = try remove(root, key)
    while true {
      let ref = try editor.ref(root), node = try arena.node(ref)
      guard node.isInner, node.count == Inner.firstChild + 1 else { return }
      let offsets = try node.child(Inner.starts)
      if offsets != 0 {
        // Keys are relative to this offset, which is about to be removed.
        let start = try arena.integers(offsets).unsigned(0)
        if start != 0 { try shift(Slot(parent: ref, index: Inner.firstChild), by: start) }
        try slab.dropTree(offsets, arena)
      }
      // Read the child's ref again, because the shift may have made the child dirty.
      editor.set(root, try arena.node(ref).child(Inner.firstChild))
      try slab.drop(ref, arena)
    }
  }

  // MARK: columns

  /// Calls `body` with each dirty cluster and its number of objects.
  func forEachCluster(_ body: (Int, Int) throws(EngineError) -> Void) throws(EngineError) {
    try forEachCluster(root, body)
  }

  private func forEachCluster(_ slot: Slot, _ body: (Int, Int) throws(EngineError) -> Void) throws(EngineError) {
    let ref = try editor.dirty(slot)
    if slab.node(ref).isInner {
      for i in 3..<slab.node(ref).count { try forEachCluster(Slot(parent: ref, index: i), body) }
    } else {
      try body(ref, Cluster(arena, slab.node(ref), offset: 0).count)
    }
  }

  /// Adds a column to every cluster, with its default value in each row.
  func addColumn(_ column: ClusterColumn) throws(EngineError) {
    try forEachCluster { (cluster, count) throws(EngineError) in
      try slab.pad(cluster, to: column.position + 1 + Leaf.firstColumn)
      let slot = Slot(parent: cluster, index: column.position + Leaf.firstColumn)
      try editor.clear(slot)
      editor.set(slot, Self.makeColumnLeaf(editor, column))
      for row in 0..<count { try insertDefault(slot, row, column) }
    }
  }

  /// Removes a column from every cluster, including everything below its leaves.
  func removeColumn(_ position: Int) throws(EngineError) {
    try forEachCluster { (cluster, _) throws(EngineError) in
      if position + Leaf.firstColumn < slab.node(cluster).count {
        try editor.clear(Slot(parent: cluster, index: position + Leaf.firstColumn))
      }
    }
  }

  // MARK: leaves

  private func insertDefault(_ slot: Slot, _ row: Int, _ column: ClusterColumn) throws(EngineError) {
    switch column.kind {
    case .scalar(let element, _):
      try element.defaultValue.withView { (value) throws(EngineError) in
        try editor.insert(slot, row, value, element, inTree: false)
      }
    case .collection, .backlink: slab.insertInt(try editor.dirty(slot), row, 0)
    }
  }

  /// Inserts a row between others or into an empty cluster. `key` is relative to the cluster.
  private func insertRow(
    _ cluster: Int,
    _ index: Int,
    count: Int,
    key: UInt64,
    _ rows: NewRows,
    _ row: Int
  ) throws(EngineError) {
    try insertKey(cluster, index, count: count, key)
    try forEachLeaf(cluster) { (slot, column) throws(EngineError) in
      guard case .scalar(let element, _) = column.kind else { return try insertDefault(slot, index, column) }
      try rows.withView(row, column.position) { (value) throws(EngineError) in
        try editor.insert(slot, index, value, element, inTree: false)
      }
    }
  }

  /// Appends rows to a cluster that has room for them. `offset` is the base of the cluster's keys.
  private func append(
    _ rows: NewRows,
    _ added: Range<Int>,
    to cluster: Int,
    count: Int,
    offset: UInt64
  ) throws(EngineError) {
    for (i, row) in added.enumerated() {
      try insertKey(cluster, count + i, count: count + i, rows.keys[row] &- offset)
    }
    try forEachLeaf(cluster) { (slot, column) throws(EngineError) in
      if case .scalar = column.kind {
        try editor.append(rows.column(column.position), added, to: slot, count: count)
      } else {
        for i in 0..<added.count { try insertDefault(slot, count + i, column) }
      }
    }
  }

  private func insertKey(_ cluster: Int, _ index: Int, count: Int, _ key: UInt64) throws(EngineError) {
    if slab.int(cluster, Leaf.head) & 1 != 0 && key == UInt64(count) && index == count {
      slab.setTagged(cluster, Leaf.head, Int64(count + 1))
    } else {
      slab.insertUnsigned(try generalKeys(cluster), index, key)
    }
  }

  /// Calls `body` with the slot of each column's leaf, first creating missing leaves and expanding enumerated ones.
  private func forEachLeaf(
    _ cluster: Int,
    _ body: (Slot, ClusterColumn) throws(EngineError) -> Void
  ) throws(EngineError) {
    try slab.pad(cluster, to: layout.slotCount)
    for column in columns {
      let slot = Slot(parent: cluster, index: column.position + Leaf.firstColumn)
      if slab.int(cluster, column.position + Leaf.firstColumn) == 0 {
        editor.set(slot, Self.makeColumnLeaf(editor, column))
      }
      if case .scalar(_, let enumRef) = column.kind { try editor.materialise(slot, enumRef: enumRef) }
      try body(slot, column)
    }
  }

  private func generalKeys(_ cluster: Int) throws(EngineError) -> Int {
    let head = slab.int(cluster, Leaf.head)
    if head & 1 == 0 { return try slab.child(cluster, Leaf.head, arena) }
    let made = slab.makeUnsigned((0..<max(0, head >> 1)).map { UInt64($0) })
    slab.setChild(cluster, Leaf.head, made)
    return made
  }

  private func removeRow(_ cluster: Int, _ row: Int) throws(EngineError) {
    let count = try Cluster(arena, slab.node(cluster), offset: 0).count
    if slab.int(cluster, Leaf.head) & 1 != 0 && row == count - 1 {
      slab.setTagged(cluster, Leaf.head, Int64(count - 1))
    } else {
      slab.removeInt(try generalKeys(cluster), row)
    }
    for column in columns {
      let slot = Slot(parent: cluster, index: column.position + Leaf.firstColumn)
      switch column.kind {
      case .scalar(let element, let enumRef):
        try editor.materialise(slot, enumRef: enumRef)
        try editor.remove(slot, row, element)
      case .collection, .backlink:
        let ref = try editor.dirty(slot), root = slab.int(ref, row)
        if root != 0 && root & 1 == 0 { try slab.dropTree(Int(root), arena) }
        slab.removeInt(ref, row)
      }
    }
  }

  /// Moves the rows from `start` on to the end of another cluster, subtracting `base` from their keys.
  private func moveRows(_ from: Int, _ start: Int, to: Int, keysMinus base: UInt64) throws(EngineError) {
    let source = try Cluster(arena, slab.node(from), offset: 0), count = source.count
    let target = try Cluster(arena, slab.node(to), offset: 0).count
    var keys: [UInt64] = []
    for row in start..<count { keys.append(try source.key(row) &- base) }
    let staysCompact = slab.int(to, Leaf.head) & 1 != 0 && keys.enumerated().allSatisfy { $1 == UInt64(target + $0) }
    if staysCompact {
      slab.setTagged(to, Leaf.head, Int64(target + keys.count))
    } else {
      let general = try generalKeys(to)
      for (i, key) in keys.enumerated() { slab.insertUnsigned(general, target + i, key) }
    }
    for column in columns {
      let source = Slot(parent: from, index: column.position + Leaf.firstColumn),
        sink = Slot(parent: to, index: column.position + Leaf.firstColumn)
      switch column.kind {
      case .scalar(let element, let enumRef):
        try editor.materialise(source, enumRef: enumRef)
        try editor.materialise(sink, enumRef: enumRef)
        _ = try editor.dirty(source)
        _ = try editor.dirty(sink)
        try editor.move(source, from: start, to: sink, element, inTree: false)
      case .collection, .backlink:
        let old = try editor.dirty(source), new = try editor.dirty(sink)
        for row in start..<count { slab.insertInt(new, slab.node(new).count, slab.int(old, row)) }
        slab.truncateInts(old, start)
      }
    }
    if slab.int(from, Leaf.head) & 1 != 0 {
      slab.setTagged(from, Leaf.head, Int64(start))
    } else {
      slab.truncateInts(try slab.child(from, Leaf.head, arena), start)
    }
  }

  // MARK: inner nodes

  private struct Split {
    let right: Int
    /// The key at which the right part begins, relative to the left part's offset.
    let key: UInt64
  }

  private func count(_ ref: Int) throws(EngineError) -> Int {
    let node = slab.node(ref)
    return node.isInner ? Int(slab.int(ref, Inner.count) >> 1) : try Cluster(arena, node, offset: 0).count
  }

  /// Returns the child of a dirty inner node that covers `key`, and its offset.
  private func child(_ ref: Int, _ key: UInt64) throws(EngineError) -> (child: Int, start: UInt64) {
    let node = slab.node(ref), children = node.count - Inner.firstChild, starts = try node.child(Inner.starts)
    if starts == 0 {
      let shift = 8 * UInt64(slab.int(ref, Inner.level) >> 1)
      let child = min(key >> shift, UInt64(children - 1))
      return (Int(child), child << shift)
    }
    let offsets = try arena.integers(starts)
    let child = max(0, min(children, try offsets.upperBound(key)) - 1)
    return (child, try offsets.unsigned(child))
  }

  private func generalOffsets(_ ref: Int) throws(EngineError) -> Int {
    if slab.int(ref, Inner.starts) != 0 { return try slab.child(ref, Inner.starts, arena) }
    let shift = 8 * UInt64(slab.int(ref, Inner.level) >> 1)
    let made = slab.makeUnsigned((0..<UInt64(slab.node(ref).count - Inner.firstChild)).map { $0 << shift })
    slab.setChild(ref, Inner.starts, made)
    return made
  }

  private func insert(_ slot: Slot, _ key: UInt64, _ rows: NewRows, _ row: Int) throws(EngineError) -> Split? {
    let ref = try editor.dirty(slot)
    if !slab.node(ref).isInner { return try insertIntoLeaf(ref, key, rows, row) }
    let (child, first) = try child(ref, key)
    var start = first
    if key < start {
      // The key precedes all others: move the start of the first child down.
      try shift(Slot(parent: ref, index: child + Inner.firstChild), by: start - key)
      slab.setUnsigned(try generalOffsets(ref), child, key)
      start = key
    }
    let split = try insert(Slot(parent: ref, index: child + Inner.firstChild), key &- start, rows, row)
    slab.setTagged(ref, Inner.count, slab.int(ref, Inner.count) >> 1 + 1)
    guard let split else { return nil }
    let begin = start &+ split.key
    let shift = 8 * UInt64(slab.int(ref, Inner.level) >> 1)
    let children = slab.node(ref).count - Inner.firstChild
    if !(slab.int(ref, Inner.starts) == 0 && child == children - 1 && begin == UInt64(children) << shift) {
      slab.insertUnsigned(try generalOffsets(ref), child + 1, begin)
    }
    slab.insertInt(ref, child + 4, Int64(split.right))
    if children + 1 <= Cluster.maximumCount { return nil }
    return try splitInner(ref, at: child + 1 == children ? children : (children + 1) / 2)
  }

  private func insertIntoLeaf(_ ref: Int, _ key: UInt64, _ rows: NewRows, _ row: Int) throws(EngineError) -> Split? {
    let cluster = try Cluster(arena, slab.node(ref), offset: 0)
    let index = try cluster.lowerBound(key)
    if cluster.count < Cluster.maximumCount {
      try insertRow(ref, index, count: cluster.count, key: key, rows, row)
      return nil
    }
    let right = Self.make(editor, layout)
    if index == cluster.count {
      try insertRow(right, 0, count: 0, key: 0, rows, row)
      return Split(right: right, key: key)
    }
    let middle = max(1, min(index, cluster.count - 1)) < cluster.count / 2 ? cluster.count / 2 : max(1, index)
    let base = try cluster.key(middle)
    try moveRows(ref, middle, to: right, keysMinus: base)
    // A new object between the halves goes to the left one, whose keys all precede the first of the right one.
    try insertRow(ref, index, count: middle, key: key, rows, row)
    return Split(right: right, key: base)
  }

  private func splitInner(_ ref: Int, at middle: Int) throws(EngineError) -> Split {
    let children = slab.node(ref).count - Inner.firstChild, level = slab.int(ref, Inner.level)
    let wasCompact = slab.int(ref, Inner.starts) == 0
    let shift = 8 * UInt64(level >> 1)
    let base = wasCompact ? UInt64(middle) << shift : try slab.node(generalOffsets(ref)).unsigned(middle)
    var elements: [Int64] = [0, level, 0]
    var rightCount = 0
    for i in middle..<children {
      let child = slab.int(ref, i + Inner.firstChild)
      elements.append(child)
      let node = try arena.node(Int(child))
      rightCount += node.isInner ? Int(try node.tagged(Inner.count)) : try Cluster(arena, node, offset: 0).count
    }
    elements[2] = Int64(rightCount) << 1 | 1
    if !wasCompact {
      let offsets = try generalOffsets(ref)
      var moved: [UInt64] = []
      for i in middle..<children { moved.append(try slab.node(offsets).unsigned(i) - base) }
      elements[0] = Int64(slab.makeUnsigned(moved))
      slab.truncateInts(offsets, middle)
    }
    let right = slab.makeInts([.inner, .hasRefs], elements)
    slab.truncateInts(ref, middle + Inner.firstChild)
    slab.setTagged(ref, Inner.count, slab.int(ref, Inner.count) >> 1 - Int64(rightCount))
    return Split(right: right, key: base)
  }

  /// Removes an object below `slot`. Returns true if the subtree is empty afterwards.
  private func remove(_ slot: Slot, _ key: UInt64) throws(EngineError) -> Bool {
    let ref = try editor.dirty(slot)
    if !slab.node(ref).isInner {
      let cluster = try Cluster(arena, slab.node(ref), offset: 0)
      let row = try cluster.lowerBound(key)
      guard row < cluster.count, try cluster.key(row) == key else {
        throw .damaged("no object with key \(key) in its cluster", ref: ref)
      }
      try removeRow(ref, row)
      return cluster.count == 1
    }
    let (child, start) = try child(ref, key)
    let isEmpty = try remove(Slot(parent: ref, index: child + Inner.firstChild), key &- start)
    slab.setTagged(ref, Inner.count, slab.int(ref, Inner.count) >> 1 - 1)
    if isEmpty && slab.node(ref).count > 4 {
      try removeChild(ref, child)
      return false
    }
    if !isEmpty { try mergeIfSmall(ref, child) }
    return isEmpty
  }

  private func removeChild(_ ref: Int, _ child: Int) throws(EngineError) {
    let children = slab.node(ref).count - Inner.firstChild
    if !(slab.int(ref, Inner.starts) == 0 && child == children - 1) { slab.removeInt(try generalOffsets(ref), child) }
    try editor.clear(Slot(parent: ref, index: child + Inner.firstChild))
    slab.removeInt(ref, child + Inner.firstChild)
  }

  /// Merges a small cluster with its right or left neighbour.
  private func mergeIfSmall(_ ref: Int, _ child: Int) throws(EngineError) {
    let children = slab.node(ref).count - Inner.firstChild
    let node = try arena.node(slab.node(ref).child(child + Inner.firstChild))
    guard children > 1, !node.isInner, try Cluster(arena, node, offset: 0).count < Cluster.maximumCount / 4
    else { return }
    let left = child + 1 < children ? child : child - 1
    let leftNode = try arena.node(slab.node(ref).child(left + Inner.firstChild))
    let rightNode = try arena.node(slab.node(ref).child(left + 1 + Inner.firstChild))
    let joined = try Cluster(arena, leftNode, offset: 0).count + Cluster(arena, rightNode, offset: 0).count
    guard joined <= Cluster.maximumCount * 3 / 4 else { return }
    let offsets = try generalOffsets(ref)
    let distance = try slab.node(offsets).unsigned(left + 1) - slab.node(offsets).unsigned(left)
    let from = try editor.dirty(Slot(parent: ref, index: left + 1 + Inner.firstChild))
    let to = try editor.dirty(Slot(parent: ref, index: left + Inner.firstChild))
    try moveRows(from, 0, to: to, keysMinus: 0 &- distance)
    try removeChild(ref, left + 1)
  }

  /// Adds `base` to all keys of the subtree in `slot`, before its parent's offset is reduced or removed.
  private func shift(_ slot: Slot, by base: UInt64) throws(EngineError) {
    let ref = try editor.dirty(slot)
    if slab.node(ref).isInner {
      slab.addUnsigned(try generalOffsets(ref), from: 0, Int(bitPattern: UInt(base)))
    } else {
      slab.addUnsigned(try generalKeys(ref), from: 0, Int(bitPattern: UInt(base)))
    }
  }
}

extension NodeEditor {
  /// Converts an enumerated leaf in `slot` to one that stores its strings. `enumRef` is the ref of the column's
  /// strings, or 0.
  func materialise(_ slot: Slot, enumRef: Int) throws(EngineError) {
    if enumRef == 0 { return }
    let old = try arena.node(ref(slot))
    if old.hasRefs || old.scheme != .bits { return }
    let values = try StringLeaf(arena, enumRef)
    let holder = slab.makeInts(.hasRefs, [Int64(makeStrings())])
    let new = Slot(parent: holder, index: 0)
    for i in 0..<old.count {
      let value = try values.value(Int(truncatingIfNeeded: old.int(i)), arena)
      try unsafe insertString(new, i, value?.unsafeBytes)
    }
    try slab.drop(old.ref, arena)
    set(slot, try ref(new))
    try slab.drop(holder, arena)
  }
}
