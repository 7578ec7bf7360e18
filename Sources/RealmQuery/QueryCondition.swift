// A query condition: text in Realm Query Language, a built predicate, or a comparison with a property, whose name may
// contain any characters.

public import RealmPages

/// A condition that objects of a query must meet.
public enum QueryCondition: Sendable {
  /// Realm Query Language.
  case query(String)
  /// Realm Query Language with arguments: `$0` is the first. A list may follow IN or BETWEEN; a link may be compared
  /// with link properties.
  case bound(String, [Value])
  /// Realm Query Language with text arguments: each is converted to the type of the values that it is compared with.
  case given(String, texts: [String])
  /// A predicate built by a program, without text.
  case built(QueryPredicate)
  /// A single-value property equals the given value, which may be null.
  case equal(property: String, Value)
  /// A single-link property refers to the object with this key.
  case link(property: String, ObjKey)

  /// All objects, sorted by a property.
  case sorted(property: String, ascending: Bool)

  /// The text of the condition; nil if it has none.
  public var text: String? {
    switch self {
    case .query(let text), .bound(let text, _), .given(let text, _): text
    case .built, .equal, .link, .sorted: nil
    }
  }

  func syntax() throws(InputError) -> (PredicateSyntax, [OrderingSyntax]) {
    switch self {
    case .query(let text): return try QueryParser.parse(text)
    case .bound(let text, let arguments): return try QueryParser.parse(text, arguments.map { .value($0) })
    case .given(let text, let texts): return try QueryParser.parse(text, texts.map { .text($0) })
    case .built(let predicate): return (predicate.syntax, [])
    case .equal(let property, let value): return (Self.compare(property, .value(value, text: nil)), [])
    case .link(let property, let key): return (Self.compare(property, .key(key)), [])
    case .sorted(let property, let ascending):
      return (.constant(true), [.sort([(Self.path(property), ascending)])])
    }
  }

  /// Hints about a query whose meaning may differ from the author's intent; empty if the query cannot be parsed.
  public var notes: [String] {
    // Binding the query reports a syntax error.
    guard let syntax = try? syntax().0, syntax.expectsWildcardsOfSQL else { return [] }
    return ["the wildcards of LIKE are * and ?; % is an ordinary character"]
  }

  private static func path(_ property: String) -> PathSyntax {
    PathSyntax(quantifier: nil, elements: [(.name(property), 1)], column: 1)
  }

  private static func compare(_ property: String, _ kind: ConstantSyntax.Kind) -> PredicateSyntax {
    .compare(
      .path(path(property)),
      .equal,
      .constant(ConstantSyntax(kind: kind, column: 1)),
      [],
      column: 1
    )
  }
}

/// A predicate without text.
public struct QueryPredicate: Sendable {
  let syntax: PredicateSyntax

  package init(_ syntax: PredicateSyntax) { self.syntax = syntax }
}
