// The common interface of lists, sets, results and linking objects.

public import Foundation
import RealmPages
import RealmQuery

/// A realm collection: a list, a set, results or linking objects.
public protocol RealmCollection<Element>: RandomAccessCollection, ThreadConfined, Equatable, CustomStringConvertible
where Element: RealmCollectionValue, Index == Int {
  /// The realm; nil for an unmanaged collection.
  var realm: Realm? { get }
  /// True if the owner of the collection was deleted, or its realm invalidated.
  var isInvalidated: Bool { get }
  /// True if the collection belongs to a frozen realm.
  var isFrozen: Bool { get }
  /// The collection as results; ends the process for an unmanaged collection.
  var _rlmResults: Results<Element> { get }
}

extension RealmCollection {
  /// Returns the objects that match a format string: `filter("age > %@ AND name BEGINSWITH %@", 3, "R")`.
  public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
    _rlmResults.passing(PredicateFormat.condition(predicateFormat, args, _rlmResults.schema))
  }

  /// Returns the objects sorted by a property, or by a path such as `dog.name`.
  public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
    sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
  }

  /// Returns the objects sorted by several properties.
  public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
    let keys = sortDescriptors.map {
      "\(PredicateFormat.path($0.keyPath, _rlmResults.schema)) \($0.ascending ? "ASC" : "DESC")"
    }
    if keys.isEmpty { return _rlmResults }
    return _rlmResults.passing(.query("TRUEPREDICATE SORT(\(keys.joined(separator: ", ")))"))
  }

  /// Returns the first object for each distinct combination of values of the properties.
  public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
    let paths = keyPaths.map { PredicateFormat.path($0, _rlmResults.schema) }
    return _rlmResults.passing(.query("TRUEPREDICATE DISTINCT(\(paths.joined(separator: ", ")))"))
  }

  /// Returns the minimum of a property; nil if there are no values.
  public func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
    aggregate(.min, property)
  }

  /// Returns the maximum of a property; nil if there are no values.
  public func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
    aggregate(.max, property)
  }

  /// Returns the sum of a property.
  public func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType {
    aggregate(.sum, property) ?? T._rlmCast(0) ?? T._rlmDefault()
  }

  /// Returns the average of a property; nil if there are no values.
  public func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType {
    aggregate(.avg, property)
  }

  private func aggregate<T: _HasPersistedType>(_ kind: QueryAggregate.Kind, _ property: String) -> T? {
    if realm != nil { return _rlmResults.aggregate(kind, property) }
    let values = map { AnyRealmValue._rlmCast(($0._rlmAny as? ObjectBase)?.value(forKeyPath: property)) ?? .none }
    let result: AnyRealmValue? =
      switch kind {
      case .min: ValueAggregates.min(values)
      case .max: ValueAggregates.max(values)
      case .sum: ValueAggregates.sum(values)
      case .avg: ValueAggregates.average(values)
      }
    guard let value = result?._rlmAny else { return nil }
    // Mixed values are summed as decimals.
    return T._rlmCast(value) ?? (value as? Decimal128).flatMap { T._rlmCast($0.doubleValue) }
  }

  /// Returns the index of the first object that matches a format string; nil if there is none.
  public func index(matching predicateFormat: String, _ args: Any...) -> Int? {
    firstIndex(passing: PredicateFormat.condition(predicateFormat, args, _rlmResults.schema))
  }

  fileprivate func firstIndex(passing condition: QueryCondition) -> Int? {
    let passing = Set(_rlmResults.passing(condition).source.keys)
    return _rlmResults.source.keys.firstIndex { passing.contains($0) }
  }

  /// Returns the values of a property of all objects, nil for null; for the key "self", the elements.
  public func value(forKey key: String) -> [Any] {
    map { element in
      if key == "self" { return ValueAssignment.unwrapped(element._rlmAny) }
      guard let object = element._rlmAny as? ObjectBase else { Misuse.stop("A value has no property '\(key)'.") }
      return ValueAssignment.unwrapped(object[key])
    }
  }

  /// Returns the values of a path such as `dog.name` of all objects, nil for null. Also accepts collection operators:
  /// `@count`; the aggregates `@min.age`, `@max.age`, `@sum.age` and `@avg.age`; `@unionOfObjects.name`, which returns
  /// all values but null; and `@distinctUnionOfObjects.name`, which returns each of these once.
  public func value(forKeyPath keyPath: String) -> Any? {
    guard keyPath.hasPrefix("@") else {
      return map { element -> Any in
        guard let object = element._rlmAny as? ObjectBase else { Misuse.stop("A value has no property '\(keyPath)'.") }
        return ValueAssignment.unwrapped(object.value(forKeyPath: keyPath))
      }
    }
    let parts = keyPath.split(separator: ".", maxSplits: 1), path = parts.count > 1 ? String(parts[1]) : ""
    func values() -> [Any] {
      (value(forKeyPath: path) as? [Any] ?? []).filter { ($0 as? any OptionalProtocol)?.isNil != true }
    }
    func number(_ value: AnyRealmValue?) -> Any? {
      // Unmanaged values are summed as decimals.
      if case .decimal128(let sum)? = value, !values().contains(where: { $0 is Decimal128 }) { return sum.doubleValue }
      return value?._rlmAny
    }
    switch parts[0] {
    case "@count": return count
    case "@min": return number(min(ofProperty: path))
    case "@max": return number(max(ofProperty: path))
    case "@sum": return number(sum(ofProperty: path))
    case "@avg": return number(average(ofProperty: path))
    case "@unionOfObjects": return values()
    case "@distinctUnionOfObjects":
      var seen: Set<AnyHashable> = []
      return values().filter { ($0 as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    default: Misuse.stop("The collection operator '\(parts[0])' is not known.")
    }
  }

  /// Returns the objects at the given indexes.
  public func objects(at indexes: IndexSet) -> [Element] { indexes.map { self[$0] } }

  /// Returns true if the two belong to the same realm, or are unmanaged, and have equal elements.
  public static func == (a: Self, b: Self) -> Bool { a.realm == b.realm && a.elementsEqual(b) }

  /// Sets a property of all objects.
  public func setValue(_ value: Any?, forKey key: String) {
    for element in self { (element as? ObjectBase)?[key] = value }
  }
}

extension RealmCollection where Element: ObjectBase {
  /// Returns the objects that match a condition: `where { $0.age > 3 && $0.name.starts(with: "R") }`.
  public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
    _rlmResults.passing(QueryBuilder.condition(isIncluded(Query<Element>()).node, _rlmResults.schema))
  }

  /// Returns the index of the first object that matches a condition; nil if there is none.
  public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
    firstIndex(passing: QueryBuilder.condition(isIncluded(Query<Element>()).node, _rlmResults.schema))
  }

  /// Returns the objects sorted by a property.
  public func sorted<T: _Persistable>(by keyPath: KeyPath<Element, T>, ascending: Bool = true) -> Results<Element> {
    sorted(byKeyPath: PropertyTracer.name(of: keyPath), ascending: ascending)
  }

  /// Returns the first object for each distinct combination of values of the properties.
  public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == PartialKeyPath<Element> {
    distinct(by: keyPaths.map { PropertyTracer.name(of: $0) })
  }

  /// Returns the minimum of a property; nil if there are no values.
  public func min<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
    min(ofProperty: PropertyTracer.name(of: keyPath))
  }

  /// Returns the maximum of a property; nil if there are no values.
  public func max<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
    max(ofProperty: PropertyTracer.name(of: keyPath))
  }

  /// Returns the sum of a property.
  public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T where T.PersistedType: AddableType {
    sum(ofProperty: PropertyTracer.name(of: keyPath))
  }

  /// Returns the average of a property; nil if there are no values.
  public func average<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: AddableType {
    average(ofProperty: PropertyTracer.name(of: keyPath))
  }
}

extension RealmCollection where Element.PersistedType: SortableType {
  /// Returns the sorted values.
  public func sorted(ascending: Bool = true) -> Results<Element> { _rlmResults.orderedValues(ascending) }

  /// Returns the distinct values.
  public func distinct() -> Results<Element> { _rlmResults.distinctValues }
}

/// A sort criterion: a property, or a path to one, and a direction.
public struct SortDescriptor: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The path.
  public let keyPath: String
  /// True to sort in ascending order.
  public let ascending: Bool

  /// Creates a descriptor for a property or a path.
  public init(keyPath: String, ascending: Bool = true) { (self.keyPath, self.ascending) = (keyPath, ascending) }

  /// Creates a descriptor for a property of a class.
  public init<Root: ObjectBase>(keyPath: PartialKeyPath<Root>, ascending: Bool = true) {
    self.init(keyPath: PropertyTracer.name(of: keyPath), ascending: ascending)
  }

  /// Creates an ascending descriptor for a property.
  public init(stringLiteral value: String) { self.init(keyPath: value) }

  /// Returns a descriptor for the opposite direction.
  public func reversed() -> SortDescriptor { SortDescriptor(keyPath: keyPath, ascending: !ascending) }

  /// The path and the direction.
  public var description: String {
    "SortDescriptor(keyPath: \(keyPath), direction: \(ascending ? "ascending" : "descending"))"
  }
}

extension List: RealmCollection {
  /// Iterates over the current elements: changes during the iteration do not affect which elements are visited.
  public func makeIterator() -> RLMIterator<Element> {
    if case .unmanaged(let elements) = storage { return RLMIterator(AnyIterator(elements.makeIterator())) }
    return _rlmResults.makeIterator()
  }
  /// The list as results.
  public var _rlmResults: Results<Element> {
    guard case .managed(let place) = storage else {
      Misuse.stop("This operation needs a list of an object that was added to a realm.")
    }
    return Results(place)
  }
}

extension MutableSet: RealmCollection {
  /// Iterates over the current values: changes during the iteration do not affect which values are visited.
  public func makeIterator() -> RLMIterator<Element> {
    if case .unmanaged(let values) = storage { return RLMIterator(AnyIterator(values.makeIterator())) }
    return _rlmResults.makeIterator()
  }
  /// The set as results.
  public var _rlmResults: Results<Element> {
    guard case .managed(let place) = storage else {
      Misuse.stop("This operation needs a set of an object that was added to a realm.")
    }
    return Results(place)
  }
}
