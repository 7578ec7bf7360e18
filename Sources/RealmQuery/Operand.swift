// What an expression gives for one object, and how two of that are compared.

import RealmPages

/// One value, or the values of a list.
enum Operand {
  case one(ValueView)
  case many([ValueView])

  /// Calls `body` with each value until it returns true; whether it did.
  func contains(_ body: (ValueView) throws -> Bool) throws -> Bool {
    switch self {
    case .one(let value): return try body(value)
    case .many(let values):
      for value in values where try body(value) { return true }
      return false
    }
  }

  func mapped(_ body: (ValueView) throws -> ValueView) throws -> Operand {
    switch self {
    case .one(let value): return .one(try body(value))
    case .many(let values):
      var result: [ValueView] = []
      for value in values { result.append(try body(value)) }
      return .many(result)
    }
  }
}

/// How two values are compared, beyond what the comparison itself says.
struct ComparisonOptions {
  /// What does not count in texts.
  var text: TextOptions = []
  /// A property stands against a constant. Then a text that is null comes before all others, and a part that is null is
  /// in every text.
  var isPlain = false
  /// The values are types, as sets of bits: those with a common bit are equal.
  var areTypes = false
}

extension Comparison {
  /// Compares what stands on the left with what stands on the right, for all values, any or none.
  func holds(
    _ left: Operand,
    _ leftQuantifier: Quantifier?,
    _ right: Operand,
    _ rightQuantifier: Quantifier?,
    _ options: ComparisonOptions
  ) -> Bool {
    switch (left, right) {
    case (.one(let a), .one(let b)): return holds(a, b, options)
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
    switch operand {
    case .one(let value): return body(value)
    case .many(let values):
      switch quantifier ?? .any {
      case .any: return values.contains(where: body)
      case .all: return values.allSatisfy(body)
      case .none: return !values.contains(where: body)
      }
    }
  }

  /// Compares two values.
  func holds(_ a: ValueView, _ b: ValueView, _ options: ComparisonOptions) -> Bool {
    if isOfTexts { return holdsForTexts(a, b, options) }
    if options.areTypes, case .int(let a) = a, case .int(let b) = b { return (a & b != 0) == (self != .notEqual) }
    switch (a.isNull, b.isNull) {
    case (true, true): return self == .equal || self == .isIn || self == .lessOrEqual || self == .greaterOrEqual
    case (true, false):
      if options.isPlain, case .string = b, self == .less || self == .lessOrEqual { return true }
      return self == .notEqual
    case (false, true): return self == .notEqual
    case (false, false): break
    }
    guard a.isComparable(b) else { return self == .notEqual }
    if !options.text.isEmpty, let a = unsafe a.textBytes, let b = unsafe b.textBytes {
      let isEqual = unsafe TextMatch.holds(.equal, a, b, options.text)
      return self == .notEqual ? !isEqual : isEqual
    }
    if a.isNaN || b.isNaN { return self == .notEqual }
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
      if a.isNull && b.isNull { return true }
      // Every text begins and ends with nothing, and holds it.
      return unsafe options.isPlain && b.isNull && self != .like && a.textBytes != nil
    }
    guard a.isComparable(b), let text = unsafe a.textBytes, let part = unsafe b.textBytes else { return false }
    return unsafe TextMatch.holds(self, text, part, options.text)
  }
}

extension ValueView {
  var isNull: Bool {
    switch self {
    case .null: true
    // Links to objects that do not exist yet do not show.
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

  /// The bytes of a string or binary.
  var textBytes: TextMatch.Bytes? {
    switch self {
    case .string(let view), .data(let view): unsafe view.unsafeBytes
    default: nil
    }
  }

  /// The kind of value; those of one kind can be compared.
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
