// ObjectIds: 12-byte identifiers that are unique without coordination.

public import Foundation
import RealmPages
import Synchronization

/// A 12-byte identifier that is unique wherever it is generated: a time in seconds, five random bytes of the process
/// and a counter.
public struct ObjectId: Hashable, Sendable, CustomStringConvertible, Codable {
  let id: ObjectID

  init(_ id: ObjectID) { self.id = id }

  /// Creates an ObjectId of zeros.
  public init() { id = ObjectID(high: 0, low: 0) }

  /// Creates an ObjectId from 24 hexadecimal digits.
  public init(string: String) throws {
    guard let id = ObjectID(string) else {
      throw Realm.Error(.fail, "'\(string)' is not an ObjectId: it needs 24 hexadecimal digits")
    }
    self.id = id
  }

  /// Creates an ObjectId from 24 hexadecimal digits; ends the process if the string has another format.
  public init(_ value: StaticString) {
    guard let id = ObjectID(value.description) else {
      Misuse.stop("'\(value)' is not an ObjectId: it needs 24 hexadecimal digits")
    }
    self.id = id
  }

  /// Creates an ObjectId from a time, a machine identifier and a process identifier.
  public init(timestamp: Date, machineId: Int, processId: Int) {
    let seconds = UInt32(truncatingIfNeeded: Int64(timestamp.timeIntervalSince1970))
    let rest = UInt64(truncatingIfNeeded: machineId) & 0xFF_FFFF
    let high = UInt64(seconds) << 32 | rest << 8 | UInt64(truncatingIfNeeded: processId) >> 8 & 0xFF
    id = ObjectID(
      high: high,
      low: UInt32(truncatingIfNeeded: processId) << 24 | UInt32(truncatingIfNeeded: Self.next())
    )
  }

  /// Returns a new ObjectId.
  public static func generate() -> ObjectId {
    let seconds = UInt64(UInt32(truncatingIfNeeded: Int64(Date().timeIntervalSince1970)))
    let high = seconds << 32 | random >> 8, low = UInt32(truncatingIfNeeded: random) << 24 | UInt32(next())
    return ObjectId(ObjectID(high: high, low: low))
  }

  /// The time at which the ObjectId was generated, in whole seconds.
  public var timestamp: Date { Date(timeIntervalSince1970: Double(id.high >> 32)) }

  /// The ObjectId as 24 hexadecimal digits.
  public var stringValue: String { id.description }

  /// The ObjectId as 24 hexadecimal digits.
  public var description: String { id.description }

  private static let random = UInt64.random(in: 0...0xFF_FFFF_FFFF)
  private static let counter = Atomic<UInt64>(UInt64.random(in: 0...0xFF_FFFF))

  private static func next() -> UInt64 { counter.add(1, ordering: .relaxed).newValue & 0xFF_FFFF }

  /// Decodes 24 hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    try self.init(string: decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes 24 hexadecimal digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(stringValue)
  }
}

extension ObjectId: Comparable {
  /// Compares the bytes.
  public static func < (a: ObjectId, b: ObjectId) -> Bool { (a.id.high, a.id.low) < (b.id.high, b.id.low) }
}

extension ObjectId: _ScalarValue, _PrimaryKey, _Indexable {
  /// The ObjectId type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .objectID) }
  /// Returns a new ObjectId.
  public static func _rlmDefault() -> ObjectId { .generate() }
  /// Returns the stored value.
  public static func _rlmRead(_ stored: StoredValue) -> ObjectId? {
    if case .objectID(let id) = stored.view { ObjectId(id) } else { nil }
  }
  /// The value as the engine stores it.
  public var _rlmEngineValue: EngineValue { EngineValue(.objectID(id)) }
}
