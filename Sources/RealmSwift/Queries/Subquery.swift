// Conditions on the elements of a collection, and on collections that the elements have.

import RealmQuery

/// A subquery while its condition becomes syntax.
struct Subquery {
  /// The way to the collection, from the class that is asked.
  let collection: [QueryPlace.Step]
  /// What stands for an element.
  let variable: String

  /// Whether a path leads to the elements and on, not to what is said of the collection.
  func covers(_ place: QueryPlace) -> Bool { place.steps.starts(with: collection) && !place.saysOf(collection.count) }

  /// The way from an element to the end of a path that leads through the collection.
  func path(_ steps: [QueryPlace.Step], _ schema: ClassSchema?, _ quantifier: Quantifier? = nil) -> PathSyntax {
    let target = Self.collection(in: collection, behind: collection.count - 1, schema)?.target
    return PathSyntax(steps.dropFirst(collection.count), after: variable, target, quantifier)
  }

  /// The collection that a condition on these paths is about, inside of this one, and what stands for it: one of the
  /// elements' collections. Without a collection behind this one, it is that of the elements with its name, as in the
  /// SDK.
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

  /// The first collection on a path that is longer than so many steps, and the class of its elements.
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
