// Makes a realm of today out of tables that cannot be taken over node by node: those of formats 2 to 9, and damaged
// ones. First all objects with their values, then what may link, then indexes and primary keys; in batches, so that
// memory stays bounded. Source: docs/format/2-model.md M14.

/// What came over of one table, and what did not.
struct TransferTally: Sendable, Hashable {
  var objects = 0
  var lostObjects = 0
  var lostValues = 0
  var lostLinks = 0
  var lostProperties: [String] = []
  var madeUpKeys = 0
  /// Embedded objects that had no owner in a sound file.
  var leftovers = 0
  var notes: [String] = []
  /// The first damage.
  var firstDamage: String?
}

/// Moves objects into a new realm.
final class ObjectRebuilder {
  private let path: String
  private let work: WorkRealm
  private let observer: CopyObserver?
  private let expected: Int
  /// Whether a loss is counted; otherwise the first one ends the transfer.
  private let toleratesLoss: Bool
  /// Whether the file that is read is sound, so that embedded objects without owner are leftovers and not a loss.
  private lazy var isSound = checksSoundness()
  private let checksSoundness: () -> Bool
  /// The tables being changed, until the next batch.
  private var group: GroupEditor
  private var weight = 0
  private var done = 0

  /// One table and its place in the new realm.
  private struct Item {
    let source: any SourceTable
    var key = TableKey.none
    /// By column of the source: the position of the new column.
    var columns: [Int?] = []
    var tally = TransferTally()
  }

  private var items: [Item] = []
  /// What pays for the objects of one pass, and for all values.
  private let walk: Effort
  private let effort: Effort
  private var newKeys: [TableKey: TableKey] = [:]
  /// The embedded objects that the property at hand links to.
  private var claimed: Set<ObjKey> = []

  /// About so many bytes of values are written at a time.
  private static let batchWeight = 1 << 24
  /// Elements in a row that cannot be read; then the rest of the collection is given up.
  private static let patience = 2000
  private static let nestingLimit = 100
  /// A set of primary keys has room for so many at first.
  private static let reservedKeys = 1 << 24
  /// Objects whose key is not known get keys from here on.
  private static let firstFreshKey: Int64 = 0x6000_0000_0000_0000

  /// The tables are read from `arena`; `expected` is about the size of what will be read, for the observer.
  init(
    _ sources: [any SourceTable],
    of arena: Arena,
    path: String,
    into work: WorkRealm,
    toleratesLoss: Bool,
    isSound: @escaping () -> Bool = { false },
    expected: Int,
    observer: CopyObserver?
  ) throws(EngineError) {
    self.path = path
    self.work = work
    self.expected = expected
    self.observer = observer
    self.toleratesLoss = toleratesLoss
    checksSoundness = isSound
    (walk, effort) = (Effort(arena), Effort(arena))
    group = try work.begin()
    items = sources.map { Item(source: $0) }
  }

  /// What became of each table, in the order of the sources.
  var tallies: [TransferTally] { items.map(\.tally) }

  /// Makes everything; the outcome is the newest version of the work realm. Tables named in `without` are left out.
  func run(without dropped: Set<String> = []) throws(EngineError) {
    try makeTables()
    try nextBatch()
    for i in items.indices { try copyObjects(i) }
    walk.renew()
    for i in items.indices { try copyLinks(i) }
    for i in items.indices where items[i].source.kind == .embedded { try removeOrphans(i) }
    for i in items.indices { try finish(i) }
    for item in items where dropped.contains(item.source.name) {
      try change { (group) throws(EngineError) in try group.removeTable(item.key) }
    }
    try nextBatch()
  }

  // MARK: losses

  private func lose(
    _ item: Int,
    _ count: WritableKeyPath<TransferTally, Int>,
    _ damage: String,
    by number: Int = 1
  ) throws(EngineError) {
    if !toleratesLoss { throw EngineError(.damaged, "\(path): \(damage)") }
    items[item].tally[keyPath: count] += number
    if items[item].tally.firstDamage == nil { items[item].tally.firstDamage = damage }
  }

  // MARK: schema

  private func makeTables() throws(EngineError) {
    for i in items.indices {
      let source = items[i].source
      var name = source.name
      if toleratesLoss, name.isEmpty || name.utf8.count > 63 || name == Table.classPrefix || isTaken(name) {
        name = "\(Table.classPrefix)recovered_\(i)"
      }
      items[i].key = try change { (group) throws(EngineError) in try group.addTable(name, kind: source.kind) }
      if newKeys[source.key] == nil { newKeys[source.key] = items[i].key }
    }
    for i in items.indices {
      var position = 0
      for column in items[i].source.columns {
        do throws(EngineError) {
          try addColumn(column, to: items[i].key)
          items[i].columns.append(position)
          position += 1
        } catch {
          if !toleratesLoss || error.isOfTheSystem { throw error.at(path) }
          items[i].columns.append(nil)
          items[i].tally.lostProperties.append(column.name)
        }
      }
    }
  }

  private func isTaken(_ name: String) -> Bool {
    // What cannot be looked up is reported when the table is added.
    (try? group.table(named: name)) != nil
  }

  private func addColumn(_ column: Column, to key: TableKey) throws(EngineError) {
    let spec = ColumnSpec(
      column.name,
      column.type,
      collection: column.collection,
      isNullable: column.isNullable,
      target: column.targetTable.flatMap { newKeys[$0] }
    )
    _ = try group.addColumn(group.table(key), spec)
  }

  // MARK: objects

  /// Calls `body` with each object and the key that it has in the new realm.
  private func forEachObject(
    _ item: Int,
    counting: Bool,
    _ body: (any SourceObject, ObjKey) throws(EngineError) -> Void
  ) throws(EngineError) {
    let source = items[item].source
    var fresh = Self.firstFreshKey
    try source.forEachObject(walk) { (object) throws(EngineError) in
      if let key = object.key { return try body(object, key) }
      fresh += 1
      if counting { try lose(item, \.madeUpKeys, "\(source.name): objects whose keys cannot be read") }
      try body(object, ObjKey(fresh - 1))
    } onDamage: { (error) throws(EngineError) in
      if counting { try lose(item, \.lostValues, "\(source.name): \(error)", by: 0) }
    }
  }

  /// All objects, with all values that hold no links.
  private func copyObjects(_ item: Int) throws(EngineError) {
    let source = items[item].source, columns = items[item].columns, sourceColumns = source.columns
    let copied = sourceColumns.indices.filter {
      columns[$0] != nil && sourceColumns[$0].type != .link && sourceColumns[$0].type != .mixed
    }
    let singles = copied.filter { sourceColumns[$0].collection == nil }
    let collections = copied.filter { sourceColumns[$0].collection != nil }
    // Nothing is made up in a sound file; there the primary key says itself whether it is one.
    let primaryKeyIndex = toleratesLoss ? source.primaryKeyIndex.flatMap { columns[$0] == nil ? nil : $0 } : nil
    var seen: Set<PrimaryKey> = []
    if primaryKeyIndex != nil { seen.reserveCapacity(min(source.claimedCount ?? 0, Self.reservedKeys)) }
    var table = try table(item), values: [(ColKey, Value)] = []
    try forEachObject(item, counting: true) { (object, key) throws(EngineError) in
      values.removeAll(keepingCapacity: true)
      var stored: Int?
      if let primaryKeyIndex, let position = columns[primaryKeyIndex],
        let primaryKey = try self.primaryKey(item, object, key, primaryKeyIndex)
      {
        if !seen.insert(primaryKey).inserted {
          return try lose(item, \.lostObjects, "\(source.name): two objects with the same primary key")
        }
        try add(Value(primaryKey), item, table, position, to: &values)
        stored = primaryKeyIndex
      }
      if toleratesLoss, try EngineError.locating(at: path, { () throws(EngineError) in try table.contains(key) }) {
        return try lose(item, \.lostObjects, "\(source.name): two objects with the same key")
      }
      items[item].tally.objects += 1
      weight += 16
      for index in singles where index != stored {
        guard let position = columns[index] else { continue }
        if let value = try readSingle(item, sourceColumns[index].name, object, index) {
          try add(value, item, table, position, to: &values)
        }
      }
      try EngineError.locating(at: path) { () throws(EngineError) in try table.insertRow(key, values) }
      if !collections.isEmpty {
        let place = try EngineError.locating(at: path) { () throws(EngineError) in try table.place(key) }
        for index in collections {
          if let position = columns[index] { try copyCollection(item, object, key, place, index, position) }
        }
      }
      if weight >= Self.batchWeight {
        try nextBatch()
        table = try self.table(item)
      }
    }
    if let claimed = source.claimedCount {
      let missing = claimed - items[item].tally.objects - items[item].tally.lostObjects
      if missing > 0 { try lose(item, \.lostObjects, "\(source.name): objects that cannot be reached", by: missing) }
    }
  }

  /// Adds a value to those of a new object, if its property can hold it.
  private func add(
    _ value: Value,
    _ item: Int,
    _ table: TableEditor,
    _ position: Int,
    to values: inout [(ColKey, Value)]
  ) throws(EngineError) {
    weight += value.weight
    if try isStorable(item, value, table, position) { values.append((table.columns[position].key, value)) }
  }

  /// A copy of a value that is no collection; nil if it cannot be read.
  private func readSingle(
    _ item: Int,
    _ name: String,
    _ object: any SourceObject,
    _ index: Int
  ) throws(EngineError) -> Value? {
    let damage: EngineError
    do throws(EngineError) { return try Value(copying: object.value(index)) } catch { damage = error }
    try lose(item, \.lostValues, "\(items[item].source.name).\(name): \(damage)")
    return nil
  }

  /// A primary key for an object, made up if its own cannot be read.
  private func primaryKey(
    _ item: Int,
    _ object: any SourceObject,
    _ key: ObjKey,
    _ index: Int
  ) throws(EngineError) -> PrimaryKey? {
    let column = items[item].source.columns[index]
    do throws(EngineError) {
      if let found = PrimaryKey(try object.value(index)), found.fits(column.element) { return found }
      throw .damaged("a primary key of another type")
    } catch {
      try lose(item, \.madeUpKeys, "\(items[item].source.name): \(error)")
      switch column.type {
      case .int: return .int(Int64.min + key.value)
      case .string: return .string(Array("recovered-\(key)".utf8))
      case .objectID: return .objectID(ObjectID(high: 0, low: UInt32(truncatingIfNeeded: key.value)))
      case .uuid: return .uuid(UniqueID(high: 0, low: UInt64(bitPattern: key.value)))
      default: return nil
      }
    }
  }

  /// A copy of a value, without elements that cannot be read; nil if nothing of it can.
  private func readValue(_ item: Int, _ object: any SourceObject, _ index: Int) throws(EngineError) -> Value? {
    let source = items[item].source
    var damage: [String] = [], lost = 0
    func note(_ error: EngineError) {
      lost += 1
      if damage.isEmpty { damage.append("\(source.name).\(source.columns[index].name): \(error)") }
    }
    var value: Value?
    var elements: [Value] = []
    let isList = source.columns[index].collection == .list
    if isList,
      object.forEachElement(
        index,
        effort,
        { view in
          do throws(EngineError) { elements.append(try copy(element: view, depth: 1, note)) } catch { note(error) }
        },
        onDamage: note
      )
    {
      value = .list(elements)
    } else {
      do throws(EngineError) { value = try copy(object.value(index), depth: 0, note) } catch { note(error) }
    }
    if let first = damage.first { try lose(item, \.lostValues, first, by: lost) }
    return value
  }

  /// A deep copy. What cannot be read of a collection is left out and told.
  private func copy(
    _ view: ValueView,
    depth: Int,
    _ note: (EngineError) -> Void
  ) throws(EngineError) -> Value {
    if depth > Self.nestingLimit { throw .damaged("collections nest too deeply") }
    var failures = 0
    switch view {
    case .list(var list), .set(var list):
      try effort.enter(list)
      var values: [Value] = []
      for i in 0..<list.count where failures < Self.patience {
        do throws(EngineError) {
          values.append(try copy(element: list.value(at: i), depth: depth + 1, note))
          failures = 0
        } catch {
          failures += 1
          note(error)
        }
      }
      return .list(values)
    case .dictionary(var dictionary):
      try effort.enter(dictionary)
      var entries: [Value.Entry] = []
      for i in 0..<dictionary.count where failures < Self.patience {
        do throws(EngineError) {
          let key = try dictionary.key(at: i).bytes
          let value = try copy(element: dictionary.value(at: i), depth: depth + 1, note)
          entries.append(Value.Entry(key: key, value: value))
          failures = 0
        } catch {
          failures += 1
          note(error)
        }
      }
      return .dictionary(entries)
    default: return try Value(copying: view)
    }
  }

  private func copy(
    element: ValueView,
    depth: Int,
    _ note: (EngineError) -> Void
  ) throws(EngineError) -> Value {
    try effort.enter(element: element)
    return try copy(element, depth: depth, note)
  }

  /// Whether a property can hold a value; a null where none can be leaves the default.
  private func isStorable(
    _ item: Int,
    _ value: Value,
    _ table: TableEditor,
    _ position: Int
  ) throws(EngineError) -> Bool {
    let element = table.elements[position]
    if value == .null && !element.isNullable { return false }
    if value.fits(element) && value.brokenLimit == nil { return true }
    let name = table.columns[position].name
    try lose(item, \.lostValues, "\(items[item].source.name).\(name): a value that cannot be kept")
    return false
  }

  private func table(_ item: Int) throws(EngineError) -> TableEditor {
    try change { (group) throws(EngineError) in try group.table(items[item].key) }
  }

  /// A collection without links.
  private func copyCollection(
    _ item: Int,
    _ object: any SourceObject,
    _ key: ObjKey,
    _ place: ClusterTreeEditor.Place,
    _ index: Int,
    _ position: Int
  ) throws(EngineError) {
    guard let value = try readValue(item, object, index) else { return }
    let table = try table(item)
    let column = table.columns[position], editor = group.editor
    weight += value.weight
    switch value {
    case .list(let all):
      var values: [Value] = []
      for value in all where try isStorable(item, value, table, position) { values.append(value) }
      if values.isEmpty { return }
      if column.collection == .set {
        return try change { (group) throws(EngineError) in
          let set = try CollectionEditor(group, table, key, column)
          for value in values { _ = try set.add(value) }
        }
      }
      try EngineError.locating(at: path) { () throws(EngineError) in
        let tree = BPlusTreeEditor(editor, try table.collectionSlot(place, column), column.element)
        for (i, value) in values.enumerated() {
          try value.withView { (view) throws(EngineError) in try tree.insert(i, view) }
        }
      }
    case .dictionary(let all):
      var entries: [[UInt8]: Value] = [:]
      for entry in all where try isStorable(item, entry.value, table, position) { entries[entry.key] = entry.value }
      if entries.isEmpty { return }
      let keys = entries.keys.sorted { $0.lexicographicallyPrecedes($1) }
      try EngineError.locating(at: path) { () throws(EngineError) in
        let root = editor.slab.makeInts(.hasRefs, [0, 0])
        editor.set(try table.collectionSlot(place, column), root)
        let keyTree = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.keys), .string)
        let valueTree = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.values), .mixed)
        for (i, key) in keys.enumerated() {
          try key.withView { (view) throws(EngineError) in try keyTree.insert(i, .string(view)) }
          try (entries[key] ?? .null).withView { (view) throws(EngineError) in try valueTree.insert(i, view) }
        }
      }
    default: break
    }
  }

  // MARK: links

  /// All values that are links or may hold some.
  private func copyLinks(_ item: Int) throws(EngineError) {
    let source = items[item].source, columns = items[item].columns
    let indices = source.columns.indices.filter {
      columns[$0] != nil && [.link, .mixed].contains(source.columns[$0].type)
    }
    if indices.isEmpty { return }
    try forEachObject(item, counting: false) { (object, key) throws(EngineError) in
      for index in indices {
        guard let position = columns[index], let value = try readValue(item, object, index), value != .null else {
          continue
        }
        let table = try table(item)
        weight += value.weight
        let column = table.columns[position]
        let exists = try EngineError.locating(at: path) { () throws(EngineError) in try table.contains(key) }
        if !exists { continue }
        claimed.removeAll(keepingCapacity: true)
        guard let resolved = try resolve(item, value, column) else { continue }
        do throws(EngineError) { try link(table, key, column, resolved) } catch {
          if !toleratesLoss || error.isOfTheSystem { throw error.at(path) }
          try lose(item, \.lostValues, error.description)
        }
      }
      if weight >= Self.batchWeight { try nextBatch() }
    }
  }

  /// The value with the links that it has in the new realm, and without those to nothing; nil if nothing is left.
  private func resolve(_ item: Int, _ value: Value, _ column: Column) throws(EngineError) -> Value? {
    switch value {
    case .link(let target, let key):
      // A link to an object that does not exist yet shows as null.
      if key.value < 0 { return nil }
      guard let known = newKeys[target], column.type == .mixed || known == column.targetTable,
        try exists(known, key), try isFree(known, key)
      else {
        try lose(item, \.lostLinks, "\(items[item].source.name).\(column.name): a link to no object")
        return nil
      }
      return .link(known, key)
    case .list(let values):
      var kept: [Value] = []
      for value in values {
        if let value = try resolve(item, value, column) {
          kept.append(value)
        } else if column.type == .mixed {
          kept.append(.null)
        }
      }
      return .list(kept)
    case .dictionary(let entries):
      var kept: [Value.Entry] = []
      for entry in entries {
        kept.append(Value.Entry(key: entry.key, value: try resolve(item, entry.value, column) ?? .null))
      }
      return .dictionary(kept)
    default: return value
    }
  }

  private func exists(_ table: TableKey, _ key: ObjKey) throws(EngineError) -> Bool {
    try EngineError.locating(at: path) { () throws(EngineError) in
      try group.table(slot: table.slot)?.contains(key) ?? false
    }
  }

  /// Whether an object may be linked to: an embedded one has one owner.
  private func isFree(_ target: TableKey, _ key: ObjKey) throws(EngineError) -> Bool {
    try change { (group) throws(EngineError) in
      let table = try group.table(target)
      if table.kind != .embedded { return true }
      if !claimed.insert(key).inserted { return false }
      return try !Self.hasOwner(group, table, key)
    }
  }

  private static func hasOwner(
    _ group: GroupEditor,
    _ table: TableEditor,
    _ key: ObjKey
  ) throws(EngineError) -> Bool {
    for backlink in table.backlinks where try !group.origins(table, key, backlink.key).isEmpty { return true }
    return false
  }

  /// Stores a value whose links lead to objects that exist.
  private func link(
    _ table: TableEditor,
    _ key: ObjKey,
    _ column: Column,
    _ value: Value
  ) throws(EngineError) {
    let steps = try CollectionEditor(group, table, key, column)
    if column.collection == nil {
      let place = try table.place(key)
      try value.withView { (view) throws(EngineError) in try table.store(place, column, view) }
      if case .link(let target, let object) = value {
        try group.addBacklink(target, object, from: table, column, key)
      }
    }
    // Embedded objects are linked like others, but for the check that refuses it to everybody else.
    try steps.fill(value, adoptsEmbedded: true)
  }

  /// Embedded objects whose owner is gone. Those of a sound file had none there either: Realm's engine leaves them
  /// behind when a property or class is removed, and no app can reach them.
  private func removeOrphans(_ item: Int) throws(EngineError) {
    let doomed = try change { (group) throws(EngineError) in
      let table = try group.table(items[item].key)
      var doomed: [ObjKey] = []
      let cursor = try group.reader(table)
      while try cursor.next() {
        if try !Self.hasOwner(group, table, cursor.key) { doomed.append(cursor.key) }
      }
      return doomed
    }
    if doomed.isEmpty { return }
    if isSound {
      items[item].tally.leftovers += doomed.count
    } else {
      try lose(item, \.lostObjects, "\(items[item].source.name): objects whose owner is lost", by: doomed.count)
    }
    items[item].tally.objects -= doomed.count
    try change { (group) throws(EngineError) in
      for key in doomed {
        let table = try group.table(items[item].key)
        // One may have gone with another.
        if try group.has(table, key) { try group.deleteObject(table, key) }
      }
    }
  }

  // MARK: what is made when all objects are there

  private func finish(_ item: Int) throws(EngineError) {
    let source = items[item].source, columns = items[item].columns
    for (index, column) in source.columns.enumerated() {
      guard let position = columns[index] else { continue }
      try attempt(item, "the property has no index now") { (table) throws(EngineError) in
        if let kind = column.index { try group.addIndex(table, table.columns[position].key, kind) }
      }
      if index == source.primaryKeyIndex {
        try attempt(item, "the class has no primary key now") { (table) throws(EngineError) in
          try group.setPrimaryKey(table, table.columns[position].key)
        }
      }
      if column.index != nil || index == source.primaryKeyIndex { try nextBatch() }
    }
    try change { (group) throws(EngineError) in
      let table = try group.table(items[item].key)
      group.slab.setTagged(table.top, Layout.Table.sequence, source.nextSequence)
    }
  }

  /// Runs `body`; a rule of the schema that stands against it becomes a note.
  private func attempt(
    _ item: Int,
    _ consequence: String,
    _ body: (TableEditor) throws(EngineError) -> Void
  ) throws(EngineError) {
    do throws(EngineError) { try body(group.table(items[item].key)) } catch {
      guard [.badSchema, .duplicateKey, .overLimit].contains(error.reason) else {
        throw error.at(path)
      }
      items[item].tally.notes.append("\(error.description); \(consequence)")
    }
  }

  // MARK: batches

  private func change<R>(_ body: (GroupEditor) throws(EngineError) -> R) throws(EngineError) -> R {
    try EngineError.locating(at: path) { () throws(EngineError) in try body(group) }
  }

  private func nextBatch() throws(EngineError) {
    done += weight
    weight = 0
    try work.keep(group)
    group = try work.begin()
    if let observer, !observer(done, max(expected, done)) {
      throw EngineError(.cancelled, "\(path): interrupted; nothing was changed")
    }
  }
}

extension Value {
  /// About the bytes that the value takes.
  fileprivate var weight: Int {
    switch self {
    case .string(let bytes), .data(let bytes): 16 + bytes.count
    case .list(let values): values.reduce(32) { $0 + $1.weight }
    case .dictionary(let entries): entries.reduce(32) { $0 + 16 + $1.key.count + $1.value.weight }
    default: 16
    }
  }
}

extension EngineError {
  /// Whether the system failed, and not the data.
  fileprivate var isOfTheSystem: Bool { if case .file = reason { true } else { false } }
}
