// The sort order of values in sets. Source: docs/format/2-model.md M9.

import CIntelDecimal
import Glibc

/// The total order of Mixed values, and of the values of typed sets.
enum ValueOrder {
  /// Returns true if sets of this type were stored in another order before format 24.
  static func changedBefore24(_ type: ValueType) -> Bool {
    type == .string || type == .data || type == .mixed
  }

  /// Returns the positions 0 ..< count, sorted by their values. Cost: O(n log n).
  static func sortedPositions(
    _ count: Int,
    _ value: (Int) throws(EngineError) -> ValueView
  ) throws(EngineError) -> [Int] {
    var values: [(position: Int, value: ValueView)] = []
    values.reserveCapacity(min(count, 1 << 16))
    for position in 0..<count { values.append((position, try value(position))) }
    values.sort { compare($0.value, $1.value) < 0 }
    return values.map(\.position)
  }

  /// Returns a negative number, zero or a positive number if `a` sorts before, equal to or after `b`.
  static func compare(_ a: ValueView, _ b: ValueView) -> Int {
    let rankA = rank(a), rankB = rank(b)
    if rankA != rankB { return rankA < rankB ? -1 : 1 }
    switch (a, b) {
    case (.bool(let x), .bool(let y)): return three(x ? 1 : 0, y ? 1 : 0)
    case (.string(let x), .string(let y)), (.data(let x), .data(let y)): return compareBytes(x, y)
    case (.date(let x), .date(let y)):
      return x.seconds != y.seconds ? three(x.seconds, y.seconds) : three(x.nanoseconds, y.nanoseconds)
    case (.objectID(let x), .objectID(let y)): return x.high != y.high ? three(x.high, y.high) : three(x.low, y.low)
    case (.uuid(let x), .uuid(let y)): return x.high != y.high ? three(x.high, y.high) : three(x.low, y.low)
    case (.link(let table, let key), .link(let otherTable, let otherKey)):
      return table != otherTable ? three(table, otherTable) : three(key, otherKey)
    default: return rankA == numberRank ? compareNumbers(a, b) : 0
    }
  }

  /// Returns true if sets of this type may contain NaN, which realm-core does not keep in order.
  static func isUnordered(_ type: ValueType) -> Bool { type == .float || type == .double }

  /// Compares like `compare(_:_:)`, except that in sets of decimals null counts as a NaN.
  static func compareInSet(_ a: ValueView, _ b: ValueView, _ type: ValueType) -> Int {
    guard type == .decimal128 else { return compare(a, b) }
    func stored(_ value: ValueView) -> ValueView { if case .null = value { .decimal128(.storedNull) } else { value } }
    return compare(stored(a), stored(b))
  }

  /// Compares as unsigned bytes; a prefix sorts first.
  static func compareBytes(_ a: ByteView, _ b: ByteView) -> Int {
    let common = min(a.count, b.count)
    let result = unsafe common == 0 ? 0 : Int(memcmp(a.base, b.base, common))
    return result != 0 ? result : three(a.count, b.count)
  }

  private static let numberRank = 2

  /// Returns the decimal as an `Int64`; nil if it is not one.
  static func int64(_ value: Decimal128) -> Int64? {
    if value.high & 0x7800_0000_0000_0000 == 0x7800_0000_0000_0000 { return nil }
    var result: Int64 = 0
    return unsafe realmfs_bid_to_int64(value.low, value.high, &result) != 0 ? result : nil
  }

  private static func rank(_ value: ValueView) -> Int {
    switch value {
    case .null: 0
    case .bool: 1
    case .int, .float, .double, .decimal128: numberRank
    case .string: 3
    case .data: 4
    case .date: 5
    case .objectID: 6
    case .uuid: 7
    case .link: 8
    case .list: 9
    case .set: 10
    case .dictionary: 11
    }
  }

  private static func three<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

  /// Compares numbers by value across types. NaN sorts before all other numbers. Two NaNs are ordered by their bits, as
  /// decimals if either is a decimal, else as doubles if either is a double.
  private static func compareNumbers(_ a: ValueView, _ b: ValueView) -> Int {
    switch (a, b) {
    case (.int(let x), .int(let y)): three(x, y)
    case (.decimal128, _), (_, .decimal128): compareDecimals(decimal(a), decimal(b))
    case (.int(let x), .float(let y)): compare(x, Double(y))
    case (.int(let x), .double(let y)): compare(x, y)
    case (.float(let x), .int(let y)): -compare(y, Double(x))
    case (.double(let x), .int(let y)): -compare(y, x)
    case (.float(let x), .float(let y)): compareFloats(x, y, x.bitPattern, y.bitPattern)
    default: compareFloats(double(a), double(b), double(a).bitPattern, double(b).bitPattern)
    }
  }

  private static func compareFloats<T: FloatingPoint, Bits: Comparable>(
    _ x: T,
    _ y: T,
    _ xBits: Bits,
    _ yBits: Bits
  ) -> Int {
    switch (x.isNaN, y.isNaN) {
    case (true, true): three(xBits, yBits)
    case (true, false): -1
    case (false, true): 1
    case (false, false): three(x, y)
    }
  }

  private static func double(_ value: ValueView) -> Double {
    switch value {
    case .float(let x): Double(x)
    case .double(let x): x
    default: 0
    }
  }

  /// Compares an integer with a floating-point number exactly.
  private static func compare(_ x: Int64, _ y: Double) -> Int {
    if y.isNaN { return 1 }
    if y >= 0x1p63 { return -1 }
    if y < -0x1p63 { return 1 }
    let whole = Int64(y)
    return x != whole ? three(x, whole) : three(0, y - Double(whole))
  }

  private static func compareDecimals(_ a: Decimal128, _ b: Decimal128) -> Int {
    switch (isNaN(a), isNaN(b)) {
    case (true, true): a.high != b.high ? three(a.high, b.high) : three(a.low, b.low)
    case (true, false): -1
    case (false, true): 1
    case (false, false): Int(realmfs_bid_compare(a.low, a.high, b.low, b.high))
    }
  }

  /// Returns true if the value is NaN.
  static func isNaN(_ value: ValueView) -> Bool {
    switch value {
    case .float(let x): x.isNaN
    case .double(let x): x.isNaN
    case .decimal128(let x): isNaN(x)
    default: false
    }
  }

  /// Returns true if two floating-point or decimal numbers have the same type and the same bits.
  static func isSameNumber(_ a: ValueView, _ b: ValueView) -> Bool {
    switch (a, b) {
    case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern
    case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
    case (.decimal128(let x), .decimal128(let y)): x == y
    default: false
    }
  }

  private static func isNaN(_ value: Decimal128) -> Bool {
    value.high & 0x7c00_0000_0000_0000 == 0x7c00_0000_0000_0000
  }

  /// Returns a number converted to a decimal for comparison, as in Realm's engine: floats with 7 digits, doubles with
  /// 15.
  static func decimal(_ value: ValueView) -> Decimal128 {
    switch value {
    case .decimal128(let x): x
    case .int(let x): parsed(String(x))
    case .float(let x): x.isNaN ? nan(Double(x)) : parsed(digits(Double(x), 6))
    case .double(let x): x.isNaN ? nan(x) : parsed(digits(x, 14))
    default: Decimal128(low: 0, high: 0)
    }
  }

  private static func nan(_ value: Double) -> Decimal128 {
    var low: UInt64 = 0, high: UInt64 = 0
    unsafe realmfs_bid_nan(value, &low, &high)
    return Decimal128(low: low, high: high)
  }

  static func parsed(_ text: String) -> Decimal128 {
    var low: UInt64 = 0, high: UInt64 = 0
    unsafe text.withCString { unsafe realmfs_bid_parse($0, &low, &high) }
    return Decimal128(low: low, high: high)
  }

  private static func digits(_ value: Double, _ fraction: Int32) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      guard let start = buffer.baseAddress else { return "0" }
      _ = unsafe withVaList([fraction, value]) { unsafe vsnprintf(start, 64, "%.*e", $0) }
      return unsafe String(cString: start)
    }
  }
}

extension ValueView {
  /// Returns a negative number, zero or a positive number if this value sorts before, equal to or after `other`, in the
  /// order of sets and sorted results: by type, numbers of all types by value, strings by their bytes.
  public func order(_ other: ValueView) -> Int { ValueOrder.compare(self, other) }
}

extension Decimal128 {
  /// Parses a decimal, rounding to the stored precision. The result is NaN if the text is not a number.
  public init(parsing text: String) { self = ValueOrder.parsed(text) }

  /// A number converted to a decimal for comparison, as in Realm's engine: floats with 7 digits, doubles with 15. Other
  /// values become 0.
  public init(comparing value: ValueView) { self = ValueOrder.decimal(value) }

  /// Applies `+`, `-`, `*` or `/` to two decimals, rounding to the stored precision.
  public static func combine(_ operation: Unicode.Scalar, _ a: Decimal128, _ b: Decimal128) -> Decimal128 {
    var low: UInt64 = 0, high: UInt64 = 0
    unsafe realmfs_bid_combine(CChar(truncatingIfNeeded: operation.value), a.low, a.high, b.low, b.high, &low, &high)
    return Decimal128(low: low, high: high)
  }
}
