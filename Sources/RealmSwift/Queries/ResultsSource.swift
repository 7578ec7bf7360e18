// The definition of results: the origin of the objects and the conditions. Evaluated when the results are accessed, and
// again after the realm has changed or moved to another version.

import Foundation
import RealmPages
import RealmQuery

/// The objects of a class, of a collection, or linking to an object, with conditions.
final class ResultsSource {
  enum Origin {
    case table(ManagedClass)
    /// The objects of a list, set or map, and their class.
    case collection(CollectionPlace, ManagedClass)
    /// The values of a list, set or map, sorted in ascending or descending order or unsorted; each value once if
    /// distinct.
    case values(CollectionPlace, ascending: Bool?, isDistinct: Bool = false)
    /// The objects of the first class that link to an object through a property.
    case linking(ManagedClass, property: Int, target: ManagedClass, key: Int64)
  }

  let context: RealmContext
  let origin: Origin
  let conditions: [QueryCondition]
  private var known: (generation: Int, content: Content)?
  private var knownCount: (generation: Int, count: Int)?
  /// The conditions, bound to the version of a generation.
  private var bound: (generation: Int, query: RealmQuery.ObjectQuery)?
  /// Guards `known` of frozen results, which several threads read.
  private let frozenLock = NSLock()

  /// The result of an evaluation.
  enum Content {
    case keys([Int64])
    /// All objects of a class. Their keys are read when needed.
    case whole(count: Int)
    /// Indexes in the collection.
    case positions([Int])
  }

  init(_ context: RealmContext, _ origin: Origin, _ conditions: [QueryCondition] = []) {
    (self.context, self.origin, self.conditions) = (context, origin, conditions)
  }

  func with(_ condition: QueryCondition) -> ResultsSource {
    ResultsSource(context, origin, conditions + [condition])
  }

  /// The class of the objects; nil for values.
  var managedClass: ManagedClass? {
    switch origin {
    case .table(let type), .collection(_, let type), .linking(let type, _, _, _): type
    case .values: nil
    }
  }

  var isInvalidated: Bool {
    switch origin {
    case .table(let type): type.isDead
    case .collection(let place, _), .values(let place, _, _): place.isInvalidated
    case .linking(_, _, let target, let key): !context.contains(target, key)
    }
  }

  var content: Content {
    context.checkThread()
    if context.isFrozen { return frozenLock.withLock { evaluated } }
    return evaluated
  }

  private var evaluated: Content {
    if let known, known.generation == context.generation { return known.content }
    let content = Misuse.unwrap { try evaluate() }
    known = (context.generation, content)
    return content
  }

  var count: Int {
    context.checkThread()
    if context.isFrozen { return frozenLock.withLock { counted } }
    return counted
  }

  private var counted: Int {
    // Counting objects of a class is faster than finding their keys.
    if case .table(let type) = origin, !conditions.isEmpty, !type.isDead, known?.generation != context.generation {
      if let knownCount, knownCount.generation == context.generation { return knownCount.count }
      let count = Misuse.unwrap { try query()?.count() ?? 0 }
      knownCount = (context.generation, count)
      return count
    }
    switch evaluated {
    case .keys(let keys): return keys.count
    case .whole(let count): return count
    case .positions(let positions): return positions.count
    }
  }

  /// The keys of the objects.
  var keys: [Int64] {
    switch content {
    case .keys(let keys): return keys
    case .positions: return []
    case .whole:
      guard let type = managedClass else { return [] }
      let keys = context.keys(of: type).map(\.value)
      if context.isFrozen {
        frozenLock.withLock { known = (context.generation, .keys(keys)) }
      } else {
        known = (context.generation, .keys(keys))
      }
      return keys
    }
  }

  /// Returns a walk over all objects of a class in the version being read, which needs no memory for their keys. Nil
  /// for other results, and in a write transaction, where objects may change during the walk.
  func walk() -> ObjectWalk? {
    guard case .whole = content, !context.isInTransaction, let type = managedClass, let hold = context.hold else {
      return nil
    }
    return ObjectWalk(hold, Misuse.unwrap { try context.current(type).table })
  }

  /// Throws if the names or types in the conditions are invalid.
  func check() throws { _ = try query() }

  private func query() throws -> RealmQuery.ObjectQuery? {
    guard !conditions.isEmpty, let type = managedClass else { return nil }
    if let bound, bound.generation == context.generation { return bound.query }
    let query = try RealmQuery.ObjectQuery(conditions, of: context.current(type).table, in: context.snapshot())
    bound = (context.generation, query)
    return query
  }

  private func evaluate() throws -> Content {
    let query = try query()
    switch origin {
    case .table(let type):
      if type.isDead { Misuse.stop("The Realm that the results belong to was invalidated.") }
      guard let query else { return .whole(count: try context.current(type).table.objectCount) }
      return .keys(try query.keys().map(\.value))
    case .collection(let place, _):
      // A list whose owner was deleted is empty.
      if place.isInvalidated { return .keys([]) }
      var keys: [ObjKey] = []
      for value in try place.values() { if case .link(_, let key) = value, !key.isUnresolved { keys.append(key) } }
      return .keys(try (query?.keys(among: keys) ?? keys).map(\.value))
    case .linking(let type, let property, let target, let key):
      let keys = try context.origins(of: target, key, from: type, property)
      return .keys(try (query?.keys(among: keys) ?? keys).map(\.value))
    case .values(let place, let ascending, let isDistinct):
      if place.isInvalidated { return .positions([]) }
      guard isDistinct || ascending != nil else { return .positions(Array(0..<place.count)) }
      let values = try place.values()
      var positions = values.indices.sorted { a, b in
        let order = values[a].order(values[b])
        return order == 0 ? a < b : (order < 0) == (ascending ?? true)
      }
      if isDistinct {
        // Equal values are adjacent, in the order of the collection.
        positions = positions.indices.filter {
          $0 == 0 || values[positions[$0 - 1]].order(values[positions[$0]]) != 0
        }.map { positions[$0] }
        if ascending == nil { positions.sort() }
      }
      return .positions(positions)
    }
  }

  /// Returns an aggregate of a property of the objects; nil if the elements are values.
  func aggregate(_ kind: QueryAggregate.Kind, _ property: String?) -> ValueView? {
    Misuse.unwrap {
      guard let type = managedClass, let property else { return nil }
      let path = try QueryPath(property, of: context.current(type).table, in: context.snapshot())
      let aggregate = try QueryAggregate(kind, of: path), cursor = ObjectCursor(try context.current(type).table)
      for key in keys where try cursor.seek(ObjKey(key)) { try aggregate.add(cursor) }
      return aggregate.result
    }
  }
}

/// A walk over the objects of a version, which stays readable during the walk.
final class ObjectWalk {
  private let hold: VersionHold
  let cursor: ObjectCursor

  init(_ hold: VersionHold, _ table: Table) { (self.hold, cursor) = (hold, ObjectCursor(table)) }
}
