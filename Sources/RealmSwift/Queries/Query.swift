// Type-safe queries: expressions over the properties of a class.

public import Foundation
import RealmPages
import RealmQuery

/// An expression in `where`: a property, or a condition on properties.
///
/// ```swift
/// let people = realm.objects(Person.self)
/// let adults = people.where { $0.age > 18 && $0.dogs.count > 0 }
/// ```
@dynamicMemberLookup public struct Query<T> {
  let node: QueryNode

  init(_ node: QueryNode = .all) { self.node = node }

  /// The path that this is.
  fileprivate var place: QueryPlace {
    switch node {
    case .path(let place): return place
    case .all: return QueryPlace()
    default: Misuse.stop("Invalid query: only a property has elements and members.")
    }
  }

  /// A property of what this is, or what its values add up to.
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

  /// The comparison with a value that is stored as an embedded object, which is no argument.
  private func embedded(_ comparison: Comparison, _ value: Any?, _ argument: QueryNode) -> QueryNode? {
    guard case .value(.null) = argument, value != nil else { return nil }
    return QueryNode.compare(embedded: value, comparison) {
      T.self is any RealmKeyedCollection.Type ? place.appending(.name("@values")) : place
    }
  }

  static func argument(_ value: Any?) -> QueryNode {
    let argument = value.map { PredicateFormat.value(of: $0, "where") } ?? .null
    // What stands behind IN is an array.
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

/// An optional object.
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
  /// A condition on this and another expression of the same or of another type.
  fileprivate func compare<U>(
    _ comparison: Comparison,
    with other: Query<U>,
    _ options: StringOptions = []
  ) -> Query<Bool> { Query<Bool>(.compare(node, comparison, other.node, options.syntax)) }

  /// Whether one of the values of a collection is equal to a value, or is in a list.
  fileprivate func anyElement(_ comparison: Comparison, _ value: Any?) -> Query<Bool> {
    let argument = Self.argument(value)
    if let whole = embedded(comparison, value, argument) { return Query<Bool>(whole) }
    return Query<Bool>(.compare(node, comparison, argument, isAny: true))
  }

  /// Whether the values of `lower` and `upper` lie at or above the first bound and below, or at, the second one.
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

  /// What a property of collections, or of their elements, adds up to.
  fileprivate func aggregate<V>(_ name: String) -> Query<V> { path(["@\(name)"]) }
}

extension Query where T: _RealmSchemaDiscoverable {
  /// Whether the values are equal.
  public static func == (query: Query, value: T) -> Query<Bool> { query.compare(.equal, value._rlmAny) }
  /// Whether the values differ.
  public static func != (query: Query, value: T) -> Query<Bool> { query.compare(.notEqual, value._rlmAny) }
  /// Whether two properties are equal.
  public static func == (a: Query, b: Query) -> Query<Bool> { a.compare(.equal, with: b) }
  /// Whether two properties differ.
  public static func != (a: Query, b: Query) -> Query<Bool> { a.compare(.notEqual, with: b) }
  /// Whether the value is one of these.
  public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T { compare(.isIn, Self.list(values)) }
}

extension Query {
  /// Values as the argument of IN.
  fileprivate static func list<S: Sequence>(_ values: S) -> [Any] where S.Element: _RealmSchemaDiscoverable {
    values.map { $0._rlmAny ?? Optional<Int>.none as Any }
  }
}

/// A type that is compared by size.
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

/// A type of texts.
public protocol _QueryString: _QueryBinary {}
extension String: _QueryString {}

/// A type of bytes, or of texts.
public protocol _QueryBinary {}
extension Data: _QueryBinary {}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryNumeric {
  /// Whether the value is greater.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(.greater, value._rlmAny) }
  /// Whether the value is greater or equal.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(.greaterOrEqual, value._rlmAny) }
  /// Whether the value is less.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare(.less, value._rlmAny) }
  /// Whether the value is less or equal.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare(.lessOrEqual, value._rlmAny) }
  /// Whether one property is greater than another.
  public static func > (a: Query, b: Query) -> Query<Bool> { a.compare(.greater, with: b) }
  /// Whether one property is greater than another, or equal.
  public static func >= (a: Query, b: Query) -> Query<Bool> { a.compare(.greaterOrEqual, with: b) }
  /// Whether one property is less than another.
  public static func < (a: Query, b: Query) -> Query<Bool> { a.compare(.less, with: b) }
  /// Whether one property is less than another, or equal.
  public static func <= (a: Query, b: Query) -> Query<Bool> { a.compare(.lessOrEqual, with: b) }

  /// The smallest value of a property of the elements of a collection.
  public var min: Query { elementAggregate("min") }
  /// The greatest value of a property of the elements of a collection.
  public var max: Query { elementAggregate("max") }
  /// The sum of a property of the elements of a collection.
  public var sum: Query { elementAggregate("sum") }
  /// The average of a property of the elements of a collection.
  public var avg: Query { elementAggregate("avg") }

  private func elementAggregate(_ name: String) -> Query {
    var place = place
    if place.steps.count < 2 {
      Misuse.stop("Invalid query: '\(place)' is no property of the elements of a collection.")
    }
    place.steps.insert(.name("@\(name)"), at: place.steps.count - 1)
    return Query(.path(place))
  }
}

extension Query where T: Comparable {
  /// Whether the value is between two bounds, both included.
  public func contains(_ range: ClosedRange<T>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Whether the value is between two bounds, without the upper one.
  public func contains(_ range: Range<T>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: OptionalProtocol, T.Wrapped: Comparable {
  /// Whether the value is between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Whether the value is between two bounds, without the upper one.
  public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T == Bool {
  /// The number of elements of a collection that pass this condition on their properties.
  ///
  /// ```swift
  /// let owners = people.where { ($0.dogs.age > 3 && $0.dogs.name == "Rex").count >= 1 }
  /// ```
  public var count: Query<Int> { Query<Int>(.matches(node)) }

  /// Not.
  public static prefix func ! (query: Query) -> Query { Query(.not(query.node)) }
  /// And.
  public static func && (a: Query, b: Query) -> Query {
    Query(.and(a.node, b.node))
  }
  /// Or.
  public static func || (a: Query, b: Query) -> Query {
    Query(.or(a.node, b.node))
  }
}

// MARK: what enumerations and own types are stored as

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
  /// What is stored.
  public var persistableValue: Query<T.PersistedType> { Query<T.PersistedType>(node) }
}

extension Query where T: RealmCollection, T.Element.PersistedType: RealmCollectionValue {
  /// What is stored.
  public var persistableValue: Query<AnyRealmCollection<T.Element.PersistedType>> { .init(node) }
}

extension Query where T: RealmKeyedCollection, T.Value.PersistedType: RealmCollectionValue {
  /// What is stored.
  public var persistableValue: Query<Map<T.Key, T.Value.PersistedType>> { .init(node) }
}

// MARK: texts and bytes

/// How texts are compared.
public struct StringOptions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int
  /// Takes the bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Large and small letters are the same.
  public static let caseInsensitive = StringOptions(rawValue: 1)

  /// Letters with and without diacritics are the same.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)

  fileprivate var syntax: TextOptions {
    var options: TextOptions = []
    if contains(.caseInsensitive) { options.insert(.ignoresCase) }
    if contains(.diacriticInsensitive) { options.insert(.ignoresDiacritics) }
    return options
  }
}

/// Texts, and bytes likewise.
extension Query where T: _HasPersistedType, T.PersistedType: _QueryBinary {
  /// Whether the text contains another one.
  public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.contains, value._rlmAny, options)
  }
  /// Whether the text contains that of another property.
  public func contains<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.contains, with: column, options) }
  /// Whether the text begins with another one.
  public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.beginsWith, value._rlmAny, options)
  }
  /// Whether the text begins with that of another property.
  public func starts<U: _HasPersistedType>(with column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.beginsWith, with: column, options) }
  /// Whether the text ends with another one.
  public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.endsWith, value._rlmAny, options)
  }
  /// Whether the text ends with that of another property.
  public func ends<U: _HasPersistedType>(with column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.endsWith, with: column, options) }
  /// Whether the text is another one.
  public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.equal, value._rlmAny, options)
  }
  /// Whether the text is that of another property.
  public func equals<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.equal, with: column, options) }
  /// Whether the text is not another one.
  public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(.notEqual, value._rlmAny, options)
  }
  /// Whether the text is not that of another property.
  public func notEquals<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryBinary { compare(.notEqual, with: column, options) }

  /// Whether the text comes after another one, by its bytes.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(.greater, value._rlmAny) }
  /// Whether the text comes after another one or is the same, by its bytes.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(.greaterOrEqual, value._rlmAny) }
  /// Whether the text comes before another one, by its bytes.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare(.less, value._rlmAny) }
  /// Whether the text comes before another one or is the same, by its bytes.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare(.lessOrEqual, value._rlmAny) }
  /// Whether the text comes after that of another property, by its bytes.
  public static func > (a: Query, b: Query) -> Query<Bool> { a.compare(.greater, with: b) }
  /// Whether the text comes after that of another property or is the same, by its bytes.
  public static func >= (a: Query, b: Query) -> Query<Bool> { a.compare(.greaterOrEqual, with: b) }
  /// Whether the text comes before that of another property, by its bytes.
  public static func < (a: Query, b: Query) -> Query<Bool> { a.compare(.less, with: b) }
  /// Whether the text comes before that of another property or is the same, by its bytes.
  public static func <= (a: Query, b: Query) -> Query<Bool> { a.compare(.lessOrEqual, with: b) }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryString {
  /// Whether the text matches a pattern: `*` is any number of characters, `?` is one.
  public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
    compare(.like, value._rlmAny, caseInsensitive ? .caseInsensitive : [])
  }
  /// Whether the text matches the pattern of another property.
  public func like<U: _HasPersistedType>(_ column: Query<U>, caseInsensitive: Bool = false) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(.like, with: column, caseInsensitive ? .caseInsensitive : []) }
}

// MARK: collections

extension Query where T: RealmCollection {
  /// The number of elements.
  public var count: Query<Int> { aggregate("count") }
  /// Whether a value is among the elements.
  public func contains(_ value: T.Element) -> Query<Bool> {
    anyElement(.equal, value._rlmAny)
  }
  /// Whether one of the values is among the elements.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
    anyElement(.isIn, Self.list(values))
  }
  /// Whether one of the elements is equal.
  public static func == (query: Query, value: T.Element) -> Query<Bool> { query.compare(.equal, value._rlmAny) }
  /// Whether one of the elements differs.
  public static func != (query: Query, value: T.Element) -> Query<Bool> { query.compare(.notEqual, value._rlmAny) }
}

extension Query where T: RealmCollection, T.Element: ObjectBase {
  /// A property of the elements, of which one must pass the condition.
  public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
    path(PropertyTracer.steps(of: member))
  }
}

extension Query where T: RealmCollection, T.Element: Comparable {
  /// Whether all elements are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Whether all elements are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Element>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: Comparable {
  /// Whether all elements are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Whether all elements are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query {
  fileprivate func bound(_ name: String) -> QueryNode { (aggregate(name) as Query).node }
}

extension Query where T: RealmCollection, T.Element.PersistedType: _QueryNumeric {
  /// Whether one of the elements is greater.
  public static func > (query: Query, value: T.Element) -> Query<Bool> { query.compare(.greater, value._rlmAny) }
  /// Whether one of the elements is greater or equal.
  public static func >= (query: Query, value: T.Element) -> Query<Bool> {
    query.compare(.greaterOrEqual, value._rlmAny)
  }
  /// Whether one of the elements is less.
  public static func < (query: Query, value: T.Element) -> Query<Bool> { query.compare(.less, value._rlmAny) }
  /// Whether one of the elements is less or equal.
  public static func <= (query: Query, value: T.Element) -> Query<Bool> { query.compare(.lessOrEqual, value._rlmAny) }

  /// The smallest element.
  public var min: Query<T.Element> { aggregate("min") }
  /// The greatest element.
  public var max: Query<T.Element> { aggregate("max") }
  /// The sum of the elements.
  public var sum: Query<T.Element> { aggregate("sum") }
  /// The average of the elements.
  public var avg: Query<T.Element> { aggregate("avg") }
}

// MARK: collections in mixed values

extension Query where T == AnyRealmValue {
  /// The element of a list.
  public subscript(position: Int) -> Query<AnyRealmValue> {
    Query(.path(place.appending(.index(position))))
  }
  /// The value of an entry of a dictionary.
  ///
  /// ```swift
  /// let tagged = notes.where { $0.extra["tags"].any == .string("a") }
  /// ```
  public subscript(key: String) -> Query<AnyRealmValue> {
    Query(.path(place.appending(.key(Array(key.utf8)))))
  }
  /// All elements of a list, or values of a dictionary, of which one must pass the condition.
  public var any: Query<AnyRealmValue> { Query(.path(place.appending(.all))) }
}

// MARK: maps

extension Query where T: RealmKeyedCollection {
  /// The values of the entries, of which one must pass the condition.
  public var values: Query<T.Value> { path(["@values"]) }
  /// The value of an entry.
  ///
  /// ```swift
  /// let cheap = shops.where { $0.prices["tea"] < 3 }
  /// ```
  public subscript(key: T.Key) -> Query<T.Value> {
    Query<T.Value>(.path(place.appending(.key(Array(key._rlmKey.utf8)))))
  }
  /// The number of entries.
  public var count: Query<Int> { aggregate("count") }
  /// Whether a value is among those of the entries.
  public func contains(_ value: T.Value) -> Query<Bool> {
    anyElement(.equal, value._rlmAny)
  }
  /// Whether one of the values is among those of the entries.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
    anyElement(.isIn, Self.list(values))
  }
}

extension Query where T: RealmKeyedCollection, T.Key == String {
  /// The names of the entries, of which one must pass the condition.
  public var keys: Query<String> { path(["@keys"]) }
}

extension Query where T: RealmKeyedCollection, T.Value: Comparable {
  /// Whether all values are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Whether all values are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Value>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: Comparable {
  /// Whether all values are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Value.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .lessOrEqual)
  }
  /// Whether all values are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, .less)
  }
}

extension Query where T: RealmKeyedCollection, T.Value.PersistedType: _QueryNumeric {
  /// The smallest value.
  public var min: Query<T.Value> { aggregate("min") }
  /// The greatest value.
  public var max: Query<T.Value> { aggregate("max") }
  /// The sum of the values.
  public var sum: Query<T.Value> { aggregate("sum") }
  /// The average of the values.
  public var avg: Query<T.Value> { aggregate("avg") }
}
