// Collections of one property of all objects of a collection.

public import Dispatch

/// The values of one property of the objects in a list or set, in their order, as in `person.dogs.projectTo.name`.
public struct ProjectedCollection<Element: RealmCollectionValue>: RandomAccessCollection, CustomStringConvertible {
  private let base: any ProjectedBase
  private let path: AnyKeyPath

  fileprivate init(_ base: any ProjectedBase, _ path: AnyKeyPath) { (self.base, self.path) = (base, path) }

  /// The index of the first value.
  public var startIndex: Int { 0 }
  /// The index after the last value.
  public var endIndex: Int { base.count }
  /// The value of the object at an index. Setting it on a managed object requires a write transaction.
  public subscript(position: Int) -> Element {
    get {
      guard let value = base.object(at: position)[keyPath: path] as? Element else {
        Misuse.stop("The projected property has no value of type \(Element.self).")
      }
      return value
    }
    nonmutating set { base.set(newValue, path, at: position) }
  }

  /// Calls `block` with the collection, and again after each commit that changed it, as `observe` of a list does.
  /// `keyPaths` names the properties to observe; nil observes the projected one.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void
  ) -> NotificationToken {
    let (base, path) = (base, path)
    return base.observe(keyPaths, path) { block($0.of(ProjectedCollection(base, path))) }
  }

  /// Calls `block` on a serial queue, with the collection in a realm that is confined to the queue.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (RealmCollectionChange<ProjectedCollection>) -> Void
  ) -> NotificationToken {
    RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// The type and the values.
  public var description: String {
    let lines = enumerated().map { "\t[\($0)] \($1)\n" }
    return "ProjectedCollection<\(Element.self)> {\n\(lines.joined())}"
  }
}

extension ProjectedCollection: ThreadConfined {
  /// The realm; nil for an unmanaged collection.
  public var realm: Realm? { base.realm }
  /// True if the owner of the collection was deleted, or its realm invalidated.
  public var isInvalidated: Bool { base.isInvalidated }
  /// True if the collection belongs to a frozen realm.
  public var isFrozen: Bool { base.isFrozen }
  /// Returns the collection frozen at the realm's current version, for use on all threads.
  public func freeze() -> ProjectedCollection { ProjectedCollection(base.freeze(), path) }
  /// Returns the collection in the live realm of the calling thread; nil if its owner was deleted.
  public func thaw() -> ProjectedCollection? { base.thaw().map { ProjectedCollection($0, path) } }
  /// Returns the collection in another realm of the same file; nil if its owner was deleted.
  public func _rlmCounterpart(in realm: Realm) -> ProjectedCollection? {
    base._rlmCounterpart(in: realm).map { ProjectedCollection($0, path) }
  }
}

/// A collection whose objects are projected.
private protocol ProjectedBase: ThreadConfined {
  var count: Int { get }
  func object(at position: Int) -> ObjectBase
  func set<Value>(_ value: Value, _ path: AnyKeyPath, at position: Int)
  func observe(
    _ keyPaths: [String]?,
    _ path: AnyKeyPath,
    _ block: @escaping (RealmCollectionChange<Void>) -> Void
  ) -> NotificationToken
}

/// A list or set.
private struct ObjectCollection<C: RealmCollection>: ProjectedBase where C.Element: ObjectBase {
  let collection: C

  var count: Int { collection.count }
  func object(at position: Int) -> ObjectBase { collection[position] }

  func set<Value>(_ value: Value, _ path: AnyKeyPath, at position: Int) {
    guard let path = path as? ReferenceWritableKeyPath<C.Element, Value> else {
      Misuse.stop("The projected property of \(C.Element.self) cannot be set.")
    }
    collection[position][keyPath: path] = value
  }

  func observe(
    _ keyPaths: [String]?,
    _ path: AnyKeyPath,
    _ block: @escaping (RealmCollectionChange<Void>) -> Void
  ) -> NotificationToken {
    guard let path = path as? PartialKeyPath<C.Element> else {
      Misuse.stop("The projected property is not one of \(C.Element.self).")
    }
    return collection.observe(keyPaths: keyPaths ?? [PropertyTracer.name(of: path)]) { block($0.of(())) }
  }

  var realm: Realm? { collection.realm }
  var isInvalidated: Bool { collection.isInvalidated }
  var isFrozen: Bool { collection.isFrozen }
  func freeze() -> ObjectCollection { ObjectCollection(collection: collection.freeze()) }
  func thaw() -> ObjectCollection? { collection.thaw().map { ObjectCollection(collection: $0) } }
  func _rlmCounterpart(in realm: Realm) -> ObjectCollection? {
    collection._rlmCounterpart(in: realm).map { ObjectCollection(collection: $0) }
  }
}

/// Maps a collection of objects to one of their properties, as in `dogs.projectTo.name`.
@dynamicMemberLookup public struct CollectionElementMapper<Element: ObjectBase> {
  private let base: any ProjectedBase

  fileprivate init<C: RealmCollection>(_ collection: C) where C.Element == Element {
    base = ObjectCollection(collection: collection)
  }

  /// The values of one property of all objects.
  public subscript<V: RealmCollectionValue>(dynamicMember member: KeyPath<Element, V>) -> ProjectedCollection<V> {
    ProjectedCollection(base, member)
  }
}

extension List where Element: ObjectBase {
  /// The values of one property of all objects, as in `dogs.projectTo.name`.
  public var projectTo: CollectionElementMapper<Element> { CollectionElementMapper(self) }
}

extension MutableSet where Element: ObjectBase {
  /// The values of one property of all objects, as in `dogs.projectTo.name`.
  public var projectTo: CollectionElementMapper<Element> { CollectionElementMapper(self) }
}
