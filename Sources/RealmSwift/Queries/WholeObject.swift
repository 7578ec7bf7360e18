// Compares a custom type that is stored as an embedded object, by its properties.

import RealmPages
import RealmQuery

extension QueryNode {
  /// Returns a node that matches if the object at a place has the properties of a value of a custom type; nil for other
  /// values. In a collection, at least one element must have all these properties; for `!=`, the collection must not be
  /// empty, and no element may have them.
  static func compare(embedded value: Any?, _ comparison: Comparison, _ place: () -> QueryPlace) -> QueryNode? {
    guard let custom = ValueAssignment.unwrapped(value) as? any FailableCustomPersistable,
      let object = custom.persistableValue as? EmbeddedObject
    else { return nil }
    let (place, isEqual) = (place().withoutValues, comparison == .equal)
    let same = hasProperties(of: object, place)
    guard let collection = place.collection else { return isEqual ? same : .not(same) }
    func has(_ count: QueryNode, _ comparison: Comparison) -> QueryNode { .compare(count, comparison, .value(.int(0))) }
    if isEqual { return has(.matches(same), .greater) }
    var list = QueryPlace(steps: Array(place.steps.prefix(collection)), collection: collection)
    list.steps.append(.name("@count"))
    return .and(has(.path(list), .greater), has(.matches(same), .equal))
  }

  private static func hasProperties(of object: EmbeddedObject, _ place: QueryPlace) -> QueryNode {
    let schema = object.schema
    return .all(
      of: schema.properties.enumerated().filter { $1.isStored }.map { (index, property) -> QueryNode in
        if property.type.collection != nil || property.type.type == .link {
          Misuse.stop("'\(schema.name).\(property.name)': links and collections are not compared in queries.")
        }
        let value = property.storage.anyValue(of: object, index)
        return .compare(.path(place.appending(.name(property.storedName))), .equal, Query<Bool>.argument(value))
      }[...]
    )
  }

  /// Combines conditions with AND, as a balanced tree to limit its depth.
  static func all(of parts: ArraySlice<QueryNode>) -> QueryNode {
    guard parts.count > 1 else { return parts.first ?? .all }
    let middle = parts.startIndex + parts.count / 2
    return .and(all(of: parts[..<middle]), all(of: parts[middle...]))
  }
}

extension QueryPlace {
  /// This place, with the step from a map to its values removed.
  fileprivate var withoutValues: QueryPlace {
    guard let index = steps.firstIndex(of: .name("@values")) else { return self }
    var place = self
    place.steps.remove(at: index)
    place.collection = place.collection ?? index
    return place
  }
}
