// What results are made of: where the objects come from and what is asked of them. Evaluated when something is read,
// and again when the realm has moved on.

import Foundation
import RealmPages
import RealmQuery

/// The objects of a class, of a list or set, or those that link to an object, with conditions.
final class ResultsSource {
  enum Origin {
    case table(ManagedClass)
    /// The objects of a list, set or map; the class that they have.
    case collection(CollectionPlace, ManagedClass)
    /// The values of a list, set or map, in ascending or descending order or as they are; each once if distinct.
    case values(CollectionPlace, ascending: Bool?, isDistinct: Bool = false)
    /// The objects of the first class that link to an object, through a property.
    case linking(ManagedClass, property: Int, target: ManagedClass, key: Int64)
  }

  let context: RealmContext
  let origin: Origin
  let conditions: [QueryCondition]
  private var known: (generation: Int, content: Content)?
  private var knownCount: (generation: Int, count: Int)?
  /// The conditions, looked up in the version of a generation.
  private var bound: (generation: Int, query: RealmQuery.Query)?
  /// Guards `known` of frozen results, which several threads read.
  private let frozenLock = NSLock()

  /// What is there now.
  enum Content {
    case keys([Int64])
    /// All objects of a class: their keys are read when one is asked for.
    case whole(count: Int)
    /// Positions in the collection.
    case positions([Int])
  }

  init(_ context: RealmContext, _ origin: Origin, _ conditions: [QueryCondition] = []) {
    (self.context, self.origin, self.conditions) = (context, origin, conditions)
  }

  func with(_ condition: QueryCondition) -> ResultsSource {
    ResultsSource(context, origin, conditions + [condition])
  }

  /// The class of the objects; nil of values.
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
    // Objects of a class are counted in less time than their keys are found.
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

  /// A walk over all objects of a class in the version that is read, which needs no memory for their keys. Nil for
  /// other results, and in a write transaction, whose objects may change meanwhile.
  func walk() -> ObjectWalk? {
    guard case .whole = content, !context.isInTransaction, let type = managedClass, let hold = context.hold else {
      return nil
    }
    return ObjectWalk(hold, Misuse.unwrap { try context.current(type).table })
  }

  /// Whether the conditions can be asked: their names and types are right.
  func check() throws { _ = try query() }

  private func query() throws -> RealmQuery.Query? {
    guard !conditions.isEmpty, let type = managedClass else { return nil }
    if let bound, bound.generation == context.generation { return bound.query }
    let query = try RealmQuery.Query(conditions, of: context.current(type).table, in: context.snapshot())
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
      // Nothing is left of a list whose object was deleted.
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
        // Equal values are neighbours, the first of them comes first.
        positions = positions.indices.filter {
          $0 == 0 || values[positions[$0 - 1]].order(values[positions[$0]]) != 0
        }.map { positions[$0] }
        if ascending == nil { positions.sort() }
      }
      return .positions(positions)
    }
  }

  /// Calls `body` with each of the values of a property of the objects, or of the values themselves.
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

/// A walk over the objects of a version, which stays readable until then.
final class ObjectWalk {
  private let hold: VersionHold
  let cursor: ObjectCursor

  init(_ hold: VersionHold, _ table: Table) { (self.hold, cursor) = (hold, ObjectCursor(table)) }
}
