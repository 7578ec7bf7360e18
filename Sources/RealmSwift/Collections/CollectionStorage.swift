// The storage of a list, set or map: its own values, or the place of a collection in a realm.

/// The storage of a collection. `Values` is the type of an unmanaged collection's values.
enum CollectionStorage<Values> {
  case unmanaged(Values)
  case managed(CollectionPlace)

  var place: CollectionPlace? { if case .managed(let place) = self { place } else { nil } }
  /// True if both are the same collection in a realm.
  func hasSamePlace(as other: Self) -> Bool { place != nil && place == other.place }
  var realm: Realm? { if case .managed(let place) = self { Realm(place.context) } else { nil } }
  /// True if the owner was deleted.
  var isInvalidated: Bool { if case .managed(let place) = self { place.isInvalidated } else { false } }
  var isFrozen: Bool { if case .managed(let place) = self { place.context.isFrozen } else { false } }

  /// Changes unmanaged values in place. The storage holds `empty` during the change, to avoid a copy.
  mutating func edit(_ empty: Values, _ body: (inout Values) -> Void) {
    guard case .unmanaged(var values) = self else { return }
    self = .unmanaged(empty)
    body(&values)
    self = .unmanaged(values)
  }
}

extension CollectionStorage: Equatable where Values: Equatable {
  /// Returns true if the two are the same managed collection, or are unmanaged and have equal values.
  static func == (a: CollectionStorage, b: CollectionStorage) -> Bool {
    switch (a, b) {
    case (.managed(let a), .managed(let b)): a == b
    case (.unmanaged(let a), .unmanaged(let b)): a == b
    default: false
    }
  }
}
