// Opens a synced realm: downloads as much of it as needed and uploads classes and properties that it lacks. The schema
// of a synced realm can only grow: properties of other clients stay, and none can be changed.

import RealmPages
import RealmSync

extension Realm {
  /// The conditions under which a synced realm is downloaded before it is opened.
  public enum OpenBehavior: Sendable {
    /// Downloads as little as possible. The first time, opening waits until the model classes exist; they may be empty,
    /// and the objects arrive while the realm is in use. Later, the realm opens at once, even without the server.
    case never
    /// Always downloads everything that the server has. Without the server, opening fails.
    case always
    /// Downloads everything the first time. Later, the realm opens at once, even without the server.
    case once
  }
}

/// Prepares a synced realm for use.
enum SyncOpening {
  /// Downloads as much as needed and adds the model classes to the realm.
  static func prepare(
    _ file: RealmFile,
    _ synced: SyncedFile,
    _ configuration: Realm.Configuration,
    _ wanted: WantedClasses
  ) throws {
    // Other clients may add classes at the same time. Their definitions then take precedence, and the schema is
    // compared again.
    for _ in 0..<3 {
      let change = try downloadedChange(file, synced, wanted)
      if change.isEmptyForSync { return }
      if !change.conflicts.isEmpty {
        throw Realm.Error(
          .schemaMismatch,
          "\(synced.mirror.url): the realm on the server has another schema, which cannot be changed:\n- "
            + change.conflicts.joined(separator: "\n- ")
        )
      }
      if file.writer == nil {
        if change.additions.isEmpty { return }
        throw Realm.Error(
          .schemaMismatch,
          "\(synced.mirror.url): the realm on the server lacks properties, and it was opened read-only:\n- "
            + change.additions.joined(separator: "\n- ")
        )
      }
      let context = try RealmContext(file, configuration, wanted)
      try context.begin()
      do {
        try context.change { try wanted.add(in: $0) }
        try context.commit()
      } catch {
        context.cancel()
        throw error
      }
    }
  }

  /// Returns the schema differences once there are none, or once everything was downloaded.
  private static func downloadedChange(
    _ file: RealmFile,
    _ synced: SyncedFile,
    _ wanted: WantedClasses
  ) throws -> ModelDifference {
    var change = try ModelDifference(to: wanted, from: file.reader.hold().snapshot)
    if change.isEmptyForSync || synced.isComplete { return change }
    try synced.wait { status in
      change = try ModelDifference(to: wanted, from: file.reader.hold().snapshot)
      return change.isEmptyForSync || status.isComplete
    }
    return change
  }
}
