// A query as it is written: names are not looked up yet. Each part knows its column.

import RealmPages

/// What is asked of a list that is compared.
enum Quantifier {
  case any, all, none
}

/// The comparisons.
enum Comparison: String {
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
enum Aggregate: String {
  case min = "@min"
  case max = "@max"
  case sum = "@sum"
  case average = "@avg"
}

struct PathSyntax {
  enum Element {
    case name(String)
    case index(Int)
    case last
    case all
    case key([UInt8])
  }

  enum Ending {
    case value
    /// `@count`, `@size`
    case count
    /// `@type`
    case type
    /// `@max` and the like, and what comes after it.
    case aggregate(Aggregate, of: String?)
  }

  var quantifier: Quantifier?
  var elements: [(element: Element, column: Int)]
  var ending = Ending.value
  let column: Int
}

indirect enum ExpressionSyntax {
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

struct ConstantSyntax {
  enum Kind {
    /// A value; the text of a number, where it must not pass through a double.
    case value(Value, text: String?)
    /// The object of a class with a primary key.
    case object(className: String, Value)
    /// The object with a key in the class that a link leads to.
    case key(ObjKey)
  }

  let kind: Kind
  let column: Int
}

indirect enum PredicateSyntax {
  case constant(Bool)
  case and([PredicateSyntax])
  case or([PredicateSyntax])
  case not(PredicateSyntax)
  case compare(ExpressionSyntax, Comparison, ExpressionSyntax, TextOptions, column: Int)
}

/// What comes behind the predicate, in its order.
enum OrderingSyntax {
  case sort([(path: PathSyntax, ascending: Bool)])
  case distinct([PathSyntax])
  case limit(Int)
}
