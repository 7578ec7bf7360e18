// What a list, set or map holds: values of its own, or the place of a collection in a realm.

/// The content of a collection; `Values` is what it has as long as it belongs to no object.
enum CollectionStorage<Values> {
  case unmanaged(Values)
  case managed(CollectionPlace)

  var place: CollectionPlace? { if case .managed(let place) = self { place } else { nil } }
  var realm: Realm? { if case .managed(let place) = self { Realm(place.context) } else { nil } }
  /// Whether the owner was deleted.
  var isInvalidated: Bool { if case .managed(let place) = self { place.isInvalidated } else { false } }
  var isFrozen: Bool { if case .managed(let place) = self { place.context.isFrozen } else { false } }

  /// Changes unmanaged values in place; `empty` is there meanwhile, so that nothing is copied.
  mutating func edit(_ empty: Values, _ body: (inout Values) -> Void) {
    guard case .unmanaged(var values) = self else { return }
    self = .unmanaged(empty)
    body(&values)
    self = .unmanaged(values)
  }
}

extension CollectionStorage: Equatable where Values: Equatable {
  /// Whether both are the same collection of an object, or, unmanaged, have equal values.
  static func == (a: CollectionStorage, b: CollectionStorage) -> Bool {
    switch (a, b) {
    case (.managed(let a), .managed(let b)): a == b
    case (.unmanaged(let a), .unmanaged(let b)): a == b
    default: false
    }
  }
}
