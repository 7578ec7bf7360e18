// Tracks the objects that a transaction of a synced realm creates. The server returns them as new objects with other
// keys; the instances that represent them are then moved to these keys.

import RealmPages
import RealmSync

/// The instances that became managed in a transaction.
final class CreatedObjects {
  /// An identity that survives the round trip to the server.
  private indirect enum Identity {
    case key(TableKey, Int64)
    case primaryKey(TableKey, PrimaryKey)
    /// An embedded object, identified by its owner; with the number of elements if it is in a list.
    case embedded(Identity, property: String, PathStep?, count: Int?)
  }

  private struct Instance { weak var object: ObjectBase? }

  private let synced: SyncedFile
  private var instances: [Instance] = []
  private var limit = 1000
  private var moves: [(object: ObjectBase, identity: Identity)] = []
  /// The last temporary key of a new object. These keys are far above the keys in the file, so they never match another
  /// object.
  private var next: Int64 = 1 << 61

  init(_ synced: SyncedFile) { self.synced = synced }

  // MARK: creating objects

  /// Returns a temporary key, valid until the commit, for a new object of a class with a primary key.
  func nextKey() -> ObjKey {
    next += 1
    return ObjKey(next)
  }

  /// Returns the permanent key of a new object of a class without a primary key; nil if the server has not assigned a
  /// file identifier yet.
  func keyWithoutPrimaryKey(_ context: RealmContext, _ managed: ManagedClass) -> ObjKey? {
    let file = synced.writerFile
    if file == 0 { return nil }
    while true {
      let key = GlobalKey.local(high: UInt64(bitPattern: file), low: UInt64.random(in: 0..<1 << 31))
      if !context.contains(managed, key.value) { return key }
    }
  }

  /// Records an instance that became managed.
  func note(_ object: ObjectBase) {
    if instances.count >= limit {
      instances.removeAll { $0.object == nil }
      limit = max(1000, instances.count * 2)
    }
    instances.append(Instance(object: object))
  }

  // MARK: moving instances

  /// Records the identity of each new object, before the commit.
  func remember(_ context: RealmContext, _ transaction: OpenTransaction) throws {
    let former = transaction.engine.former
    for case let object? in instances.map(\.object) {
      guard let managed = object.managedClass, object.objectKey >= 0 else { continue }
      let key = ObjKey(object.objectKey)
      if try former.table(managed.key)?.contains(key) == true { continue }
      if try !transaction.engine.contains(managed.key, key) { continue }
      moves.append((object, try identity(of: key, managed.key, transaction, former)))
    }
    instances = []
  }

  private func identity(
    of key: ObjKey,
    _ tableKey: TableKey,
    _ transaction: OpenTransaction,
    _ former: Snapshot
  ) throws -> Identity {
    if try former.table(tableKey)?.contains(key) == true { return .key(tableKey, key.value) }
    let table = try transaction.engine.table(tableKey)
    if let column = table.primaryKey {
      let value = try transaction.engine.value(tableKey, key, column.key)
      if let primaryKey = PrimaryKey(value) { return .primaryKey(tableKey, primaryKey) }
    }
    guard table.kind == .embedded, let link = try transaction.engine.incomingLinks(of: tableKey, key)?.first else {
      return .key(tableKey, key.value)
    }
    let owner = try identity(of: link.origin.key, link.origin.table, transaction, former)
    let columns = try transaction.engine.columns(of: link.origin.table)
    let name = columns.first { $0.key == link.column }?.name ?? ""
    var count: Int?
    if case .index = link.path.first,
      case .list(let list) = try transaction.engine.view(link.origin.table, link.origin.key, link.column)
    {
      count = list.count
    }
    return .embedded(owner, property: name, link.path.first, count: count)
  }

  /// Moves the instances to their objects, after the commit. An instance whose object another client has deleted in the
  /// meantime is invalidated.
  func move(to snapshot: Snapshot) {
    for (object, identity) in moves {
      let found = Misuse.unwrap { try Self.find(identity, in: snapshot) }
      object.move(to: found?.key.value ?? ObjectBase.noKey)
    }
    moves = []
  }

  /// Invalidates the instances of new objects, after a failed commit or a rollback.
  func forget() {
    for (object, _) in moves { object.move(to: ObjectBase.noKey) }
    moves = []
  }

  private static func find(_ identity: Identity, in snapshot: Snapshot) throws -> ObjectReference? {
    switch identity {
    case .key(let tableKey, let key):
      guard let table = try snapshot.table(tableKey), try table.contains(ObjKey(key)) else { return nil }
      return ObjectReference(table: tableKey, key: ObjKey(key))
    case .primaryKey(let tableKey, let primaryKey):
      let key = try snapshot.table(tableKey)?.objectKey(primaryKey: primaryKey)
      return key.map { ObjectReference(table: tableKey, key: $0) }
    case .embedded(let owner, let property, let step, let count):
      guard let owner = try find(owner, in: snapshot), let table = try snapshot.table(owner.table),
        let column = table.columns.firstIndex(where: { $0.name.isExactly(property) })
      else { return nil }
      let cursor = ObjectCursor(table)
      guard try cursor.seek(owner.key) else { return nil }
      let link: Value
      switch (step, try Value(copying: cursor.value(column))) {
      case (nil, let value): link = value
      // If another client changed the list in the meantime, its elements cannot be identified by their indexes.
      case (.index(let index), .list(let values)) where values.count == count && values.indices.contains(index):
        link = values[index]
      case (.key(let name), .dictionary(let entries)): link = entries.first { $0.key == name }?.value ?? .null
      default: return nil
      }
      return if case .link(let target, let key) = link { ObjectReference(table: target, key: key) } else { nil }
    }
  }
}
