// A query as it is written: names are not looked up yet. Each part knows its column.

package import RealmPages

/// What is asked of a list that is compared.
package enum Quantifier: Sendable {
  case any, all, none
}

/// The comparisons.
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

/// What is worked out from the elements of a list.
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
    /// An entry of a dictionary. In a Mixed also a property of an object, and `@keys`.
    case key([UInt8])
  }

  package enum Ending: Sendable {
    case value
    /// `@count`, `@size`
    case count
    /// `@type`
    case type
    /// `@max` and the like, and what comes after it.
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
  /// `2024-05-01`: a day where a date is compared, else a subtraction.
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
    /// A value; the text of a number, where it must not pass through a double.
    case value(Value, text: String?)
    /// The object of a class with a primary key.
    case object(className: String, Value)
    /// The object with a key in the class that a link leads to.
    case key(ObjKey)
    /// The object with a key in the table with a key.
    case stored(TableKey, ObjKey)
    /// An argument that has no type yet: it gets that of the values that it is compared with.
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
}

/// What comes behind the predicate, in its order.
package enum OrderingSyntax: Sendable {
  case sort([(path: PathSyntax, ascending: Bool)])
  case distinct([PathSyntax])
  case limit(Int)
}

/// The value of an argument such as `$0`.
package enum QueryArgument: Sendable {
  case value(Value)
  /// A text that takes the type of the values that it is compared with.
  case text(String)
}

extension PredicateSyntax {
  /// True if LIKE compares with a pattern that has `%`, the wildcard of SQL, but none of the wildcards of LIKE.
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
    case .compare: return false
    }
  }
}
