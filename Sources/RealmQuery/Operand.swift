// The result of an expression for one object, and the comparison of two results.

import RealmPages

/// The values of an expression for one object.
enum Operand {
  case one(ValueView)
  /// The values of one list.
  case many([ValueView])
  /// The values of several collections. Each collection is compared separately; one match is enough.
  case collections([[ValueView]])

  /// Creates the values of any number of collections; without any, an empty list.
  init(collections: [[ValueView]]) {
    self = collections.count > 1 ? .collections(collections) : .many(collections.first ?? [])
  }

  /// All values of all collections.
  var values: [ValueView] {
    switch self {
    case .one(let value): [value]
    case .many(let values): values
    case .collections(let collections): collections.flatMap { $0 }
    }
  }

  /// The first value; nil if there is none.
  var first: ValueView? {
    switch self {
    case .one(let value): value
    case .many(let values): values.first
    case .collections(let collections): collections.lazy.compactMap(\.first).first
    }
  }

  func mapped(_ body: (ValueView) -> ValueView) -> Operand {
    switch self {
    case .one(let value): .one(body(value))
    case .many(let values): .many(values.map(body))
    case .collections(let collections): .collections(collections.map { $0.map(body) })
    }
  }
}

/// Options for comparing two values, in addition to the comparison operator.
struct ComparisonOptions {
  /// The differences to ignore in strings.
  var text: TextOptions = []
  /// True if a property is compared with a constant. Every string then contains null.
  var isPlain = false
  /// True if NaN follows IEEE 754, as when a property of a fixed type is compared with a constant.
  var isNaNUnordered = false
  /// True if null sorts before all other values, as when a string property is compared with a constant.
  var isNullLeast = false
  /// True if a null string contains null, when a property is compared with a constant.
  var isNullInNull = true
  /// True if the values are types, as bit sets. Types with a common bit are equal.
  var areTypes = false
}

extension Comparison {
  /// Compares the left side with the right side, for all values, any or none.
  func holds(
    _ left: Operand,
    _ leftQuantifier: Quantifier?,
    _ right: Operand,
    _ rightQuantifier: Quantifier?,
    _ options: ComparisonOptions
  ) -> Bool {
    switch (left, right) {
    case (.collections(let collections), _):
      return collections.contains { holds(.many($0), leftQuantifier, right, rightQuantifier, options) }
    case (_, .collections(let collections)):
      return collections.contains { holds(left, leftQuantifier, .many($0), rightQuantifier, options) }
    case (.many(let a), .many(let b)) where leftQuantifier == nil && rightQuantifier == nil && self != .isIn:
      // Two lists are compared element by element.
      if a.count != b.count { return self == .notEqual }
      return zip(a, b).allSatisfy { holds($0, $1, options) }
    default:
      return Self.quantify(left, leftQuantifier) { a in
        Self.quantify(right, rightQuantifier) { b in holds(a, b, options) }
      }
    }
  }

  private static func quantify(_ operand: Operand, _ quantifier: Quantifier?, _ body: (ValueView) -> Bool) -> Bool {
    if quantifier != Quantifier.none, case .one(let value) = operand { return body(value) }
    return switch quantifier ?? .any {
    case .any: operand.values.contains(where: body)
    case .all: operand.values.allSatisfy(body)
    case .none: !operand.values.contains(where: body)
    }
  }

  /// Compares two values.
  func holds(_ a: ValueView, _ b: ValueView, _ options: ComparisonOptions) -> Bool {
    if isOfTexts { return holdsForTexts(a, b, options) }
    if options.areTypes, case .int(let a) = a, case .int(let b) = b { return (a & b != 0) == (self != .notEqual) }
    switch (a.isNull, b.isNull) {
    case (true, true): return self == .equal || self == .isIn || self == .lessOrEqual || self == .greaterOrEqual
    case (true, false):
      return self == .notEqual || options.isNullLeast && (self == .less || self == .lessOrEqual)
    case (false, true):
      return self == .notEqual || options.isNullLeast && (self == .greater || self == .greaterOrEqual)
    case (false, false): break
    }
    guard a.isComparable(b) else { return self == .notEqual }
    if !options.text.isEmpty, let a = unsafe a.textBytes, let b = unsafe b.textBytes {
      let isEqual = unsafe TextMatch.holds(.equal, a, b, options.text)
      return self == .notEqual ? !isEqual : isEqual
    }
    // As in Realm, NaN is less than all numbers and equal to itself, but a property compared with a constant of its own
    // type follows IEEE 754.
    if options.isNaNUnordered, a.isNaN || b.isNaN, a.hasFloatType(of: b) { return self == .notEqual }
    let order = a.order(b)
    return switch self {
    case .equal, .isIn: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    default: false
    }
  }

  private func holdsForTexts(_ a: ValueView, _ b: ValueView, _ options: ComparisonOptions) -> Bool {
    if a.isNull || b.isNull {
      if self == .like { return a.isNull && b.isNull }
      // Every string begins with, ends with and contains null. So does null, if a property is compared with a constant.
      if options.isPlain { return unsafe b.isNull && (a.isNull ? options.isNullInNull : a.textBytes != nil) }
      return self == .contains && b.isNull && !a.isNull
    }
    guard a.isComparable(b), let text = unsafe a.textBytes, let part = unsafe b.textBytes else { return false }
    return unsafe TextMatch.holds(self, text, part, options.text)
  }
}

extension ValueView {
  var isNull: Bool {
    switch self {
    case .null: true
    // Links to objects that do not exist yet appear as null.
    case .link(_, let key): key.value < 0
    default: false
    }
  }

  var isNaN: Bool {
    switch self {
    case .float(let value): value.isNaN
    case .double(let value): value.isNaN
    case .decimal128(let value): value.high & 0x7C00_0000_0000_0000 == 0x7C00_0000_0000_0000
    default: false
    }
  }

  /// True if both values are floats, or both are doubles.
  func hasFloatType(of other: ValueView) -> Bool {
    switch (self, other) {
    case (.float, .float), (.double, .double): true
    default: false
    }
  }

  /// The bytes of a string or binary.
  var textBytes: TextMatch.Bytes? {
    switch self {
    case .string(let view), .data(let view): unsafe view.unsafeBytes
    default: nil
    }
  }

  /// The kind of value. Only values of the same kind can be compared.
  private var kind: Int {
    switch self {
    case .null: 0
    case .int, .float, .double, .decimal128: 1
    case .bool: 2
    case .string: 3
    case .data: 4
    case .date: 5
    case .objectID: 6
    case .uuid: 7
    case .link: 8
    case .list, .set: 9
    case .dictionary: 10
    }
  }

  func isComparable(_ other: ValueView) -> Bool { kind == other.kind }
}
