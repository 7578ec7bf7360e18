// What results are made of: where the objects come from and what is asked of them. Evaluated when something is read,
// and again when the realm has moved on.

import Foundation
import RealmPages
import RealmQuery

/// The objects of a class, of a list or set, or those that link to an object, with conditions.
final class ResultsSource {
  enum Origin {
    case table(ManagedClass)
    /// The objects of a list or set; the class that they have.
    case collection(CollectionPlace, ManagedClass)
    /// The values of a list or set, in ascending order or not.
    case values(CollectionPlace, ascending: Bool?)
    /// The objects of the first class that link to an object, through a property.
    case linking(ManagedClass, property: Int, target: ManagedClass, key: Int64)
  }

  let context: RealmContext
  let origin: Origin
  let conditions: [QueryCondition]
  private var known: (generation: Int, content: Content)?
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
    case .collection(let place, _), .values(let place, _): place.isInvalidated
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
    switch content {
    case .keys(let keys): keys.count
    case .whole(let count): count
    case .positions(let positions): positions.count
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

  /// Whether the conditions can be asked: their names and types are right.
  func check() throws { _ = try query() }

  private func query() throws -> RealmQuery.Query? {
    guard !conditions.isEmpty, let type = managedClass else { return nil }
    return try RealmQuery.Query(conditions, of: context.current(type).table, in: context.snapshot())
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
      guard !place.isInvalidated, var list = place.list() else { return .keys([]) }
      var keys: [ObjKey] = []
      for index in 0..<list.count {
        if case .link(_, let key) = try list.value(at: index), !key.isUnresolved { keys.append(key) }
      }
      return .keys(try (query?.keys(among: keys) ?? keys).map(\.value))
    case .linking(let type, let property, let target, let key):
      let keys = try context.origins(of: target, key, from: type, property)
      return .keys(try (query?.keys(among: keys) ?? keys).map(\.value))
    case .values(let place, let ascending):
      guard !place.isInvalidated, var list = place.list() else { return .positions([]) }
      guard let ascending else { return .positions(Array(0..<list.count)) }
      var values: [(position: Int, value: ValueView)] = []
      for index in 0..<list.count { values.append((index, try list.value(at: index))) }
      values.sort { a, b in
        let order = a.value.order(b.value)
        return order == 0 ? a.position < b.position : (order < 0) == ascending
      }
      return .positions(values.map(\.position))
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
