// What observers are told.

/// What happened to a collection.
public enum RealmCollectionChange<CollectionType> {
  /// The collection can be read; comes first, once.
  case initial(CollectionType)
  /// It has changed: ascending positions, of deletions and modifications in the collection before, of insertions in the
  /// new one. An object that moved is deleted and inserted.
  case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
  /// It cannot be observed any more.
  case error(any Error)
}

/// What happened to a map.
public enum RealmMapChange<MapType: RealmKeyedCollection> {
  /// The map can be read; comes first, once.
  case initial(MapType)
  /// It has changed: the names of the entries that were removed, added or changed.
  case update(MapType, deletions: [MapType.Key], insertions: [MapType.Key], modifications: [MapType.Key])
  /// It cannot be observed any more.
  case error(any Error)
}

/// A property that changed.
public struct PropertyChange {
  /// The name in the class.
  public let name: String
  /// The value before; nil for null, links and collections.
  public let oldValue: Any?
  /// The value now; nil for null, a collection as such.
  public let newValue: Any?
}

/// What happened to an object.
public enum ObjectChange<T> {
  /// Properties of it have changed.
  case change(T, [PropertyChange])
  /// It was deleted; nothing follows.
  case deleted
  /// It cannot be observed any more.
  case error(any Error)
}

extension ObjectChange where T: ObjectBase {
  /// The same change of the object as one of another class; nil if it is none.
  func of<Other: ObjectBase>(_ type: Other.Type) -> ObjectChange<Other>? {
    switch self {
    case .change(let object, let properties): (object as? Other).map { .change($0, properties) }
    case .deleted: .deleted
    case .error(let error): .error(error)
    }
  }
}

extension Realm {
  /// What happened to a realm.
  public enum Notification: String, Sendable {
    /// The realm reads a newer version.
    case didChange
    /// There is a newer version, and `autorefresh` is off.
    case refreshRequired
  }

  /// Called with what happened to a realm.
  public typealias NotificationBlock = (_ notification: Notification, _ realm: Realm) -> Void
}
