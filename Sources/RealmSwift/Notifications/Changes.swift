// The values that observers receive.

/// A change of a collection.
public enum RealmCollectionChange<CollectionType> {
  /// The initial state of the collection. Delivered first, once.
  case initial(CollectionType)
  /// The collection changed. Indexes are ascending: deletions and modifications refer to the old collection, insertions
  /// to the new one. An object that moved is reported as a deletion and an insertion.
  case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
  /// The collection can no longer be observed.
  case error(any Error)

  /// Returns the same change of another collection.
  func of<Other>(_ other: Other) -> RealmCollectionChange<Other> {
    switch self {
    case .initial: .initial(other)
    case .update(_, let deletions, let insertions, let modifications):
      .update(other, deletions: deletions, insertions: insertions, modifications: modifications)
    case .error(let error): .error(error)
    }
  }
}

/// A change of a map.
public enum RealmMapChange<MapType: RealmKeyedCollection> {
  /// The initial state of the map. Delivered first, once.
  case initial(MapType)
  /// The map changed. Contains the keys of the removed, added and changed entries.
  case update(MapType, deletions: [MapType.Key], insertions: [MapType.Key], modifications: [MapType.Key])
  /// The map can no longer be observed.
  case error(any Error)
}

/// The change of one property.
public struct PropertyChange {
  /// The name of the property in the class.
  public let name: String
  /// The old value; nil for null, links and collections.
  public let oldValue: Any?
  /// The new value; nil for null. For a collection, the collection itself.
  public let newValue: Any?
}

/// A change of an object.
public enum ObjectChange<T> {
  /// Properties of the object changed.
  case change(T, [PropertyChange])
  /// The object was deleted. No further changes are delivered.
  case deleted
  /// The object can no longer be observed.
  case error(any Error)
}

extension ObjectChange where T: ObjectBase {
  /// Returns this change with the object cast to another class; nil if the object is not of that class.
  func of<Other: ObjectBase>(_ type: Other.Type) -> ObjectChange<Other>? {
    switch self {
    case .change(let object, let properties): (object as? Other).map { .change($0, properties) }
    case .deleted: .deleted
    case .error(let error): .error(error)
    }
  }
}

extension Realm {
  /// A change of a realm.
  public enum Notification: String, Sendable {
    /// The realm moved to a newer version.
    case didChange
    /// A newer version exists, and `autorefresh` is off.
    case refreshRequired
  }

  /// A block that is called when a realm changes.
  public typealias NotificationBlock = (_ notification: Notification, _ realm: Realm) -> Void
}
