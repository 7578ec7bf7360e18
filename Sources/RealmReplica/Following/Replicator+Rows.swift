// The three ways of writing rows: all rows of a class by COPY, individual rows that changed, and rows that a comparison
// finds different.

import RealmJSON
import RealmPages
import RealmTransfer

/// The version that the rows of a replica reflect.
struct ReplicaTarget {
  let version: UInt64
  let mark: VersionMark
  let lineage: Lineage
  let schemaVersion: UInt64?
}

extension Replicator {
  // MARK: copying a class

  /// Iterates over the objects of a class while the version window advances.
  private func walk(
    _ key: TableKey,
    _ body: (RowEncoder) throws -> Void,
    needsExact: (_ properties: [Int]) throws -> Bool
  ) throws {
    var last = ObjKey.none, isAtEnd = false, skipsRows = false
    while !isAtEnd {
      let version = window.snapshot
      guard let table = tables[key], let source = try source(of: key) else { return }
      let effort = Effort(version)
      let reader = RescuingCursor(source, after: last, effort)
      let encoder = RowEncoder(table, source, version, ObjectRenderer(version, sweep: effort), reader.cursor)
      var complaints: [String] = [], count = 0
      while window.snapshot === version, tables[key] === table {
        guard reader.next(&complaints) else {
          isAtEnd = true
          break
        }
        do { try encoder.encode() } catch {
          switch error {
          case .damaged(let text): complaints.append(text)
          case .needsExact(let properties): if try !needsExact(properties) { skipsRows = true }
          }
          // Retry the same object, with the new columns.
          if tables[key] !== table { break }
          last = reader.last
          continue
        }
        last = reader.last
        try body(encoder)
        count += 1
        if count & 31 == 0 {
          if count & 4095 == 0 { version.limitResidentPages() }
          try tick()
        }
      }
      for complaint in complaints { warn(complaint) }
    }
    if skipsRows { mustBeginAgain = true }
  }

  func warn(_ text: String) {
    pass.damaged += 1
    onComplaint(text)
  }

  /// Fills the empty tables of a class.
  func copy(_ key: TableKey) throws {
    let realm = place.realm.map { Array($0.utf8) }
    let stream = CopyStream(connection), links = (tables[key]?.links ?? []).map { _ in FieldBuffer() }
    func drain(_ isEnd: Bool) throws {
      guard let table = tables[key], isEnd || links.contains(where: { unsafe $0.count > 8 << 20 }) else { return }
      try stream.end()
      for (index, buffer) in links.enumerated() where unsafe buffer.count > 0 {
        try stream.begin(table.copy(table.links[index]))
        try stream.put(buffer)
        try stream.end()
        buffer.reset()
      }
    }
    try walk(
      key,
      { encoder in
        try stream.begin(encoder.table.copy)
        encoder.appendCopyRow(to: stream.buffer, realm: realm)
        for (index, buffer) in links.enumerated() { encoder.appendCopyRows(ofLinks: index, to: buffer, realm: realm) }
        self.pass.written += 1
        try stream.putIfFull()
        try drain(false)
      },
      needsExact: { properties in
        try stream.end()
        return try self.addExact(key, properties)
      }
    )
    try drain(true)
  }

  // MARK: changed rows

  /// Writes changed rows until none are left, and returns the version that the rows then reflect.
  func flush() throws -> ReplicaTarget {
    while true {
      try tick()
      while let key = window.changed.overflowing.min() {
        window.changed.forget(key)
        inFlight.overflow(key)
        if tables[key] != nil { try compare(key) }
      }
      for (key, fields) in window.changed.takeRemoved() {
        for field in fields { inFlight.removeRow(field, of: key) }
        if let table = tables[key] { try remove(fields, from: table) }
      }
      guard let batch = window.changed.takeWritten(500) else {
        if !window.changed.isEmpty { continue }
        let snapshot = window.snapshot
        // An unreadable schema version is not a reason to fail.
        let schemaVersion = (try? snapshot.schemaVersion()).flatMap { $0 }
        if !window.hold.isKnownToWriters, !window.realm.isCurrent(snapshot) {
          window.isLost = true
          throw EngineError(.busy, "\(window.realm.configuration.path) was changed while it was read")
        }
        let signature = FileSignature(path, readsHead: false)
        return ReplicaTarget(
          version: snapshot.version,
          mark: VersionMark(identity: try snapshot.identity(), stamp: signature?.stamp ?? ""),
          lineage: try Lineage(snapshot, inode: signature?.number ?? 0),
          schemaVersion: schemaVersion
        )
      }
      for object in batch.objects { inFlight.write(object.key, links: object.links, of: batch.table) }
      if tables[batch.table] != nil { try write(batch.objects, of: batch.table) }
    }
  }

  /// Writes the rows of objects as of the newest version.
  private func write(_ objects: [(key: ObjKey, links: Bool)], of key: TableKey) throws {
    for object in objects {
      while true {
        guard let encoder = try encoder(key) else { break }
        do { if try !encoder.cursor.seek(object.key) { break } } catch {
          try stopAtDamage(error.description)
          warn(error.description)
          break
        }
        do { try encoder.encode() } catch {
          switch error {
          case .damaged(let text):
            try stopAtDamage(text)
            warn(text)
          case .needsExact(let properties):
            if try !addExact(key, properties) { throw ReplicaError.overtaken }
            continue
          }
          break
        }
        try write(encoder, links: object.links)
        break
      }
      if connection.queuedBytes > 1 << 20 { try connection.sync() }
    }
  }

  private func write(_ encoder: RowEncoder, links: Bool) throws {
    let table = encoder.table, realm = table.realmParameters
    // Build everything before queueing: queueing may wait, and the version may change in the meantime.
    let row = realm + encoder.parameters, key = encoder.keyParameter
    let lists = links ? table.links.indices.map { encoder.targetArray($0) } : []
    hasWritten = true
    try connection.queue(table.upsert, row) { result in if result.command == "INSERT 0 1" { self.pass.written += 1 } }
    for (index, list) in lists.enumerated() {
      if list.count > 0 { try connection.queue(table.setLinks(table.links[index]), realm + [key, list.0]) }
      try connection.queue(table.cutLinks(table.links[index]), realm + [key, .integer(Int64(list.count))])
    }
  }

  private func remove(_ fields: [[UInt8]], from table: ReplicaTable) throws {
    if !fields.isEmpty { hasWritten = true }
    for field in fields {
      let key = PostgresParameter(type: table.keyColumn.oid, field)
      // Deletes do not cascade before the keys of a new table are created, but a new table has no rows to remove.
      try connection.queue(table.delete, table.realmParameters + [key]) { result in
        if result.command == "DELETE 1" { self.pass.removed += 1 }
      }
      if connection.queuedBytes > 1 << 20 { try connection.sync() }
    }
  }

  // MARK: comparison

  /// Compares the rows of a class with its objects by key and hash, and writes those that differ.
  func compare(_ key: TableKey) throws {
    pass.compared += 1
    guard let source = try source(of: key) else { return }
    let parts = UInt64(max(1, (source.objectCount + comparedAtOnce - 1) / comparedAtOnce))
    for part in 0..<parts { while try !compare(key, part, of: parts) {} }
  }

  /// Compares one part; returns false if it must be repeated because there are more rows to remove or a column was
  /// added.
  private func compare(_ key: TableKey, _ part: UInt64, of parts: UInt64) throws -> Bool {
    guard let table = tables[key] else { return true }
    var known: [UInt64: (object: ObjKey, row: UInt64, links: [UInt64])] = [:]
    let damagedBefore = pass.damaged
    try walk(
      key,
      { encoder in
        let hash = encoder.keyHash
        if hash % parts != part { return }
        let links = table.links.indices.map { encoder.linksHash($0) }
        known[hash] = (encoder.cursor.key, encoder.rowHash, links)
      },
      needsExact: { properties in try self.addExact(key, properties) }
    )
    if tables[key] !== table { return false }
    // By object: true if it has a row, and true if its links differ.
    var differing: [ObjKey: (hasRow: Bool, links: Bool)] = [:], removed: [[UInt8]] = [], found: Set<UInt64> = []
    try connection.forEachRow(table.rows, table.realmParameters) { row in
      let hash = UInt64(bitPattern: row.integer(0, 0) ?? 0)
      if hash % parts != part { return }
      if let object = known[hash] {
        found.insert(hash)
        if object.row != UInt64(bitPattern: row.integer(0, 1) ?? 0) { differing[object.object] = (true, false) }
      } else if removed.count < removedAtOnce, let field = row.bytes(0, 2) {
        removed.append(field)
      }
    }
    for (hash, object) in known where !found.contains(hash) { differing[object.object] = (false, true) }
    for (index, links) in table.links.enumerated() {
      var seen: Set<UInt64> = [], orphans: [[UInt8]] = []
      try connection.forEachRow(table.rows(links), table.realmParameters) { row in
        let hash = UInt64(bitPattern: row.integer(0, 0) ?? 0)
        if hash % parts != part { return }
        guard let object = known[hash] else {
          if let field = row.bytes(0, 2) { orphans.append(field) }
          return
        }
        seen.insert(hash)
        if object.links[index] != UInt64(truncatingSum: row.text(0, 1)) {
          differing[object.object] = (found.contains(hash), true)
        }
      }
      for (hash, object) in known where object.links[index] != 0 && !seen.contains(hash) {
        differing[object.object] = (found.contains(hash), true)
      }
      for owner in orphans {
        let parameter = PostgresParameter(type: table.keyColumn.oid, owner)
        try connection.queue(table.deleteLinks(links), table.realmParameters + [parameter])
      }
    }
    known = [:]
    if !removed.isEmpty, pass.damaged > damagedBefore {
      try stopAtDamage("class \(table.className) has damaged objects, and the replica has rows without an object")
    }
    losses.removed += removed.count
    try remove(removed, from: table)
    if removed.count == removedAtOnce {
      // There may be more rows to remove.
      try connection.sync()
      return false
    }
    let overwritten = differing.values.count { $0.hasRow }
    (losses.kept, losses.overwritten) = (losses.kept + found.count - overwritten, losses.overwritten + overwritten)
    let objects = differing.sorted { $0.key < $1.key }.map { (key: $0.key, links: $0.value.links) }
    try write(objects, of: key)
    try connection.sync()
    return true
  }
}

extension UInt64 {
  /// Parses a sum of 64-bit numbers, as the server prints it, and keeps its lowest 64 bits.
  init(truncatingSum text: String?) {
    self = UInt64(truncatingIfNeeded: text.flatMap { Int128($0) } ?? 0)
  }
}

/// A COPY in binary format that begins with the first data.
final class CopyStream {
  let buffer = FieldBuffer()
  private let connection: PostgresConnection
  private var isOpen = false

  private static let signature: [UInt8] =
    Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)

  init(_ connection: PostgresConnection) { self.connection = connection }

  func begin(_ sql: String) throws {
    if isOpen { return }
    try connection.beginCopy(sql)
    isOpen = true
    buffer.reset()
    buffer.append(Self.signature)
  }

  /// Sends the rows of another buffer.
  func put(_ rows: FieldBuffer) throws {
    try send()
    try unsafe connection.put(rows.bytes)
  }

  func putIfFull() throws { if unsafe buffer.count > 1 << 18 { try send() } }

  private func send() throws {
    if unsafe buffer.count > 0 { try unsafe connection.put(buffer.bytes) }
    buffer.reset()
  }

  func end() throws {
    guard isOpen else { return }
    buffer.append(Int16(-1))
    try send()
    try connection.endCopy()
    isOpen = false
  }
}
