// chmod, chown, utimens and truncate. The owner, group and mode of objects are derived from the realm file. A mode,
// group or time that is set is kept in memory; changing the owner is refused.

import RealmPages

/// The attributes that setattr changes; nil for no change.
public struct MetadataChange: Sendable {
  /// Permission bits, without the type.
  public var permissions: UInt32?
  /// User id.
  public var owner: UInt32?
  /// Group id.
  public var group: UInt32?
  /// The size in bytes.
  public var size: Int?
  /// The modification time.
  public var modified: Time?

  /// A time to set.
  public enum Time: Sendable {
    /// The current time.
    case now
    /// A given time.
    case at(seconds: Int64, nanoseconds: Int32)
  }

  /// No change.
  public init() {}
}

extension MetadataChange.Time {
  /// The time to set; for `now`, the current time of the clock.
  var timestamp: Timestamp {
    switch self {
    case .now: Timestamp.now
    case .at(let seconds, let nanoseconds): Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
  }
}
