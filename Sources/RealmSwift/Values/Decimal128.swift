// Decimal numbers with 34 digits.

public import Foundation
import RealmJSON
import RealmPages

/// A decimal number with 34 significant digits.
public struct Decimal128: Sendable {
  let decimal: RealmPages.Decimal128

  init(_ decimal: RealmPages.Decimal128) { self.decimal = decimal }

  /// Creates zero.
  public init() { self.init(RealmPages.Decimal128(parsing: "0")) }

  /// Creates a number from text, such as `3.14159` or `1E-5`.
  public init(string: String) throws {
    let decimal = RealmPages.Decimal128(parsing: string)
    let word = string.lowercased().drop { $0 == "+" || $0 == "-" }
    if Decimal128(decimal).isNaN && word != "nan" {
      throw Realm.Error(.fail, "'\(string)' is not a decimal number")
    }
    self.init(decimal)
  }

  /// Creates a decimal from an integer.
  public init(_ value: some BinaryInteger) { self.init(RealmPages.Decimal128(parsing: String(value))) }

  /// Creates a decimal that prints like the given number.
  public init(_ value: Double) { self.init(RealmPages.Decimal128(parsing: "\(value)")) }

  /// Creates a decimal from a Foundation number.
  public init(number: NSNumber) { self.init(RealmPages.Decimal128(parsing: number.stringValue)) }

  /// Creates a decimal from a number or a string; NaN for any other value.
  public init(value: Any) { self = Self._rlmCast(value) ?? Decimal128(RealmPages.Decimal128(parsing: "NaN")) }

  /// The smallest finite number.
  public static var min: Decimal128 { -max }

  /// The largest finite number.
  public static var max: Decimal128 {
    Decimal128(RealmPages.Decimal128(parsing: String(repeating: "9", count: 34) + "E6111"))
  }

  /// True if this is not a number.
  public var isNaN: Bool { decimal.high & 0x7C00_0000_0000_0000 == 0x7C00_0000_0000_0000 }

  /// The number as text.
  public var stringValue: String { description }

  /// The nearest 64-bit floating-point number.
  public var doubleValue: Double { Double(description) ?? .nan }

  /// The value as a Foundation decimal number.
  public var decimalValue: Decimal { Decimal(string: description) ?? Decimal.nan }
}

extension Decimal128: CustomStringConvertible {
  /// The number as text.
  public var description: String {
    let output = OutputBuffer()
    output.append(decimal)
    return output.string
  }
}

extension Decimal128: Codable {
  /// Decodes a number or a string.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {  // else try Double
      self.init(number)
    } else if let number = try? container.decode(Double.self) {  // else decode text
      self.init(number)
    } else {
      try self.init(string: container.decode(String.self))
    }
  }

  /// Encodes the number as a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(stringValue)
  }
}

extension Decimal128: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  /// Creates a decimal from an integer literal.
  public init(integerLiteral value: Int64) { self.init(value) }
  /// Creates a decimal that prints like the literal.
  public init(floatLiteral value: Double) { self.init(value) }
  /// Creates a decimal from text; NaN if the text is not a number.
  public init(stringLiteral value: String) { self.init(RealmPages.Decimal128(parsing: value)) }
}

extension Decimal128: Hashable, Comparable {
  private func order(_ other: Decimal128) -> Int { ValueView.decimal128(decimal).order(.decimal128(other.decimal)) }

  /// Returns true if the numbers have the same value, even with different exponents.
  public static func == (a: Decimal128, b: Decimal128) -> Bool { a.order(b) == 0 }
  /// Returns true if `a` is less than `b`.
  public static func < (a: Decimal128, b: Decimal128) -> Bool { a.order(b) < 0 }
  /// Hashes the numeric value.
  public func hash(into hasher: inout Hasher) { hasher.combine(doubleValue) }
}

extension Decimal128: Strideable {
  /// Returns the sum of this number and another one.
  public func advanced(by other: Decimal128) -> Decimal128 { self + other }
  /// Returns the difference between another number and this one.
  public func distance(to other: Decimal128) -> Decimal128 { other - self }
}

extension Decimal128: SignedNumeric {
  /// Creates a decimal from an integer.
  public init?<T: BinaryInteger>(exactly source: T) { self.init(source) }
  /// The absolute value.
  public var magnitude: Decimal128 { self < 0 ? -self : self }
  /// Returns the sum.
  public static func + (a: Decimal128, b: Decimal128) -> Decimal128 { combine("+", a, b) }
  /// Returns the difference.
  public static func - (a: Decimal128, b: Decimal128) -> Decimal128 { combine("-", a, b) }
  /// Returns the product.
  public static func * (a: Decimal128, b: Decimal128) -> Decimal128 { combine("*", a, b) }
  /// Returns the quotient.
  public static func / (a: Decimal128, b: Decimal128) -> Decimal128 { combine("/", a, b) }

  /// Multiplies a number by another one.
  public static func *= (a: inout Decimal128, b: Decimal128) { a = a * b }
  /// Divides a number by another one.
  public static func /= (a: inout Decimal128, b: Decimal128) { a = a / b }

  private static func combine(_ operation: Unicode.Scalar, _ a: Decimal128, _ b: Decimal128) -> Decimal128 {
    Decimal128(.combine(operation, a.decimal, b.decimal))
  }
}

extension Decimal128: _ScalarValue, MinMaxType, AddableType, SortableType {
  /// The Decimal128 type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .decimal128) }
  /// Returns zero.
  public static func _rlmDefault() -> Decimal128 { Decimal128() }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> Decimal128? {
    if case .decimal128(let value) = stored.view { Decimal128(value) } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.decimal128(decimal)) }
  /// Converts a number or a string; nil for other values.
  public static func _rlmCast(_ value: Any?) -> Decimal128? {
    switch value {
    case let same as Decimal128: same
    case let number as any BinaryInteger: Decimal128(number)
    case let number as Double: Decimal128(number)
    // Nil for text that is not a number.
    case let text as String: try? Decimal128(string: text)
    default: nil
    }
  }
}
