// What tells other programs that a version is being read. It can be taken back, so that a reader who forgot about a
// version does not make the file of everybody grow: who reads asks afterwards whether the pin still holds.

import Synchronization

/// Keeps a version readable until it is let go of, or taken back.
final class VersionPin: Sendable {
  let session: Session
  let listed: ListedVersion
  private let valid = Atomic<Bool>(true)
  private let holders = Atomic<Int>(0)

  /// Takes over a version that was grabbed from the list.
  init(_ session: Session, _ listed: ListedVersion) {
    (self.session, self.listed) = (session, listed)
  }

  deinit { revoke() }

  /// Whether nothing of the version can have been overwritten.
  var isValid: Bool { valid.load(ordering: .acquiring) }

  /// Lets others overwrite the version.
  func revoke() {
    if valid.exchange(false, ordering: .acquiringAndReleasing) { session.versions.release(listed.slot) }
  }

  /// Whether the version is held for longer than a moment.
  var isHeld: Bool { holders.load(ordering: .acquiring) > 0 }

  func addHolder() { holders.add(1, ordering: .acquiringAndReleasing) }
  func removeHolder() { holders.subtract(1, ordering: .acquiringAndReleasing) }
}

/// Keeps a version readable for as long as the object lives. Space that the version refers to is not reused by anybody
/// meanwhile, so the file grows with each commit.
public final class VersionHold: Sendable {
  /// The version.
  public let snapshot: Snapshot

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    if let pin = snapshot.pin {
      pin.addHolder()
    } else {
      VersionRegistry.held.add(snapshot.path, snapshot.version)
    }
  }

  deinit {
    if let pin = snapshot.pin {
      pin.removeHolder()
    } else {
      VersionRegistry.held.remove(snapshot.path, snapshot.version)
    }
  }

  /// Whether writers know that the version is in use. If not, ask `Realm.isCurrent`.
  package var isKnownToWriters: Bool { snapshot.pin != nil }
}

extension Realm {
  /// Holds the newest version. In an immutable realm writers do not know of it, and of a copy that nobody has written
  /// to yet, those of other programs do not: ask `isCurrent` there all the same.
  public func hold() throws(EngineError) -> VersionHold {
    while true {
      let hold = VersionHold(try latest())
      // It was taken back before it was held, or it cannot be.
      if hold.snapshot.pin?.isValid ?? true { return hold }
    }
  }
}
