// Adds, removes and renames tables. Source: docs/format/2-model.md M1, M2, M12.

extension GroupEditor {
  /// The maximum length of a name in bytes. Source: docs/format/2-model.md M12.
  private static let tableNameLimit = 63

  /// Adds a table without columns.
  func addTable(_ name: String, kind: TableKind) throws(EngineError) -> TableKey {
    try checkTableName(name)
    let refs = try tableRefs(), names = try tableNames()
    let count = slab.node(refs).count
    let slot = (0..<count).first { slab.int(refs, $0) & 1 != 0 } ?? count
    let tag = slot < count ? slab.int(refs, slot) >> 1 & 0x7FFF : 0
    let key = TableKey(UInt32(tag) << 16 | UInt32(slot))
    let top = slab.makeInts(.hasRefs, repeating: 0, count: Layout.Table.count)
    let spec = slab.makeInts(
      .hasRefs,
      [
        Int64(slab.makeInts()), Int64(editor.makeStrings()), Int64(slab.makeInts()), 0, 0, Int64(slab.makeInts()),
      ]
    )
    slab.setChild(top, Layout.Table.spec, spec)
    slab.setChild(top, Layout.Table.clusters, ClusterTreeEditor.make(editor, RowLayout([])))
    slab.setTagged(top, Layout.Table.key, Int64(key.value))
    slab.setChild(top, Layout.Table.indexes, slab.makeInts(.hasRefs))
    slab.setTagged(top, Layout.Table.columnCounter, 0)
    slab.setTagged(top, Layout.Table.contentVersion, 0)
    slab.setChild(top, Layout.Table.oppositeTables, slab.makeInts())
    slab.setChild(top, Layout.Table.oppositeColumns, slab.makeInts())
    slab.setTagged(top, Layout.Table.sequence, 0)
    slab.setTagged(top, Layout.Table.flags, kind == .embedded ? 1 : kind == .asymmetric ? 2 : 0)
    if slot < count { slab.setInt(refs, slot, Int64(top)) } else { slab.insertInt(refs, slot, Int64(top)) }
    if slot < count {
      try setName(names, slot, name)
    } else {
      try insertName(names, slot, name)
    }
    replication.insertTable(key)
    return key
  }

  /// Removes a table with its objects. No other class may link to it.
  func removeTable(_ key: TableKey) throws(EngineError) {
    let table = try table(key)
    for backlink in table.backlinks where backlink.originTable != key {
      if let (origin, column) = try origin(of: backlink), column.type == .link {
        throw EngineError(
          .badSchema,
          "\(table.className) cannot be removed: \(origin.className).\(column.name) links to it"
        )
      }
    }
    let cursor = try reader(table)
    var keys: [ObjKey] = []
    while try cursor.next() { keys.append(cursor.key) }
    for key in keys where try has(table, key) { try deleteObject(table, key) }
    // After the deletions above, which may have removed some of them with their last link.
    for key in try table.unresolvedKeys() { try deleteObject(table, key) }
    // Remove the columns one by one, so that the backlink columns in other tables are removed too.
    for column in table.columns { try removeColumn(table, column.key, logged: false) }
    let refs = try tableRefs(), names = try tableNames()
    try slab.dropTree(table.top, editor.arena)
    slab.setTagged(refs, key.slot, Int64((key.value >> 16 + 1) & 0x7FFF))
    try setName(names, key.slot, "")
    forget(slot: key.slot)
    replication.eraseTable(key)
  }

  /// Renames a table.
  func renameTable(_ key: TableKey, to name: String) throws(EngineError) {
    let table = try table(key)
    if table.name.isExactly(name) { return }
    try checkTableName(name)
    try setName(tableNames(), key.slot, name)
    table.name = name
    table.bump()
    replication.renameTable(key)
  }

  private func checkTableName(_ name: String) throws(EngineError) {
    if name.isEmpty || name == Table.classPrefix { throw EngineError(.badSchema, "a class without a name") }
    if name.utf8.count > Self.tableNameLimit {
      throw EngineError(.overLimit, "class name \"\(name)\": longer than 57 bytes")
    }
    if name.utf8.contains(0) { throw EngineError(.badSchema, "class name \"\(name)\": contains a zero byte") }
    if try self.table(named: name) != nil {
      throw EngineError(.badSchema, "a class named \"\(name)\" exists")
    }
  }

  // MARK: names

  // Names are short strings of up to 63 bytes, in wider elements than those of values.

  func insertName(_ names: Int, _ index: Int, _ name: String) throws(EngineError) {
    widenNames(names, name)
    unsafe write(editor.openElement(names, index), Int(slab.node(names).width), name)
  }

  func setName(_ names: Int, _ index: Int, _ name: String) throws(EngineError) {
    widenNames(names, name)
    if slab.node(names).width > 0 { unsafe write(editor.element(names, index), Int(slab.node(names).width), name) }
  }

  private func widenNames(_ names: Int, _ name: String) {
    let node = slab.node(names)
    let needed: UInt8 = name.isEmpty ? 0 : UInt8(max(4, (name.utf8.count + 1).nextPowerOfTwo))
    if needed <= node.width { return }
    var old: [String] = []
    // A name with invalid padding is read as empty.
    for i in 0..<node.count { old.append((try? StringLeaf.short(node, i))??.string ?? "") }
    slab.reserve(names, payload: (old.count + 1) * Int(needed))
    slab.setHeader(names, [], .multiply, width: needed, count: old.count)
    for (i, name) in old.enumerated() { unsafe write(editor.element(names, i), Int(needed), name) }
  }

  private func write(_ target: UnsafeMutableRawPointer, _ width: Int, _ name: String) {
    if width == 0 { return }
    unsafe target.initializeMemory(as: UInt8.self, repeating: 0, count: width)
    var name = name
    name.withUTF8 {
      unsafe target.copyMemory(
        from: UnsafeRawPointer($0.baseAddress ?? UnsafePointer(target.assumingMemoryBound(to: UInt8.self))),
        byteCount: $0.count
      )
    }
    unsafe target.storeBytes(of: UInt8(width - 1 - name.utf8.count), toByteOffset: width - 1, as: UInt8.self)
  }
}

extension Int {
  /// The smallest power of two that is not less than the number.
  fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
