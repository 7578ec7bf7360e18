// Type-safe queries: an expression over the properties of a class becomes a query with arguments.

public import Foundation
import RealmPages
import RealmQuery

/// What an expression is made of.
indirect enum QueryNode {
  case root
  /// The names of properties with dots, and the path of the first collection among them.
  case path(String, within: String?)
  case value(Value)
  /// The number of elements of the one collection in a condition that pass it.
  case matches(QueryNode)
  /// Words of the query language; each # is the next node.
  case text([QueryNode], String)
}

/// An expression in `where`: a property, or a condition on properties.
///
/// ```swift
/// let people = realm.objects(Person.self)
/// let adults = people.where { $0.age > 18 && $0.dogs.count > 0 }
/// ```
@dynamicMemberLookup public struct Query<T> {
  let node: QueryNode

  init(_ node: QueryNode = .root) { self.node = node }

  /// The path that this is, and that of the first collection in it.
  private var place: (path: String, collection: String?) {
    guard case .path(let path, let collection) = node else {
      Misuse.stop("Invalid query: only a property has elements and members.")
    }
    return (path, collection)
  }

  /// A property of what this is, or what its values add up to.
  func path<V>(_ name: String) -> Query<V> {
    if case .root = node { return Query<V>(.path(name, within: V.self is any RealmCollection.Type ? name : nil)) }
    let (path, collection) = place, longer = "\(path).\(name)"
    return Query<V>(.path(longer, within: collection ?? (V.self is any RealmCollection.Type ? longer : nil)))
  }

  /// The whole condition.
  func condition(_ schema: ClassSchema?) -> QueryCondition {
    var values: [Value] = [], variables = 0
    func render(_ node: QueryNode, _ subquery: Subquery? = nil) -> String {
      switch node {
      case .root: return "TRUEPREDICATE"
      case .path(let path, _): return subquery?.text(path, schema) ?? PredicateFormat.path(path, schema)
      case .matches(let condition):
        guard var collection = condition.collections.first else {
          Misuse.stop("Subqueries must contain a keypath starting with a collection.")
        }
        if condition.collections.count > 1 { Misuse.stop("A subquery is about one collection, not about several.") }
        variables += 1
        let variable = "$element\(variables)"
        var list = PredicateFormat.path(collection, schema)
        if let subquery { (collection, list) = subquery.inner(condition.pathsOfCollections, schema) }
        let text = render(condition.asCondition, Subquery(collection: collection, variable: variable))
        return "SUBQUERY(\(list), \(variable), \(text)).@count"
      case .value(let value):
        values.append(value)
        return "$\(values.count - 1)"
      case .text(let parts, let pattern):
        var text = "", rest = parts.makeIterator()
        for character in pattern {
          if character == "#", let part = rest.next() { text += render(part, subquery) } else { text.append(character) }
        }
        return text
      }
    }
    let text = render(node.asCondition)
    return .bound(text, values)
  }

  static func argument(_ value: Any?) -> QueryNode {
    let argument = value.map { PredicateFormat.value(of: $0, "where") } ?? .null
    // What stands behind IN is an array.
    if case .list = argument, !(value is [Any]) {
      Misuse.stop("A list in a mixed value is not compared as a whole: ask for its elements, as in $0.any[0] == 1.")
    }
    return .value(argument)
  }

  func compare(_ word: String, _ value: Any?) -> Query<Bool> {
    Query<Bool>(.text([node, Self.argument(value)], "(# \(word) #)"))
  }
}

extension QueryNode {
  /// A condition; a property of a truth value by itself is one.
  fileprivate var asCondition: QueryNode { if case .path = self { .text([self], "(# == true)") } else { self } }

  /// The collections whose elements this is about.
  fileprivate var collections: Set<String> {
    switch self {
    case .path(_, let collection): collection.map { [$0] } ?? []
    case .text(let parts, _): parts.reduce(into: []) { $0.formUnion($1.collections) }
    case .root, .value, .matches: []
    }
  }

  /// The paths that lead through a collection.
  fileprivate var pathsOfCollections: Set<String> {
    switch self {
    case .path(let path, let collection): collection == nil ? [] : [path]
    case .text(let parts, _): parts.reduce(into: []) { $0.formUnion($1.pathsOfCollections) }
    case .root, .value, .matches: []
    }
  }
}

extension Query where T: ObjectBase {
  /// A property of the class.
  public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> { path(PropertyTracer.name(of: member)) }
}

extension Query where T: OptionalLink {
  /// A property of the linked class.
  public subscript<V>(dynamicMember member: KeyPath<T.Linked, V>) -> Query<V> { path(PropertyTracer.name(of: member)) }
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
  fileprivate func compare<U>(_ word: String, with other: Query<U>) -> Query<Bool> {
    Query<Bool>(.text([node, other.node], "(# \(word) #)"))
  }

  /// Whether the values of `lower` and `upper` lie at or above the first bound and below, or at, the second one.
  fileprivate static func between(
    _ lower: QueryNode,
    _ upper: QueryNode,
    _ low: Any?,
    _ high: Any?,
    _ word: String
  ) -> Query<Bool> {
    Query<Bool>(.text([lower, argument(low), upper, argument(high)], "(# >= # AND # \(word) #)"))
  }

  /// What a property of collections, or of their elements, adds up to.
  fileprivate func aggregate<V>(_ name: String) -> Query<V> { path("@\(name)") }
}

extension Query where T: _RealmSchemaDiscoverable {
  /// Whether the values are equal.
  public static func == (query: Query, value: T) -> Query<Bool> { query.compare("==", value._rlmAny) }
  /// Whether the values differ.
  public static func != (query: Query, value: T) -> Query<Bool> { query.compare("!=", value._rlmAny) }
  /// Whether two properties are equal.
  public static func == (a: Query, b: Query) -> Query<Bool> { a.compare("==", with: b) }
  /// Whether two properties differ.
  public static func != (a: Query, b: Query) -> Query<Bool> { a.compare("!=", with: b) }
  /// Whether the value is one of these.
  public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T { compare("IN", Self.list(values)) }
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
public protocol _QueryString {}
extension String: _QueryString {}

/// A type of bytes.
public protocol _QueryBinary {}
extension Data: _QueryBinary {}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryNumeric {
  /// Whether the value is greater.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(">", value._rlmAny) }
  /// Whether the value is greater or equal.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(">=", value._rlmAny) }
  /// Whether the value is less.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare("<", value._rlmAny) }
  /// Whether the value is less or equal.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare("<=", value._rlmAny) }
  /// Whether one property is greater than another.
  public static func > (a: Query, b: Query) -> Query<Bool> { a.compare(">", with: b) }
  /// Whether one property is greater than another, or equal.
  public static func >= (a: Query, b: Query) -> Query<Bool> { a.compare(">=", with: b) }
  /// Whether one property is less than another.
  public static func < (a: Query, b: Query) -> Query<Bool> { a.compare("<", with: b) }
  /// Whether one property is less than another, or equal.
  public static func <= (a: Query, b: Query) -> Query<Bool> { a.compare("<=", with: b) }

  /// The smallest value of a property of the elements of a collection.
  public var min: Query { elementAggregate("min") }
  /// The greatest value of a property of the elements of a collection.
  public var max: Query { elementAggregate("max") }
  /// The sum of a property of the elements of a collection.
  public var sum: Query { elementAggregate("sum") }
  /// The average of a property of the elements of a collection.
  public var avg: Query { elementAggregate("avg") }

  private func elementAggregate(_ name: String) -> Query {
    var steps = place.path.split(separator: ".")
    if steps.count < 2 { Misuse.stop("Invalid query: '\(place.path)' is no property of the elements of a collection.") }
    steps.insert("@\(name)", at: steps.count - 1)
    return Query(.path(steps.joined(separator: "."), within: place.collection))
  }
}

extension Query where T: Comparable {
  /// Whether the value is between two bounds, both included.
  public func contains(_ range: ClosedRange<T>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, "<=")
  }
  /// Whether the value is between two bounds, without the upper one.
  public func contains(_ range: Range<T>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, "<")
  }
}

extension Query where T: OptionalProtocol, T.Wrapped: Comparable {
  /// Whether the value is between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, "<=")
  }
  /// Whether the value is between two bounds, without the upper one.
  public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> {
    Self.between(node, node, range.lowerBound, range.upperBound, "<")
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
  public static prefix func ! (query: Query) -> Query { Query(.text([query.node.asCondition], "NOT (#)")) }
  /// And.
  public static func && (a: Query, b: Query) -> Query {
    Query(.text([a.node.asCondition, b.node.asCondition], "(# AND #)"))
  }
  /// Or.
  public static func || (a: Query, b: Query) -> Query {
    Query(.text([a.node.asCondition, b.node.asCondition], "(# OR #)"))
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

  fileprivate func word(_ word: String) -> String {
    if isEmpty { return word }
    return "\(word)[\(contains(.caseInsensitive) ? "c" : "")\(contains(.diacriticInsensitive) ? "d" : "")]"
  }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryString {
  /// Whether the text contains another one.
  public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(options.word("CONTAINS"), value._rlmAny)
  }
  /// Whether the text contains that of another property.
  public func contains<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(options.word("CONTAINS"), with: column) }
  /// Whether the text begins with another one.
  public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
    compare(options.word("BEGINSWITH"), value._rlmAny)
  }
  /// Whether the text begins with that of another property.
  public func starts<U: _HasPersistedType>(with column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(options.word("BEGINSWITH"), with: column) }
  /// Whether the text ends with another one.
  public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
    compare(options.word("ENDSWITH"), value._rlmAny)
  }
  /// Whether the text ends with that of another property.
  public func ends<U: _HasPersistedType>(with column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(options.word("ENDSWITH"), with: column) }
  /// Whether the text matches a pattern: `*` is any number of characters, `?` is one.
  public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
    compare(caseInsensitive ? "LIKE[c]" : "LIKE", value._rlmAny)
  }
  /// Whether the text matches the pattern of another property.
  public func like<U: _HasPersistedType>(_ column: Query<U>, caseInsensitive: Bool = false) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(caseInsensitive ? "LIKE[c]" : "LIKE", with: column) }
  /// Whether the text is another one.
  public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(options.word("=="), value._rlmAny)
  }
  /// Whether the text is that of another property.
  public func equals<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(options.word("=="), with: column) }
  /// Whether the text is not another one.
  public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
    compare(options.word("!="), value._rlmAny)
  }
  /// Whether the text is not that of another property.
  public func notEquals<U: _HasPersistedType>(_ column: Query<U>, options: StringOptions = []) -> Query<Bool>
  where U.PersistedType: _QueryString { compare(options.word("!="), with: column) }

  /// Whether the text comes after another one, by its bytes.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(">", value._rlmAny) }
  /// Whether the text comes after another one or is the same, by its bytes.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(">=", value._rlmAny) }
  /// Whether the text comes before another one, by its bytes.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare("<", value._rlmAny) }
  /// Whether the text comes before another one or is the same, by its bytes.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare("<=", value._rlmAny) }
}

extension Query where T: _HasPersistedType, T.PersistedType: _QueryBinary {
  /// Whether the bytes contain others.
  public func contains(_ value: T) -> Query<Bool> { compare("CONTAINS", value._rlmAny) }
  /// Whether the bytes begin with others.
  public func starts(with value: T) -> Query<Bool> { compare("BEGINSWITH", value._rlmAny) }
  /// Whether the bytes end with others.
  public func ends(with value: T) -> Query<Bool> { compare("ENDSWITH", value._rlmAny) }
  /// Whether the bytes are these.
  public func equals(_ value: T) -> Query<Bool> { compare("==", value._rlmAny) }
  /// Whether the bytes are not these.
  public func notEquals(_ value: T) -> Query<Bool> { compare("!=", value._rlmAny) }
}

// MARK: collections

extension Query where T: RealmCollection {
  /// The number of elements.
  public var count: Query<Int> { aggregate("count") }
  /// Whether a value is among the elements.
  public func contains(_ value: T.Element) -> Query<Bool> {
    Query<Bool>(.text([node, Self.argument(value._rlmAny)], "(ANY # == #)"))
  }
  /// Whether one of the values is among the elements.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
    Query<Bool>(.text([node, Self.argument(Self.list(values))], "(ANY # IN #)"))
  }
  /// Whether one of the elements is equal.
  public static func == (query: Query, value: T.Element) -> Query<Bool> { query.compare("==", value._rlmAny) }
  /// Whether one of the elements differs.
  public static func != (query: Query, value: T.Element) -> Query<Bool> { query.compare("!=", value._rlmAny) }
}

extension Query where T: RealmCollection, T.Element: ObjectBase {
  /// A property of the elements, of which one must pass the condition.
  public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
    path(PropertyTracer.name(of: member))
  }
}

extension Query where T: RealmCollection, T.Element: Comparable {
  /// Whether all elements are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<=")
  }
  /// Whether all elements are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Element>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<")
  }
}

extension Query where T: RealmCollection, T.Element: OptionalProtocol, T.Element.Wrapped: Comparable {
  /// Whether all elements are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<=")
  }
  /// Whether all elements are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<")
  }
}

extension Query {
  fileprivate func bound(_ name: String) -> QueryNode { (aggregate(name) as Query).node }
}

extension Query where T: RealmCollection, T.Element.PersistedType: _QueryNumeric {
  /// Whether one of the elements is greater.
  public static func > (query: Query, value: T.Element) -> Query<Bool> { query.compare(">", value._rlmAny) }
  /// Whether one of the elements is greater or equal.
  public static func >= (query: Query, value: T.Element) -> Query<Bool> { query.compare(">=", value._rlmAny) }
  /// Whether one of the elements is less.
  public static func < (query: Query, value: T.Element) -> Query<Bool> { query.compare("<", value._rlmAny) }
  /// Whether one of the elements is less or equal.
  public static func <= (query: Query, value: T.Element) -> Query<Bool> { query.compare("<=", value._rlmAny) }

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
    Query(.text([node, .value(.int(Int64(position)))], "#[#]"))
  }
  /// The value of an entry of a dictionary.
  ///
  /// ```swift
  /// let tagged = notes.where { $0.extra["tags"].any == .string("a") }
  /// ```
  public subscript(key: String) -> Query<AnyRealmValue> {
    Query(.text([node, .value(.string(Array(key.utf8)))], "#[#]"))
  }
  /// All elements of a list, or values of a dictionary, of which one must pass the condition.
  public var any: Query<AnyRealmValue> { Query(.text([node], "#[*]")) }
}

// MARK: maps

extension Query where T: RealmKeyedCollection {
  /// The values of the entries, of which one must pass the condition.
  public var values: Query<T.Value> { path("@values") }
  /// The value of an entry.
  ///
  /// ```swift
  /// let cheap = shops.where { $0.prices["tea"] < 3 }
  /// ```
  public subscript(key: T.Key) -> Query<T.Value> {
    Query<T.Value>(.text([node, .value(.string(Array(key._rlmKey.utf8)))], "#[#]"))
  }
  /// The number of entries.
  public var count: Query<Int> { aggregate("count") }
  /// Whether a value is among those of the entries.
  public func contains(_ value: T.Value) -> Query<Bool> {
    Query<Bool>(.text([node, Self.argument(value._rlmAny)], "(ANY # == #)"))
  }
  /// Whether one of the values is among those of the entries.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
    Query<Bool>(.text([node, Self.argument(Self.list(values))], "(ANY # IN #)"))
  }
}

extension Query where T: RealmKeyedCollection, T.Key == String {
  /// The names of the entries, of which one must pass the condition.
  public var keys: Query<String> { path("@keys") }
}

extension Query where T: RealmKeyedCollection, T.Value: Comparable {
  /// Whether all values are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<=")
  }
  /// Whether all values are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Value>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<")
  }
}

extension Query where T: RealmKeyedCollection, T.Value: OptionalProtocol, T.Value.Wrapped: Comparable {
  /// Whether all values are between two bounds, both included.
  public func contains(_ range: ClosedRange<T.Value.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<=")
  }
  /// Whether all values are between two bounds, without the upper one.
  public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> {
    Self.between(bound("min"), bound("max"), range.lowerBound, range.upperBound, "<")
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
