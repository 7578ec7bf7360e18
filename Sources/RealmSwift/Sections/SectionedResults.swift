// Results grouped into sections, one for each key that a function of the elements returns.

public import Foundation
import RealmPages

/// Sectioned results, or one of their sections.
public protocol RealmSectionedResult: RandomAccessCollection, Equatable, ThreadConfined where Index == Int {
  /// The type of the keys.
  associatedtype SectionKey: _Persistable & Hashable
  /// The type of the elements in the sections.
  associatedtype SectionElement: RealmCollectionValue
  /// The shared sections that this value represents or belongs to.
  var _rlmSections: Sections<SectionKey, SectionElement> { get }
  /// The key of a section; nil for sectioned results.
  var _rlmKey: SectionKey? { get }
  /// Creates a value of this type for other sections.
  init(_rlmSections: Sections<SectionKey, SectionElement>, _ key: SectionKey?)
}

extension RealmSectionedResult {
  /// The realm.
  public var realm: Realm? { _rlmSections.results.realm }
  /// True if the owner of the results was deleted, or the realm invalidated.
  public var isInvalidated: Bool { _rlmSections.results.isInvalidated }
  /// True if the value belongs to a frozen realm.
  public var isFrozen: Bool { _rlmSections.results.isFrozen }
  /// The index of the first element.
  public var startIndex: Int { 0 }
  /// The index after the last element.
  public var endIndex: Int { count }

  /// Returns the value frozen at the realm's current version, for use on all threads.
  public func freeze() -> Self { Self(_rlmSections: _rlmSections.of(_rlmSections.results.freeze()), _rlmKey) }

  /// Returns the value in the live realm of the calling thread; nil if the owner of the results was deleted.
  public func thaw() -> Self? {
    _rlmSections.results.thaw().map { Self(_rlmSections: _rlmSections.of($0), _rlmKey) }
  }

  /// Returns the value in another realm of the same file; nil if the owner of the results was deleted.
  public func _rlmCounterpart(in realm: Realm) -> Self? {
    _rlmSections.results._rlmCounterpart(in: realm).map { Self(_rlmSections: _rlmSections.of($0), _rlmKey) }
  }

  /// Returns true if both are the same sectioned results, or the same section of them. Sectioned results that were
  /// created separately are not equal, even if their sections are.
  public static func == (a: Self, b: Self) -> Bool { a._rlmSections === b._rlmSections && a._rlmKey == b._rlmKey }
}

/// The elements of a collection grouped into live sections. Sections are ordered by their first elements in the
/// collection.
///
/// ```swift
/// for section in realm.objects(Dog.self).sectioned(by: \.age) {
///   print(section.key, section.map(\.name))
/// }
/// ```
public struct SectionedResults<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue>:
  RealmSectionedResult
{
  /// A section.
  public typealias Element = ResultsSection<Key, SectionElement>
  /// The sections.
  public let _rlmSections: Sections<Key, SectionElement>
  /// Always nil, because this value represents all sections.
  public var _rlmKey: Key? { nil }

  /// Creates sectioned results.
  public init(_rlmSections: Sections<Key, SectionElement>, _ key: Key?) { self._rlmSections = _rlmSections }

  /// The number of sections.
  public var count: Int { _rlmSections.current.keys.count }

  /// The keys of the sections.
  public var allKeys: [Key] { _rlmSections.current.keys }

  /// The section at an index.
  public subscript(index: Int) -> Element {
    let keys = allKeys
    guard keys.indices.contains(index) else {
      Misuse.stop("Index \(index) is out of bounds (must be less than \(keys.count)).")
    }
    return ResultsSection(_rlmSections: _rlmSections, keys[index])
  }

  /// The element of a section at an index path.
  public subscript(indexPath: IndexPath) -> SectionElement { self[indexPath[0]][indexPath[1]] }
}

/// A section: the elements that share a key.
public struct ResultsSection<Key: _Persistable & Hashable, Element: RealmCollectionValue>:
  RealmSectionedResult, Identifiable
{
  /// The sections that this section belongs to.
  public let _rlmSections: Sections<Key, Element>
  /// The key that the elements have in common.
  public let key: Key
  /// The key.
  public var _rlmKey: Key? { key }
  /// The key.
  public var id: Key { key }

  /// Creates the section of a key.
  public init(_rlmSections: Sections<Key, Element>, _ key: Key?) {
    guard let key else { Misuse.stop("A section cannot be created without a key.") }
    (self._rlmSections, self.key) = (_rlmSections, key)
  }

  private var positions: [Int] { _rlmSections.current.positions[key] ?? [] }

  /// The number of elements; 0 if the section no longer exists.
  public var count: Int { positions.count }

  /// The element at an index.
  public subscript(index: Int) -> Element {
    let positions = positions
    guard positions.indices.contains(index) else {
      Misuse.stop("Index \(index) is out of bounds (must be less than \(positions.count)).")
    }
    return _rlmSections.results[positions[index]]
  }
}

/// The state that sectioned results and their sections share: the elements and the function that returns their keys.
public final class Sections<Key: Hashable, Element: RealmCollectionValue> {
  /// The keys in the order of their first elements, and the indexes of each key's elements in the results.
  struct Layout {
    var keys: [Key] = []
    var positions: [Key: [Int]] = [:]
  }

  let results: Results<Element>
  private let keyOf: (Element) -> Key
  private var known: (generation: Int, layout: Layout)?
  /// Guards `known`: several threads read frozen results.
  private let lock = NSLock()

  init(_ results: Results<Element>, _ keyOf: @escaping (Element) -> Key) {
    (self.results, self.keyOf) = (results, keyOf)
  }

  /// Returns the sections of `results`, which are the same results at another version.
  func of(_ results: Results<Element>) -> Sections { Sections(results, keyOf) }

  /// The sections at the version that the realm reads. Computed once per version, in O(n).
  var current: Layout {
    let generation = results.source.context.generation
    if let known = lock.withLock({ known }), known.generation == generation, !results.isInvalidated {
      return known.layout
    }
    var layout = Layout()
    if !results.isInvalidated {
      for (position, element) in results.enumerated() {
        let key = keyOf(element)
        if layout.positions[key] == nil { layout.keys.append(key) }
        layout.positions[key, default: []].append(position)
      }
    }
    lock.withLock { known = (generation, layout) }
    return layout
  }
}

extension RealmCollection {
  /// Sorts the elements by value and groups them into sections by the result of `block`.
  public func sectioned<Key: _Persistable & Hashable>(
    by block: @escaping (Element) -> Key,
    ascending: Bool = true
  ) -> SectionedResults<Key, Element> {
    SectionedResults(_rlmSections: Sections(_rlmResults.orderedValues(ascending), block), nil)
  }

  /// Groups the objects into sections by the result of `keyBlock`. The sort descriptors should keep the objects of a
  /// section together.
  public func sectioned<Key: _Persistable & Hashable>(
    sortDescriptors: [SortDescriptor],
    _ keyBlock: @escaping (Element) -> Key
  ) -> SectionedResults<Key, Element> {
    if sortDescriptors.isEmpty { Misuse.stop("Results cannot be sectioned without sort descriptors.") }
    // Values have no properties to sort by.
    if sortDescriptors.count == 1, sortDescriptors[0].keyPath == "self" {
      return sectioned(by: keyBlock, ascending: sortDescriptors[0].ascending)
    }
    return SectionedResults(_rlmSections: Sections(sorted(by: sortDescriptors)._rlmResults, keyBlock), nil)
  }

  /// Groups the objects into sections by the result of `block`. The sort descriptors should keep the objects of a
  /// section together.
  public func sectioned<Key: _Persistable & Hashable>(
    by block: @escaping (Element) -> Key,
    sortDescriptors: [SortDescriptor]
  ) -> SectionedResults<Key, Element> { sectioned(sortDescriptors: sortDescriptors, block) }
}

extension RealmCollection where Element: ObjectBase {
  /// Groups the objects into sections by a property, or by a computed property whose first access is to a stored
  /// property, and sorts them by that property.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    ascending: Bool = true
  ) -> SectionedResults<Key, Element> {
    sectioned(by: keyPath, sortDescriptors: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
  }

  /// Groups the objects into sections by a property. The first sort descriptor must name that property.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    sortDescriptors: [SortDescriptor]
  ) -> SectionedResults<Key, Element> {
    if let first = sortDescriptors.first, first.keyPath != PropertyTracer.name(of: keyPath) {
      Misuse.stop("The first sort descriptor must sort by the section property, not '\(first.keyPath)'.")
    }
    return sectioned(sortDescriptors: sortDescriptors) { $0[keyPath: keyPath] }
  }
}
