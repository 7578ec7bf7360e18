// The scalar types that Swift lacks, as the file stores them.

/// A point in time. `nanoseconds` has the sign of `seconds` unless one of them is 0; its magnitude is below
/// 1,000,000,000. Source: docs/format/1-storage.md S11.
public struct Timestamp: Hashable, Sendable {
  /// Seconds since 1970-01-01T00:00:00Z.
  public let seconds: Int64
  /// The fraction in nanoseconds, with the sign of the whole.
  public let nanoseconds: Int32

  /// Creates a timestamp from both parts as stored.
  public init(seconds: Int64, nanoseconds: Int32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }
}

/// A 128-bit decimal: IEEE 754-2008, binary integer coefficient. Source: docs/format/1-storage.md S12.
public struct Decimal128: Hashable, Sendable {
  /// Bits 0 to 63.
  public let low: UInt64
  /// Bits 64 to 127: sign, exponent and the upper part of the coefficient.
  public let high: UInt64

  /// Creates a decimal from the two words of the stored form.
  public init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }
}

/// A 12-byte object identifier, as in MongoDB.
public struct ObjectID: Hashable, Sendable {
  /// Bytes 0 to 7, big-endian.
  public let high: UInt64
  /// Bytes 8 to 11, big-endian.
  public let low: UInt32

  /// Creates an ObjectId from its bytes as two big-endian numbers.
  public init(high: UInt64, low: UInt32) {
    self.high = high
    self.low = low
  }
}

/// A universally unique identifier.
public struct UniqueID: Hashable, Sendable {
  /// Bytes 0 to 7, big-endian.
  public let high: UInt64
  /// Bytes 8 to 15, big-endian.
  public let low: UInt64

  /// Creates a UUID from its bytes as two big-endian numbers.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}
