// One of several conditions that objects meet: a query as it is written, or a value that a property has, whose name can
// be any.

public import RealmPages

/// A condition.
public enum QueryCondition: Sendable {
  /// Realm Query Language.
  case query(String)
  /// Realm Query Language with arguments: `$0` stands for the first one. A list goes behind IN or BETWEEN, a link is
  /// compared with properties that are links.
  case bound(String, [Value])
  /// Realm Query Language with arguments that are texts: each takes the type of the values that it is compared with.
  case given(String, texts: [String])
  /// What a program has put together without text.
  case built(QueryPredicate)
  /// A property of one value is `value`, or null.
  case equal(property: String, Value)
  /// A property that is a single link leads to the object with this key.
  case link(property: String, ObjKey)

  /// The text of the condition, if it was given as such.
  public var text: String? {
    switch self {
    case .query(let text), .bound(let text, _), .given(let text, _): text
    case .built, .equal, .link: nil
    }
  }

  func syntax() throws(QueryError) -> (PredicateSyntax, [OrderingSyntax]) {
    switch self {
    case .query(let text): return try QueryParser.parse(text)
    case .bound(let text, let arguments): return try QueryParser.parse(text, arguments.map { .value($0) })
    case .given(let text, let texts): return try QueryParser.parse(text, texts.map { .text($0) })
    case .built(let predicate): return (predicate.syntax, [])
    case .equal(let property, let value): return (Self.compare(property, .value(value, text: nil)), [])
    case .link(let property, let key): return (Self.compare(property, .key(key)), [])
    }
  }

  /// Hints about a query that may not mean what its author expects; empty for a query that cannot be parsed.
  public var notes: [String] {
    // A mistake is reported when the query is bound.
    guard let syntax = try? syntax().0, syntax.expectsWildcardsOfSQL else { return [] }
    return ["the wildcards of LIKE are * and ?; % is an ordinary character"]
  }

  private static func compare(_ property: String, _ kind: ConstantSyntax.Kind) -> PredicateSyntax {
    let path = PathSyntax(quantifier: nil, elements: [(.name(property), 1)], column: 1)
    return .compare(
      .path(path),
      .equal,
      .constant(ConstantSyntax(kind: kind, column: 1)),
      [],
      column: 1
    )
  }
}

/// A predicate of which there is no text.
public struct QueryPredicate: Sendable {
  let syntax: PredicateSyntax

  package init(_ syntax: PredicateSyntax) { self.syntax = syntax }
}
