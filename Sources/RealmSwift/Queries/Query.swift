// Type-safe queries: an expression over the properties of a class becomes a query with arguments.

import RealmPages
import RealmQuery

/// What an expression is made of.
indirect enum QueryNode {
  case root
  case path(String)
  case value(Value)
  /// Words of the query language; each # is the next node.
  case text([QueryNode], String)
}

/// An expression in `where`: a property, or a condition on properties.
///
/// ```swift
/// realm.objects(Person.self).where { $0.age > 18 && $0.dogs.count > 0 }
/// ```
@dynamicMemberLookup public struct Query<T> {
  let node: QueryNode

  init(_ node: QueryNode = .root) { self.node = node }

  private func child(_ name: String) -> String {
    switch node {
    case .path(let path): "\(path).\(name)"
    default: name
    }
  }

  /// The path that this is.
  var path: String {
    guard case .path(let path) = node else { Misuse.stop("Invalid query: only a property has elements and members.") }
    return path
  }

  func path<V>(_ name: String) -> Query<V> { Query<V>(.path(child(name))) }

  /// The whole condition.
  func condition(_ schema: ClassSchema?) -> QueryCondition {
    var values: [Value] = []
    func render(_ node: QueryNode) -> String {
      switch node {
      case .root: return "TRUEPREDICATE"
      case .path(let path): return PredicateFormat.path(path, schema)
      case .value(let value):
        values.append(value)
        return "$\(values.count - 1)"
      case .text(let parts, let pattern):
        var text = "", rest = parts.makeIterator()
        for character in pattern {
          if character == "#", let part = rest.next() { text += render(part) } else { text.append(character) }
        }
        return text
      }
    }
    // A property of a truth value by itself.
    if case .path = node { return .bound("\(render(node)) == true", []) }
    let text = render(node)
    return .bound(text, values)
  }

  static func argument(_ value: Any?) -> QueryNode {
    .value(value.map { PredicateFormat.value(of: $0, "where") } ?? .null)
  }

  func compare(_ word: String, _ value: Any?) -> Query<Bool> {
    Query<Bool>(.text([node, Self.argument(value)], "(# \(word) #)"))
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

extension Query where T: RealmCollectionValue {
  /// Whether the values are equal.
  public static func == (query: Query, value: T) -> Query<Bool> { query.compare("==", value._rlmAny) }
  /// Whether the values differ.
  public static func != (query: Query, value: T) -> Query<Bool> { query.compare("!=", value._rlmAny) }
  /// Whether two properties are equal.
  public static func == (a: Query, b: Query) -> Query<Bool> { Query<Bool>(.text([a.node, b.node], "(# == #)")) }
  /// Whether two properties differ.
  public static func != (a: Query, b: Query) -> Query<Bool> { Query<Bool>(.text([a.node, b.node], "(# != #)")) }
  /// Whether the value is one of these.
  public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T {
    compare("IN", values.map { $0._rlmAny ?? Optional<Int>.none as Any })
  }
}

extension Query where T: MinMaxType & RealmCollectionValue {
  /// Whether the value is greater.
  public static func > (query: Query, value: T) -> Query<Bool> { query.compare(">", value._rlmAny) }
  /// Whether the value is greater or equal.
  public static func >= (query: Query, value: T) -> Query<Bool> { query.compare(">=", value._rlmAny) }
  /// Whether the value is less.
  public static func < (query: Query, value: T) -> Query<Bool> { query.compare("<", value._rlmAny) }
  /// Whether the value is less or equal.
  public static func <= (query: Query, value: T) -> Query<Bool> { query.compare("<=", value._rlmAny) }
  /// Whether one property is greater than another.
  public static func > (a: Query, b: Query) -> Query<Bool> { Query<Bool>(.text([a.node, b.node], "(# > #)")) }
  /// Whether one property is less than another.
  public static func < (a: Query, b: Query) -> Query<Bool> { Query<Bool>(.text([a.node, b.node], "(# < #)")) }
  /// Whether one property is greater than another, or equal.
  public static func >= (a: Query, b: Query) -> Query<Bool> { Query<Bool>(.text([a.node, b.node], "(# >= #)")) }
  /// Whether one property is less than another, or equal.
  public static func <= (a: Query, b: Query) -> Query<Bool> { Query<Bool>(.text([a.node, b.node], "(# <= #)")) }
}

extension Query where T: RealmCollectionValue & Comparable {
  /// Whether the value is between two bounds, both included.
  public func contains(_ range: ClosedRange<T>) -> Query<Bool> {
    Query<Bool>(
      .text(
        [node, Self.argument(range.lowerBound), node, Self.argument(range.upperBound)],
        "(# >= # AND # <= #)"
      )
    )
  }
  /// Whether the value is between two bounds, without the upper one.
  public func contains(_ range: Range<T>) -> Query<Bool> {
    Query<Bool>(
      .text([node, Self.argument(range.lowerBound), node, Self.argument(range.upperBound)], "(# >= # AND # < #)")
    )
  }
}

extension Query where T == Bool {
  private var condition_: QueryNode { if case .path = node { .text([node], "(# == true)") } else { node } }

  /// Not.
  public static prefix func ! (query: Query) -> Query { Query(.text([query.condition_], "NOT (#)")) }
  /// And.
  public static func && (a: Query, b: Query) -> Query { Query(.text([a.condition_, b.condition_], "(# AND #)")) }
  /// Or.
  public static func || (a: Query, b: Query) -> Query { Query(.text([a.condition_, b.condition_], "(# OR #)")) }
}

// MARK: texts

/// How texts are compared.
public struct StringOptions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int
  /// Takes the bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Large and small letters are the same.
  public static let caseInsensitive = StringOptions(rawValue: 1)
}

/// A type of texts.
public protocol _QueryString {}
extension String: _QueryString {}
extension Optional: _QueryString where Wrapped: _QueryString {}

extension Query where T: _QueryString {
  private func match(_ word: String, _ value: String, _ options: StringOptions) -> Query<Bool> {
    compare(options.contains(.caseInsensitive) ? "\(word)[c]" : word, value)
  }
  /// Whether the text contains another one.
  public func contains(_ value: String, options: StringOptions = []) -> Query<Bool> {
    match("CONTAINS", value, options)
  }
  /// Whether the text begins with another one.
  public func starts(with value: String, options: StringOptions = []) -> Query<Bool> {
    match("BEGINSWITH", value, options)
  }
  /// Whether the text ends with another one.
  public func ends(with value: String, options: StringOptions = []) -> Query<Bool> { match("ENDSWITH", value, options) }
  /// Whether the text matches a pattern: `*` is any number of characters, `?` is one.
  public func like(_ value: String, caseInsensitive: Bool = false) -> Query<Bool> {
    match("LIKE", value, caseInsensitive ? .caseInsensitive : [])
  }
  /// Whether the text is another one.
  public func equals(_ value: String, options: StringOptions = []) -> Query<Bool> { match("==", value, options) }
  /// Whether the text is not another one.
  public func notEquals(_ value: String, options: StringOptions = []) -> Query<Bool> { match("!=", value, options) }
}

// MARK: collections

extension Query where T: RealmCollection {
  /// The number of elements.
  public var count: Query<Int> { Query<Int>(.path("\(path).@count")) }
  /// Whether a value is among the elements.
  public func contains(_ value: T.Element) -> Query<Bool> {
    Query<Bool>(.text([node, Self.argument(value._rlmAny)], "(ANY # == #)"))
  }
  /// Whether one of the values is among the elements.
  public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
    Query<Bool>(.text([node, Self.argument(values.map { $0._rlmAny ?? Optional<Int>.none as Any })], "(ANY # IN #)"))
  }
}

extension Query where T: RealmCollection, T.Element: ObjectBase {
  /// A property of the elements, of which one must pass the condition.
  public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
    path(PropertyTracer.name(of: member))
  }
}

extension Query where T: RealmCollection, T.Element: MinMaxType {
  /// The smallest element.
  public var min: Query<T.Element> { Query<T.Element>(.path("\(path).@min")) }
  /// The greatest element.
  public var max: Query<T.Element> { Query<T.Element>(.path("\(path).@max")) }
}

extension Query where T: RealmCollection, T.Element: AddableType {
  /// The sum of the elements.
  public var sum: Query<T.Element> { Query<T.Element>(.path("\(path).@sum")) }
  /// The average of the elements.
  public var avg: Query<T.Element> { Query<T.Element>(.path("\(path).@avg")) }
}
