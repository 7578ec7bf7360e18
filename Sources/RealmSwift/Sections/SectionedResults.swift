// Results in sections: one for each key that a function of the elements has.

public import Foundation
import RealmPages

/// Sectioned results, or one of their sections.
public protocol RealmSectionedResult: RandomAccessCollection, Equatable, ThreadConfined where Index == Int {
  /// The type of the keys.
  associatedtype SectionKey: _Persistable & Hashable
  /// The type of what is in the sections.
  associatedtype SectionElement: RealmCollectionValue
  /// The sections that it stands for, or belongs to.
  var _rlmSections: Sections<SectionKey, SectionElement> { get }
  /// The key, of a section.
  var _rlmKey: SectionKey? { get }
  /// The same of other sections.
  init(_rlmSections: Sections<SectionKey, SectionElement>, _ key: SectionKey?)
}

extension RealmSectionedResult {
  /// The realm.
  public var realm: Realm? { _rlmSections.results.realm }
  /// Whether what the results come from was deleted, or the realm invalidated.
  public var isInvalidated: Bool { _rlmSections.results.isInvalidated }
  /// Whether it belongs to a frozen realm.
  public var isFrozen: Bool { _rlmSections.results.isFrozen }
  /// The position of the first element.
  public var startIndex: Int { 0 }
  /// The position after the last element.
  public var endIndex: Int { count }

  /// The same in the version that the realm reads, for all threads.
  public func freeze() -> Self { Self(_rlmSections: _rlmSections.of(_rlmSections.results.freeze()), _rlmKey) }

  /// The same in the live realm of this thread; nil if what the results come from was deleted.
  public func thaw() -> Self? {
    _rlmSections.results.thaw().map { Self(_rlmSections: _rlmSections.of($0), _rlmKey) }
  }

  /// The same in another realm of the file; nil if what the results come from was deleted.
  public func _rlmCounterpart(in realm: Realm) -> Self? {
    _rlmSections.results._rlmCounterpart(in: realm).map { Self(_rlmSections: _rlmSections.of($0), _rlmKey) }
  }

  /// Whether both are of the same sectioned results, and not of others with equal sections.
  public static func == (a: Self, b: Self) -> Bool { a._rlmSections === b._rlmSections && a._rlmKey == b._rlmKey }
}

/// The elements of a collection in sections, which follow the realm. A section is where the first of its elements is in
/// the order of the collection.
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
  /// Nil: all sections.
  public var _rlmKey: Key? { nil }

  /// The sections.
  public init(_rlmSections: Sections<Key, SectionElement>, _ key: Key?) { self._rlmSections = _rlmSections }

  /// The number of sections.
  public var count: Int { _rlmSections.current.keys.count }

  /// The keys of the sections.
  public var allKeys: [Key] { _rlmSections.current.keys }

  /// The section at a position.
  public subscript(index: Int) -> Element {
    let keys = allKeys
    guard keys.indices.contains(index) else {
      Misuse.stop("Index \(index) is out of bounds (must be less than \(keys.count)).")
    }
    return ResultsSection(_rlmSections: _rlmSections, keys[index])
  }

  /// The element at a position in a section.
  public subscript(indexPath: IndexPath) -> SectionElement { self[indexPath[0]][indexPath[1]] }
}

/// The elements with one key.
public struct ResultsSection<Key: _Persistable & Hashable, Element: RealmCollectionValue>:
  RealmSectionedResult, Identifiable
{
  /// The sections that it belongs to.
  public let _rlmSections: Sections<Key, Element>
  /// What the elements have in common.
  public let key: Key
  /// The key.
  public var _rlmKey: Key? { key }
  /// The key.
  public var id: Key { key }

  /// The section of a key.
  public init(_rlmSections: Sections<Key, Element>, _ key: Key?) {
    guard let key else { Misuse.stop("A section has a key.") }
    (self._rlmSections, self.key) = (_rlmSections, key)
  }

  private var positions: [Int] { _rlmSections.current.positions[key] ?? [] }

  /// The number of elements; none if there is no such section any more.
  public var count: Int { positions.count }

  /// The element at a position.
  public subscript(index: Int) -> Element {
    let positions = positions
    guard positions.indices.contains(index) else {
      Misuse.stop("Index \(index) is out of bounds (must be less than \(positions.count)).")
    }
    return _rlmSections.results[positions[index]]
  }
}

/// What sectioned results and their sections share: the elements, and which key each of them has.
public final class Sections<Key: Hashable, Element: RealmCollectionValue> {
  /// The keys in the order of their first elements, and where in the results the elements of each are.
  struct Layout {
    var keys: [Key] = []
    var positions: [Key: [Int]] = [:]
  }

  let results: Results<Element>
  private let keyOf: (Element) -> Key
  private var known: (generation: Int, layout: Layout)?
  /// Guards `known`: frozen results are read by several threads.
  private let lock = NSLock()

  init(_ results: Results<Element>, _ keyOf: @escaping (Element) -> Key) {
    (self.results, self.keyOf) = (results, keyOf)
  }

  /// The sections of the same results in another version.
  func of(_ results: Results<Element>) -> Sections { Sections(results, keyOf) }

  /// The sections at the version that the realm reads. O(n) once for each version.
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
  /// The elements in sections by what `block` makes of them, in the order of their values.
  public func sectioned<Key: _Persistable & Hashable>(
    by block: @escaping (Element) -> Key,
    ascending: Bool = true
  ) -> SectionedResults<Key, Element> {
    SectionedResults(_rlmSections: Sections(_rlmResults.orderedValues(ascending), block), nil)
  }

  /// The objects in sections by what `keyBlock` makes of them, in an order that has those of a section together.
  public func sectioned<Key: _Persistable & Hashable>(
    sortDescriptors: [SortDescriptor],
    _ keyBlock: @escaping (Element) -> Key
  ) -> SectionedResults<Key, Element> {
    if sortDescriptors.isEmpty { Misuse.stop("Results cannot be sectioned without sort descriptors.") }
    // Values have no properties.
    if sortDescriptors.count == 1, sortDescriptors[0].keyPath == "self" {
      return sectioned(by: keyBlock, ascending: sortDescriptors[0].ascending)
    }
    return SectionedResults(_rlmSections: Sections(sorted(by: sortDescriptors)._rlmResults, keyBlock), nil)
  }

  /// The objects in sections by what `block` makes of them, in an order that should have those of a section together.
  public func sectioned<Key: _Persistable & Hashable>(
    by block: @escaping (Element) -> Key,
    sortDescriptors: [SortDescriptor]
  ) -> SectionedResults<Key, Element> { sectioned(sortDescriptors: sortDescriptors, block) }
}

extension RealmCollection where Element: ObjectBase {
  /// The objects in sections by a property, or by a computed one that reads a property first, in its order.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    ascending: Bool = true
  ) -> SectionedResults<Key, Element> {
    sectioned(by: keyPath, sortDescriptors: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
  }

  /// The same in another order, which begins with the property of the sections.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    sortDescriptors: [SortDescriptor]
  ) -> SectionedResults<Key, Element> {
    if let first = sortDescriptors.first, first.keyPath != PropertyTracer.name(of: keyPath) {
      Misuse.stop("The first sort descriptor has to name the property of the sections, not '\(first.keyPath)'.")
    }
    return sectioned(sortDescriptors: sortDescriptors) { $0[keyPath: keyPath] }
  }
}
