// The tables of a write transaction and the links between them: all changes that affect more than one row.
// Source: docs/format/2-model.md M1, M5, M7.

/// All tables of a transaction. Not thread-safe: use it from one thread at a time.
final class GroupEditor {
  let editor: NodeEditor
  /// The version that the transaction began on; nil if it has an older format and its tables therefore differ from
  /// these.
  let base: Snapshot?
  /// The dirty top array.
  let top: Int
  /// Records each change.
  var replication: any Replication
  /// True while an older version is restored: then objects of asymmetric classes may be created.
  var isRestoring = false
  /// True if the commit must not overwrite the space of older versions.
  var keepsFormerVersions = false
  /// True if changes follow the rules of a sync server: links may refer to unresolved objects.
  var isReplaying = false
  /// The keys of the collections nested in the collection to which one was last added, and some keys no longer in use.
  var nestedKeys: (path: CollectionPath, taken: Set<Int64>)?
  /// The tables by slot; shorter than the group if later tables were not accessed. Exclusive access is not checked at
  /// run time: one thread uses it, and it is never passed `inout`.
  @safe @exclusivity(unchecked) private var tables: [TableEditor?] = []

  /// The error that interrupted a change; after that, only a rollback is possible.
  private(set) var failure: EngineError?

  private init(_ editor: NodeEditor, top: Int, _ base: Snapshot, _ replication: any Replication) {
    self.editor = editor
    self.base = base.fileFormat == 24 ? base : nil
    self.top = top
    self.replication = replication
  }

  /// Prepares the tables of a version for changes, in separate memory. Records the local (in-realm) history, unless
  /// another `replication` is given.
  convenience init(
    on base: Snapshot,
    _ replication: (any Replication)? = nil,
    spill: Slab.Spill? = nil
  ) throws(EngineError) {
    let slab = Slab(space: base.arena.space, limit: base.logicalSize, spill: spill)
    let arena = Arena(base.arena.space, limit: base.logicalSize, format: 24, slab: slab)
    let top: Int
    if base.top.ref == 0 {
      let names = slab.make([], .multiply, width: 0, count: 0, payload: 16)
      top = slab.makeInts(.hasRefs, repeating: 0, count: 11)
      slab.setChild(top, Layout.Top.names, names)
      slab.setChild(top, Layout.Top.tables, slab.makeInts(.hasRefs))
    } else {
      // Check that names and tables can be read, and that their number is within the limits of a file.
      _ = try base.group()
      // The next version number is one higher, and has to fit in 62 bits.
      if base.version >= 1 << 61 { throw .damaged("a version number of \(base.version)", ref: base.top.ref) }
      top = try slab.dirty(base.top.ref, arena)
      try slab.pad(top, to: Layout.Top.evacuation)
    }
    self.init(NodeEditor(arena: arena, slab: slab), top: top, base, replication ?? ChangesetEncoder(slab))
  }

  /// Runs a change. An error before the first modification leaves the transaction unchanged. A later error, or any
  /// damage, leaves the change incomplete: then only a rollback is possible.
  func change<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
    try checkIsWhole()
    slab.noteStep()
    let bumps = slab.bumps, told = replication.size
    do throws(EngineError) {
      let result = try body()
      if let damage = slab.damage { throw damage }
      return result
    } catch {
      if error.reason == .damaged || slab.bumps != bumps || replication.size != told { failure = failure ?? error }
      throw error
    }
  }

  /// Throws if an earlier change is incomplete.
  func checkIsWhole() throws(EngineError) {
    if let failure {
      throw EngineError(.incompleteChange, "an earlier change failed halfway, so roll the transaction back: \(failure)")
    }
  }

  private var arena: Arena { editor.arena }
  var slab: Slab { editor.slab }

  // MARK: tables

  /// The dirty node of table refs.
  func tableRefs() throws(EngineError) -> Int { try slab.child(top, Layout.Top.tables, arena) }

  /// The dirty node of table names.
  func tableNames() throws(EngineError) -> Int { try slab.child(top, Layout.Top.names, arena) }

  private func tableName(_ slot: Int) throws(EngineError) -> String? {
    try StringLeaf.short(arena.node(slab.node(top).child(Layout.Top.names)), slot)?.string
  }

  /// The table in `slot`; nil if the slot is free.
  func table(slot: Int) throws(EngineError) -> TableEditor? {
    if slot < tables.count, let table = tables[slot] { return table }
    let refs = try tableRefs()
    guard slot < slab.node(refs).count else { return nil }
    let element = slab.int(refs, slot)
    if element == 0 || element & 1 != 0 { return nil }
    let name = try tableName(slot) ?? ""
    // A table that is unchanged since the base has the columns that it has there.
    let known = try base?.table(slot: slot), spec = known.flatMap { $0.ref == Int(element) ? $0.spec : nil }
    let table = try TableEditor(editor, Slot(parent: refs, index: slot), name: name, spec)
    while tables.count <= slot { tables.append(nil) }
    tables[slot] = table
    return table
  }

  /// The table with this key.
  func table(_ key: TableKey) throws(EngineError) -> TableEditor {
    if let table = try table(slot: key.slot), table.key == key { return table }
    throw EngineError(.notFound, "no table with key \(key)")
  }

  /// The table with this stored name; nil if there is none.
  func table(named name: String) throws(EngineError) -> TableEditor? {
    for slot in 0..<slab.node(try tableRefs()).count where try tableName(slot).isExactly(name) {
      return try table(slot: slot)
    }
    return nil
  }

  /// The table with this stored name, or else one whose name is canonically equivalent, because users may type either
  /// form of an accented letter.
  func table(like name: String) throws(EngineError) -> TableEditor? {
    if let exact = try table(named: name) { return exact }
    for slot in 0..<slab.node(try tableRefs()).count where try tableName(slot) == name {
      return try table(slot: slot)
    }
    return nil
  }

  /// Writes buffered rows and index entries of all tables, so that the tree of nodes below `top` is the complete
  /// version. Must be called before that tree is read. Throws if a change encountered damage.
  func finishChanges() throws(EngineError) {
    for table in tables { try table?.writeWaiting() }
    if let damage = slab.damage { throw damage }
  }

  /// Discards the editor of a table that was removed.
  func forget(slot: Int) { tables[slot] = nil }

  // MARK: backlinks

  /// The backlink column in `target` for links from `column` of `origin`; created for the first link from a Mixed
  /// column.
  func backlinkColumn(
    _ target: TableEditor,
    _ origin: TableEditor,
    _ column: Column
  ) throws(EngineError) -> ColKey {
    if let known = target.backlinks.first(where: { $0.originTable == origin.key && $0.originColumn == column.key }) {
      return known.key
    }
    if column.type == .link {
      throw EngineError(.damaged, "\(target.className): no backlinks for \(origin.className).\(column.name)")
    }
    let key = try addBacklinkColumn(to: target, origin: origin.key, column: column.key)
    replication.typedLinkChange(origin.key, column.key, target.key)
    return key
  }

  /// The location of a linked object. Throws `damaged` if it does not exist.
  private func targetPlace(
    _ target: TableEditor,
    _ key: ObjKey,
    _ origin: TableEditor,
    _ column: Column,
    _ originKey: ObjKey
  ) throws(EngineError) -> ClusterTreeEditor.Place {
    if let place = try find(target, key) { return place }
    let link = "\(origin.className) object \(originKey), property \"\(column.name)\""
    throw EngineError(.damaged, "\(link): a link to \(target.className) object \(key), which does not exist")
  }

  /// Adds a backlink: `origin` links to `target`.
  func addBacklink(
    _ target: TableKey,
    _ targetKey: ObjKey,
    from origin: TableEditor,
    _ column: Column,
    _ originKey: ObjKey
  ) throws(EngineError) {
    let table = try table(target)
    let backlink = try backlinkColumn(table, origin, column)
    let place = try targetPlace(table, targetKey, origin, column, originKey)
    try table.list([originKey.value], place, backlink.leafPosition)
    table.bump()
  }

  /// Removes one backlink from `origin` to `target`. Returns true if the target must be deleted too: an embedded object
  /// with its owner, an unresolved one with the last link to it.
  private func removeBacklink(
    _ target: TableKey,
    _ targetKey: ObjKey,
    from origin: TableEditor,
    _ column: Column,
    _ originKey: ObjKey
  ) throws(EngineError) -> Bool {
    let table = try table(target)
    let backlink = try backlinkColumn(table, origin, column)
    let place = try targetPlace(table, targetKey, origin, column, originKey)
    let leaf = try editor.dirty(table.leafSlot(place, backlink.leafPosition))
    let element = slab.int(leaf, place.row)
    let slot = Slot(parent: leaf, index: place.row)
    if element & 1 != 0 {
      if ObjKey(tagged: element) == originKey { slab.setInt(leaf, place.row, 0) }
    } else if element != 0 {
      let list = BPlusTreeEditor(editor, slot, Self.keyElement)
      let reader = try ElementReader(arena, Int(element), Self.keyElement), count = reader.count
      for i in 0..<count {
        guard case .int(let key) = try reader.value(at: i), key == originKey.value else { continue }
        // Move the last one into the gap.
        let last = try reader.value(at: count - 1)
        try list.set(i, last)
        try list.remove(count - 1)
        break
      }
      if try list.count() == 1, case .int(let key) = try list.value(at: 0) {
        try editor.clear(slot)
        slab.setTagged(leaf, place.row, key)
      } else if try list.count() == 0 {
        try editor.clear(slot)
      }
    }
    table.bump()
    if table.kind == .embedded { return column.type == .link }
    if !targetKey.isUnresolved { return false }
    for backlink in table.backlinks where try backlinks(place, backlink.key) != 0 { return false }
    return true
  }

  /// The element of a backlink column for an object: no link, one, or a list of them.
  /// Source: docs/format/1-storage.md S14.
  private func backlinks(_ place: ClusterTreeEditor.Place, _ backlink: ColKey) throws(EngineError) -> Int64 {
    try arena.integers(slab.node(place.cluster).child(backlink.leafPosition + 1)).int(place.row)
  }

  static let keyElement = ElementType(.int, isNullable: false)

  /// The property from which the links of a backlink column come; nil if it was removed. Realm's engine keeps the
  /// backlink column when a Mixed property, or its class, is removed. Source: docs/format/2-model.md M15.
  func origin(of backlink: Spec.BacklinkColumn) throws(EngineError) -> (table: TableEditor, column: Column)? {
    guard let table = try table(slot: backlink.originTable.slot), table.key == backlink.originTable,
      let column = table.columns.first(where: { $0.key == backlink.originColumn })
    else { return nil }
    return (table, column)
  }

  /// The keys of the objects that link to an object through one backlink column, each as many times as it links.
  func origins(_ table: TableEditor, _ key: ObjKey, _ backlink: ColKey) throws(EngineError) -> [ObjKey] {
    let place = try table.place(key)
    let element = try backlinks(place, backlink)
    if element == 0 { return [] }
    if element & 1 != 0 { return [ObjKey(tagged: element)] }
    let reader = try ElementReader(arena, Int(element), Self.keyElement)
    var keys: [ObjKey] = []
    for i in 0..<reader.count {
      if case .int(let key) = try reader.value(at: i) { keys.append(ObjKey(key)) }
    }
    return keys
  }

  // MARK: objects

  /// Deletes an object and its embedded objects. Links to it become null or are removed from their collections. An
  /// unresolved object is in no index, and its deletion is not recorded.
  func deleteObject(_ table: TableEditor, _ key: ObjKey) throws(EngineError) {
    // A work list instead of recursion, because embedded objects can nest deeply.
    var pending = [(table, key)]
    let effort = Effort(arena)
    while let (table, key) = pending.popLast() {
      for column in table.columns {
        let targets = try links(table, key, column, effort)
        for (target, targetKey) in targets where targetKey != .none {
          if try removeBacklink(target, targetKey, from: table, column, key) {
            pending.append((try self.table(target), targetKey))
          }
        }
      }
      for backlink in table.backlinks {
        // Find all links from one origin in a single pass.
        var times: [ObjKey: Int] = [:]
        let origins = try origins(table, key, backlink.key)
        for origin in origins { times[origin, default: 0] += 1 }
        for origin in origins {
          if let times = times.removeValue(forKey: origin) {
            try nullify(backlink, origin, table.key, key, times, effort)
          }
        }
      }
      if !key.isUnresolved { for column in table.columns { try removeFromIndex(table, column, key) } }
      try table.removeRow(key)
      table.bump()
      if !key.isUnresolved { replication.removeObject(table.key, key) }
    }
  }

  // MARK: values

  /// Replaces a single value, and updates backlinks, index and history.
  func store(
    _ table: TableEditor,
    _ object: ObjKey,
    _ column: Column,
    _ value: Value
  ) throws(EngineError) {
    let former = try links(table, object, column)
    // Add the new link first: an unresolved object to which both refer would be deleted with the old link.
    if case .link(let target, let key) = value { try addBacklink(target, key, from: table, column, object) }
    for (target, key) in former {
      try dropLink(target, key, from: table, column, object)
    }
    let row = try table.place(object)
    try value.withView { (view) throws(EngineError) in
      try replaceInIndex(table, column, object, by: view)
      try table.store(row, column, view)
    }
    table.bump()
    replication.set(table.key, column.key, object)
  }

  // MARK: links of an object

  /// All links that a property of an object holds, including those in nested collections, each as many times as it
  /// occurs.
  func links(
    _ table: TableEditor,
    _ key: ObjKey,
    _ column: Column,
    _ effort: Effort? = nil
  ) throws(EngineError) -> [(TableKey, ObjKey)] {
    guard column.type == .link || column.type == .mixed else { return [] }
    let place = try table.place(key)
    do { return try Self.links(in: table.value(place, column), effort) } catch {
      var located = error
      located.place = "\(table.className) object \(key), property \"\(column.name)\""
      throw located
    }
  }

  /// All links in a value and in nested collections. Charged to `effort`, or limited to the effort of one walk.
  static func links(
    in value: ValueView,
    _ effort: Effort? = nil
  ) throws(EngineError) -> [(TableKey, ObjKey)] {
    var found: [(TableKey, ObjKey)] = []
    try collectLinks(value, &found, effort ?? value.effort)
    return found
  }

  private static func collectLinks(
    _ value: ValueView,
    _ found: inout [(TableKey, ObjKey)],
    _ effort: Effort?
  ) throws(EngineError) {
    switch value {
    case .link(let table, let key): found.append((table, key))
    case .list(var list), .set(var list):
      try effort?.enter(list)
      for i in 0..<list.count { try collectLinks(list.value(at: i), &found, effort) }
    case .dictionary(var dictionary):
      try effort?.enter(dictionary)
      for i in 0..<dictionary.count { try collectLinks(dictionary.value(at: i), &found, effort) }
    default: break
    }
  }

  /// The maximum nesting depth of collections.
  private static let nestingLimit = 100

  /// Throws if a value exceeds a limit, or holds a link that the schema does not allow, at any depth. `level` is the
  /// nesting level, counted from 1, of the value if it is a collection.
  func check(
    _ value: Value,
    level: Int,
    from table: TableEditor,
    _ column: Column
  ) throws(EngineError) {
    if let limit = value.brokenLimit {
      throw EngineError(.overLimit, "\(table.className).\(column.name): \(limit)")
    }
    switch value {
    case .link: try checkLink(value, from: table, column)
    case .list(let values):
      try checkLevel(level, table, column)
      for value in values { try check(value, level: level + 1, from: table, column) }
    case .dictionary(let entries):
      try checkLevel(level, table, column)
      for entry in entries {
        try checkDictionaryKey(entry.key, table, column)
        try check(entry.value, level: level + 1, from: table, column)
      }
    default: break
    }
  }

  private func checkLevel(_ level: Int, _ table: TableEditor, _ column: Column) throws(EngineError) {
    if level > Self.nestingLimit {
      throw EngineError(
        .overLimit,
        "\(table.className).\(column.name): more than \(Self.nestingLimit) levels of nesting"
      )
    }
  }

  /// Throws if the format does not allow a dictionary key.
  func checkDictionaryKey(_ key: [UInt8], _ table: TableEditor, _ column: Column) throws(EngineError) {
    if key.first == UInt8(ascii: "$") || key.contains(UInt8(ascii: ".")) {
      throw EngineError(
        .wrongType,
        "\(table.className).\(column.name): dictionary keys must not start with \"$\" nor contain \".\""
      )
    }
  }

  /// Throws if the schema does not allow a link.
  private func checkLink(_ value: Value, from table: TableEditor, _ column: Column) throws(EngineError) {
    guard case .link(let target, let key) = value else { return }
    let targetTable = try self.table(target)
    var place: String { "\(table.className).\(column.name)" }
    if targetTable.kind == .asymmetric {
      throw EngineError(.forbidden, "\(place): links to the asymmetric class \(targetTable.className)")
    }
    if targetTable.kind == .embedded {
      throw EngineError(
        .forbidden,
        "\(place): \(targetTable.className) is embedded: its objects are written nested, not linked"
      )
    }
    let mayBeUnresolved = key.isExpected || isReplaying && key.isUnresolved
    if try mayBeUnresolved ? find(targetTable, key) == nil : !has(targetTable, key) {
      throw EngineError(.notFound, "\(place): no object \(key) in \(targetTable.className)")
    }
  }

  /// Removes the backlink of a removed link, and deletes the target if it was embedded here, or if it is unresolved and
  /// nothing else links to it.
  func dropLink(
    _ target: TableKey,
    _ key: ObjKey,
    from origin: TableEditor,
    _ column: Column,
    _ originKey: ObjKey
  ) throws(EngineError) {
    if key == .none { return }
    if try removeBacklink(target, key, from: origin, column, originKey) { try deleteObject(table(target), key) }
  }

  /// Removes `times` links of `origin` to an object that is being deleted.
  private func nullify(
    _ backlink: Spec.BacklinkColumn,
    _ originKey: ObjKey,
    _ target: TableKey,
    _ targetKey: ObjKey,
    _ times: Int,
    _ effort: Effort
  ) throws(EngineError) {
    // An embedded owner that is also being deleted may already be removed.
    guard let (origin, column) = try origin(of: backlink), let place = try find(origin, originKey) else { return }
    origin.bump()
    if column.collection == nil {
      if case .link(let table, let key) = try origin.value(place, column) {
        guard table == target && key == targetKey else { return }
        try replaceInIndex(origin, column, originKey, by: .null)
        try origin.store(place, column, .null)
        replication.set(origin.key, column.key, originKey)
        return
      }
    }
    let collection = try CollectionEditor(self, origin, originKey, column)
    _ = try collection.nullify(target, targetKey, times, effort)
  }

  func has(_ table: TableEditor, _ key: ObjKey) throws(EngineError) -> Bool {
    try table.contains(key)
  }

  /// The location of an object, resolved or not; nil if it does not exist.
  func find(_ table: TableEditor, _ key: ObjKey) throws(EngineError) -> ClusterTreeEditor.Place? {
    try table.find(key)
  }

  // MARK: indexes

  /// Adds an object to the index of a column of single values under `value`. With `canWait`, the entry may be buffered
  /// and written later together with others.
  func insertIntoIndex(
    _ table: TableEditor,
    _ column: IndexedColumn,
    _ value: ValueView,
    _ key: ObjKey,
    canWait: Bool
  ) throws(EngineError) {
    let position = column.key.leafPosition
    if canWait, !column.isFullText, try table.listLater(key, IndexData(value), position) { return }
    guard let index = try table.index(position, isFullWord: column.isFullText) else { return }
    if column.isFullText {
      guard case .string(let text) = value else { return }
      for word in unsafe FullTextWords.words(in: text.unsafeBytes) { try index.insert(word: word, key) }
    } else {
      try index.insert(value, key) { (other) throws(EngineError) in try table.read(other, column) }
    }
  }

  /// A cursor over the current content of a table.
  func reader(_ table: TableEditor) throws(EngineError) -> ObjectCursor {
    ObjectCursor(try table.view())
  }

  /// Moves an object in the index of a single-value column from its present value to `value`. Called before `value` is
  /// stored.
  func replaceInIndex(
    _ table: TableEditor,
    _ column: Column,
    _ key: ObjKey,
    by value: ValueView
  ) throws(EngineError) {
    guard column.collection == nil, !key.isUnresolved, let index = try table.index(column),
      let place = try table.find(key)
    else { return }
    let old = try table.value(place, column)
    if column.index == .fullText {
      if case .string(let text) = old {
        for word in unsafe FullTextWords.words(in: text.unsafeBytes) { try index.remove(word: word, key) }
      }
    } else {
      try index.remove(old, key)
    }
    let indexed = IndexedColumn(table.columnIndex(column.key) ?? 0, column)
    try insertIntoIndex(table, indexed, value, key, canWait: false)
  }

  /// Removes an object from the index of a column.
  private func removeFromIndex(_ table: TableEditor, _ column: Column, _ key: ObjKey) throws(EngineError) {
    guard let index = try table.index(column), let place = try table.find(key) else { return }
    switch try table.value(place, column) {
    case .list(var list) where column.collection != nil:
      for word in try Self.words(&list) { try index.remove(word: word, key) }
    case .string(let text) where column.index == .fullText:
      for word in unsafe FullTextWords.words(in: text.unsafeBytes) { try index.remove(word: word, key) }
    case let value: if column.index != .fullText { try index.remove(value, key) }
    }
  }

  /// The distinct words under which an indexed list is found; nil for null.
  static func words(_ list: inout ListView) throws(EngineError) -> Set<[UInt8]?> {
    var words: Set<[UInt8]?> = []
    for i in 0..<list.count {
      if case .string(let text) = try list.value(at: i) { words.insert(text.bytes) } else { words.insert(nil) }
    }
    return words
  }

  /// Adds all objects of a table to a new index.
  func fillIndex(_ table: TableEditor, _ column: Column) throws(EngineError) {
    guard let index = try table.index(column) else { return }
    let cursor = try reader(table)
    let columnIndex = table.columnIndex(column.key) ?? 0, indexed = IndexedColumn(columnIndex, column)
    while try cursor.next() {
      switch try cursor.value(columnIndex) {
      case .list(var list) where column.collection != nil:
        for word in try Self.words(&list) { try index.insert(word: word, cursor.key) }
      case let value: try insertIntoIndex(table, indexed, value, cursor.key, canWait: true)
      }
    }
  }
}

extension Array where Element == UInt8 {
  /// Calls `withUnsafeBytes` with typed errors.
  @inline(__always)
  func withUnsafeBytesOf<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try unsafe withUnsafeBufferPointer { (bytes) throws(E) in try unsafe body(UnsafeRawBufferPointer(bytes)) }
  }
}
