// A query with resolved names, as functions that are evaluated for each object.

import RealmPages

/// An expression with resolved names.
struct BoundExpression {
  /// The type of its values; nil for null and `@type`.
  var type: ValueType?
  var isConstant = false
  var isList = false
  var isTypeName = false
  var quantifier: Quantifier?
  /// The path, if the expression is just a path.
  var path: BoundPath?
  /// The property, if the expression is just a property.
  var property: Int? { path?.plainProperty }
  /// True if the expression always has exactly one value.
  var isSingle: Bool { path?.isSingle ?? !isList }
  /// The value, if it is the same for all objects.
  var constant: ValueView?
  /// The class of the links.
  var target: Table?
  var evaluate: (ObjectCursor) throws -> Operand
}

/// A predicate with resolved names.
struct BoundPredicate {
  /// Returns true if an object matches.
  let holds: (ObjectCursor) throws -> Bool
  /// All objects that can match, in ascending order, found through an index; nil if there is no such index.
  var candidates: (() throws -> [ObjKey]?)?
  /// True if the index lookup has already verified that each candidate matches.
  var areCandidatesSure = false
  /// A test of one property that every matching object passes.
  var scan: PropertyScan?

  /// Returns a predicate that matches if all of `parts` match.
  static func all(_ parts: [BoundPredicate]) -> BoundPredicate {
    BoundPredicate(
      holds: { (cursor) throws in
        for part in parts where try !part.holds(cursor) { return false }
        return true
      },
      candidates: parts.first { $0.candidates != nil }?.candidates,
      scan: quickest(parts.compactMap(\.scan))
        .map { PropertyScan(property: $0.property, test: $0.test, isAll: false) }
    )
  }

  /// Returns the fastest of the tests.
  private static func quickest(_ scans: [PropertyScan]) -> PropertyScan? {
    scans.first { if case .values = $0.test { false } else { true } } ?? scans.first
  }
}

/// A test of one property.
struct PropertyScan {
  let property: Int
  let test: ColumnTest
  /// True if all objects that pass the test match.
  var isAll = true
}

/// A cache of a predicate's results by object.
private final class Answers {
  private var known: [ObjKey: Bool] = [:]

  func answer(_ key: ObjKey, _ ask: (ObjKey) throws -> Bool) rethrows -> Bool {
    if let answer = known[key] { return answer }
    let answer = try ask(key)
    known[key] = answer
    return answer
  }
}

/// Resolves the names of a query.
struct QueryBinder {
  let snapshot: Snapshot
  /// The class that is queried.
  let table: Table
  /// In a subquery, the name of the variable for the object.
  let variable: String?

  // MARK: predicates

  func bind(_ predicate: PredicateSyntax) throws(InputError) -> BoundPredicate {
    switch predicate {
    case .constant(let holds): return BoundPredicate { _ in holds }
    case .not(let inner):
      let inner = try bind(inner)
      return BoundPredicate { (cursor) throws in try !inner.holds(cursor) }
    case .and(let parts):
      var bound: [BoundPredicate] = []
      for part in parts { bound.append(try bind(part)) }
      return .all(bound)
    case .or(let parts):
      var bound: [BoundPredicate] = []
      for part in parts { bound.append(try bind(part)) }
      let all = bound
      var result = BoundPredicate { (cursor) throws in
        for part in all where try part.holds(cursor) { return true }
        return false
      }
      let candidates = all.compactMap(\.candidates)
      if candidates.count == all.count { result.candidates = Self.union(candidates) }
      return result
    case .compare(let left, let comparison, let right, let options, let column):
      return try compare(left, comparison, right, options, column)
    case .between(let subject, let low, let high, let column):
      let bound = try bind(subject, like: nil)
      if let path = bound.path, path.isListOfValues, bound.quantifier != .all {
        throw InputError(
          column: column,
          problem: "BETWEEN needs ALL before a list, because other elements could meet the second bound"
        )
      }
      return .all([
        try compare(subject, .greaterOrEqual, .constant(low), [], column),
        try compare(subject, .lessOrEqual, .constant(high), [], column),
      ])
    case .within(let path, let shape, let column): return try within(path, shape, column)
    }
  }

  /// Binds GEOWITHIN: a path to embedded objects with the properties `type` and `coordinates` of GeoJSON points.
  private func within(_ syntax: PathSyntax, _ shape: GeoShape, _ column: Int) throws(InputError) -> BoundPredicate {
    let path = try BoundPath(syntax, from: table, variable: variable, in: snapshot)
    guard let target = path.linkTarget, path.type == .link else {
      throw InputError(column: column, problem: "GEOWITHIN needs a path to objects with GeoJSON points")
    }
    guard let type = target.columns.firstIndex(named: "type", \.name), target.columns[type].type == .string,
      let coordinates = target.columns.firstIndex(named: "coordinates", \.name), target.kind == .embedded,
      target.columns[type].collection == nil, target.columns[coordinates].collection == .list,
      target.columns[coordinates].type == .double
    else {
      throw InputError(
        column: column,
        problem: "GEOWITHIN needs embedded objects with a string \"type\" and a list of doubles \"coordinates\""
      )
    }
    let region: GeoRegion
    do { region = try GeoRegion(shape) } catch {
      throw InputError(column: column, problem: error.problem)
    }
    path.takeEachOnce()
    let cursor = ObjectCursor(target)
    func contains(_ key: ObjKey) throws -> Bool {
      guard try cursor.seek(key), case .string(let name) = try cursor.value(type),
        String(decoding: name.bytes, as: UTF8.self).lowercased() == "point",
        case .list(var list) = try cursor.value(coordinates), list.count >= 2,
        case .double(let longitude) = try list.value(at: 0), case .double(let latitude) = try list.value(at: 1)
      else { return false }
      return region.contains(GeoPosition(longitude: longitude, latitude: latitude))
    }
    return BoundPredicate { (object) throws in
      let keys = try path.objects(object)
      // As in Realm, ALL is false if there are no objects.
      return switch syntax.quantifier ?? .any {
      case .any: try keys.contains(where: contains)
      case .all: try !keys.isEmpty && keys.allSatisfy(contains)
      case .none: try !keys.contains(where: contains)
      }
    }
  }

  private static func union(
    _ parts: [() throws -> [ObjKey]?]
  ) -> () throws -> [ObjKey]? {
    { () throws in
      var keys: Set<ObjKey> = []
      for part in parts {
        guard let found = try part() else { return nil }
        keys.formUnion(found)
      }
      return keys.sorted()
    }
  }

  private func compare(
    _ leftSyntax: ExpressionSyntax,
    _ comparison: Comparison,
    _ rightSyntax: ExpressionSyntax,
    _ text: TextOptions,
    _ column: Int
  ) throws(InputError) -> BoundPredicate {
    let left: BoundExpression, right: BoundExpression
    if Self.isConstant(leftSyntax) {
      if Self.isConstant(rightSyntax) { throw InputError(column: column, problem: "two constants are compared") }
      right = try bind(rightSyntax, like: nil)
      left = try bind(leftSyntax, like: right)
    } else {
      left = try bind(leftSyntax, like: nil)
      do { right = try bind(rightSyntax, like: left) } catch {
        throw error.adding(hint: quotesHint(rightSyntax))
      }
    }
    try check(left, comparison, right, text, column)
    var rightQuantifier = right.quantifier
    if comparison == .isIn && rightQuantifier == nil { rightQuantifier = .any }
    if right.isConstant, let path = left.path, path.isOneStep, left.quantifier == nil || left.quantifier == .any {
      // As in Realm, comparing links with a list of objects means comparing them with any of the objects.
      if comparison == .equal || comparison == .notEqual {
        rightQuantifier = rightQuantifier ?? .any
        path.takeNullEntries()
      }
    }
    let (leftQuantifier, quantifier) = (left.quantifier, rightQuantifier)
    let areListsCompared = leftQuantifier == nil && quantifier == nil && !left.isSingle && !right.isSingle
    if !areListsCompared { for path in [left.path, right.path] { path?.takeEachOnce() } }
    var options = ComparisonOptions(
      text: text,
      isPlain: left.property != nil && right.isConstant
        && (right.constant != nil || rightQuantifier == .any && (comparison == .equal || comparison == .isIn)),
      areTypes: left.isTypeName
    )
    options.isNullLeast = options.isPlain && left.type == .string
    options.isNaNUnordered = options.isPlain && left.type != .mixed
    // As in Realm:
    if text.contains(.ignoresCase), comparison == .contains, left.type == .data { options.isNullInNull = false }
    var bound = BoundPredicate { (cursor) throws in
      comparison.holds(
        try left.evaluate(cursor),
        leftQuantifier,
        try right.evaluate(cursor),
        quantifier,
        options
      )
    }
    if let property = left.property, let constant = right.constant {
      // The view lives as long as the expression that it belongs to.
      func holds(_ value: ValueView) -> Bool {
        withExtendedLifetime(right) { comparison.holds(value, constant, options) }
      }
      bound = BoundPredicate { (cursor) throws in holds(try cursor.value(property)) }
      let part = !text.isEmpty ? nil : comparison.neededPart(of: constant)
      let test = ColumnTest(table.columns[property], comparison, constant) ?? part.map { .texts(with: $0, holds) }
      bound.scan = PropertyScan(property: property, test: test ?? .values(holds))
    }
    if text.isEmpty && (comparison == .equal || comparison == .isIn) {
      bound.candidates = candidates(left, right, comparison) ?? candidates(right, left, comparison)
      // Comparisons with a Mixed follow more rules than the index supports.
      bound.areCandidatesSure =
        (left.property != nil || right.property != nil) && left.type != .mixed && right.type != .mixed
    }
    return bound
  }

  /// Returns a hint for a word on the right side that is not a property but may be an unquoted string.
  private func quotesHint(_ expression: ExpressionSyntax) -> String {
    guard case .path(let path) = expression, path.elements.count == 1, case .name(let name) = path.elements[0].element,
      table.columns.firstIndex(named: name, \.name) == nil
    else { return "" }
    return "; if it is a string, write it in quotes: '\(name)'"
  }

  /// Returns a hint for comparing a link with a value: compare a property of the target instead.
  private func linkHint(_ side: BoundExpression) -> String? {
    guard side.type == .link, let target = side.target, let path = side.path else { return nil }
    let column = target.primaryKey ?? target.columns.first { $0.collection == nil && $0.type == .string }
    guard let column = column ?? target.columns.first else { return nil }
    let names = (path.names + [column.name]).joined(separator: ".")
    return "; compare a property of what it leads to, such as \(names)"
  }

  private func check(
    _ left: BoundExpression,
    _ comparison: Comparison,
    _ right: BoundExpression,
    _ text: TextOptions,
    _ column: Int
  ) throws(InputError) {
    func refuse(_ problem: String) -> InputError { InputError(column: column, problem: problem) }
    func isList(_ side: BoundExpression) -> Bool { side.path?.canBeQuantified ?? side.isList }
    for case let (side, quantifier?) in [(left, left.quantifier), (right, right.quantifier)]
    where quantifier == .any ? side.path?.propertyAlongLinks != nil : !isList(side) {
      throw refuse("ANY, ALL and NONE need a list")
    }
    if comparison == .isIn && !isList(right) { throw refuse("IN needs a list after it") }
    for (side, other) in [(left, right), (right, left)]
    where side.path?.isListOfLinks ?? false && other.constant?.isNull ?? false {
      throw refuse("a list of links holds no nulls; count its links with @count, or test each object in a SUBQUERY")
    }
    if left.isTypeName != right.isTypeName { throw refuse("@type can only be compared with the name of a type") }
    if left.isTypeName && comparison != .equal && comparison != .notEqual && comparison != .isIn {
      throw refuse("@type can only be compared with ==, != and IN")
    }
    if !left.isTypeName, [left.type, right.type].allSatisfy({ $0 == nil || $0 == .link }) {
      switch comparison {
      case .equal, .notEqual, .isIn: break
      default: throw refuse("links can only be compared with ==, != and IN")
      }
    }
    guard let a = left.type, let b = right.type else {
      if comparison.isOfTexts, !left.isTypeName {
        for side in [left.type, right.type].compactMap({ $0 }) where !Self.isText(side) {
          throw refuse("\(comparison.rawValue) compares strings")
        }
      }
      if comparison.isOfTexts || !text.isEmpty, left.type == .mixed, right.constant?.isNull ?? false {
        throw refuse("\(comparison.rawValue) compares strings, not null")
      }
      return
    }
    if !Self.areComparable(a, b) {
      let isDate = (a == .date || b == .date) && (left.isConstant || right.isConstant)
      let hint = isDate ? "; write it as 2024-05-01T10:00:00Z or 2024-05-01" : ""
      throw refuse(
        "\(Self.name(a)) cannot be compared with \(Self.name(b))\(hint)\(linkHint(left) ?? linkHint(right) ?? "")"
      )
    }
    if comparison.isOfTexts && !Self.isText(b) {
      throw refuse("\(comparison.rawValue) compares strings, not \(Self.name(b))")
    }
    if !text.isEmpty && !Self.isText(b) {
      throw refuse("\(comparison.rawValue)[\(text.letters)] compares strings, not \(Self.name(b))")
    }
    if a == .link, let target = left.target, let other = right.target, target.key != other.key {
      throw refuse("a link to \(target.title) cannot be compared with one to \(other.title)")
    }
  }

  private static func isText(_ type: ValueType) -> Bool { type == .string || type == .data || type == .mixed }

  private static func isNumber(_ type: ValueType) -> Bool {
    switch type {
    case .int, .float, .double, .decimal128: true
    default: false
    }
  }

  private static func areComparable(_ a: ValueType, _ b: ValueType) -> Bool {
    a == b || a == .mixed || b == .mixed || isNumber(a) && isNumber(b)
  }

  private static func name(_ type: ValueType) -> String {
    switch type {
    case .objectID: "an object id"
    case .int: "an integer"
    case .link: "a link"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .decimal128: "a decimal"
    default: "a \(type)"
    }
  }

  // MARK: indexes

  /// Returns a function that finds the candidates for `property == constant` or `property IN constants` through an
  /// index; nil if there is no suitable index.
  private func candidates(
    _ expression: BoundExpression,
    _ constant: BoundExpression,
    _ comparison: Comparison
  ) -> (() throws -> [ObjKey]?)? {
    guard let path = expression.path, let index = path.propertyAlongLinks, constant.isConstant,
      constant.type == nil || constant.type == expression.type || expression.type == .mixed,
      constant.quantifier == nil || constant.quantifier == .any,
      !constant.isList || comparison == .isIn || constant.quantifier == .any || !expression.isList
    else { return nil }
    let target = path.table
    guard target.primaryKeyIndex == index || target.columns[index].index == .general else { return nil }
    if path.plainProperty != nil, let value = constant.constant {
      return { () throws in try withExtendedLifetime(constant) { try target.objectKeys(where: index, is: value) } }
    }
    let cursor = ObjectCursor(table)
    return { () throws in
      var keys: Set<ObjKey> = []
      for value in try constant.evaluate(cursor).values {
        guard let found = try target.objectKeys(where: index, is: value),
          let origins = try path.origins(of: found, value)
        else { return nil }
        keys.formUnion(origins)
      }
      return keys.sorted()
    }
  }

  // MARK: expressions

  private static func isConstant(_ expression: ExpressionSyntax) -> Bool {
    switch expression {
    case .constant, .list, .day: true
    case .operation(_, let a, let b, _): isConstant(a) && isConstant(b)
    case .path, .subquery: false
    }
  }

  private func bind(_ expression: ExpressionSyntax, like other: BoundExpression?) throws(InputError) -> BoundExpression
  {
    switch expression {
    case .constant(let constant):
      let value = try held(constant, other)
      var bound = BoundExpression(type: value.view.type, isConstant: true, isTypeName: other?.isTypeName ?? false) {
        (_) throws in .one(value.view)
      }
      bound.constant = value.view
      return bound
    case .list(let constants, let quantifier, _):
      var values: [HeldValue] = []
      for constant in constants {
        let value = try held(constant, other)
        if other?.type == .link, let type = value.view.type, type != .link {
          throw InputError(column: constant.column, problem: "\(Self.name(type)) cannot be compared with a link")
        }
        values.append(value)
      }
      let types = Set(values.compactMap(\.view.type))
      let held = values, views = values.map(\.view)
      return BoundExpression(
        type: types.count == 1 ? types.first : types.isEmpty ? nil : other?.type,
        isConstant: true,
        isList: true,
        isTypeName: other?.isTypeName ?? false,
        quantifier: quantifier ?? (other?.isSingle ?? false ? .any : nil)
      ) { (_) throws in withExtendedLifetime(held) { .many(views) } }
    case .day(let date, let subtraction):
      return try bind(other?.type == .date ? .constant(date) : subtraction, like: other)
    case .path(let syntax): return try bind(syntax)
    case .operation(let operation, let left, let right, let column):
      return try bind(operation, left, right, column, like: other)
    case .subquery(let path, let variable, let predicate, let column):
      let list = try BoundPath(path, from: table, variable: self.variable, in: snapshot)
      guard list.isListOfObjects else { throw InputError(column: column, problem: "SUBQUERY needs a list of links") }
      let inner = try QueryBinder(snapshot: snapshot, table: list.table, variable: variable).bind(predicate)
      let cursor = ObjectCursor(list.table)
      func holds(_ key: ObjKey) throws -> Bool { try cursor.seek(key) && inner.holds(cursor) }
      // A nested SUBQUERY visits the same objects repeatedly, many times as often with each level.
      let answers = self.variable == nil ? nil : Answers()
      return BoundExpression(type: .int) { (object) throws in
        var count: Int64 = 0
        for key in try list.objects(object) where try answers?.answer(key, holds) ?? holds(key) { count += 1 }
        return .one(.int(count))
      }
    }
  }

  private func bind(_ syntax: PathSyntax) throws(InputError) -> BoundExpression {
    let path = try BoundPath(syntax, from: table, variable: variable, in: snapshot)
    var bound = BoundExpression(type: path.type, isList: path.isList, isTypeName: path.isType) {
      (cursor) throws in try path.operand(cursor)
    }
    bound.quantifier = syntax.quantifier
    bound.path = path
    if path.type == .link { bound.target = path.linkTarget }
    return bound
  }

  private func bind(
    _ operation: Unicode.Scalar,
    _ leftSyntax: ExpressionSyntax,
    _ rightSyntax: ExpressionSyntax,
    _ column: Int,
    like other: BoundExpression?
  ) throws(InputError) -> BoundExpression {
    let left: BoundExpression, right: BoundExpression
    if Self.isConstant(leftSyntax) && !Self.isConstant(rightSyntax) {
      right = try bind(rightSyntax, like: nil)
      left = try bind(leftSyntax, like: right)
    } else {
      left = try bind(leftSyntax, like: Self.isConstant(leftSyntax) ? other : nil)
      right = try bind(rightSyntax, like: left.isConstant ? other : left)
    }
    for side in [left, right] {
      guard let type = side.type, Self.isNumber(type) || type == .mixed else {
        throw InputError(column: column, problem: "\(operation) calculates with numbers")
      }
    }
    if left.isList && right.isList { throw InputError(column: column, problem: "\(operation) cannot take two lists") }
    let order: [ValueType] = [.int, .float, .double, .decimal128, .mixed]
    let rank = max(order.firstIndex(of: left.type ?? .int) ?? 0, order.firstIndex(of: right.type ?? .int) ?? 0)
    return BoundExpression(
      type: order[rank],
      isConstant: left.isConstant && right.isConstant,
      isList: left.isList || right.isList,
      quantifier: left.quantifier ?? right.quantifier
    ) { (cursor) throws in
      switch (try left.evaluate(cursor), try right.evaluate(cursor)) {
      case (.one(let a), let b): return b.mapped { Arithmetic.combine(operation, a, $0) }
      case (let a, .one(let b)): return a.mapped { Arithmetic.combine(operation, $0, b) }
      case (.many, _), (.collections, _): return .one(.null)
      }
    }
  }

  // MARK: constants

  /// Returns a constant converted to the type that it is compared with, where possible.
  private func held(_ constant: ConstantSyntax, _ other: BoundExpression?) throws(InputError) -> HeldValue {
    func refuse(_ problem: String) -> InputError { InputError(column: constant.column, problem: problem) }
    switch constant.kind {
    case .stored(let table, let key):
      if let target = other?.target, target.key != table {
        throw refuse("the links lead to \(target.title), not to the table with key \(table.value)")
      }
      return HeldValue(.link(table, key))
    case .text(let text): return HeldValue(try argument(text, other, refuse))
    case .key(let key):
      guard let target = other?.target else { throw refuse("an object can only be compared with a link") }
      return HeldValue(.link(target.key, key))
    case .object(let className, let value):
      let found: Table?, object: ObjKey?
      guard let key = PrimaryKey(value) else { throw refuse("a value of a type that primary keys cannot have") }
      do {
        if let table = try snapshot.table(named: Table.classPrefix + className) {
          found = table
        } else {
          found = try snapshot.table(named: className)
        }
        if let found { object = try found.objectKey(primaryKey: key) } else { object = nil }
      } catch { throw refuse(error.description) }
      guard let found else { throw refuse("there is no class \(className)") }
      if let target = other?.target, target.key != found.key {
        throw refuse("the links lead to \(target.title), not to \(className)")
      }
      return HeldValue(object.map { .link(found.key, $0) } ?? .null)
    // A link is compared as a link to the target class of the other side.
    case .value(.link(let table, let key), _): return HeldValue(.link(other?.target?.key ?? table, key))
    case .value(let value, let text):
      if other?.isTypeName ?? false {
        guard case .string(let name) = value, let type = TypeName(String(decoding: name, as: UTF8.self)) else {
          throw refuse("not the name of a type; names are \(TypeName.names.joined(separator: ", "))")
        }
        return HeldValue(type.value)
      }
      return HeldValue(Self.converted(value, text, to: other?.type))
    }
  }

  /// Returns an argument converted to the type that it is compared with.
  private func argument(
    _ text: String,
    _ other: BoundExpression?,
    _ refuse: (String) -> InputError
  ) throws(InputError) -> Value {
    if other?.isTypeName ?? false {
      guard let type = TypeName(text) else {
        throw refuse("'\(text)' is not the name of a type; names are \(TypeName.names.joined(separator: ", "))")
      }
      return type.value
    }
    guard let type = other?.type else { return .text(text) }
    if type == .link {
      if text == "null" { return .null }
      guard let target = other?.target else { throw refuse("an object can only be compared with a link") }
      guard let primaryKey = target.primaryKey else {
        throw refuse("objects of \(target.title) have no primary key that an argument can name")
      }
      guard let value = Self.value(text, primaryKey.type), let key = PrimaryKey(value) else {
        throw refuse("argument '\(text)' is not a primary key of \(target.title)")
      }
      let object: ObjKey?
      do { object = try target.objectKey(primaryKey: key) } catch {
        throw refuse(error.description)
      }
      return object.map { .link(target.key, $0) } ?? .null
    }
    guard let value = Self.value(text, type) else { throw refuse("argument '\(text)' is not \(Self.name(type))") }
    return value
  }

  /// Returns text converted to a type; nil if that is not possible. `null` means null, except in string comparisons.
  private static func value(_ text: String, _ type: ValueType) -> Value? {
    switch type {
    case .string: return .text(text)
    case .data: return .data(Array(text.utf8))
    case .mixed: return QueryParser.constant(text) ?? .text(text)
    case _ where text == "null": return .null
    case .bool: return text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
    case .int: return Int64(text).map { .int($0) } ?? Double(text).map { .double($0) }
    case .float, .double: return Double(text).map { .double($0) }
    case .decimal128:
      guard let number = Double(text) else { return nil }
      return converted(.double(number), text, to: .decimal128)
    case .date: return Timestamp(lenient: text.utf8).map { .date($0) }
    case .objectID: return ObjectID(text: Array(text.utf8)[...]).map { .objectID($0) }
    case .uuid: return UniqueID(text: Array(text.utf8)[...]).map { .uuid($0) }
    case .link: return nil
    }
  }

  private static func converted(_ value: Value, _ text: String?, to type: ValueType?) -> Value {
    switch (value, type) {
    case (.int(let number), .decimal128): .decimal128(Decimal128(parsing: String(number)))
    case (.double(let number), .decimal128): .decimal128(Decimal128(parsing: text ?? String(number)))
    case (.double(let number), .float): .float(Float(number))
    case (.double(let number), .int): Int64(exactly: number).map { .int($0) } ?? value
    case (.float(let number), .int): Int64(exactly: number).map { .int($0) } ?? value
    case (.string(let bytes), .int): Int64(String(decoding: bytes, as: UTF8.self)).map { .int($0) } ?? value
    case (.string(let bytes), .float): Float(String(decoding: bytes, as: UTF8.self)).map { .float($0) } ?? value
    case (.string(let bytes), .double): Double(String(decoding: bytes, as: UTF8.self)).map { .double($0) } ?? value
    case (.string(let bytes), .data): .data(bytes)
    case (.string(let bytes), .date): Timestamp(lenient: bytes).map { .date($0) } ?? value
    default: value
    }
  }
}

extension ColumnTest {
  /// Creates the test equivalent to comparing a property with a constant; nil unless both are integers or both doubles.
  fileprivate init?(_ column: Column, _ comparison: Comparison, _ constant: ValueView) {
    if column.collection != nil { return nil }
    switch (column.type, constant) {
    case (.int, .int(let number)):
      switch comparison {
      case .equal: self = .ints(number...number, isInverted: false)
      case .notEqual: self = .ints(number...number, isInverted: true)
      case .lessOrEqual: self = .ints(.min...number, isInverted: false)
      case .greaterOrEqual: self = .ints(number...(.max), isInverted: false)
      case .less where number > .min: self = .ints(.min...number - 1, isInverted: false)
      case .greater where number < .max: self = .ints(number + 1...(.max), isInverted: false)
      default: return nil
      }
    case (.double, .double(let number)) where number.isFinite:
      let infinity = Double.infinity
      switch comparison {
      case .equal: self = .doubles(number...number, isInverted: false)
      case .notEqual: self = .doubles(number...number, isInverted: true)
      case .lessOrEqual: self = .doubles(-infinity...number, isInverted: false)
      case .greaterOrEqual: self = .doubles(number...infinity, isInverted: false)
      case .less: self = .doubles(-infinity...number.nextDown, isInverted: false)
      case .greater: self = .doubles(number.nextUp...infinity, isInverted: false)
      default: return nil
      }
    default: return nil
    }
  }
}

extension Comparison {
  /// Bytes that a string must contain for the comparison with `constant` to be true; nil if there are none.
  fileprivate func neededPart(of constant: ValueView) -> [UInt8]? {
    guard case .string(let view) = constant else { return nil }
    let bytes = view.bytes
    let part =
      switch self {
      case .equal, .beginsWith, .endsWith, .contains: bytes[...]
      case .like: bytes.split { TextMatch.isWildcard($0) }.max { $0.count < $1.count } ?? []
      default: ArraySlice<UInt8>()
      }
    return part.isEmpty ? nil : Array(part)
  }
}
