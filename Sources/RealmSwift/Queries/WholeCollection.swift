// A list or dictionary in a mixed value compared as a whole: the query language has conditions on its elements.

import RealmPages
import RealmQuery

extension QueryNode {
  /// Whether what is at a place is a list or dictionary with these elements; nil for another value.
  static func equals(collection value: Any?, at place: @autoclosure () -> QueryPlace) -> QueryNode? {
    switch value {
    case let list as List<AnyRealmValue>:
      isCollection("list", list.enumerated().map { (.index($0.offset), $0.element) }, place())
    case let map as Map<String, AnyRealmValue>:
      isCollection("dictionary", map.map { (.key(Array($0.key.utf8)), $0.value) }, place())
    default: nil
    }
  }

  /// The type, the number of elements and each of them.
  private static func isCollection(
    _ type: String,
    _ elements: [(step: QueryPlace.Step, value: AnyRealmValue)],
    _ place: QueryPlace
  ) -> QueryNode {
    func said(_ name: String, is value: Value) -> QueryNode {
      .compare(.path(place.appending(.name(name))), .equal, .value(value))
    }
    let parts = elements.map { step, element in
      let inner = place.appending(step), value = element._rlmAny
      return equals(collection: value, at: inner)
        ?? .compare(.path(inner), .equal, Query<Bool>.argument(value))
    }
    return .all(of: [said("@type", is: .text(type)), said("@count", is: .int(Int64(elements.count)))] + parts[...])
  }
}
