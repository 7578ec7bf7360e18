// The storage of the standard library's and Foundation's types of single values.

public import Foundation
import RealmPages

extension Bool: _ScalarValue, _PrimaryKey, _Indexable {
  /// The Boolean type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .bool) }
  /// Returns false.
  public static func _rlmDefault() -> Bool { false }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> Bool? {
    if case .bool(let value) = stored.view { value } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.bool(self)) }
}

/// An integer type. Stored in 64 bits.
public protocol _StoredInteger: FixedWidthInteger, SignedInteger, _ScalarValue, _PrimaryKey, _Indexable, MinMaxType,
  AddableType, SortableType
{}

extension _StoredInteger {
  /// The integer type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .int) }
  /// Returns zero.
  public static func _rlmDefault() -> Self { 0 }
  /// Returns the stored value, truncated to its low bits if it does not fit.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    if case .int(let value) = stored.view { Self(truncatingIfNeeded: value) } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.int(Int64(self))) }
  /// Converts a number that this type can represent exactly; nil for other values.
  public static func _rlmCast(_ value: Any?) -> Self? {
    if let same = value as? Self { return same }
    if let other = value as? any BinaryInteger { return Self(exactly: other) }
    if let number = value as? Double { return Self(exactly: number) }
    return (value as? NSNumber).flatMap { Self(exactly: $0.int64Value) }
  }
}

extension Int: _StoredInteger {}
extension Int8: _StoredInteger {}
extension Int16: _StoredInteger {}
extension Int32: _StoredInteger {}
extension Int64: _StoredInteger {}

extension Float: _ScalarValue, MinMaxType, AddableType, SortableType {
  /// The 32-bit floating-point type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .float) }
  /// Returns zero.
  public static func _rlmDefault() -> Float { 0 }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> Float? {
    if case .float(let value) = stored.view { value } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.float(self)) }
  /// Converts a number; nil for other values.
  public static func _rlmCast(_ value: Any?) -> Float? {
    if let same = value as? Float { return same }
    if let number = value as? Double { return Float(number) }
    if let number = value as? any BinaryInteger { return Float(number) }
    return (value as? NSNumber)?.floatValue
  }
}

extension Double: _ScalarValue, MinMaxType, AddableType, SortableType {
  /// The 64-bit floating-point type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .double) }
  /// Returns zero.
  public static func _rlmDefault() -> Double { 0 }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> Double? {
    switch stored.view {
    case .double(let value): value
    case .float(let value): Double(value)
    default: nil
    }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.double(self)) }
  /// Converts a number; nil for other values.
  public static func _rlmCast(_ value: Any?) -> Double? {
    if let same = value as? Double { return same }
    if let number = value as? Float { return Double(number) }
    if let number = value as? any BinaryInteger { return Double(number) }
    return (value as? NSNumber)?.doubleValue
  }
}

extension String: _ScalarValue, _PrimaryKey, _Indexable, SortableType {
  /// The string type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .string) }
  /// Returns an empty string.
  public static func _rlmDefault() -> String { "" }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> String? {
    if case .string(let bytes) = stored.view { bytes.string } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.text(self)) }
}

extension Data: _ScalarValue, SortableType {
  /// The binary data type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .data) }
  /// Returns empty data.
  public static func _rlmDefault() -> Data { Data() }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> Data? {
    if case .data(let bytes) = stored.view { unsafe Data(bytes.unsafeBytes) } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.data([UInt8](self))) }
}

extension Date: _ScalarValue, _Indexable, MinMaxType, SortableType {
  /// The date type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .date) }
  /// Returns the current time.
  public static func _rlmDefault() -> Date { Date() }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> Date? {
    if case .date(let time) = stored.view { Date(time) } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.date(timestamp)) }
}

extension Date {
  /// The Unix time of the start of 2001, the reference date of `Date`.
  private static var reference: Int64 { 978_307_200 }

  init(_ time: Timestamp) {
    let whole = Double(time.seconds &- Self.reference)
    self.init(timeIntervalSinceReferenceDate: whole + Double(time.nanoseconds) / 1_000_000_000)
  }

  /// The nearest time that a realm can store.
  var timestamp: Timestamp {
    let time = timeIntervalSinceReferenceDate, whole = time.rounded(.down)
    guard abs(whole) < 0x1p62, var seconds = Int64(exactly: whole) else {
      return Timestamp(seconds: time < 0 ? .min : .max, nanoseconds: 0)
    }
    seconds += Self.reference
    var nanoseconds = min(Int32(((time - whole) * 1_000_000_000).rounded()), 999_999_999)
    // Seconds and nanoseconds must have the same sign.
    if seconds < 0, nanoseconds > 0 { (seconds, nanoseconds) = (seconds + 1, nanoseconds - 1_000_000_000) }
    return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
  }
}

extension UUID: _ScalarValue, _PrimaryKey, _Indexable {
  /// The UUID type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .uuid) }
  /// Returns a new UUID.
  public static func _rlmDefault() -> UUID { UUID() }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> UUID? {
    if case .uuid(let id) = stored.view { UUID(id) } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.uuid(uniqueID)) }

  init(_ id: UniqueID) {
    func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
    let (h, l) = (id.high, id.low)
    self.init(
      uuid: (
        byte(h, 0), byte(h, 1), byte(h, 2), byte(h, 3), byte(h, 4), byte(h, 5), byte(h, 6), byte(h, 7),
        byte(l, 0), byte(l, 1), byte(l, 2), byte(l, 3), byte(l, 4), byte(l, 5), byte(l, 6), byte(l, 7)
      )
    )
  }

  var uniqueID: UniqueID {
    let b = uuid
    let high = [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7], low = [b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15]
    return UniqueID(
      high: high.reduce(0) { $0 << 8 | UInt64($1) },
      low: low.reduce(0) { $0 << 8 | UInt64($1) }
    )
  }
}

/// Foundation numbers, as results of aggregates.
extension NSNumber: _HasPersistedType, MinMaxType, AddableType {
  /// The number itself.
  public typealias PersistedType = NSNumber
  /// The number type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .double) }
  /// Returns zero.
  public static func _rlmDefault() -> Self {
    guard let zero = _rlmCast(0) else { Misuse.stop("\(Self.self) is not the class of a number") }
    return zero
  }
  /// The number itself.
  public var _rlmAny: Any? { self }
  /// Converts a number; nil for other values.
  public static func _rlmCast(_ value: Any?) -> Self? {
    let number: NSNumber? =
      switch value {
      case let same as Self: same
      case let integer as Int: NSNumber(value: integer)
      case let integer as any BinaryInteger: NSNumber(value: Int64(clamping: integer))
      case let float as Float: NSNumber(value: float)
      case let double as Double: NSNumber(value: double)
      case let decimal as Decimal128: NSNumber(value: decimal.doubleValue)
      default: nil
      }
    return number as? Self
  }
}

// Fast paths for the most frequently read types, without generic code.

extension Int {
  /// Returns the value in a managed object.
  @_effects(releasenone) public static func _rlmGet(_ place: PropertyPlace) -> Int {
    if let number = place.integer { return Int(truncatingIfNeeded: number) }
    return place.read { _rlmRead($0) } ?? 0
  }
}
extension Bool {
  /// Returns the value in a managed object.
  @_effects(releasenone) public static func _rlmGet(_ place: PropertyPlace) -> Bool {
    place.read { _rlmRead($0) } ?? false
  }
}
extension Double {
  /// Returns the value in a managed object.
  @_effects(releasenone) public static func _rlmGet(_ place: PropertyPlace) -> Double {
    if let number = place.double { return number }
    return place.read { _rlmRead($0) } ?? 0
  }
}
extension String {
  /// Returns the value in a managed object.
  @_effects(releasenone) public static func _rlmGet(_ place: PropertyPlace) -> String {
    if let bytes = place.text { return bytes.string }
    return place.read { _rlmRead($0) } ?? ""
  }
}
extension Date {
  /// Returns the value in a managed object.
  @_effects(releasenone) public static func _rlmGet(_ place: PropertyPlace) -> Date {
    place.read { _rlmRead($0) } ?? _rlmDefault()
  }
}
