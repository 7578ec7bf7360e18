// Compares a list or dictionary in a Mixed value as a whole, with conditions on its type, count and elements.

import RealmPages
import RealmQuery

extension QueryNode {
  /// Returns a node that matches if the value at a place is a list or dictionary with these elements; nil if `value` is
  /// neither.
  static func equals(collection value: Any?, at place: @autoclosure () -> QueryPlace) -> QueryNode? {
    switch value {
    case let list as List<AnyRealmValue>:
      isCollection("list", list.enumerated().map { (.index($0.offset), $0.element) }, place())
    case let map as Map<String, AnyRealmValue>:
      isCollection("dictionary", map.map { (.key(Array($0.key.utf8)), $0.value) }, place())
    default: nil
    }
  }

  /// Returns conditions on the type, the count and each element.
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
