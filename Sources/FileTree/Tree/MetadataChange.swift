// chmod, chown, utimens and truncate. Owner, group and mode of objects follow from the realm file. Modes, groups and
// times that are set are kept in memory; another owner is refused.

import RealmPages

/// What setattr changes; nil leaves as it is.
public struct MetadataChange: Sendable {
  /// Permission bits, without the type.
  public var permissions: UInt32?
  /// User id.
  public var owner: UInt32?
  /// Group id.
  public var group: UInt32?
  /// Bytes.
  public var size: Int?
  /// The modification time.
  public var modified: Time?

  /// A time to set.
  public enum Time: Sendable {
    /// The present.
    case now
    /// Another one.
    case at(seconds: Int64, nanoseconds: Int32)
  }

  /// No change.
  public init() {}
}

extension MetadataChange.Time {
  /// The time, which `now` takes from the clock.
  var timestamp: Timestamp {
    switch self {
    case .now: Timestamp.now
    case .at(let seconds, let nanoseconds): Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
  }
}
