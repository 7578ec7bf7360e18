// Arithmetic on numbers of all types, and aggregates over lists of numbers.

import RealmPages

/// Computes an aggregate of numbers added one by one.
struct Accumulator {
  private let aggregate: Aggregate
  private let type: ValueType
  private let takesNaN: Bool
  private var count: Int64 = 0
  private var extreme: ValueView?
  private var whole: Int64 = 0
  /// True if a sum of integers exceeded 64 bits and wrapped.
  private(set) var hasOverflowed = false
  private var real = 0.0
  private var decimal = Decimal128(parsing: "0")

  /// Creates an accumulator without values. `type` is the type of the result. If `takesNaN` is true, NaN of the types
  /// float and double is a value: less than all others, and any sum with it is NaN.
  init(_ aggregate: Aggregate, type: ValueType, takesNaN: Bool = false) {
    (self.aggregate, self.type, self.takesNaN) = (aggregate, type, takesNaN)
  }

  /// An empty accumulator of the same kind.
  var emptied: Accumulator { Accumulator(aggregate, type: type, takesNaN: takesNaN) }

  /// Adds a value. Values other than numbers are used only for the minimum and maximum.
  mutating func add(_ value: ValueView) {
    if value.isNaN {
      if case .decimal128 = value { return }
      if !takesNaN { return }
    }
    switch aggregate {
    case .min, .max:
      if value.isNull { return }
      if let extreme, value.order(extreme) * (aggregate == .min ? 1 : -1) >= 0 { return }
      extreme = value
    case .sum, .average:
      switch value {
      case .int(let number):
        let (sum, overflow) = whole.addingReportingOverflow(number)
        whole = sum
        if overflow, aggregate == .sum, type == .int { hasOverflowed = true }
        real += Double(number)
      case .float(let number): real += Double(number)
      case .double(let number): real += number
      case .decimal128: break
      default: return
      }
      if type == .decimal128 { decimal = .combine("+", decimal, Decimal128(comparing: value)) }
      count += 1
    }
  }

  /// The aggregate; null for the minimum, maximum or average of no values.
  var result: ValueView {
    switch aggregate {
    case .min, .max: return extreme ?? .null
    case .sum:
      switch type {
      case .int: return .int(whole)
      case .decimal128: return .decimal128(decimal)
      default: return .double(real)
      }
    case .average:
      if count == 0 { return .null }
      if type == .decimal128 {
        return .decimal128(.combine("/", decimal, Decimal128(comparing: .int(count))))
      }
      return .double(real / Double(count))
    }
  }
}

enum Arithmetic {
  /// Combines `a` and `b`; null unless both are numbers. An integer divided by zero yields the largest integer, or the
  /// smallest if the dividend is negative.
  static func combine(_ operation: Unicode.Scalar, _ a: ValueView, _ b: ValueView) -> ValueView {
    switch (a, b) {
    case (.int(let a), .int(let b)):
      switch operation {
      case "+": return .int(a &+ b)
      case "-": return .int(a &- b)
      case "*": return .int(a &* b)
      default: return b == 0 ? .int(a < 0 ? .min : .max) : .int(a.dividedReportingOverflow(by: b).partialValue)
      }
    case (.decimal128, .int), (.decimal128, .float), (.decimal128, .double), (.decimal128, .decimal128),
      (.int, .decimal128), (.float, .decimal128), (.double, .decimal128):
      return .decimal128(.combine(operation, Decimal128(comparing: a), Decimal128(comparing: b)))
    case (.float(let a), .float(let b)): return .float(combine(operation, a, b))
    case (.float(let a), .int(let b)): return .float(combine(operation, a, Float(b)))
    case (.int(let a), .float(let b)): return .float(combine(operation, Float(a), b))
    case (.float(let a), .double(let b)): return .double(combine(operation, Double(a), b))
    case (.double(let a), .float(let b)): return .double(combine(operation, a, Double(b)))
    case (.double(let a), .double(let b)): return .double(combine(operation, a, b))
    case (.double(let a), .int(let b)): return .double(combine(operation, a, Double(b)))
    case (.int(let a), .double(let b)): return .double(combine(operation, Double(a), b))
    default: return .null
    }
  }

  private static func combine<T: BinaryFloatingPoint>(_ operation: Unicode.Scalar, _ a: T, _ b: T) -> T {
    switch operation {
    case "+": a + b
    case "-": a - b
    case "*": a * b
    default: a / b
    }
  }
}
