// The objects that a transaction of a synced realm makes. They go to the server and come back as other objects of the
// file, with other keys: the instances that stand for them are led there.

import RealmPages
import RealmSync

/// The instances that became managed in a transaction.
final class CreatedObjects {
  /// What stays the same on the way to the server and back.
  private indirect enum Identity {
    case key(TableKey, Int64)
    case primaryKey(TableKey, PrimaryKey)
    /// An embedded object, by its owner; with the number of elements if it is in a list.
    case embedded(Identity, property: String, PathStep?, count: Int?)
  }

  private struct Instance { weak var object: ObjectBase? }

  private let synced: SyncedFile
  private var instances: [Instance] = []
  private var limit = 1000
  private var moves: [(object: ObjectBase, identity: Identity)] = []
  /// Keys of new objects until they come back: those of the file are far below, so that nothing else is ever found by
  /// one of them.
  private var next: Int64 = 1 << 61

  init(_ synced: SyncedFile) { self.synced = synced }

  // MARK: making

  /// The key of a new object of a class with a primary key, up to the commit.
  func nextKey() -> ObjKey {
    next += 1
    return ObjKey(next)
  }

  /// The key of a new object of a class without one, which it keeps; nil if the server gave no identity yet.
  func keyWithoutPrimaryKey(_ context: RealmContext, _ managed: ManagedClass) -> ObjKey? {
    let file = synced.writerFile
    if file == 0 { return nil }
    while true {
      let key = GlobalKey.local(high: UInt64(bitPattern: file), low: UInt64.random(in: 0..<1 << 31))
      if !context.contains(managed, key.value) { return key }
    }
  }

  /// Notes an instance that became managed.
  func note(_ object: ObjectBase) {
    if instances.count >= limit {
      instances.removeAll { $0.object == nil }
      limit = max(1000, instances.count * 2)
    }
    instances.append(Instance(object: object))
  }

  // MARK: moving

  /// Before the commit: what each new object is known by.
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

  /// After the commit: leads the instances to their objects; what others have deleted meanwhile is gone.
  func move(to snapshot: Snapshot) {
    for (object, identity) in moves {
      let found = Misuse.unwrap { try Self.find(identity, in: snapshot) }
      object.move(to: found?.key.value ?? ObjectBase.noKey)
    }
    moves = []
  }

  /// After a commit that failed, and in the place of one: the objects are gone.
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
      // Others may have changed the list meanwhile: then its elements are not known by their places.
      case (.index(let index), .list(let values)) where values.count == count && values.indices.contains(index):
        link = values[index]
      case (.key(let name), .dictionary(let entries)): link = entries.first { $0.key == name }?.value ?? .null
      default: return nil
      }
      return if case .link(let target, let key) = link { ObjectReference(table: target, key: key) } else { nil }
    }
  }
}
