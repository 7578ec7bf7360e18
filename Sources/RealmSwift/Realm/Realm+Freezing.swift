// Frozen realms, objects and collections: one version that never changes and that all threads may use.

import RealmPages

extension Realm {
  /// True if the realm stays at one version and can be used on every thread.
  public var isFrozen: Bool { context.isFrozen }

  /// Returns a frozen realm at the current version. The file keeps that version for as long as the frozen realm exists.
  public func freeze() -> Realm { Realm(context.frozen()) }

  /// Returns the live realm of the calling thread.
  public func thaw() -> Realm { Realm(context.thawed()) }
}

extension RealmContext {
  /// Returns a frozen context at the current version.
  func frozen() -> RealmContext {
    checkThread()
    if isFrozen { return self }
    if isInTransaction { Misuse.stop("A realm cannot be frozen in a write transaction.") }
    if let known = frozenVersion, known.version == version { return known }
    guard let hold else { Misuse.stop("An invalidated realm cannot be frozen.") }
    let made = Misuse.unwrap { try RealmContext(file, configuration, wanted, frozenAt: hold) }
    frozenVersion = made
    return made
  }

  /// Returns the live context of the calling thread.
  func thawed() -> RealmContext {
    if !isFrozen { return self }
    return Misuse.unwrap { try RealmOpening.context(configuration) }
  }

  /// Returns the class in this context that corresponds to a class of another version.
  func counterpart(of type: ManagedClass) -> ManagedClass {
    guard let schema = type.schema else { Misuse.stop("the class '\(type.name)' has no model") }
    return managed(schema)
  }

  /// Returns the collection in this context that corresponds to a collection of another version; nil if its owner, or
  /// the nested collection in a Mixed, does not exist here.
  func counterpart(of place: CollectionPlace) -> CollectionPlace? {
    let other = CollectionPlace(self, counterpart(of: place.type), place.key, place.property, place.nested)
    return other.isInvalidated ? nil : other
  }
}

/// A value that can be frozen and thawed: an object, a collection or results.
public protocol ThreadConfined {
  /// The realm; nil for an unmanaged value.
  var realm: Realm? { get }
  /// True if the value was deleted or its realm was invalidated.
  var isInvalidated: Bool { get }
  /// True if the value belongs to a frozen realm and never changes.
  var isFrozen: Bool { get }
  /// Returns this value frozen at the realm's current version, for use on all threads.
  func freeze() -> Self
  /// Returns this value in the live realm of the calling thread; nil if it was deleted.
  func thaw() -> Self?
  /// Returns this value in another realm of the same file; nil if it was deleted.
  func _rlmCounterpart(in realm: Realm) -> Self?
}

extension ThreadConfined where Self: ObjectBase {
  /// Returns the object frozen at the realm's current version, for use on all threads.
  public func freeze() -> Self {
    guard let context else { Misuse.stop("Unmanaged objects cannot be frozen.") }
    guard let frozen = counterpart(in: context.frozen()) else { Misuse.stop("A deleted object cannot be frozen.") }
    return frozen
  }

  /// Returns the object in the live realm of the calling thread; nil if it was deleted.
  public func thaw() -> Self? {
    guard let context else { Misuse.stop("Unmanaged objects cannot be thawed.") }
    return counterpart(in: context.thawed())
  }

  /// Returns the object in another realm of the same file; nil if it was deleted.
  public func _rlmCounterpart(in realm: Realm) -> Self? { counterpart(in: realm.context) }

  private func counterpart(in other: RealmContext) -> Self? {
    guard let managedClass else { return nil }
    if other === context { return self }
    let type = other.counterpart(of: managedClass)
    guard other.contains(type, objectKey) else { return nil }
    return (self is DynamicObject ? DynamicObject(other, type, objectKey) : other.object(type, objectKey)) as? Self
  }
}

extension Object: ThreadConfined {}
extension EmbeddedObject: ThreadConfined {}

extension ResultsSource {
  /// Returns these results in another version; nil if the object or collection that they come from does not exist
  /// there.
  func counterpart(in other: RealmContext) -> ResultsSource? {
    if other === context { return self }
    switch origin {
    case .table(let type): return ResultsSource(other, .table(other.counterpart(of: type)), conditions)
    case .collection(let place, let type):
      return other.counterpart(of: place).map {
        ResultsSource(other, .collection($0, other.counterpart(of: type)), conditions)
      }
    case .values(let place, let ascending, let isDistinct):
      return other.counterpart(of: place).map {
        ResultsSource(other, .values($0, ascending: ascending, isDistinct: isDistinct), conditions)
      }
    case .linking(let type, let property, let target, let key):
      let (type, target) = (other.counterpart(of: type), other.counterpart(of: target))
      guard other.contains(target, key) else { return nil }
      return ResultsSource(other, .linking(type, property: property, target: target, key: key), conditions)
    }
  }
}

extension Results: ThreadConfined {
  /// Returns the results frozen at the realm's current version, for use on all threads.
  public func freeze() -> Results {
    guard let frozen = source.counterpart(in: source.context.frozen()) else {
      Misuse.stop("Results whose object was deleted cannot be frozen.")
    }
    return Results(frozen)
  }

  /// Returns the results in the live realm of the calling thread; nil if the object or collection that they come from
  /// was deleted.
  public func thaw() -> Results? { source.counterpart(in: source.context.thawed()).map { Results($0) } }

  /// Returns the results in another realm of the same file.
  public func _rlmCounterpart(in realm: Realm) -> Results? {
    source.counterpart(in: realm.context).map { Results($0) }
  }
}

/// A list, set or map in a property.
protocol PropertyCollection: ThreadConfined {
  /// The place of the collection; nil for an unmanaged collection.
  var place: CollectionPlace? { get }
  init(_ place: CollectionPlace)
}

extension PropertyCollection {
  /// Returns the collection frozen at the realm's current version, for use on all threads.
  public func freeze() -> Self {
    guard let place, let frozen = place.context.frozen().counterpart(of: place) else {
      Misuse.stop("Only collections of managed objects can be frozen.")
    }
    return Self(frozen)
  }

  /// Returns the collection in the live realm of the calling thread; nil if its object was deleted.
  public func thaw() -> Self? {
    guard let place else { return self }
    return place.context.thawed().counterpart(of: place).map { Self($0) }
  }

  /// Returns the collection in another realm of the same file; nil if its object was deleted.
  public func _rlmCounterpart(in realm: Realm) -> Self? {
    place.flatMap { realm.context.counterpart(of: $0) }.map { Self($0) }
  }
}

extension List: PropertyCollection { var place: CollectionPlace? { storage.place } }
extension MutableSet: PropertyCollection { var place: CollectionPlace? { storage.place } }
extension Map: PropertyCollection { var place: CollectionPlace? { storage.place } }

extension LinkingObjects: ThreadConfined {
  /// Returns the linking objects frozen at the realm's current version, for use on all threads.
  public func freeze() -> LinkingObjects { LinkingObjects(_rlmResults.freeze()) }

  /// Returns the linking objects in the live realm of the calling thread; nil if the object was deleted.
  public func thaw() -> LinkingObjects? { _rlmResults.thaw().map { LinkingObjects($0) } }

  /// Returns the linking objects in another realm of the same file; nil if the object was deleted.
  public func _rlmCounterpart(in realm: Realm) -> LinkingObjects? {
    _rlmResults._rlmCounterpart(in: realm).map { LinkingObjects($0) }
  }
}
