// Decimal numbers of 34 digits.

public import Foundation
import RealmJSON
import RealmPages

/// A decimal number of 34 digits.
public struct Decimal128: Sendable {
  let decimal: RealmPages.Decimal128

  init(_ decimal: RealmPages.Decimal128) { self.decimal = decimal }

  /// Zero.
  public init() { self.init(RealmPages.Decimal128(parsing: "0")) }

  /// Takes a number as text, such as `3.14159` or `1E-5`.
  public init(string: String) throws {
    let decimal = RealmPages.Decimal128(parsing: string)
    let word = string.lowercased().drop { $0 == "+" || $0 == "-" }
    if Decimal128(decimal).isNaN && word != "nan" {
      throw Realm.Error(.fail, "'\(string)' is not a decimal number")
    }
    self.init(decimal)
  }

  /// The decimal of an integer.
  public init(_ value: some BinaryInteger) { self.init(RealmPages.Decimal128(parsing: String(value))) }

  /// The decimal that prints like the number.
  public init(_ value: Double) { self.init(RealmPages.Decimal128(parsing: "\(value)")) }

  /// The decimal of a number of Foundation.
  public init(number: NSNumber) { self.init(RealmPages.Decimal128(parsing: number.stringValue)) }

  /// The decimal of a number or a text; of anything else, none.
  public init(value: Any) { self = Self._rlmCast(value) ?? Decimal128(RealmPages.Decimal128(parsing: "NaN")) }

  /// The least number.
  public static var min: Decimal128 { -max }

  /// The greatest number.
  public static var max: Decimal128 {
    Decimal128(RealmPages.Decimal128(parsing: String(repeating: "9", count: 34) + "E6111"))
  }

  /// Whether it is no number.
  public var isNaN: Bool { decimal.high & 0x7C00_0000_0000_0000 == 0x7C00_0000_0000_0000 }

  /// The number as text.
  public var stringValue: String { description }

  /// The nearest number of 64 bits.
  public var doubleValue: Double { Double(description) ?? .nan }

  /// Foundation's decimal number.
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
  /// Reads a text, or a number.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {  // a text is next
      self.init(number)
    } else if let number = try? container.decode(Double.self) {  // likewise
      self.init(number)
    } else {
      try self.init(string: container.decode(String.self))
    }
  }

  /// Writes a text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(stringValue)
  }
}

extension Decimal128: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
  /// The decimal of an integer.
  public init(integerLiteral value: Int64) { self.init(value) }
  /// The decimal that prints like the number.
  public init(floatLiteral value: Double) { self.init(value) }
  /// Takes a number as text.
  public init(stringLiteral value: String) { self.init(RealmPages.Decimal128(parsing: value)) }
}

extension Decimal128: Hashable, Comparable {
  private func order(_ other: Decimal128) -> Int { ValueView.decimal128(decimal).order(.decimal128(other.decimal)) }

  /// Whether both are the same number, whatever their exponents.
  public static func == (a: Decimal128, b: Decimal128) -> Bool { a.order(b) == 0 }
  /// Whether one number is less than another.
  public static func < (a: Decimal128, b: Decimal128) -> Bool { a.order(b) < 0 }
  /// Feeds the value of the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(doubleValue) }
}

extension Decimal128: Strideable {
  /// The number with another one added.
  public func advanced(by other: Decimal128) -> Decimal128 { self + other }
  /// What has to be added for another number.
  public func distance(to other: Decimal128) -> Decimal128 { other - self }
}

extension Decimal128: SignedNumeric {
  /// The decimal of an integer.
  public init?<T: BinaryInteger>(exactly source: T) { self.init(source) }
  /// The number without its sign.
  public var magnitude: Decimal128 { self < 0 ? -self : self }
  /// The sum.
  public static func + (a: Decimal128, b: Decimal128) -> Decimal128 { combine("+", a, b) }
  /// The difference.
  public static func - (a: Decimal128, b: Decimal128) -> Decimal128 { combine("-", a, b) }
  /// The product.
  public static func * (a: Decimal128, b: Decimal128) -> Decimal128 { combine("*", a, b) }
  /// The quotient.
  public static func / (a: Decimal128, b: Decimal128) -> Decimal128 { combine("/", a, b) }

  /// Multiplies a number.
  public static func *= (a: inout Decimal128, b: Decimal128) { a = a * b }
  /// Divides a number.
  public static func /= (a: inout Decimal128, b: Decimal128) { a = a / b }

  private static func combine(_ operation: Unicode.Scalar, _ a: Decimal128, _ b: Decimal128) -> Decimal128 {
    Decimal128(.combine(operation, a.decimal, b.decimal))
  }
}

extension Decimal128: _ScalarValue, MinMaxType, AddableType, SortableType {
  /// A decimal number.
  public static var _rlmType: _PropertyType { _PropertyType(type: .decimal128) }
  /// Zero.
  public static func _rlmDefault() -> Decimal128 { Decimal128() }
  /// The value that was read.
  public static func _rlmRead(_ stored: StoredValue) -> Decimal128? {
    if case .decimal128(let value) = stored.view { Decimal128(value) } else { nil }
  }
  /// The value as the engine has it.
  public var _rlmEngineValue: EngineValue { EngineValue(.decimal128(decimal)) }
  /// The decimal that a number or a text stands for.
  public static func _rlmCast(_ value: Any?) -> Decimal128? {
    switch value {
    case let same as Decimal128: same
    case let number as any BinaryInteger: Decimal128(number)
    case let number as Double: Decimal128(number)
    // The text of what is no number says why, and the value is refused.
    case let text as String: try? Decimal128(string: text)
    default: nil
    }
  }
}
