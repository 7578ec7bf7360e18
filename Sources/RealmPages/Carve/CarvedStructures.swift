// Finds the parts of tables in a file without any ref to them: each is recognized by its form alone. The mark "AAAA" of
// a node can be at any aligned offset, also within the bytes of values, so each candidate is checked down to the
// arrays of its columns. Source: docs/format/1-storage.md S4, docs/format/2-model.md M2, M3, M4, M6.

/// The tops, specs, names, groups and clusters that a search finds in a file of format 10 or later.
struct CarvedStructures {
  /// The top array of a table.
  struct TableTop {
    let ref: Int
    let key: TableKey
    /// Counts the commits that changed the table, so that the newest of several tops is known.
    let contentVersion: Int64
  }

  /// The array of all tables of a version.
  struct Group {
    let ref: Int
    /// The refs of the tables by slot; 0 for a free slot.
    let tables: [Int]
  }

  /// The parts of a spec that determine the form of its clusters.
  struct Form {
    let columns: [Column]
    /// The positions of the backlink columns.
    let hidden: [Int]
    /// The number of slots of a cluster.
    let slots: Int
    /// The table to which the columns belong, as their keys contain it.
    let table: TableKey
    /// The number of names that cannot be read and are generated.
    let madeUpNames: Int
    /// True if the columns come from another realm.
    let isGiven: Bool
  }

  /// Table tops by ref.
  private(set) var tops: [Int: TableTop] = [:]
  /// Each distinct set of columns, as the first spec in the file that has it.
  private(set) var forms: [Form] = []
  private(set) var groups: [Group] = []
  /// Leaves that may be the names of all tables.
  private(set) var names: [Int] = []
  /// True if the file contains so many candidates that the search ended early.
  private(set) var isIncomplete = false

  /// The newest group; nil if none was found.
  var newestGroup: Group? {
    groups.max { isNewer($1.tables, than: $0.tables) || !isNewer($0.tables, than: $1.tables) && $0.ref < $1.ref }
  }

  /// True if the tables with the refs `a` are a later state than those with the refs `b`: some of the tables that both
  /// have were changed since, and none of them before; or if `b` has no tables.
  func isNewer(_ a: [Int], than b: [Int]) -> Bool {
    var versions: [TableKey: Int64] = [:]
    for top in b.compactMap({ tops[$0] }) { versions[top.key] = top.contentVersion }
    let changes = a.compactMap { tops[$0] }.compactMap { top in versions[top.key].map { top.contentVersion &- $0 }
    }
    return versions.isEmpty ? !a.isEmpty : changes.contains { $0 > 0 } && !changes.contains { $0 < 0 }
  }

  /// True if the file has a later state of one of the tables with these refs.
  func isOutdated(_ tables: [Int]) -> Bool {
    var newest: [TableKey: Int64] = [:]
    for top in tops.values { newest[top.key] = max(newest[top.key] ?? top.contentVersion, top.contentVersion) }
    return tables.compactMap { tops[$0] }.contains { $0.contentVersion < newest[$0.key] ?? 0 }
  }

  private let arena: Arena
  private let effort: Effort
  /// The results for the refs of possible specs: an index in `forms`, or nil.
  private var knownSpecs: [Int: Int?] = [:]
  private var formIndexes: [[Int64]: Int] = [:]
  /// The distinct arrays that may be the keys of all columns of a table, by table.
  private var keyArrays: [TableKey: Set<[Int64]>] = [:]

  /// The limit on candidates of one kind, so that memory stays bounded in a file full of false nodes.
  private static let most = 1 << 20
  /// The number of bytes read before memory is released; a multiple of the page size.
  private static let stretch = 1 << 24

  /// Searches the file once for tables and, if it has some, once more for groups.
  init(_ arena: Arena) {
    self.arena = arena
    effort = Effort(arena)
    Self.forEachNode(arena) { node in add(node) }
    addLooseForms()
    if tops.isEmpty { return }
    effort.renew()
    Self.forEachNode(arena) { node in addGroup(node) }
  }

  // MARK: search

  /// Calls `body` with each node of the file that has refs, short strings or large integers, in file order, including
  /// those that are within other nodes. Returning false ends the search.
  private static func forEachNode(_ arena: Arena, _ body: (Node) -> Bool) {
    let space = arena.space, end = arena.limit
    var dropAt = stretch
    for range in space.dataRanges {
      var at = max(Arena.fileHeaderSize, (range.lowerBound + Node.alignment - 1) & ~(Node.alignment - 1))
      while at <= min(range.upperBound, end) - Node.headerSize {
        if let node = candidate(arena, at), !body(node) { return }
        at += Node.alignment
        if at >= dropAt {
          space.dropPages()
          dropAt = at + stretch
        }
      }
    }
  }

  @inline(__always)
  private static func candidate(_ arena: Arena, _ at: Int) -> Node? {
    // A page that cannot be read contains no node.
    if arena.space.fillsOnDemand, (try? arena.space.require(at, Node.headerSize)) == nil { return nil }
    let word = arena.space.word(at: at)
    if UInt32(truncatingIfNeeded: word) != 0x4141_4141 { return nil }
    let flags = UInt8(truncatingIfNeeded: word >> 32)
    // Refs in plain integers; short strings: elements of several bytes without refs; or integers of 32 or 64 bits.
    guard flags & 0x58 == 0x40 || flags & 0x58 == 0x08 || flags & 0xFE == 0x06 else { return nil }
    return try? arena.node(at)  // a candidate that is not a node
  }

  /// Adds a table top, a spec or names. Returns false if the search must end.
  private mutating func add(_ node: Node) -> Bool {
    if node.isInner { return true }
    if !node.hasRefs {
      if node.scheme == .bits { addKeys(node) } else if areNames(node) { names.append(node.ref) }
    } else if let top = tableTop(node) {
      tops[top.ref] = top
    } else {
      _ = form(node.ref)
    }
    return goesOn(max(tops.count, names.count, knownSpecs.count))
  }

  /// Adds the array to `keyArrays` if its elements may be the keys of all columns of one table.
  private mutating func addKeys(_ node: Node) {
    guard node.count > 0, node.count <= 0xFFFF, let first = try? node.int(0), first >= 0,  // all elements exist
      case let table = TableKey(UInt32(truncatingIfNeeded: first >> 30)), (keyArrays[table]?.count ?? 0) < 2
    else { return }
    var keys: [Int64] = [], positions: Set<Int> = []
    // Nodes within other nodes can share their elements. `goesOn` checks the effort.
    defer { try? effort.spend(8 * keys.count, at: node.ref) }
    for slot in 0..<node.count {
      guard let value = try? node.int(slot),  // likewise
        case let key = ColKey(value), value >> 30 == first >> 30,
        key.leafPosition < 2 * node.count + 64, Spec.isKnown(key), positions.insert(key.leafPosition).inserted
      else { return }
      keys.append(value)
    }
    keyArrays[table, default: []].insert(keys)
  }

  /// Adds the forms of tables whose specs are lost but whose column keys remain.
  private mutating func addLooseForms() {
    let known = Set(forms.map(\.table))
    for (table, arrays) in keyArrays.sorted(by: { $0.key.value < $1.key.value }) where !known.contains(table) {
      // Other integers may look like keys.
      if arrays.count == 1, let keys = arrays.first { forms.append(Form(keys.map { ColKey($0) })) }
    }
    keyArrays = [:]
  }

  /// True if the search may continue after it has found `count` candidates of one kind.
  private mutating func goesOn(_ count: Int) -> Bool {
    let hasEnded = effort.isSpent || count > Self.most
    isIncomplete = isIncomplete || hasEnded
    return !hasEnded
  }

  private mutating func addGroup(_ node: Node) -> Bool {
    if !node.hasRefs || node.isInner || node.width == 0 || node.count > 0xFFFF { return true }
    var tables: [Int] = [], found = 0, others = 0
    // Nodes within nodes can share their slots. `goesOn` checks the effort.
    defer { try? effort.spend(tables.count, at: node.ref) }
    for slot in 0..<node.count {
      // All slots exist, so nothing is thrown.
      guard let element = try? node.int(slot) else { return true }
      let isTop = element & 1 == 0 && tops[Int(truncatingIfNeeded: element)] != nil
      if isTop { found += 1 } else if element & 1 == 0, element != 0 { others += 1 }
      // Some tables may be damaged, but most nodes are not a group at all.
      if others > found + 8 { return true }
      tables.append(element & 1 == 0 ? Int(truncatingIfNeeded: element) : 0)
    }
    if found > others {
      groups.append(Group(ref: node.ref, tables: tables))
    }
    return goesOn(groups.count)
  }

  // MARK: forms

  /// The top array of a table; nil for any other node.
  private mutating func tableTop(_ node: Node) -> TableTop? {
    typealias Slots = Layout.Table
    guard node.count >= Slots.minimum, node.count <= Slots.count,
      let (key, spec, version) = ifReadable({ () throws(EngineError) in
        _ = try node.child(Slots.clusters)
        return (try node.int(Slots.key), try node.child(Slots.spec), try node.tagged(Slots.contentVersion))
      }), key & 1 == 1, form(spec) != nil
    else { return nil }
    return TableTop(ref: node.ref, key: TableKey(UInt32(truncatingIfNeeded: key >> 1)), contentVersion: version)
  }

  /// The columns of the spec at `ref`, as an index in `forms`; nil if there is none. Each ref is checked once.
  private mutating func form(_ ref: Int) -> Int? {
    if let known = knownSpecs[ref] { return known }
    let keys = columnKeys(ref)
    var found: Int?
    if let keys {
      if let known = formIndexes[keys] {
        found = known
      } else if let form = Form(arena, ref, keys) {
        found = forms.count
        formIndexes[keys] = found
        forms.append(form)
      }
    }
    // Few nodes are specs, and only these are remembered.
    if keys != nil { knownSpecs[ref] = .some(found) }
    return found
  }

  /// The keys of all columns if the node at `ref` has the form of a spec.
  private func columnKeys(_ ref: Int) -> [Int64]? {
    ifReadable { () throws(EngineError) -> [Int64]? in
      typealias Slots = Layout.Spec
      let spec = try arena.node(ref)
      guard spec.hasRefs, !spec.isInner, spec.scheme == .bits, spec.count == Slots.count,
        try spec.int(Slots.unused) == 0
      else { return nil }
      let keys = try arena.integers(spec.child(Slots.keys)), names = try arena.node(spec.child(Slots.names))
      let types = try arena.integers(spec.child(Slots.types))
      guard !keys.hasRefs, keys.count <= 0xFFFF, types.count == keys.count, names.count <= keys.count,
        names.scheme == .multiply || names.count == 0,
        try arena.integers(spec.child(Slots.attributes)).count == keys.count
      else { return nil }
      try effort.spend(Node.headerSize + 8 * keys.count, at: ref)
      var all: [Int64] = [], positions: Set<Int> = []
      for i in 0..<keys.count {
        let key = ColKey(try keys.int(i))
        guard key.value >= 0, Spec.isKnown(key), positions.insert(key.leafPosition).inserted else { return nil }
        all.append(key.value)
      }
      return all
    } ?? nil
  }

  /// True if a leaf of short strings may be the names of tables: the first one that is not empty is that of a class or
  /// of a table that engines create.
  private func areNames(_ node: Node) -> Bool {
    guard node.count > 0, node.width > 0, node.count <= 0xFFFF else { return false }
    var empty = 0
    // Likewise.
    defer { try? effort.spend(empty, at: node.ref) }
    for slot in 0..<node.count {
      guard let name = ifReadable({ () throws(EngineError) in try StringLeaf.short(node, slot)?.string ?? "" }) else {
        return false
      }
      if name.isEmpty {
        empty += 1
        continue
      }
      return Table.className(ofTable: name) != nil || ["metadata", "pk"].contains(name)
    }
    return false
  }
}

extension CarvedStructures.Form {
  /// True if the columns may be those of a class in another realm: the types are the same, and so are the names unless
  /// they are generated.
  func isNamed(like others: [Column]) -> Bool {
    madeUpNames > 0 ? columns.named(like: others) != nil : columns.isNamed(like: others)
  }

  /// The form with these names of its columns.
  func with(_ named: [Column]) -> Self {
    Self(columns: named, hidden: hidden, slots: slots, table: table, madeUpNames: 0, isGiven: isGiven)
  }

  /// The columns of the spec at `ref`, which has these column keys.
  fileprivate init?(_ arena: Arena, _ ref: Int, _ keys: [Int64]) {
    guard
      let (columns, madeUpNames) = ifReadable({ () throws(EngineError) in
        try RescuedTable.columns(arena, spec: ref, oppositeTables: nil)
      })
    else { return nil }
    self.init(columns, keys.map { ColKey($0) }, madeUpNames)
  }

  /// The columns with these keys, with generated names.
  fileprivate init(_ keys: [ColKey]) {
    let columns = RescuedTable.columns(keys)
    self.init(columns, keys, columns.count)
  }

  private init(_ columns: [Column], _ all: [ColKey], _ madeUpNames: Int) {
    (self.columns, self.madeUpNames, isGiven) = (columns, madeUpNames, false)
    hidden = all.filter { $0.typeCode == Spec.TypeCode.backlink }.map(\.leafPosition)
    slots = 1 + (all.map(\.leafPosition).max() ?? -1) + 1
    // The tag of a column is the key of its table unless columns were erased before: then some bits differ.
    table = TableKey(UInt32(truncatingIfNeeded: (all.first?.value ?? 0) >> 30))
  }

  /// True if a cluster that is not empty has this form. Reads the header of each leaf, up to the first that differs.
  func fits(_ cluster: Cluster, _ arena: Arena) -> Bool {
    ifReadable { () throws(EngineError) -> Bool in
      for slot in slots..<cluster.slots.count where try cluster.slots.int(slot) != 0 { return false }
      return hidden.allSatisfy { cluster.hasBacklinks(at: $0, arena) }
        && columns.allSatisfy { $0.fits(cluster, at: $0.key.leafPosition, arena) }
    } ?? false
  }
}

extension CarvedStructures {
  /// A cluster, or an inner node above clusters, that no node found refers to.
  struct Stray {
    let ref: Int
    let form: Int
  }

  /// Finds the clusters that are not in `reached`, a set of refs divided by the alignment, and that have the form of
  /// one of the tables in `wanted`. `ambiguous` counts clusters that have the form of several tables.
  ///
  /// Cost: one pass over the file; 16 bytes of memory per cluster found.
  mutating func strays(
    notIn reached: BitSet,
    of wanted: Set<TableKey>
  ) -> (strays: [Stray], ambiguous: Int) {
    let bySlots = forms.indices.sorted { forms[$0].slots < forms[$1].slots }
    var leaves: [Int: Int] = [:], inner: [Node] = [], ambiguous = 0
    effort.renew()
    Self.forEachNode(arena) { node in
      if !node.hasRefs || reached.contains(node.ref / Node.alignment) { return true }
      if node.isInner {
        if (try? InnerClusterNode(arena, node, depth: nil)) != nil { inner.append(node) }  // other inner nodes
        return goesOn(inner.count)
      }
      guard let cluster = cluster(node) else { return true }
      let fitting = bySlots.prefix { forms[$0].slots <= node.count }
      var found = fitting.filter { forms[$0].fits(cluster, arena) }
      // A cluster has a slot for each column, so the form with the most columns is the right one of a table.
      let most = found.map { forms[$0].slots }.max()
      found.removeAll { forms[$0].slots != most }
      // A form of this file excludes those of another realm.
      if found.contains(where: { !forms[$0].isGiven }) { found.removeAll { forms[$0].isGiven } }
      let tables = Set(found.map { forms[$0].table })
      if tables.count > 1 { ambiguous += 1 }
      if tables.count == 1, let last = found.last, wanted.contains(forms[last].table) { leaves[node.ref] = last }
      // A form that does not fit costs little: the first leaf differs. `goesOn` checks the effort.
      try? effort.spend(fitting.count + Node.headerSize * found.count, at: node.ref)
      return goesOn(leaves.count)
    }
    return (roots(leaves, inner), ambiguous)
  }

  /// The clusters and inner nodes that no other inner node refers to, in file order.
  private func roots(_ leaves: [Int: Int], _ inner: [Node]) -> [Stray] {
    // Levels first, so that the forms of children are known.
    var forms = leaves, below: Set<Int> = []
    // Each level was read when the node was found.
    let byLevel = inner.map { (level: (try? $0.tagged(Layout.InnerCluster.level)) ?? 0, node: $0) }
      .sorted { ($0.level, $0.node.ref) < ($1.level, $1.node.ref) }
    for (_, node) in byLevel {
      var own: Int?, children: [Int] = []
      for slot in Layout.InnerCluster.firstChild..<node.count {
        // A child that cannot be read is not a cluster.
        guard let child = try? node.child(slot), let form = forms[child], own ?? form == form else { continue }
        own = form
        children.append(child)
      }
      // A child with two parents is a node that two versions share: it is visited below one of them.
      if let own, children.contains(where: { !below.contains($0) }) {
        forms[node.ref] = own
        below.formUnion(children)
      }
    }
    return forms.keys.filter { !below.contains($0) }.sorted().compactMap { ref in
      forms[ref].map { Stray(ref: ref, form: $0) }
    }
  }
}

extension CarvedStructures {
  /// A class of another realm whose columns this file has lost.
  struct LostClass {
    /// The key of its table in this file.
    let key: TableKey
    /// Its columns in the other realm, with the keys of the target tables in this file.
    let columns: [Column]
    /// The number of its backlink columns in the other realm.
    let hiddenCount: Int

    /// The columns in the order of their positions.
    fileprivate var byPosition: [Column] { columns.sorted { $0.key.leafPosition < $1.key.leafPosition } }
  }

  /// The limit on the arrangements of columns that are considered for one cluster and class.
  private static let maxArrangements = 64

  /// Adds the forms of classes of which this file has no spec. A cluster determines the form of its leaves but not
  /// their positions, since backlink columns are between the others. So each cluster votes for the positions that fit,
  /// with the columns in the order of the other realm. Equal votes are decided by the positions there; if they do not
  /// decide, the class gets no form.
  ///
  /// Cost: one pass over the file.
  mutating func addForms(of classes: [LostClass]) {
    var votes = classes.map { _ in [Arrangement: Int]() }, count = 0
    effort.renew()
    Self.forEachNode(arena) { node in
      guard let cluster = cluster(node) else { return true }
      let used = (Layout.Cluster.firstColumn..<node.count).filter { slot in
        ifReadable { () throws(EngineError) in try node.int(slot) } ?? 0 != 0
      }.map { $0 - Layout.Cluster.firstColumn }
      for (i, lost) in classes.enumerated() where used.count == lost.columns.count + lost.hiddenCount {
        let found = Arrangement.all(of: lost, in: cluster, at: used, arena, limit: Self.maxArrangements)
        for arrangement in found { votes[i][arrangement, default: 0] += 1 }
        count += found.count
        let checks = max(1, found.count, lost.hiddenCount + 1)
        // `goesOn` checks the effort.
        try? effort.spend(used.count * Node.headerSize * checks, at: node.ref)
      }
      return goesOn(count)
    }
    for (votes, lost) in zip(votes, classes) {
      let most = votes.values.max(), best = votes.filter { $0.value == most }.map(\.key)
      let stored = lost.byPosition.map(\.key.leafPosition), alike = best.filter { $0.named == stored }
      if best.isEmpty {
        forms.append(Form(lost, Arrangement(named: stored, hidden: [])))
      } else if let chosen = best.count == 1 ? best[0] : alike.count == 1 ? alike[0] : nil {
        forms.append(Form(lost, chosen))
      }
    }
  }

  /// The cluster with refs to leaves that a node is; nil for any other node.
  private func cluster(_ node: Node) -> Cluster? {
    guard node.hasRefs, !node.isInner,
      let cluster = ifReadable({ () throws(EngineError) in try Cluster(arena, node, offset: 0) }),
      cluster.count > 0, cluster.keys?.hasRefs != true
    else { return nil }
    return cluster
  }
}

/// The positions of the columns of a class in its clusters.
private struct Arrangement: Hashable {
  /// Those of the named columns, ascending.
  let named: [Int]
  /// Those of the backlink columns, ascending.
  let hidden: [Int]

  /// The arrangements of the columns of a class that fit the leaves of a cluster at the positions `used`.
  static func all(
    of lost: CarvedStructures.LostClass,
    in cluster: Cluster,
    at used: [Int],
    _ arena: Arena,
    limit: Int
  ) -> [Arrangement] {
    let columns = lost.byPosition
    var found: [Arrangement] = [], named: [Int] = [], hidden: [Int] = []
    /// The results of checks, by column and position, and the steps that lead nowhere, by their numbers of columns.
    var known: [[Int]: Bool] = [:], dead: Set<[Int]> = []
    func fits(_ column: Int, _ position: Int) -> Bool {
      if let result = known[[column, position]] { return result }
      let result = columns[column].fits(cluster, at: position, arena)
      known[[column, position]] = result
      return result
    }
    func visit() {
      let at = named.count + hidden.count, before = found.count
      if found.count == limit || dead.contains([at, named.count]) { return }
      if at == used.count { return found.append(Arrangement(named: named, hidden: hidden)) }
      if named.count < columns.count, fits(named.count, used[at]) {
        named.append(used[at])
        visit()
        named.removeLast()
      }
      if hidden.count < lost.hiddenCount, cluster.hasBacklinks(at: used[at], arena) {
        hidden.append(used[at])
        visit()
        hidden.removeLast()
      }
      if found.count == before { dead.insert([at, named.count]) }
    }
    visit()
    return found
  }
}

extension CarvedStructures.Form {
  /// The form of a class whose columns are at the positions of `arrangement`.
  fileprivate init(_ lost: CarvedStructures.LostClass, _ arrangement: Arrangement) {
    let places = Dictionary(zip(lost.byPosition.map(\.key), arrangement.named)) { first, _ in first }
    columns = lost.columns.map { column in column.moved(to: places[column.key] ?? column.key.leafPosition) }
    hidden = arrangement.hidden
    slots = 1 + ((arrangement.named + arrangement.hidden).max() ?? -1) + 1
    (table, madeUpNames, isGiven) = (lost.key, 0, true)
  }
}

extension Column {
  /// A copy of the column at another position of the clusters.
  fileprivate func moved(to position: Int) -> Column {
    Column(
      name: name,
      key: ColKey(key.value & ~0xFFFF | Int64(position)),
      type: type,
      collection: collection,
      isNullable: isNullable,
      index: index,
      targetTable: targetTable,
      enumRef: 0,
      indexRef: 0,
      dictionaryKeyType: dictionaryKeyType
    )
  }

  /// True if the leaf at `position` of a cluster can be one of this column. Bools, links and numbers have the same
  /// form, so one value is read.
  fileprivate func fits(_ cluster: Cluster, at position: Int, _ arena: Arena) -> Bool {
    ifReadable { () throws(EngineError) -> Bool in
      let leaf = try leaf(arena, cluster.leafRef(position))
      if leaf.count != cluster.count { return false }
      _ = try leaf.value(0, arena)
      return true
    } ?? false
  }
}

extension Cluster {
  /// True if the leaf at `position` can be one of a backlink column.
  fileprivate func hasBacklinks(at position: Int, _ arena: Arena) -> Bool {
    ifReadable { () throws(EngineError) in try arena.refs(leafRef(position)).count == count } ?? false
  }
}

extension Spec {
  /// True if the key is that of a property or of a backlink column.
  fileprivate static func isKnown(_ key: ColKey) -> Bool {
    valueType(key.typeCode) != nil || key.typeCode == TypeCode.backlink
  }
}
