// Rebuilds, object by object, tables that cannot be copied node by node, in the current format: those of formats 2 to
// 9, and damaged ones. Copies first all objects with their values, then all properties that may hold links, then
// creates indexes and primary keys. Works in batches, so that memory stays bounded. Source: docs/format/2-model.md M14.

/// Counts of what was copied from a table, and of what was lost.
struct TransferTally: Sendable, Hashable {
  var objects = 0
  var lostObjects = 0
  var lostValues = 0
  var lostLinks = 0
  var lostProperties: [String] = []
  var madeUpKeys = 0
  /// The number of saved objects that were not found in the version that is copied.
  var origins: [Provenance: Int] = [:]
  var notes: [String] = []
  /// The description of the first damage found.
  var firstDamage: String?
}

/// Moves objects into a new realm.
final class ObjectRebuilder {
  private let path: String
  private let work: WorkRealm
  private let observer: CopyObserver?
  private let expected: Int
  /// True if losses are counted; otherwise the first one ends the transfer.
  private let toleratesLoss: Bool
  /// True if the source file is sound, so that embedded objects without an owner are kept.
  private lazy var isSound = checksSoundness()
  private let checksSoundness: () -> Bool
  /// The tables of the current batch.
  private var group: GroupEditor
  private var weight = 0
  private var done = 0

  /// A source table and its counterpart in the new realm.
  private struct Item {
    let source: any SourceTable
    var key = TableKey.none
    /// The position of the new column, by source column; nil for a lost column.
    var columns: [Int?] = []
    var tally = TransferTally()
  }

  private var items: [Item] = []
  /// The effort limits for the objects of one pass, and for all values.
  private let walk: Effort
  private let effort: Effort
  private var newKeys: [TableKey: TableKey] = [:]
  /// The embedded objects to which the current property links.
  private var claimed: Set<ObjKey> = []

  /// The approximate number of bytes of values per batch.
  private static let batchWeight = 1 << 24
  /// The number of consecutive unreadable elements after which the rest of a collection is abandoned.
  private static let maxFailures = 2000
  private static let nestingLimit = 100
  /// The largest initial capacity of a set of primary keys.
  private static let reservedKeys = 1 << 24
  /// The first of the keys for objects whose own key is unknown.
  private static let firstFreshKey: Int64 = 0x6000_0000_0000_0000

  /// Reads the tables from `arena`. `expected` is the approximate size of the source, for the observer.
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

  /// The result for each table, in the order of the sources.
  var tallies: [TransferTally] { items.map(\.tally) }

  /// Copies everything; the result is the newest version of the work realm. Tables named in `without` are removed.
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
        name = Self.spareName(i)
      }
      items[i].key = try change { (group) throws(EngineError) in try group.addTable(name, kind: source.kind) }
      if newKeys[source.key] == nil { newKeys[source.key] = items[i].key }
    }
    for i in items.indices {
      var position = 0
      for column in items[i].source.columns {
        do {
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

  /// The name of a table whose own name cannot be read or used.
  static func spareName(_ index: Int) -> String { "\(Table.classPrefix)recovered_\(index)" }

  private func isTaken(_ name: String) -> Bool {
    // A lookup error is reported when the table is added.
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

  /// Calls `body` with each object and its key in the new realm.
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

  /// Copies all objects, with all values that cannot hold links.
  private func copyObjects(_ item: Int) throws(EngineError) {
    let source = items[item].source, columns = items[item].columns, sourceColumns = source.columns
    let copied = sourceColumns.indices.filter {
      columns[$0] != nil && sourceColumns[$0].type != .link && sourceColumns[$0].type != .mixed
    }
    let singles = copied.filter { sourceColumns[$0].collection == nil }
    let collections = copied.filter { sourceColumns[$0].collection != nil }
    // Keys are generated only if losses are tolerated; otherwise `setPrimaryKey` validates the primary key.
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
          // Another state of an object that is saved.
          if object.provenance != nil { return }
          return try lose(item, \.lostObjects, "\(source.name): two objects with the same primary key")
        }
        try add(Value(primaryKey), item, table, position, to: &values)
        stored = primaryKeyIndex
      }
      if toleratesLoss, try EngineError.locating(at: path, { () throws(EngineError) in try table.contains(key) }) {
        if object.provenance != nil { return }  // likewise
        return try lose(item, \.lostObjects, "\(source.name): two objects with the same key")
      }
      items[item].tally.objects += 1
      if let provenance = object.provenance { items[item].tally.origins[provenance, default: 0] += 1 }
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

  /// A copy of a value that is not a collection; nil if it cannot be read.
  private func readSingle(
    _ item: Int,
    _ name: String,
    _ object: any SourceObject,
    _ index: Int
  ) throws(EngineError) -> Value? {
    let damage: EngineError
    do { return try Value(copying: object.value(index)) } catch { damage = error }
    try lose(item, \.lostValues, "\(items[item].source.name).\(name): \(damage)")
    return nil
  }

  /// The primary key of an object, generated if it cannot be read.
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

  /// A copy of a value, without the elements that cannot be read; nil if none of it can be read.
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
      do { value = try copy(object.value(index), depth: 0, note) } catch { note(error) }
    }
    if let first = damage.first { try lose(item, \.lostValues, first, by: lost) }
    return value
  }

  /// A deep copy. Elements that cannot be read are left out and passed to `note`.
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
      for i in 0..<list.count where failures < Self.maxFailures {
        do {
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
      for i in 0..<dictionary.count where failures < Self.maxFailures {
        do {
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

  /// True if a property can hold a value. A null for a property that is not optional leaves the default.
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

  /// Copies a collection without links.
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

  /// Copies all values that are or may contain links.
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

  /// The value with its links translated to the new realm, without links to missing objects; nil if nothing is left.
  private func resolve(_ item: Int, _ value: Value, _ column: Column) throws(EngineError) -> Value? {
    switch value {
    case .link(let target, let key):
      // A link to an object that does not exist yet reads as null.
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

  /// True if an object may be linked to: an embedded object can have only one owner.
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

  /// Stores a value whose links refer to existing objects.
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
    // Embedded objects are linked like others; `adoptsEmbedded` skips the check that otherwise refuses such links.
    try steps.fill(value, adoptsEmbedded: true)
  }

  /// Removes embedded objects whose owner was lost. Those of a sound file had no owner before and are kept: Realm's
  /// engine leaves them when a property or class is removed, and a flipped bit can mark a class as embedded.
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
    if doomed.isEmpty || isSound { return }
    try lose(item, \.lostObjects, "\(items[item].source.name): objects whose owner is lost", by: doomed.count)
    items[item].tally.objects -= doomed.count
    try change { (group) throws(EngineError) in
      for key in doomed {
        let table = try group.table(items[item].key)
        // The object may have been deleted together with another one.
        if try group.has(table, key) { try group.deleteObject(table, key) }
      }
    }
  }

  // MARK: final steps, when all objects exist

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

  /// Runs `body`; an error from a schema rule is recorded as a note.
  private func attempt(
    _ item: Int,
    _ consequence: String,
    _ body: (TableEditor) throws(EngineError) -> Void
  ) throws(EngineError) {
    do { try body(group.table(items[item].key)) } catch {
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
  /// The approximate size of the value in bytes.
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
  /// True for an error of the system rather than of the data.
  fileprivate var isOfTheSystem: Bool { if case .file = reason { true } else { false } }
}
