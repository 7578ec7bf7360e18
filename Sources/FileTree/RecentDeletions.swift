// Objects that were deleted a moment ago. Many programs replace a file by unlinking it and writing it anew (install,
// tar, git checkout). That must not cut the links to an object, so an object that comes back at once gets its object
// key and the links to it again.

import RealmPages
import Synchronization
import Threads

/// What is needed to bring deleted objects back to where they were.
final class RecentDeletions: Sendable {
  /// An object that linked to a deleted one.
  struct Origin: Sendable {
    let object: ObjectReference
    /// Its text with the link.
    let before: [UInt8]
    /// Its text without. If it is another by now, the link is not restored.
    let after: [UInt8]
  }

  /// A deleted object.
  struct Deletion: Sendable {
    let key: ObjKey
    let origins: [Origin]
    fileprivate let time: MonotonicTime
  }

  /// How long an object can come back.
  static let memory = Duration.seconds(3)
  /// An object that more others link to comes back without their links.
  static let mostOrigins = 256
  private static let limit = 10_000

  private let deletions = Mutex<[Overlay.Place: Deletion]>([:])

  /// Remembers the object that was at `place`.
  func note(_ place: Overlay.Place, _ key: ObjKey, _ origins: [Origin]) {
    let now = MonotonicTime.now
    deletions.withLock { deletions in
      if deletions.count >= Self.limit {
        deletions = deletions.filter { now < $0.value.time.advanced(by: Self.memory) }
      }
      if deletions.count >= Self.limit { return }
      deletions[place] = Deletion(key: key, origins: origins, time: now)
    }
  }

  /// The object that was at `place` a moment ago.
  func find(_ place: Overlay.Place) -> Deletion? {
    guard let deletion = deletions.withLock({ $0[place] }) else { return nil }
    return MonotonicTime.now < deletion.time.advanced(by: Self.memory) ? deletion : nil
  }

  /// Forgets what was at `place`.
  func forget(_ place: Overlay.Place) { deletions.withLock { $0[place] = nil } }
}
