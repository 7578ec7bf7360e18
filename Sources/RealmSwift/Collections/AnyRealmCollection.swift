// A type-erased realm collection.

/// A type-erased list, set, results or linking objects.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection {
  private let base: any RealmCollection<Element>

  /// Wraps a collection.
  public init<C: RealmCollection>(_ base: C) where C.Element == Element { self.base = base }

  private init(of base: any RealmCollection<Element>) { self.base = base }

  /// The index of the first element.
  public var startIndex: Int { 0 }
  /// The index after the last element.
  public var endIndex: Int { count }
  /// The number of elements.
  public var count: Int { base.count }
  /// The element at an index.
  public subscript(position: Int) -> Element { base[position] }
  /// Iterates over the elements of the wrapped collection.
  public func makeIterator() -> RLMIterator<Element> { Self.iterator(base) }
  private static func iterator<C: RealmCollection>(_ base: C) -> RLMIterator<Element> where C.Element == Element {
    let iterator = base.makeIterator()
    return iterator as? RLMIterator<Element> ?? RLMIterator(AnyIterator(iterator))
  }
  /// The realm; nil for an unmanaged collection.
  public var realm: Realm? { base.realm }
  /// True if the owner of the collection was deleted, or its realm invalidated.
  public var isInvalidated: Bool { base.isInvalidated }
  /// True if the collection belongs to a frozen realm.
  public var isFrozen: Bool { base.isFrozen }
  /// The collection as results.
  public var _rlmResults: Results<Element> { base._rlmResults }

  /// Returns the collection frozen at the realm's current version, for use on all threads.
  public func freeze() -> AnyRealmCollection { AnyRealmCollection(of: base.freeze()) }
  /// Returns the collection in the live realm of the calling thread; nil if its owner was deleted.
  public func thaw() -> AnyRealmCollection? { base.thaw().map { AnyRealmCollection(of: $0) } }
  /// Returns the collection in another realm of the same file; nil if its owner was deleted.
  public func _rlmCounterpart(in realm: Realm) -> AnyRealmCollection? {
    base._rlmCounterpart(in: realm).map { AnyRealmCollection(of: $0) }
  }
}
