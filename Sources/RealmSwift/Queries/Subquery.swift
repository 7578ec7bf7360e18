// Subqueries: conditions on the elements of a collection, possibly nested.

import RealmQuery

/// The context in which the condition of a subquery is converted to syntax.
struct Subquery {
  /// The path to the collection from the queried class.
  let collection: [QueryPlace.Step]
  /// The variable that represents an element.
  let variable: String

  /// True if a path leads through the elements, and does not end in an operator on the collection.
  func covers(_ place: QueryPlace) -> Bool { place.steps.starts(with: collection) && !place.saysOf(collection.count) }

  /// Returns the part of a path through the collection that starts at an element.
  func path(_ steps: [QueryPlace.Step], _ schema: ClassSchema?, _ quantifier: Quantifier? = nil) -> PathSyntax {
    let target = Self.collection(in: collection, behind: collection.count - 1, schema)?.target
    return PathSyntax(steps.dropFirst(collection.count), after: variable, target, quantifier)
  }

  /// Returns the collection, among the collections of the elements, that a nested condition on these paths refers to,
  /// and its syntax. If the paths contain no further collection, the elements' collection with the same name is used,
  /// as in the SDK.
  func inner(_ paths: Set<QueryPlace>, _ schema: ClassSchema?) -> (collection: [QueryPlace.Step], list: PathSyntax) {
    let ways = Set(
      paths.map { path in
        covers(path) ? Self.collection(in: path.steps, behind: collection.count, schema)?.way ?? collection : nil
      }
    )
    let name = QueryPlace(steps: collection).description
    guard ways.count == 1, let way = ways.first, let way else {
      Misuse.stop("A subquery in another one is about one collection of the elements of '\(name)'.")
    }
    if way != collection { return (way, path(way, schema)) }
    let target = Self.collection(in: collection, behind: 0, schema)?.target
    guard let target, Self.collection(in: collection, behind: 0, target)?.target === target else {
      Misuse.stop("The elements of '\(name)' have no collection '\(name)' of their own class.")
    }
    return (collection, PathSyntax(collection[...], after: variable, target, nil))
  }

  /// Returns the first collection on a path after `count` steps, and the class of its elements.
  private static func collection(
    in steps: [QueryPlace.Step],
    behind count: Int,
    _ schema: ClassSchema?
  ) -> (way: [QueryPlace.Step], target: ClassSchema)? {
    guard var schema else { return nil }
    for (position, step) in steps.enumerated() {
      guard case .name(let name) = step, let index = schema.index(of: name),
        let next = schema.properties[index].linkedClass
      else { return nil }
      if schema.properties[index].type.collection != nil, position >= count {
        return (Array(steps.prefix(position + 1)), next)
      }
      schema = next
    }
    return nil
  }
}
