// The nodes of an expression in `where`, and their conversion to a predicate.

import RealmPages
import RealmQuery

/// A node of an expression.
indirect enum QueryNode {
  /// Matches all objects.
  case all
  case path(QueryPlace)
  case value(Value)
  /// The number of elements that match a condition on the properties of one collection.
  case matches(QueryNode)
  /// If `isAny`, the left side is a collection, and at least one of its elements must match.
  case compare(QueryNode, Comparison, QueryNode, TextOptions = [], isAny: Bool = false)
  /// The left side is a path to embedded objects with positions.
  case within(QueryNode, GeoShape)
  case and(QueryNode, QueryNode)
  case or(QueryNode, QueryNode)
  case not(QueryNode)

  /// The paths that lead through a collection, outside of nested subqueries.
  fileprivate var pathsOfCollections: Set<QueryPlace> {
    switch self {
    case .all, .value, .matches: []
    case .path(let place): place.collection == nil ? [] : [place]
    case .compare(let a, _, let b, _, _), .and(let a, let b), .or(let a, let b):
      a.pathsOfCollections.union(b.pathsOfCollections)
    case .not(let inner), .within(let inner, _): inner.pathsOfCollections
    }
  }
}

/// A path from an object to a property.
struct QueryPlace: Hashable, CustomStringConvertible {
  enum Step: Hashable {
    /// A property, or an operator of the query language on a collection, which begins with @.
    case name(String)
    /// An entry of a dictionary.
    case key([UInt8])
    /// An element of a list.
    case index(Int)
    /// All elements.
    case all
  }

  var steps: [Step] = []
  /// The number of steps to the first collection on the path.
  var collection: Int?

  func appending(_ step: Step) -> QueryPlace { QueryPlace(steps: steps + [step], collection: collection) }

  /// True if the step after `count` steps is an operator on a collection, not a property of its elements.
  func saysOf(_ count: Int) -> Bool {
    if steps.count > count, case .name(let name) = steps[count] { name.hasPrefix("@") } else { false }
  }

  var description: String {
    steps.map { if case .name(let name) = $0 { name } else { "[]" } }.joined(separator: ".")
  }
}

/// Converts the nodes of an expression to the syntax of a query, with stored names.
struct QueryBuilder {
  private let schema: ClassSchema?
  private var variables = 0
  /// The subquery whose condition is being converted.
  private var subquery: Subquery?

  /// Returns the condition of an expression on a class.
  static func condition(_ node: QueryNode, _ schema: ClassSchema?) -> QueryCondition {
    var builder = QueryBuilder(schema: schema)
    return .built(QueryPredicate(builder.predicate(node)))
  }

  private init(schema: ClassSchema?) { self.schema = schema }

  private mutating func predicate(_ node: QueryNode) -> PredicateSyntax {
    switch node {
    case .all: return .constant(true)
    case .and(let a, let b): return .and([predicate(a), predicate(b)])
    case .or(let a, let b): return .or([predicate(a), predicate(b)])
    case .not(let inner): return .not(predicate(inner))
    case .compare(let left, let comparison, let right, let options, let isAny):
      return .compare(expression(left, isAny ? .any : nil), comparison, expression(right), options, column: 1)
    case .within(let left, let shape):
      guard case .path(let place) = left else {
        Misuse.stop("Invalid query: only a property can be within a region.")
      }
      return .within(path(place, nil), shape, column: 1)
    // A Boolean property is itself a condition.
    case .path, .value, .matches:
      return .compare(expression(node), .equal, .constant(.value(.bool(true))), [], column: 1)
    }
  }

  private mutating func expression(_ node: QueryNode, _ quantifier: Quantifier? = nil) -> ExpressionSyntax {
    switch node {
    case .path(let place): return .path(path(place, quantifier))
    case .value(.list(let values)): return .list(values.map { .value($0) }, quantifier, column: 1)
    case .value(let value): return .constant(.value(value))
    case .matches(let condition): return subquery(condition)
    case .all, .compare, .within, .and, .or, .not:
      Misuse.stop("Invalid query: a condition cannot be compared.")
    }
  }

  private mutating func subquery(_ condition: QueryNode) -> ExpressionSyntax {
    let paths = condition.pathsOfCollections
    let collections = Set(paths.map { $0.steps.prefix($0.collection ?? 0) })
    guard var collection = collections.first.map({ Array($0) }) else {
      Misuse.stop("Subqueries must contain a keypath starting with a collection.")
    }
    if collections.count > 1 { Misuse.stop("A subquery is about one collection, not about several.") }
    variables += 1
    var list = PathSyntax(collection[...], after: nil, schema, nil)
    let outer = subquery
    if let outer { (collection, list) = outer.inner(paths, schema) }
    let inner = Subquery(collection: collection, variable: "$element\(variables)")
    subquery = inner
    defer { subquery = outer }
    return .subquery(list, variable: inner.variable, predicate(condition), column: 1)
  }

  private func path(_ place: QueryPlace, _ quantifier: Quantifier?) -> PathSyntax {
    if let subquery, subquery.covers(place) { return subquery.path(place.steps, schema, quantifier) }
    return PathSyntax(place.steps[...], after: nil, schema, quantifier)
  }
}

extension PathSyntax {
  /// Creates a path from an object of a class, or from the object that a variable represents.
  init(
    _ steps: ArraySlice<QueryPlace.Step>,
    after variable: String?,
    _ schema: ClassSchema?,
    _ quantifier: Quantifier?
  ) {
    self.init(quantifier: quantifier, elements: [], column: 1)
    var schema = schema, rest = steps
    if let variable { append(variable) }
    while let step = rest.popFirst() {
      switch step {
      case .key(let key): elements.append((.key(key), 1))
      case .index(let index): elements.append((.index(index), 1))
      case .all: elements.append((.all, 1))
      case .name("@count"): ending = .count
      case .name("@type"): ending = .type
      case .name(let name):
        if let aggregate = Aggregate(rawValue: name) {
          var property: String?
          if case .name(let next)? = rest.popFirst() { property = schema?.storedName(of: next) ?? next }
          ending = .aggregate(aggregate, of: property)
          continue
        }
        guard let index = schema?.index(of: name), let property = schema?.properties[index] else {
          append(name)
          continue
        }
        if property.type.isLinkingObjects, let origin = property.linkedClass, let link = property.originProperty {
          append("@links")
          append(origin.name)
          append(origin.storedName(of: link))
        } else {
          append(property.storedName)
        }
        schema = property.linkedClass
      }
    }
  }

  private mutating func append(_ name: String) { elements.append((.name(name), 1)) }
}

extension ClassSchema {
  /// Returns the stored name of a property.
  fileprivate func storedName(of name: String) -> String { index(of: name).map { properties[$0].storedName } ?? name }
}

extension ConstantSyntax {
  /// Creates the constant of a value.
  fileprivate static func value(_ value: Value) -> ConstantSyntax {
    ConstantSyntax(kind: .value(value, text: nil), column: 1)
  }
}
