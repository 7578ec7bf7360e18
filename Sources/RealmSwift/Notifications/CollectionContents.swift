// The contents of a collection at one version, and the differences between two versions.

import RealmPages

/// The objects or values of a collection at one version.
enum CollectionContents {
  case keys([Int64])
  /// For a list in its own order, replacing a value counts as a modification.
  case values([Value], isList: Bool)
  /// The contents of a list whose owner was deleted.
  case none

  /// The changes between two versions. Indexes are ascending.
  struct Changes {
    var deletions: [Int] = []
    var insertions: [Int] = []
    var modifications: [Int] = []
    var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// These changes, with each deletion and insertion at the same position combined into a modification.
    var withModifications: Changes {
      var changes = Changes(), old = 0, new = 0
      var deleted = deletions[...], inserted = insertions[...]
      while !deleted.isEmpty || !inserted.isEmpty {
        // Unchanged elements have the same distance from the last change in both collections.
        let (deletion, insertion) = (deleted.first ?? .max, inserted.first ?? .max)
        let kept = min(deletion - old, insertion - new)
        (old, new) = (old + kept, new + kept)
        if deletion == old {
          if insertion == new { changes.modifications.append(old) } else { changes.deletions.append(old) }
          deleted.removeFirst()
          old += 1
        } else {
          changes.insertions.append(new)
        }
        if insertion == new {
          inserted.removeFirst()
          new += 1
        }
      }
      return changes
    }
  }

  init(_ source: ResultsSource) throws {
    guard case .values(let place, let ascending, let isDistinct) = source.origin,
      case .positions(let positions) = source.content
    else {
      self = .keys(source.keys)
      return
    }
    let values = try place.values()
    let isList = ascending == nil && !isDistinct && place.isList
    self = .values(try positions.map { try Value(copying: values[$0]) }, isList: isList)
  }

  /// Returns the changes since `former`. Takes O(n), or O(n · moves) if the order of objects changed.
  func changes(since former: CollectionContents, _ changed: ChangedObjects) throws -> Changes {
    switch (former, self) {
    case (.keys(let old), .keys(let new)): return try Self.changes(from: old, to: new, changed)
    case (.values(let old, _), .values(let new, let isList)):
      let changes = Self.difference(from: old, to: new)
      return isList ? changes.withModifications : changes
    case (.keys(let old), .none): return Changes(deletions: Array(old.indices))
    case (.values(let old, _), .none): return Changes(deletions: Array(old.indices))
    // The Mixed value contains a list again.
    case (.none, .values(let new, _)): return Changes(insertions: Array(new.indices))
    default: return Changes()
    }
  }

  private static func changes(from old: [Int64], to new: [Int64], _ changed: ChangedObjects) throws -> Changes {
    var changes = Changes()
    if old == new {
      // No object was inserted, deleted or moved.
    } else {
      let before = Set(old), after = Set(new)
      let isUnique = before.count == old.count && after.count == new.count
      if isUnique, old.filter({ after.contains($0) }) == new.filter({ before.contains($0) }) {
        changes.deletions = old.indices.filter { !after.contains(old[$0]) }
        changes.insertions = new.indices.filter { !before.contains(new[$0]) }
      } else {
        changes = difference(from: old, to: new)
      }
    }
    let gone = Set(changes.deletions)
    for (index, key) in old.enumerated() where !gone.contains(index) {
      if try changed.contains(key) { changes.modifications.append(index) }
    }
    return changes
  }

  private static func difference<T: Hashable>(from old: [T], to new: [T]) -> Changes {
    var changes = Changes()
    for step in new.difference(from: old) {
      switch step {
      case .remove(let offset, _, _): changes.deletions.append(offset)
      case .insert(let offset, _, _): changes.insertions.append(offset)
      }
    }
    changes.deletions.sort()
    changes.insertions.sort()
    return changes
  }
}

/// The objects that differ between two versions, including objects that link to a changed object, up to four links
/// away.
final class ChangedObjects {
  private var keys: [TableKey: Set<Int64>] = [:]
  private var answers: [ObjectReference: Bool] = [:]
  private let snapshot: Snapshot
  private let table: TableKey?
  private var cursors: [TableKey: ObjectCursor] = [:]
  private static let depth = 4
  private let context: RealmContext
  /// The observed paths of properties; nil for all properties and linked objects.
  private let keyPaths: [[String]]?
  /// The changed columns of each changed object, if only some properties are observed.
  private var columns: [ObjectReference: [Int]] = [:]

  init(from old: VersionHold, to new: VersionHold, _ source: ResultsSource, _ keyPaths: [[String]]?) throws {
    snapshot = new.snapshot
    table = source.managedClass?.key
    context = source.context
    self.keyPaths = keyPaths
    guard table != nil else { return }
    let difference = try VersionDifference(from: old.snapshot, to: new.snapshot)
    for table in difference.tables {
      let walk = difference.changes(in: table)
      while let change = try walk.next() {
        guard case .updated(let key, let changed) = change else { continue }
        if keyPaths != nil { columns[ObjectReference(table: table.key, key: key)] = Array(changed) }
        keys[table.key, default: []].insert(key.value)
      }
    }
  }

  /// Returns true if an object of the collection has changed.
  func contains(_ key: Int64) throws -> Bool {
    guard let table, !keys.isEmpty else { return false }
    let object = ObjectReference(table: table, key: ObjKey(key))
    guard let keyPaths else { return try contains(object, depth: Self.depth) }
    return try keyPaths.contains { try hasChanged(object, $0[...]) }
  }

  /// Returns true if a property on the path has changed.
  private func hasChanged(_ object: ObjectReference, _ path: ArraySlice<String>) throws -> Bool {
    guard let name = path.first, let cursor = try cursor(object.table) else { return false }
    let schema = context.schema(of: object.table)
    let property = schema?.index(of: name).flatMap { schema?.properties[$0] }, stored = property?.storedName ?? name
    if let property, property.type.isLinkingObjects {
      return try cursor.seek(object.key) && linking(cursor, property).contains { try hasChanged($0, path.dropFirst()) }
    }
    guard let column = cursor.table.columns.firstIndex(where: { $0.name.isExactly(stored) }) else { return false }
    if columns[object]?.contains(column) ?? false { return true }
    let rest = path.dropFirst()
    guard !rest.isEmpty, try cursor.seek(object.key) else { return false }
    return try Self.targets(of: cursor.value(column)).contains { try hasChanged($0, rest) }
  }

  /// Returns the objects in a linking-objects property.
  private func linking(_ cursor: ObjectCursor, _ property: ModelProperty) throws -> [ObjectReference] {
    guard let origin = property.linkedClass, let name = property.originProperty, let index = origin.index(of: name)
    else { return [] }
    let type = context.managed(origin.type)
    return try cursor.origins(from: type.key, type.columnKeys[index]).map { ObjectReference(table: type.key, key: $0) }
  }

  private func contains(_ object: ObjectReference, depth: Int) throws -> Bool {
    if keys[object.table]?.contains(object.key.value) ?? false { return true }
    if depth == 0 || keys.keys.allSatisfy({ $0 == object.table }) && !linksToItself(object.table) { return false }
    if let known = answers[object] { return known }
    answers[object] = false
    guard let cursor = try cursor(object.table) else { return false }
    for (index, column) in cursor.table.columns.enumerated() where column.type == .link {
      guard try cursor.seek(object.key) else { return false }
      for target in try Self.targets(of: cursor.value(index)) where try contains(target, depth: depth - 1) {
        answers[object] = true
        return true
      }
    }
    return false
  }

  private func linksToItself(_ table: TableKey) -> Bool {
    // Links of a table that cannot be read cannot be followed.
    guard let columns = try? cursor(table)?.table.columns else { return false }
    return columns.contains { $0.targetTable != nil }
  }

  private func cursor(_ table: TableKey) throws -> ObjectCursor? {
    if let known = cursors[table] { return known }
    let made = try snapshot.table(table).map { ObjectCursor($0) }
    cursors[table] = made
    return made
  }

  private static func targets(of value: ValueView) throws -> [ObjectReference] {
    switch value {
    case .link(let table, let key): return key.isUnresolved ? [] : [ObjectReference(table: table, key: key)]
    case .list(var list), .set(var list):
      var found: [ObjectReference] = []
      for index in 0..<list.count { found += try targets(of: list.value(at: index)) }
      return found
    case .dictionary(var entries):
      var found: [ObjectReference] = []
      for index in 0..<entries.count { found += try targets(of: entries.value(at: index)) }
      return found
    default: return []
    }
  }
}
