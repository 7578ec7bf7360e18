// Collections whose kind does not matter.

/// A list, set, results or linking objects, for properties and arguments that may have any of them.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection {
  private let base: any RealmCollection<Element>

  /// Stands for another collection.
  public init<C: RealmCollection>(_ base: C) where C.Element == Element { self.base = base }

  private init(of base: any RealmCollection<Element>) { self.base = base }

  /// The position of the first element.
  public var startIndex: Int { 0 }
  /// The position after the last element.
  public var endIndex: Int { count }
  /// The number of elements.
  public var count: Int { base.count }
  /// The element at a position.
  public subscript(position: Int) -> Element { base[position] }
  /// The elements as the collection that it stands for goes through them.
  public func makeIterator() -> RLMIterator<Element> { Self.iterator(base) }
  private static func iterator<C: RealmCollection>(_ base: C) -> RLMIterator<Element> where C.Element == Element {
    let iterator = base.makeIterator()
    return iterator as? RLMIterator<Element> ?? RLMIterator(AnyIterator(iterator))
  }
  /// The realm; nil for a collection that belongs to no object yet.
  public var realm: Realm? { base.realm }
  /// Whether what it belongs to was deleted, or its realm invalidated.
  public var isInvalidated: Bool { base.isInvalidated }
  /// Whether it belongs to a frozen realm.
  public var isFrozen: Bool { base.isFrozen }
  /// The collection as results.
  public var _rlmResults: Results<Element> { base._rlmResults }

  /// The collection in the version that the realm reads, for all threads.
  public func freeze() -> AnyRealmCollection { AnyRealmCollection(of: base.freeze()) }
  /// The collection in the live realm of this thread; nil if what it belongs to was deleted.
  public func thaw() -> AnyRealmCollection? { base.thaw().map { AnyRealmCollection(of: $0) } }
  /// The same collection in another realm of the file; nil if what it belongs to was deleted.
  public func _rlmCounterpart(in realm: Realm) -> AnyRealmCollection? {
    base._rlmCounterpart(in: realm).map { AnyRealmCollection(of: $0) }
  }
}
