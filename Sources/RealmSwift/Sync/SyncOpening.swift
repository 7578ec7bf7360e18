// Opening a synced realm: it is downloaded as far as it is needed, and what the models have more than the realm goes to
// the server. A synced realm only grows: properties of others stay, and none can be changed.

import RealmPages
import RealmSync

extension Realm {
  /// When a synced realm is downloaded before it is opened.
  public enum OpenBehavior: Sendable {
    /// Not longer than needed: the first time until the classes of the models are there, which may be empty; the
    /// objects come while the realm is used. Later, at once, also without the server.
    case never
    /// Always: everything that the server has. Without the server the realm does not open.
    case always
    /// Everything the first time; later, at once, also without the server.
    case once
  }
}

/// How a synced realm is made ready for a program.
enum SyncOpening {
  /// Downloads what is wanted, and gives the realm the classes of the models.
  static func prepare(
    _ file: RealmFile,
    _ synced: SyncedFile,
    _ configuration: Realm.Configuration,
    _ wanted: WantedClasses
  ) throws {
    // Others may give the realm classes at the same time: then theirs count, and it is looked at again.
    for _ in 0..<3 {
      let change = try downloadedChange(file, synced, wanted)
      if change.isEmptyForSync { return }
      if !change.conflicts.isEmpty {
        throw Realm.Error(
          .schemaMismatch,
          "\(synced.mirror.url): the realm on the server has another schema, and what is there cannot be changed:\n- "
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
        let former = try context.snapshot()
        try context.change { try SchemaChange(to: wanted, from: former).add(in: $0) }
        try context.commit()
      } catch {
        context.cancel()
        throw error
      }
    }
  }

  /// What differs, when it does not differ any more or everything was downloaded.
  private static func downloadedChange(
    _ file: RealmFile,
    _ synced: SyncedFile,
    _ wanted: WantedClasses
  ) throws -> SchemaChange {
    var change = try SchemaChange(to: wanted, from: file.reader.hold().snapshot)
    if change.isEmptyForSync || synced.isComplete { return change }
    try synced.wait { status in
      change = try SchemaChange(to: wanted, from: file.reader.hold().snapshot)
      return change.isEmptyForSync || status.isComplete
    }
    return change
  }
}
