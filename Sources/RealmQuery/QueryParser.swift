// Parses tokens into syntax by recursive descent. From the lowest precedence to the highest: OR, AND, NOT.

import RealmPages

/// Parses one query.
struct QueryParser {
  private let tokens: [QueryToken]
  private var index = 0
  private var depth = 0

  /// The maximum number of nested parentheses, of operations in one sum or product, and of steps in a path. All are
  /// bound and evaluated recursively.
  private static let depthLimit = 100

  /// Parses the predicate and the ordering in `text`.
  static func parse(
    _ text: String,
    _ arguments: [QueryArgument] = []
  ) throws(InputError) -> (PredicateSyntax, [OrderingSyntax]) {
    var parser = QueryParser(tokens: try QueryLexer.tokens(text, arguments))
    let predicate = parser.beginsWithOrdering ? .constant(true) : try parser.disjunction()
    let ordering = try parser.ordering()
    if parser.token.kind != .end {
      throw parser.unexpected("AND, OR, SORT, DISTINCT, LIMIT or the end").adding(hint: parser.quotesHint)
    }
    return (predicate, ordering)
  }

  /// Parses `text` as a constant. Returns nil if it is not one.
  static func constant(_ text: String) -> Value? {
    // Text with invalid tokens is not a constant.
    guard let tokens = try? QueryLexer.tokens(text) else { return nil }
    var parser = QueryParser(tokens: tokens)
    // A malformed constant is not a constant.
    guard let constant = try? parser.constant(), parser.token.kind == .end, case .value(let value, _) = constant.kind
    else { return nil }
    return value
  }

  /// A hint for words that may be an unquoted string.
  private var quotesHint: String {
    guard index > 0, case .word = tokens[index - 1].kind else { return "" }
    switch token.kind {
    case .word, .integer, .operation: return "; strings must be in quotes"
    default: return ""
    }
  }

  /// Parses `text` as a path.
  static func parsePath(_ text: String) throws(InputError) -> PathSyntax {
    var parser = QueryParser(tokens: try QueryLexer.tokens(text))
    guard case .path(let path) = try parser.sum(), path.quantifier == nil else {
      throw InputError(column: 1, problem: "expected a property, or a path to one such as dog.name")
    }
    if parser.token.kind != .end { throw parser.unexpected("the end of the path") }
    return path
  }

  private init(tokens: [QueryToken]) { self.tokens = tokens }

  // MARK: tokens

  private var token: QueryToken { tokens[index] }

  private func peek(_ distance: Int = 1) -> QueryToken.Kind { tokens[min(index + distance, tokens.count - 1)].kind }

  private mutating func advance() { if index < tokens.count - 1 { index += 1 } }

  /// A hint for words of SQL.
  private var languageHint: String {
    guard case .word(let word) = token.kind else { return "" }
    switch word.uppercased() {
    case "IS": return "; null is compared with ==, as in name == NULL"
    case "ORDER": return "; objects are sorted with SORT(name ASC)"
    case "GROUP": return "; the option --group-by groups objects"
    case "OFFSET": return "; there is only LIMIT(n)"
    default: return ""
    }
  }

  private func unexpected(_ wanted: String) -> InputError {
    let found =
      switch token.kind {
      case .symbol(let text), .word(let text), .operation(let text), .integer(let text), .real(let text): "'\(text)'"
      case .string: "a string"
      case .value, .object, .argument: "a value"
      case .quotedName(let name): "`\(name)`"
      case .keyPath(let names): "'\(names.joined(separator: "."))'"
      case .textOptions(let options): "[\(options.letters)]"
      case .end: "the end"
      }
    return InputError(column: token.column, problem: "expected \(wanted), found \(found)\(languageHint)")
  }

  private mutating func take(_ symbol: String) -> Bool {
    guard token.kind == .symbol(symbol) else { return false }
    advance()
    return true
  }

  private mutating func expect(_ symbol: String) throws(InputError) {
    if !take(symbol) { throw unexpected("'\(symbol)'") }
  }

  /// Returns true if the next token is this keyword, ignoring case.
  private func isKeyword(_ word: String) -> Bool {
    guard case .word(let text) = token.kind else { return false }
    return text.uppercased() == word
  }

  private mutating func takeKeyword(_ words: String...) -> Bool {
    guard words.contains(where: isKeyword) else { return false }
    advance()
    return true
  }

  private mutating func deeper() throws(InputError) { try more(&depth, "levels of parentheses") }

  private func more(_ count: inout Int, _ what: String) throws(InputError) {
    count += 1
    if count > Self.depthLimit {
      throw InputError(column: token.column, problem: "more than \(Self.depthLimit) \(what)")
    }
  }

  // MARK: predicates

  private mutating func disjunction() throws(InputError) -> PredicateSyntax {
    try deeper()
    defer { depth -= 1 }
    var parts = [try conjunction()]
    while take("||") || takeKeyword("OR") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws(InputError) -> PredicateSyntax {
    var parts = [try negation()]
    while take("&&") || takeKeyword("AND") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func negation() throws(InputError) -> PredicateSyntax {
    if take("!") || takeKeyword("NOT") {
      try deeper()
      defer { depth -= 1 }
      return .not(try negation())
    }
    if takeKeyword("TRUEPREDICATE") { return .constant(true) }
    if takeKeyword("FALSEPREDICATE") { return .constant(false) }
    if token.kind == .symbol("("), !parenthesisHoldsExpression {
      advance()
      let predicate = try disjunction()
      try expect(")")
      return predicate
    }
    return try comparison()
  }

  /// True if the content of the parenthesis is an expression, because a comparison or an operation follows it.
  private var parenthesisHoldsExpression: Bool {
    var level = 0
    for position in index..<tokens.count {
      if tokens[position].kind == .symbol("(") { level += 1 }
      if tokens[position].kind == .symbol(")") { level -= 1 }
      if level > 0 { continue }
      switch tokens[min(position + 1, tokens.count - 1)].kind {
      case .symbol(let symbol):
        return ["==", "=", "!=", "<>", "<", ">", "<=", "=<", ">=", "=>", "+", "-", "*", "/"]
          .contains(symbol)
      case .integer(let text), .real(let text): return text.hasPrefix("-") || text.hasPrefix("+")
      case .word(let word):
        return ["IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"].contains(word.uppercased())
      default: return false
      }
    }
    return false
  }

  private mutating func comparison() throws(InputError) -> PredicateSyntax {
    let left = try sum()
    let column = token.column
    if takeKeyword("BETWEEN") {
      guard case .list(let bounds, nil, _) = try collection(), bounds.count == 2 else {
        throw InputError(column: column, problem: "BETWEEN needs two bounds: {1, 10}")
      }
      return .between(left, bounds[0], bounds[1], column: column)
    }
    if takeKeyword("GEOWITHIN") {
      guard case .path(let path) = left else {
        throw InputError(column: left.column, problem: "GEOWITHIN needs a path before it")
      }
      return .within(path, try shape(), column: column)
    }
    if isKeyword("TEXT") { throw InputError(column: column, problem: "TEXT is not supported here") }
    guard let comparison = takeComparison() else {
      throw unexpected("a comparison such as ==, <, IN, BEGINSWITH or CONTAINS")
    }
    var options: TextOptions = []
    if case .textOptions(let given) = token.kind {
      switch comparison {
      case .less, .lessOrEqual, .greater, .greaterOrEqual:
        throw unexpected("a value; [\(given.letters)] does not go with <, <=, > and >=")
      case .like where given.contains(.ignoresDiacritics):
        throw unexpected("a value or [c]; [\(given.letters)] does not go with LIKE")
      default: break
      }
      options = given
      advance()
    }
    let right = comparison == .isIn ? try collection() : try sum()
    return .compare(left, comparison, right, options, column: column)
  }

  private mutating func takeComparison() -> Comparison? {
    let comparison: Comparison
    switch token.kind {
    case .symbol("=="), .symbol("="): comparison = .equal
    case .symbol("!="), .symbol("<>"): comparison = .notEqual
    case .symbol("<"): comparison = .less
    case .symbol("<="), .symbol("=<"): comparison = .lessOrEqual
    case .symbol(">"): comparison = .greater
    case .symbol(">="), .symbol("=>"): comparison = .greaterOrEqual
    case .word(let word):
      let known: [Comparison] = [.isIn, .beginsWith, .endsWith, .contains, .like]
      guard let found = known.first(where: { $0.rawValue == word.uppercased() }) else { return nil }
      comparison = found
    default: return nil
    }
    advance()
    return comparison
  }

  // MARK: regions

  /// Reads `geoCircle([LONGITUDE, LATITUDE], RADIANS)`, `geoBox(POINT, POINT)` or `geoPolygon({POINT, ...}, ...)`. An
  /// argument can contain it as text.
  private mutating func shape() throws(InputError) -> GeoShape {
    if let text = shapeText {
      let column = token.column
      do throws(InputError) {
        var parser = QueryParser(tokens: try QueryLexer.tokens(text))
        let shape = try parser.shape()
        if parser.token.kind != .end { throw parser.unexpected("the end") }
        advance()
        return shape
      } catch {
        let problem = "in the text of the region, column \(error.column): \(error.problem)"
        throw InputError(column: column, problem: problem)
      }
    }
    if takeKeyword("GEOCIRCLE") {
      try expect("(")
      let center = try point()
      try expect(",")
      let radius = try coordinate("a radius in radians")
      try expect(")")
      return .circle(center, radius: radius)
    }
    if takeKeyword("GEOBOX") {
      try expect("(")
      let corner = try point()
      try expect(",")
      let opposite = try point()
      try expect(")")
      return .box(corner, opposite)
    }
    guard takeKeyword("GEOPOLYGON") else { throw unexpected("geoCircle, geoBox or geoPolygon") }
    try expect("(")
    var rings: [[GeoPosition]] = []
    repeat {
      try expect("{")
      var ring: [GeoPosition] = []
      repeat { ring.append(try point()) } while take(",")
      try expect("}")
      rings.append(ring)
    } while take(",")
    try expect(")")
    return .polygon(rings)
  }

  /// The next argument, if it is text.
  private var shapeText: String? {
    switch token.kind {
    case .argument(let text): text
    case .value(.string(let bytes)): String(decoding: bytes, as: UTF8.self)
    default: nil
    }
  }

  /// Reads `[LONGITUDE, LATITUDE]`, which an altitude may follow. Altitudes are ignored.
  private mutating func point() throws(InputError) -> GeoPosition {
    try expect("[")
    let longitude = try coordinate("a longitude in degrees")
    try expect(",")
    let latitude = try coordinate("a latitude in degrees")
    if take(",") { _ = try coordinate("an altitude") }
    try expect("]")
    return GeoPosition(longitude: longitude, latitude: latitude)
  }

  private mutating func coordinate(_ wanted: String) throws(InputError) -> Double {
    let start = index
    if let constant = try constant() {
      switch constant.kind {
      case .value(.int(let number), _): return Double(number)
      case .value(.double(let number), _): return number
      case .value(.float(let number), _): return Double(number)
      case .text(let text): if let number = Double(text) { return number }
      default: break
      }
    }
    index = start
    throw unexpected(wanted)
  }

  // MARK: expressions

  private mutating func sum() throws(InputError) -> ExpressionSyntax {
    if let day = day() {
      switch peek(5) {
      case .symbol("+"), .symbol("-"), .symbol("*"), .symbol("/"): break
      default:
        let parts = [try number(), try number(), try number()]
        return .day(
          day,
          .operation("-", .operation("-", parts[0], parts[1], column: day.column), parts[2], column: day.column)
        )
      }
    }
    var left = try product()
    var count = 0
    while case .symbol(let symbol) = token.kind, symbol == "+" || symbol == "-" {
      let column = token.column
      try more(&count, "operations in one expression")
      advance()
      left = .operation(symbol == "+" ? "+" : "-", left, try product(), column: column)
    }
    return left
  }

  /// Returns the date formed by the next five tokens, if they are adjacent as in `2024-05-01`; nil otherwise.
  private func day() -> ConstantSyntax? {
    var text = ""
    for (distance, count) in [4, 1, 2, 1, 2].enumerated() {
      guard index + distance < tokens.count, tokens[index + distance].column == token.column + text.utf8.count else {
        return nil
      }
      switch (peek(distance), distance % 2) {
      case (.integer(let digits), 0) where digits.utf8.count == count: text += digits
      case (.symbol("-"), 1): text += "-"
      default: return nil
      }
    }
    guard let date = Timestamp(lenient: text.utf8) else { return nil }
    return ConstantSyntax(kind: .value(.date(date), text: nil), column: token.column)
  }

  /// Reads one number of a date, and the separator after it.
  private mutating func number() throws(InputError) -> ExpressionSyntax {
    guard let constant = try constant() else { throw unexpected("a number") }
    _ = take("-")
    return .constant(constant)
  }

  private mutating func product() throws(InputError) -> ExpressionSyntax {
    var left = try operand()
    var count = 0
    while case .symbol(let symbol) = token.kind, symbol == "*" || symbol == "/" {
      let column = token.column
      try more(&count, "operations in one expression")
      advance()
      left = .operation(symbol == "*" ? "*" : "/", left, try operand(), column: column)
    }
    return left
  }

  private mutating func operand() throws(InputError) -> ExpressionSyntax {
    let column = token.column
    if take("(") {
      try deeper()
      defer { depth -= 1 }
      let inner = try sum()
      try expect(")")
      return inner
    }
    if isKeyword("SUBQUERY"), peek() == .symbol("(") { return try subquery(column) }
    var quantifier: Quantifier?
    if case .word(let word) = token.kind, peek() != .symbol("."), peek() != .symbol("["), canBeginOperand(peek()) {
      quantifier =
        switch word.uppercased() {
        case "ANY", "SOME": .any
        case "ALL": .all
        case "NONE": Quantifier.none
        default: nil
        }
      if quantifier != nil { advance() }
    }
    if take("{") { return try list(until: "}", quantifier, column) }
    if case .value(.list(let values)) = token.kind {
      advance()
      return .list(values.map { Self.constant($0, column) }, quantifier, column: column)
    }
    if quantifier == nil, let constant = try constant() { return .constant(constant) }
    return .path(try path(quantifier, column))
  }

  /// Reads the values of a list after its opening bracket, up to and including the closing one.
  private mutating func list(
    until end: String,
    _ quantifier: Quantifier?,
    _ column: Int
  ) throws(InputError) -> ExpressionSyntax {
    var constants: [ConstantSyntax] = []
    if !take(end) {
      repeat {
        if let day = day() {
          for _ in 0..<5 { advance() }
          constants.append(day)
          continue
        }
        guard let constant = try constant() else { throw unexpected("a value; lists hold no properties") }
        constants.append(constant)
      } while take(",")
      try expect(end)
    }
    return .list(constants, quantifier, column: column)
  }

  /// Reads the operand of IN or BETWEEN. A list of values may be in brackets as in SQL or JSON.
  private mutating func collection() throws(InputError) -> ExpressionSyntax {
    let column = token.column
    if token.kind == .symbol("["), take("[") { return try list(until: "]", nil, column) }
    if token.kind == .symbol("("), parenthesisHoldsList, take("(") { return try list(until: ")", nil, column) }
    return try sum()
  }

  /// True if the parenthesis contains values separated by commas, or a single value.
  private var parenthesisHoldsList: Bool {
    var level = 0
    for position in index..<tokens.count {
      switch tokens[position].kind {
      case .symbol("("), .symbol("{"), .symbol("["): level += 1
      case .symbol(")"), .symbol("}"), .symbol("]"): level -= 1
      case .symbol(",") where level == 1: return true
      default: break
      }
      if level > 0 { continue }
      guard position == index + 2 else { return position == index + 1 }
      switch tokens[index + 1].kind {
      case .integer, .real, .string, .value, .object, .argument: return true
      default: return false
      }
    }
    return false
  }

  private func canBeginOperand(_ kind: QueryToken.Kind) -> Bool {
    switch kind {
    case .word(let word): !["IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"].contains(word.uppercased())
    case .operation, .symbol("{"), .value(.list), .quotedName, .keyPath: true
    default: false
    }
  }

  private mutating func subquery(_ column: Int) throws(InputError) -> ExpressionSyntax {
    advance()
    try expect("(")
    let list = try path(nil, token.column)
    try expect(",")
    guard case .word(let variable) = token.kind, variable.hasPrefix("$"), variable.count > 1 else {
      throw unexpected("a variable such as $x")
    }
    advance()
    try expect(",")
    let predicate = try disjunction()
    try expect(")")
    try expect(".")
    guard token.kind == .operation("@count") || token.kind == .operation("@size") else { throw unexpected("@count") }
    advance()
    return .subquery(list, variable: variable, predicate, column: column)
  }

  private mutating func path(_ quantifier: Quantifier?, _ column: Int) throws(InputError) -> PathSyntax {
    var path = PathSyntax(quantifier: quantifier, elements: [], column: column)
    try appendName(to: &path)
    var count = 0
    while true {
      try more(&count, "steps in one path")
      if take("[") {
        let place = token.column
        switch token.kind {
        case .integer(let text):
          guard let index = Int(text) else { throw unexpected("an index") }
          path.elements.append((.index(index), place))
        case .value(.int(let index)): path.elements.append((.index(Int(index)), place))
        case .string(let key), .value(.string(let key)): path.elements.append((.key(key), place))
        case .argument(let text): path.elements.append((Int(text).map { .index($0) } ?? .key(Array(text.utf8)), place))
        case .symbol("*"): path.elements.append((.all, place))
        case .word(let word) where word.uppercased() == "FIRST": path.elements.append((.index(0), place))
        case .word(let word) where word.uppercased() == "LAST": path.elements.append((.last, place))
        case .word(let word) where word.uppercased() == "SIZE": path.ending = .count
        default: throw unexpected("an index, a key, FIRST, LAST, SIZE or *")
        }
        advance()
        try expect("]")
        if case .count = path.ending { return path }
        continue
      }
      guard take(".") else { return path }
      guard case .operation(let name) = token.kind, name != "@links" && name != "@keys" && name != "@values" else {
        try appendName(to: &path)
        continue
      }
      if name == "@count" || name == "@size" {
        path.ending = .count
      } else if name == "@type" {
        path.ending = .type
      } else if let aggregate = Aggregate(rawValue: name) {
        advance()
        var property: String?
        if take(".") {
          switch token.kind {
          case .word(let name), .quotedName(let name): property = name
          default: throw unexpected("a property")
          }
          advance()
        }
        path.ending = .aggregate(aggregate, of: property)
        return path
      } else {
        throw unexpected("@count, @size, @min, @max, @sum, @avg, @links, @keys, @values or @type")
      }
      advance()
      return path
    }
  }

  private mutating func appendName(to path: inout PathSyntax) throws(InputError) {
    switch token.kind {
    case .word(let name), .quotedName(let name): path.elements.append((.name(name), token.column))
    case .keyPath(let names) where path.elements.isEmpty:
      path.elements = names.map { (.name($0), token.column) }
    case .operation(let name) where name == "@links" || name == "@keys" || name == "@values":
      path.elements.append((.name(name), token.column))
    default: throw unexpected("a property or a value")
    }
    advance()
  }

  // MARK: constants

  private mutating func constant() throws(InputError) -> ConstantSyntax? {
    let column = token.column
    func made(_ value: Value, text: String? = nil) -> ConstantSyntax {
      ConstantSyntax(kind: .value(value, text: text), column: column)
    }
    var sign = ""
    if case .symbol(let symbol) = token.kind, symbol == "-" || symbol == "+" {
      switch peek() {
      case .integer, .real: break
      case .word(let word) where ["INF", "INFINITY", "NAN"].contains(word.uppercased()): break
      default: return nil
      }
      sign = symbol == "-" ? "-" : ""
      advance()
    }
    switch token.kind {
    case .integer(let text):
      let number: Int64? =
        text.lowercased().hasPrefix("0x") ? Int64(sign + text.dropFirst(2), radix: 16) : Int64(sign + text)
      guard let number else { throw InputError(column: column, problem: "\(sign)\(text) is not a number of 64 bits") }
      advance()
      return made(.int(number), text: sign + text)
    case .real(let text):
      let digits = text.hasSuffix("f") ? String(text.dropLast()) : text
      let padded = digits.hasPrefix(".") ? "0" + digits : digits.hasSuffix(".") ? digits + "0" : digits
      guard let number = Double(sign + padded.replacingPointExponent) else { throw unexpected("a number") }
      advance()
      if text.hasSuffix("f") { return made(.float(Float(sign + padded.replacingPointExponent) ?? Float(number))) }
      return made(.double(number), text: sign + padded)
    case .string(let bytes):
      advance()
      return made(.string(bytes))
    case .value(.list): return nil
    case .value(let value):
      advance()
      return Self.constant(value, column)
    case .object(let table, let key):
      advance()
      return ConstantSyntax(kind: .stored(table, key), column: column)
    case .argument(let text):
      advance()
      return ConstantSyntax(kind: .text(text), column: column)
    case .word(let word): return try namedConstant(word, sign, column)
    default: return nil
    }
  }

  /// Wraps a value that is not written in the query, such as an argument.
  private static func constant(_ value: Value, _ column: Int) -> ConstantSyntax {
    ConstantSyntax(kind: .value(value, text: nil), column: column)
  }

  private mutating func namedConstant(_ word: String, _ sign: String, _ column: Int) throws(InputError)
    -> ConstantSyntax?
  {
    func made(_ value: Value) -> ConstantSyntax { ConstantSyntax(kind: .value(value, text: nil), column: column) }
    // A property may have such a name.
    if peek() == .symbol(".") || peek() == .symbol("[") { return nil }
    switch word.uppercased() {
    case "TRUE" where word == "true" || word == "TRUE":
      advance()
      return made(.bool(true))
    case "FALSE" where word == "false" || word == "FALSE":
      advance()
      return made(.bool(false))
    case "NULL", "NIL":
      advance()
      return made(.null)
    case "INF", "INFINITY":
      advance()
      return made(.double(sign == "-" ? -.infinity : .infinity))
    case "NAN":
      advance()
      return made(.double(.nan))
    case "OBJ" where peek() == .symbol("("):
      advance()
      advance()
      guard case .string(let name) = token.kind else { throw unexpected("the name of a class in quotes") }
      advance()
      try expect(",")
      guard let key = try constant(), case .value(let value, _) = key.kind else { throw unexpected("a primary key") }
      try expect(")")
      return ConstantSyntax(kind: .object(className: String(decoding: name, as: UTF8.self), value), column: column)
    case "BIN" where peek() == .symbol("("), "BINARY" where peek() == .symbol("("):
      advance()
      advance()
      guard case .string(let bytes) = token.kind else { throw unexpected("a string") }
      advance()
      try expect(")")
      return made(.data(bytes))
    default:
      guard word.hasPrefix("O"), let key = Int64(word.dropFirst()), key >= 0 else { return nil }
      advance()
      return ConstantSyntax(kind: .key(ObjKey(key)), column: column)
    }
  }

  // MARK: ordering

  /// True if SORT, DISTINCT or LIMIT follows, and not a property with such a name.
  private var beginsWithOrdering: Bool {
    peek() == .symbol("(") && ["SORT", "DISTINCT", "LIMIT"].contains(where: isKeyword)
  }

  private mutating func ordering() throws(InputError) -> [OrderingSyntax] {
    var ordering: [OrderingSyntax] = []
    while true {
      if takeKeyword("SORT") {
        try expect("(")
        var keys: [(path: PathSyntax, ascending: Bool)] = []
        repeat {
          let path = try path(nil, token.column)
          if takeKeyword("ASC", "ASCENDING") {
            keys.append((path, true))
          } else if takeKeyword("DESC", "DESCENDING") {
            keys.append((path, false))
          } else if [.symbol(","), .symbol(")")].contains(token.kind) {
            keys.append((path, true))
          } else {
            throw unexpected("ASC or DESC")
          }
        } while take(",")
        try expect(")")
        ordering.append(.sort(keys))
      } else if takeKeyword("DISTINCT") {
        try expect("(")
        var paths: [PathSyntax] = []
        repeat { paths.append(try path(nil, token.column)) } while take(",")
        try expect(")")
        ordering.append(.distinct(paths))
      } else if takeKeyword("LIMIT") {
        try expect("(")
        guard case .integer(let text) = token.kind, let count = Int(text) else { throw unexpected("a number") }
        advance()
        try expect(")")
        ordering.append(.limit(count))
      } else {
        return ordering
      }
    }
  }
}

extension String {
  /// Inserts a 0 between the decimal point and the exponent if there is no digit, as Swift requires one.
  fileprivate var replacingPointExponent: String {
    guard let point = firstIndex(of: "."), let next = index(point, offsetBy: 1, limitedBy: endIndex), next < endIndex,
      self[next] == "e" || self[next] == "E"
    else { return self }
    return String(self[...point]) + "0" + String(self[next...])
  }
}
