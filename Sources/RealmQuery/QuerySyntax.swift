// The syntax of a query, with unresolved names. Each part contains its column.

package import RealmPages

/// The quantifier of a list in a comparison.
package enum Quantifier: Sendable {
  case any, all, none
}

/// The comparison operators.
package enum Comparison: String, Sendable {
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case isIn = "IN"
  case beginsWith = "BEGINSWITH"
  case endsWith = "ENDSWITH"
  case contains = "CONTAINS"
  case like = "LIKE"

  var isOfTexts: Bool {
    switch self {
    case .beginsWith, .endsWith, .contains, .like: true
    default: false
    }
  }
}

/// The aggregate functions of lists.
package enum Aggregate: String, Sendable {
  case min = "@min"
  case max = "@max"
  case sum = "@sum"
  case average = "@avg"
}

package struct PathSyntax: Sendable {
  package enum Element: Sendable {
    case name(String)
    case index(Int)
    case last
    case all
    /// An entry of a dictionary. In a Mixed, also a property of an object, or `@keys`.
    case key([UInt8])
  }

  package enum Ending: Sendable {
    case value
    /// `@count`, `@size`
    case count
    /// `@type`
    case type
    /// An aggregate such as `@max`, and the property after it, if any.
    case aggregate(Aggregate, of: String?)
  }

  package var quantifier: Quantifier?
  package var elements: [(element: Element, column: Int)]
  package var ending = Ending.value
  package let column: Int

  package init(quantifier: Quantifier?, elements: [(element: Element, column: Int)], column: Int) {
    (self.quantifier, self.elements, self.column) = (quantifier, elements, column)
  }
}

package indirect enum ExpressionSyntax: Sendable {
  case constant(ConstantSyntax)
  case list([ConstantSyntax], Quantifier?, column: Int)
  case path(PathSyntax)
  case operation(Unicode.Scalar, ExpressionSyntax, ExpressionSyntax, column: Int)
  /// `2024-05-01`: a date if compared with a date, otherwise a subtraction.
  case day(ConstantSyntax, ExpressionSyntax)
  case subquery(PathSyntax, variable: String, PredicateSyntax, column: Int)

  var column: Int {
    switch self {
    case .constant(let constant), .day(let constant, _): constant.column
    case .list(_, _, let column), .operation(_, _, _, let column), .subquery(_, _, _, let column): column
    case .path(let path): path.column
    }
  }
}

package struct ConstantSyntax: Sendable {
  package enum Kind: Sendable {
    /// A value. For a number, also its text, for conversions that must not go through a double.
    case value(Value, text: String?)
    /// The object of a class with this primary key.
    case object(className: String, Value)
    /// The object with this key in the target class of the link that it is compared with.
    case key(ObjKey)
    /// The object with this key in the given table.
    case stored(TableKey, ObjKey)
    /// An argument without a type: it is converted to the type of the values that it is compared with.
    case text(String)
  }

  package let kind: Kind
  package let column: Int

  package init(kind: Kind, column: Int) { (self.kind, self.column) = (kind, column) }
}

package indirect enum PredicateSyntax: Sendable {
  case constant(Bool)
  case and([PredicateSyntax])
  case or([PredicateSyntax])
  case not(PredicateSyntax)
  case compare(ExpressionSyntax, Comparison, ExpressionSyntax, TextOptions, column: Int)
  case between(ExpressionSyntax, ConstantSyntax, ConstantSyntax, column: Int)
  /// `GEOWITHIN`
  case within(PathSyntax, GeoShape, column: Int)
}

/// The clauses after the predicate, in order.
package enum OrderingSyntax: Sendable {
  case sort([(path: PathSyntax, ascending: Bool)])
  case distinct([PathSyntax])
  case limit(Int)
}

/// The value of an argument such as `$0`.
package enum QueryArgument: Sendable {
  case value(Value)
  /// Text that is converted to the type of the values that it is compared with.
  case text(String)
}

extension PredicateSyntax {
  /// True if a LIKE pattern contains the SQL wildcard `%`, but none of the wildcards of LIKE.
  var expectsWildcardsOfSQL: Bool {
    switch self {
    case .constant: return false
    case .and(let parts), .or(let parts): return parts.contains(where: \.expectsWildcardsOfSQL)
    case .not(let inner): return inner.expectsWildcardsOfSQL
    case .compare(_, .like, .constant(let constant), _, _):
      let pattern: [UInt8]
      switch constant.kind {
      case .value(.string(let bytes), _): pattern = bytes
      case .text(let text): pattern = Array(text.utf8)
      default: return false
      }
      return pattern.contains(UInt8(ascii: "%")) && !pattern.contains(where: TextMatch.isWildcard)
    case .compare, .between, .within: return false
    }
  }
}
