// Conditions on the elements of a collection, and on collections that the elements have.

/// A subquery while its condition becomes text.
struct Subquery {
  /// The way to the collection, from the class that is asked.
  let collection: String
  /// What stands for an element.
  let variable: String

  /// What stands for a path that leads through the collection; nil for another one.
  func text(_ path: String, _ schema: ClassSchema?) -> String? {
    guard path == collection || path.hasPrefix("\(collection)."), !path.hasPrefix("\(collection).@") else {
      return nil
    }
    return variable + PredicateFormat.path(path, schema).dropFirst(PredicateFormat.path(collection, schema).count)
  }

  /// The collection that a condition on these paths is about, inside of this one, and what stands for it: one of the
  /// elements' collections. Without a collection behind this one, it is that of the elements with its name, as in the
  /// SDK.
  func inner(_ paths: Set<String>, _ schema: ClassSchema?) -> (collection: String, text: String) {
    let places = Set(
      paths.map { path in
        text(path, schema) == nil ? nil : Self.collection(in: path, behind: collection, schema)?.path ?? collection
      }
    )
    guard places.count == 1, let place = places.first, let place else {
      Misuse.stop("A subquery in another one is about one collection of the elements of '\(collection)'.")
    }
    if let text = text(place, schema), place != collection { return (place, text) }
    let target = Self.collection(in: collection, behind: "", schema)?.target
    guard let target, Self.collection(in: collection, behind: "", target)?.target === target else {
      Misuse.stop("The elements of '\(collection)' have no collection '\(collection)' of their own class.")
    }
    return (collection, "\(variable).\(PredicateFormat.path(collection, target))")
  }

  /// The first collection on a path that is longer than `start`, and the class of its elements.
  private static func collection(
    in path: String,
    behind start: String,
    _ schema: ClassSchema?
  ) -> (path: String, target: ClassSchema)? {
    guard var schema else { return nil }
    var way = ""
    for name in path.split(separator: ".") {
      guard let index = schema.index(of: String(name)), let next = schema.properties[index].linkedClass else {
        return nil
      }
      way += way.isEmpty ? name : ".\(name)"
      if schema.properties[index].type.collection != nil, way.utf8.count > start.utf8.count { return (way, next) }
      schema = next
    }
    return nil
  }
}
