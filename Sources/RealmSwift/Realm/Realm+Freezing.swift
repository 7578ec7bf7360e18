// Frozen realms, objects and collections: one version that never changes, for all threads.

import RealmPages

extension Realm {
  /// Whether the realm stays at its version and can be used on every thread.
  public var isFrozen: Bool { context.isFrozen }

  /// The version that the realm reads, frozen. The file keeps the version for as long as the result lives.
  public func freeze() -> Realm { Realm(context.frozen()) }

  /// The live realm of this thread.
  public func thaw() -> Realm { Realm(context.thawed()) }
}

extension RealmContext {
  /// The version that is read, for all threads.
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

  /// The live realm of the calling thread.
  func thawed() -> RealmContext {
    if !isFrozen { return self }
    return Misuse.unwrap { try RealmOpening.context(configuration) }
  }

  /// The same class in another version.
  func counterpart(of type: ManagedClass) -> ManagedClass {
    guard let schema = type.schema else { Misuse.stop("the class '\(type.name)' has no model") }
    return managed(schema.type)
  }

  /// The same collection in another version; nil if its owner, or the collection in a Mixed, is not there.
  func counterpart(of place: CollectionPlace) -> CollectionPlace? {
    let other = CollectionPlace(self, counterpart(of: place.type), place.key, place.property, place.nested)
    return other.isInvalidated ? nil : other
  }
}

/// What can be frozen and thawed.
public protocol ThreadConfined {
  /// The realm; nil for what belongs to none.
  var realm: Realm? { get }
  /// Whether it was deleted, or its realm invalidated.
  var isInvalidated: Bool { get }
  /// Whether it never changes.
  var isFrozen: Bool { get }
  /// The same in the version that the realm reads, frozen.
  func freeze() -> Self
  /// The same in the live realm of this thread; nil if it was deleted.
  func thaw() -> Self?
  /// The same in another realm of the file; nil if it was deleted.
  func _rlmCounterpart(in realm: Realm) -> Self?
}

extension ThreadConfined where Self: ObjectBase {
  /// The object in the version that its realm reads, for all threads.
  public func freeze() -> Self {
    guard let context else { Misuse.stop("Unmanaged objects cannot be frozen.") }
    guard let frozen = counterpart(in: context.frozen()) else { Misuse.stop("A deleted object cannot be frozen.") }
    return frozen
  }

  /// The object in the live realm of this thread; nil if it was deleted.
  public func thaw() -> Self? {
    guard let context else { Misuse.stop("Unmanaged objects cannot be thawed.") }
    return counterpart(in: context.thawed())
  }

  /// The same object in another realm of the file; nil if it was deleted.
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
  /// The same results in another version; nil if what they come from is not there.
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
  /// The results in the version that the realm reads, for all threads.
  public func freeze() -> Results {
    guard let frozen = source.counterpart(in: source.context.frozen()) else {
      Misuse.stop("Results whose object was deleted cannot be frozen.")
    }
    return Results(frozen)
  }

  /// The results in the live realm of this thread; nil if what they come from was deleted.
  public func thaw() -> Results? { source.counterpart(in: source.context.thawed()).map { Results($0) } }

  /// The same results in another realm of the file.
  public func _rlmCounterpart(in realm: Realm) -> Results? {
    source.counterpart(in: realm.context).map { Results($0) }
  }
}

/// A list, set or map that a property holds.
protocol PropertyCollection: ThreadConfined {
  /// Where it is; nil for a collection that belongs to no object yet.
  var place: CollectionPlace? { get }
  init(_ place: CollectionPlace)
}

extension PropertyCollection {
  /// The collection in the version that the realm reads, for all threads.
  public func freeze() -> Self {
    guard let place, let frozen = place.context.frozen().counterpart(of: place) else {
      Misuse.stop("Only collections of managed objects can be frozen.")
    }
    return Self(frozen)
  }

  /// The collection in the live realm of this thread; nil if its object was deleted.
  public func thaw() -> Self? {
    guard let place else { return self }
    return place.context.thawed().counterpart(of: place).map { Self($0) }
  }

  /// The same collection in another realm of the file; nil if its object was deleted.
  public func _rlmCounterpart(in realm: Realm) -> Self? {
    place.flatMap { realm.context.counterpart(of: $0) }.map { Self($0) }
  }
}

extension List: PropertyCollection { var place: CollectionPlace? { storage.place } }
extension MutableSet: PropertyCollection { var place: CollectionPlace? { storage.place } }
extension Map: PropertyCollection { var place: CollectionPlace? { storage.place } }

extension LinkingObjects: ThreadConfined {
  /// The linking objects in the version that the realm reads, for all threads.
  public func freeze() -> LinkingObjects { LinkingObjects(_rlmResults.freeze()) }

  /// The linking objects in the live realm of this thread; nil if the object was deleted.
  public func thaw() -> LinkingObjects? { _rlmResults.thaw().map { LinkingObjects($0) } }

  /// The same linking objects in another realm of the file; nil if the object was deleted.
  public func _rlmCounterpart(in realm: Realm) -> LinkingObjects? {
    _rlmResults._rlmCounterpart(in: realm).map { LinkingObjects($0) }
  }
}
