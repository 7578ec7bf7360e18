// Ordered collections.

public import Foundation
import RealmPages

/// An ordered collection in a property of an object.
///
/// ```swift
/// class Person: Object {
///   @Persisted var age = 0
///   @Persisted var dogs: List<Dog>
/// }
/// ```
public final class List<Element: RealmCollectionValue> {
  var storage: CollectionStorage<[Element]>

  /// Creates an empty unmanaged list.
  public init() { storage = .unmanaged([]) }

  init(_ place: CollectionPlace) { storage = .managed(place) }

  /// The realm of the list's owner; nil for an unmanaged list.
  public var realm: Realm? { storage.realm }

  /// True if the owner of the list was deleted.
  public var isInvalidated: Bool { storage.isInvalidated }

  /// True if the list belongs to a frozen realm.
  public var isFrozen: Bool { storage.isFrozen }

  // MARK: changes

  /// Replaces the element at `index`.
  public func replace(index: Int, object: Element) { self[index] = object }

  /// Moves an element to another index.
  public func move(from: Int, to: Int) {
    switch storage {
    case .unmanaged: storage.edit([]) { $0.insert($0.remove(at: from), at: to) }
    case .managed(let place): place.move(from: from, to: to)
    }
  }

  /// Swaps two elements.
  public func swapAt(_ index1: Int, _ index2: Int) {
    if index1 == index2 { return }
    switch storage {
    case .unmanaged: storage.edit([]) { $0.swapAt(index1, index2) }
    case .managed(let place):
      let (low, high) = (Swift.min(index1, index2), Swift.max(index1, index2))
      place.move(from: low, to: high)
      if high - low > 1 { place.move(from: high - 1, to: low) }
    }
  }

  /// Appends an element.
  public func append(_ object: Element) { insert(object, at: count) }

  /// Appends elements.
  public func append<S: Sequence>(objectsIn objects: S) where S.Element == Element {
    for object in Array(objects) { append(object) }
  }

  /// Inserts an element before the one at `index`.
  public func insert(_ object: Element, at index: Int) {
    switch storage {
    case .unmanaged: storage.edit([]) { $0.insert(object, at: index) }
    case .managed(let place): place.insert(place.write(object), at: index)
    }
  }

  /// Removes the element at `index`.
  public func remove(at index: Int) {
    switch storage {
    case .unmanaged: storage.edit([]) { $0.remove(at: index) }
    case .managed(let place): place.remove(at: index)
    }
  }

  /// Removes all elements. Linked objects stay in the realm; embedded objects are deleted.
  public func removeAll() {
    switch storage {
    case .unmanaged: storage = .unmanaged([])
    case .managed(let place): place.clear()
    }
  }

  /// Removes the elements for which a predicate returns true.
  public func removeAll(where shouldBeRemoved: (Element) throws -> Bool) rethrows {
    for index in indices.reversed() where try shouldBeRemoved(self[index]) { remove(at: index) }
  }

  /// Removes the first element. The list must not be empty.
  public func removeFirst() { remove(at: 0) }

  /// Removes the last element. The list must not be empty.
  public func removeLast() { remove(at: count - 1) }

  /// Removes the elements in a range.
  public func removeSubrange<R: RangeExpression>(_ range: R) where R.Bound == Int {
    for index in range.relative(to: self).reversed() { remove(at: index) }
  }

  /// Appends elements.
  public func append<S: Sequence>(contentsOf elements: S) where S.Element == Element { append(objectsIn: elements) }

  /// Inserts elements before the element at `index`.
  public func insert<C: Collection>(contentsOf elements: C, at index: Int) where C.Element == Element {
    replaceSubrange(index..<index, with: elements)
  }

  /// Removes the elements at the given indexes.
  public func remove(atOffsets offsets: IndexSet) { for offset in offsets.reversed() { remove(at: offset) } }

  /// Moves the elements at the given indexes to the position before `destination`.
  public func move(fromOffsets offsets: IndexSet, toOffset destination: Int) {
    var destination = destination
    // Moving an element from below shifts the destination down by one; moving one from above shifts it up.
    for (moved, offset) in offsets.filter({ $0 < destination }).enumerated() {
      move(from: offset - moved, to: destination - 1)
    }
    for offset in offsets where offset >= destination {
      move(from: offset, to: destination)
      destination += 1
    }
  }

  /// Returns the index of the first equal element; nil if there is none.
  public func index(of object: Element) -> Int? { firstIndex(of: object) }

  /// Turns an unmanaged list into the stored list at `place`, which already contains its elements.
  func bind(to place: CollectionPlace) {
    guard case .unmanaged(let elements) = storage else { return }
    storage = .managed(place)
    guard let values = elements as? [AnyRealmValue] else { return }
    for (index, value) in values.enumerated() { value.bind { self[index] as? AnyRealmValue } }
  }

  /// Replaces the elements with those of another sequence.
  func assign(_ other: some Sequence<Element>) {
    let elements = Array(other)
    removeAll()
    for element in elements { append(element) }
  }
}

extension List: RandomAccessCollection, MutableCollection {
  /// The index of the first element.
  public var startIndex: Int { 0 }
  /// The index after the last element.
  public var endIndex: Int { count }
  /// The number of elements.
  public var count: Int {
    switch storage {
    case .unmanaged(let elements): elements.count
    case .managed(let place): place.count
    }
  }

  /// The element at an index.
  public subscript(position: Int) -> Element {
    get {
      switch storage {
      case .unmanaged(let elements): elements[position]
      case .managed(let place): place.element(at: position)
      }
    }
    set {
      switch storage {
      case .unmanaged: storage.edit([]) { $0[position] = newValue }
      case .managed(let place): place.replace(place.write(newValue), at: position)
      }
    }
  }

  /// The elements in a range. Setting them replaces the range, also with fewer or more elements.
  public subscript(bounds: Range<Int>) -> Slice<List> {
    get { Slice(base: self, bounds: bounds) }
    set { replaceSubrange(bounds, with: Array(newValue)) }
  }
}

extension List: RangeReplaceableCollection {
  /// Replaces the elements in a range.
  public func replaceSubrange<C: Collection>(_ range: Range<Int>, with elements: C) where C.Element == Element {
    let elements = Array(elements)
    for index in range.reversed() { remove(at: index) }
    for (offset, element) in elements.enumerated() { insert(element, at: range.lowerBound + offset) }
  }
}

extension List: Equatable {
  /// Returns true if the two are the same list or have equal elements.
  public static func == (a: List, b: List) -> Bool { a === b || a.elementsEqual(b) }
}

extension List: _Persistable {
  /// The type of a list of `Element`.
  public static var _rlmType: _PropertyType {
    var type = Element._rlmType
    type.collection = .list
    return type
  }
  /// Returns a list with one object that records reads, for key paths through the list.
  public static func _rlmTraced(_ place: PropertyPlace) -> List? {
    guard let element: Element = PropertyTracer.element(place) else { return nil }
    let list = List()
    list.storage = .unmanaged([element])
    return list
  }
  /// True: a list is a collection.
  @inlinable public static var _rlmIsCollection: Bool { true }
  /// Replaces the elements of a list with those of another one.
  public static func _rlmFill(_ collection: List, _ value: List) {
    if collection !== value, !collection.storage.hasSamePlace(as: value.storage) { collection.assign(value) }
  }
  /// Returns an empty list.
  public static func _rlmDefault() -> List { List() }
  /// Binds an unmanaged list to a property of a managed object that already contains its elements.
  public static func _rlmBind(_ value: List, to place: PropertyPlace) { value.bind(to: CollectionPlace(place)) }
  /// Returns the list of a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> List { List(CollectionPlace(place)) }
  /// Replaces the elements of a managed list with those of another list.
  public static func _rlmSet(_ place: PropertyPlace, _ value: List) {
    _rlmFill(List(CollectionPlace(place)), value)
  }
  /// Converts a sequence; returns nil if an element has the wrong type.
  public static func _rlmCast(_ value: Any?) -> List? {
    if let same = value as? List { return same }
    guard let value, !ValueAssignment.isNil(value) else { return List() }
    guard let values = value as? any Sequence else { return nil }
    let list = List()
    for value in values {
      guard let element = Element._rlmCast(value) else { return nil }
      list.append(element)
    }
    return list
  }
  /// The list itself.
  public var _rlmAny: Any? { self }
}
