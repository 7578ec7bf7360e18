// Type-safe queries: expressions built from the properties of a class.

public import Foundation
import RealmPages
import RealmQuery

/// An expression in a `where` block: a property, or a condition on properties.
///
/// ```swift
/// let people = realm.objects(Person.self)
/// let adults = people.where { $0.age > 18 && $0.dogs.count > 0 }
/// ```
@dynamicMemberLookup public struct Query<T> {
  let node: QueryNode

  init(_ node: QueryNode = .all) { self.node = node }

  /// The path of this expression.
  fileprivate var place: QueryPlace {
    switch node {
    case .path(let place): return place
    case .all: return QueryPlace()
    default: Misuse.stop("Invalid query: only a property has elements and members.")
    }
  }

  /// Returns a property of the value of this expression, or an aggregate of its values.
  func path<V>(_ names: [String]) -> Query<V> {
    var place = place
    place.steps += names.map { .name($0) }
    if place.collection == nil, V.self is any RealmCollection.Type { place.collection = place.steps.count }
    return Query<V>(.path(place))
  }

  func compare(_ comparison: Comparison, _ value: Any?, _ options: StringOptions = []) -> Query<Bool> {
    if T.self == AnyRealmValue.self, let whole = QueryNode.equals(collection: value, at: place) {
      switch comparison {
      case .equal: return Query<Bool>(whole)
      case .notEqual: return Query<Bool>(.not(whole))
      default: Misuse.stop("A list or dictionary is compared with == and != only.")
      }
    }
    let argument = Self.argument(value)
    if let whole = embedded(comparison, value, argument) { return Query<Bool>(whole) }
    return Query<Bool>(.compare(node, comparison, argument, options.syntax))
  }

  /// Returns a comparison with a value stored as an embedded object, which cannot be a query argument; nil for other
  /// values.
  private func embedded(_ comparison: Comparison, _ value: Any?, _ argument: QueryNode) -> QueryNode? {
    guard case .value(.null) = argument, value != nil else { return nil }
    return QueryNode.compare(embedded: value, comparison) {
      T.self is any RealmKeyedCollection.Type ? place.appending(.name("@values")) : place
    }
  }

  static func argument(_ value: Any?) -> QueryNode {
    let argument = value.map { PredicateFormat.value(of: $0, "where") } ?? .null
    // The right side of IN is an array.
    if case .list = argument, !(value is [Any]) {
      Misuse.stop("A list of mixed values is compared with properties of any type and their elements only.")
    }
    return .value(argument)
  }
}

extension Query where T: ObjectBase {
  /// A property of the class.
  public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> { path(PropertyTracer.steps(of: member)) }
}

extension Query where T: OptionalLink {
  /// A property of the linked class.
  public subscript<V>(dynamicMember member: KeyPath<T.Linked, V>) -> Query<V> { path(PropertyTracer.steps(of: member)) }
}

/// An optional link to an object.
public protocol OptionalLink {
  /// The class of the object.
  associatedtype Linked: ObjectBase
}
extension Optional: OptionalLink where Wrapped: ObjectBase {
  /// The class of the object.
  public typealias Linked = Wrapped
}

// MARK: comparisons

extension Query {
  /// Returns a comparison of this expression with another one, of the same type or a different one.
  fileprivate func compare<U>(
    _ comparison: Comparison,
    with other: Query<U>,
    _ options: StringOptions = []
  ) -> Query<Bool> { Query<Bool>(.compare(node, comparison, other.node, options.syntax)) }

  /// Matches if an element of a collection equals the value, or is contained in a list of values.
  fileprivate func anyElement(_ comparison: Comparison, _ value: Any?) -> Query<Bool> {
    let argument = Self.argument(value)
    if let whole = embedded(comparison, value, argument) { return Query<Bool>(whole) }
    return Query<Bool>(.compare(node, comparison, argument, isAny: true))
  }

  /// Matches if `lower` is at least `low`, and `upper` is below `high`, or equal to it if `upperComparison` allows.
  fileprivate static func between(
    _ lower: QueryNode,
    _ upper: QueryNode,
    _ low: Any?,
    _ high: Any?,
    _ upperComparison: Comparison
  ) -> Query<Bool> {
    Query<Bool>(
      .and(.compare(lower, .greaterOrEqual, argument(low)), .compare(upper, upperComparison, argument(high)))
    )
  }

  /// Returns an aggregate of a collection, or of its elements.
  fileprivate func aggregate<V>(_ name: String) -> Query<V> { path(["@\(name)"]) }
}

extension Query where T: _RealmSchemaDiscoverable {
  /// Matches if the property equals the value.
  public static func == (query: Query, value: T) -> Query<Bool> { query.compare(.equal, value._rlmAny) }
  /// Matches if the property differs from the value.
  public static func != (query: Query, value: T) -> Query<Bool> { query.compare(.notEqual, value._rlmAny) }
  /// Matches if two properties are equal.
  public static func == (a: Query, b: Query) -> Query<Bool> { a.compare(.equal, with: b) }
  /// Matches if two properties differ.
  public static func != (a: Query, b: Query) -> Query<Bool> { a.compare(.notEqual, with: b) }
  /// Matches if the property equals one of the values.
  public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T { compare(.isIn, Self.list(values)) }
}

extension Query {
  /// Returns values as the argument of IN.
  fileprivate static func list<S: Sequence>(_ values: S) -> [Any] where S.Element: _RealmSchemaDiscoverable {
    values.map { $0._rlmAny ?? Optional<Int>.none as Any }
  }
}

/// A type that can be compared by magnitude.
public protocol _QueryNumeric {}
extension Int: _QueryNumeric {}
extension Int8: _QueryNumeric {}
extension Int16: _QueryNumeric {}
extension Int32: _QueryNumeric {}
extension Int64: _QueryNumeric {}
extension Float: _QueryNumeric {}
extension Double: _QueryNumeric {}
extension Decimal128: _QueryNumeric {}
extension Date: _QueryNumeric {}
extension AnyRealmValue: _QueryNumeric {}

/// A string type.
public protocol _QueryString: _QueryBinary {}
extension String: _QueryString {}

/// A string or binary data type.
public protocol _QueryBinary {}
extension Data: _QueryBinary {}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryNumeric {
  /// Matches if the property is greater than the value.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(.greater, value._rlmAny) }
  /// Matches if the property is greater than or equal to the value.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(.greaterOrEqual, value._rlmAny) }
  /// Matches if the property is less than the value.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare(.less, value._rlmAny) }
  /// Matches if the property is less than or equal to the value.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare(.lessOrEqual, value._rlmAny) }
  /// Matches if one property is greater than another.
  public static func > (a: Query, b: Query) -> Query<Bool> { a.compare(.greater, with: b) }
  /// Matches if one property is greater than or equal to another.
  public static func >= (a: Query, b: Query) -> Query<Bool> { a.compare(.greaterOrEqual, with: b) }
  /// Matches if one property is less than another.
  public static func < (a: Query, b: Query) -> Query<Bool> { a.compare(.less, with: b) }
  /// Matches if one property is less than or equal to another.
  public static func <= (a: Query, b: Query) -> Query<Bool> { a.compare(.lessOrEqual, with: b) }

  /// The minimum of a property of the elements of a collection.
  public var min: Query { elementAggregate("min") }
  /// The maximum of a property of the elements of a collection.
  public var max: Query { elementAggregate("max") }
  /// The sum of a property of the elements of a collection.
  public var sum: Query { elementAggregate("sum") }
  /// The average of a property of the elements of a collection.
  public var avg: Query { elementAggregate("avg") }

  private func elementAggregate(_ name: String) -> Query {
    var place = place
    if place.steps.count < 2 {
      Misuse.stop("Invalid query: '\(place)' is not a property of the elements of a collection.")
    }
    place.steps.insert(.name("@\(name)"), at: place.steps.count - 1)
    return Query(.path(place))
  }
}

extension Query where T: Comparable {
  /// Matches if the property is in the range, including both bounds.
  public func contains(_ range: ClosedRange<T>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Matches if the property is in the range, excluding the upper bound.
  public func contains(_ range: Range<T>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: OptionalProtocol, T.Wrapped: Comparable {
  /// Matches if the property is in the range, including both bounds.
  public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Matches if the property is in the range, excluding the upper bound.
  public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T == Bool {
  /// The number of elements of a collection that match this condition on their properties.
  ///
  /// ```swift
  /// let owners = people.where { ($0.dogs.age > 3 && $0.dogs.name == "Rex").count >= 1 }
  /// ```
  public var count: Query<Int> { Query<Int>(.matches(node)) }

  /// Negates a condition.
  public static prefix func ! (query: Query) -> Query { Query(.not(query.node)) }
  /// Matches if both conditions match.
  public static func && (a: Query, b: Query) -> Query {
    Query(.and(a.node, b.node))
  }
  /// Matches if at least one condition matches.
  public static func || (a: Query, b: Query) -> Query {
    Query(.or(a.node, b.node))
  }
}

// MARK: stored values of enumerations and custom types

extension Query where T: PersistableEnum {
  /// The raw value.
  public var rawValue: Query<T.RawValue> { Query<T.RawValue>(node) }
}

extension Query where T: OptionalProtocol, T.Wrapped: PersistableEnum {
  /// The raw value.
  public var rawValue: Query<T.Wrapped.RawValue?> { Query<T.Wrapped.RawValue?>(node) }
}

extension Query where T: RealmCollection, T.Element: PersistableEnum {
  /// The raw values.
  public var rawValue: Query<AnyRealmCollection<T.Element.RawValue>> { .init(node) }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: PersistableEnum {
  /// The raw values.
  public var rawValue: Query<AnyRealmCollection<T.Element.Wrapped.RawValue?>> { .init(node) }
}

extension Query where T: RealmKeyedCollection, T.Value: PersistableEnum {
  /// The raw values.
  public var rawValue: Query<Map<T.Key, T.Value.RawValue>> { .init(node) }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: PersistableEnum {
  /// The raw values.
  public var rawValue: Query<Map<T.Key, T.Value.Wrapped.RawValue?>> { .init(node) }
}

extension Query where T: RealmCollectionValue {
  /// The stored value.
  public var persistableValue: Query<T.PersistedType> { Query<T.PersistedType>(node) }
}

extension Query where T: RealmCollection, T.Element.PersistedType: RealmCollectionValue {
  /// The stored values.
  public var persistableValue: Query<AnyRealmCollection<T.Element.PersistedType>> { .init(node) }
}

extension Query where T: RealmKeyedCollection, T.Value.PersistedType: RealmCollectionValue {
  /// The stored values.
  public var persistableValue: Query<Map<T.Key, T.Value.PersistedType>> { .init(node) }
}

// MARK: strings and data

/// Options for the comparison of strings.
public struct StringOptions: OptionSet, Sendable {
  /// The raw bits.
  public let rawValue: Int
  /// Creates options from raw bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Ignores case.
  public static let caseInsensitive = StringOptions(rawValue: 1)

  /// Ignores diacritics.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)

  fileprivate var syntax: TextOptions {
    var options: TextOptions = []
    if contains(.caseInsensitive) { options.insert(.ignoresCase) }
    if contains(.diacriticInsensitive) { options.insert(.ignoresDiacritics) }
    return options
  }
}

/// Comparisons of strings and of binary data.
extension Query where T: _HasPersistedType, T.PersistedType: _QueryBinary {
  /// Matches if the string contains another string.
  public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.contains, value._rlmAny, options)
  }
  /// Matches if the string contains the value of another property.
  public func contains<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.contains, with: column, options) }
  /// Matches if the string begins with another string.
  public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.beginsWith, value._rlmAny, options)
  }
  /// Matches if the string begins with the value of another property.
  public func starts<U: _HasPersistedType>(with column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.beginsWith, with: column, options) }
  /// Matches if the string ends with another string.
  public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.endsWith, value._rlmAny, options)
  }
  /// Matches if the string ends with the value of another property.
  public func ends<U: _HasPersistedType>(with column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.endsWith, with: column, options) }
  /// Matches if the string equals another string.
  public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.equal, value._rlmAny, options)
  }
  /// Matches if the string equals the value of another property.
  public func equals<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.equal, with: column, options) }
  /// Matches if the string differs from another string.
  public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.notEqual, value._rlmAny, options)
  }
  /// Matches if the string differs from the value of another property.
  public func notEquals<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.notEqual, with: column, options) }

  /// Matches if the string is greater than another string. Compares bytes.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(.greater, value._rlmAny) }
  /// Matches if the string is greater than or equal to another string. Compares bytes.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(.greaterOrEqual, value._rlmAny) }
  /// Matches if the string is less than another string. Compares bytes.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare(.less, value._rlmAny) }
  /// Matches if the string is less than or equal to another string. Compares bytes.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare(.lessOrEqual, value._rlmAny) }
  /// Matches if the string is greater than the value of another property. Compares bytes.
  public static func > (a: Query, b: Query) -> Query<Bool> { a.compare(.greater, with: b) }
  /// Matches if the string is greater than or equal to the value of another property. Compares bytes.
  public static func >= (a: Query, b: Query) -> Query<Bool> { a.compare(.greaterOrEqual, with: b) }
  /// Matches if the string is less than the value of another property. Compares bytes.
  public static func < (a: Query, b: Query) -> Query<Bool> { a.compare(.less, with: b) }
  /// Matches if the string is less than or equal to the value of another property. Compares bytes.
  public static func <= (a: Query, b: Query) -> Query<Bool> { a.compare(.lessOrEqual, with: b) }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryString {
  /// Matches if the string matches a pattern, in which `*` matches any number of characters and `?` matches one.
  public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
    compare(.like, value._rlmAny, caseInsensitive ? .caseInsensitive : [])
  }
  /// Matches if the string matches the pattern in another property.
  public func like<U: _HasPersistedType>(_ column: Query<U>, caseInsensitive: Bool = false) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(.like, with: column, caseInsensitive ? .caseInsensitive : []) }
}

// MARK: collections

extension Query where T: RealmCollection {
  /// The number of elements.
  public var count: Query<Int> { aggregate("count") }
  /// Matches if the collection contains the value.
  public func contains(_ value: T.Element) -> Query<Bool> {
    anyElement(.equal, value._rlmAny)
  }
  /// Matches if the collection contains at least one of the values.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
    anyElement(.isIn, Self.list(values))
  }
  /// Matches if at least one element equals the value.
  public static func == (query: Query, value: T.Element) -> Query<Bool> { query.compare(.equal, value._rlmAny) }
  /// Matches if at least one element differs from the value.
  public static func != (query: Query, value: T.Element) -> Query<Bool> { query.compare(.notEqual, value._rlmAny) }
}

extension Query where T: RealmCollection, T.Element: ObjectBase {
  /// A property of the elements. A condition on it matches if at least one element matches.
  public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
    path(PropertyTracer.steps(of: member))
  }
}

extension Query where T: RealmCollection, T.Element: Comparable {
  /// Matches if all elements are in the range, including both bounds.
  public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Matches if all elements are in the range, excluding the upper bound.
  public func contains(_ range: Range<T.Element>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: Comparable {
  /// Matches if all elements are in the range, including both bounds.
  public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Matches if all elements are in the range, excluding the upper bound.
  public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query {
  fileprivate func bound(_ name: String) -> QueryNode { (aggregate(name) as Query).node }
}

extension Query where T: RealmCollection, T.Element.PersistedType: _QueryNumeric {
  /// Matches if at least one element is greater than the value.
  public static func > (query: Query, value: T.Element) -> Query<Bool> { query.compare(.greater, value._rlmAny) }
  /// Matches if at least one element is greater than or equal to the value.
  public static func >= (query: Query, value: T.Element) -> Query<Bool> {
    query.compare(.greaterOrEqual, value._rlmAny)
  }
  /// Matches if at least one element is less than the value.
  public static func < (query: Query, value: T.Element) -> Query<Bool> { query.compare(.less, value._rlmAny) }
  /// Matches if at least one element is less than or equal to the value.
  public static func <= (query: Query, value: T.Element) -> Query<Bool> { query.compare(.lessOrEqual, value._rlmAny) }

  /// The minimum of the elements.
  public var min: Query<T.Element> { aggregate("min") }
  /// The maximum of the elements.
  public var max: Query<T.Element> { aggregate("max") }
  /// The sum of the elements.
  public var sum: Query<T.Element> { aggregate("sum") }
  /// The average of the elements.
  public var avg: Query<T.Element> { aggregate("avg") }
}

// MARK: collections in Mixed values

extension Query where T == AnyRealmValue {
  /// An element of a list.
  public subscript(position: Int) -> Query<AnyRealmValue> {
    Query(.path(place.appending(.index(position))))
  }
  /// The value of a dictionary entry.
  ///
  /// ```swift
  /// let tagged = notes.where { $0.extra["tags"].any == .string("a") }
  /// ```
  public subscript(key: String) -> Query<AnyRealmValue> {
    Query(.path(place.appending(.key(Array(key.utf8)))))
  }
  /// All elements of a list, or all values of a dictionary. A condition on it matches if at least one of them matches.
  public var any: Query<AnyRealmValue> { Query(.path(place.appending(.all))) }
}

// MARK: maps

extension Query where T: RealmKeyedCollection {
  /// The values of the map. A condition on it matches if at least one value matches.
  public var values: Query<T.Value> { path(["@values"]) }
  /// The value of a map entry.
  ///
  /// ```swift
  /// let cheap = shops.where { $0.prices["tea"] < 3 }
  /// ```
  public subscript(key: T.Key) -> Query<T.Value> {
    Query<T.Value>(.path(place.appending(.key(Array(key._rlmKey.utf8)))))
  }
  /// The number of entries.
  public var count: Query<Int> { aggregate("count") }
  /// Matches if the map contains the value.
  public func contains(_ value: T.Value) -> Query<Bool> {
    anyElement(.equal, value._rlmAny)
  }
  /// Matches if the map contains at least one of the values.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
    anyElement(.isIn, Self.list(values))
  }
}

extension Query where T: RealmKeyedCollection, T.Key == String {
  /// The keys of the map. A condition on it matches if at least one key matches.
  public var keys: Query<String> { path(["@keys"]) }
}

extension Query where T: RealmKeyedCollection, T.Value: Comparable {
  /// Matches if all values are in the range, including both bounds.
  public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Matches if all values are in the range, excluding the upper bound.
  public func contains(_ range: Range<T.Value>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: Comparable {
  /// Matches if all values are in the range, including both bounds.
  public func contains(_ range: ClosedRange<T.Value.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Matches if all values are in the range, excluding the upper bound.
  public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: RealmKeyedCollection, T.Value.PersistedType: _QueryNumeric {
  /// The minimum of the values.
  public var min: Query<T.Value> { aggregate("min") }
  /// The maximum of the values.
  public var max: Query<T.Value> { aggregate("max") }
  /// The sum of the values.
  public var sum: Query<T.Value> { aggregate("sum") }
  /// The average of the values.
  public var avg: Query<T.Value> { aggregate("avg") }
}
