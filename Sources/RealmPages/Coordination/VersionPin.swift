// The mark that shows other programs that a version is being read. It can be revoked, so that a reader that keeps a
// version for a long time does not make the file grow: readers check afterwards that the pin is still valid.

import Synchronization

/// Keeps a version readable until it is released or revoked.
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

  /// True if no part of the version can have been overwritten.
  var isValid: Bool { valid.load(ordering: .acquiring) }

  /// Allows writers to overwrite the version.
  func revoke() {
    if valid.exchange(false, ordering: .acquiringAndReleasing) { session.versions.release(listed.slot) }
  }

  /// True if a `VersionHold` needs the version.
  var isHeld: Bool { holders.load(ordering: .acquiring) > 0 }

  func addHolder() { holders.add(1, ordering: .acquiringAndReleasing) }
  func removeHolder() { holders.subtract(1, ordering: .acquiringAndReleasing) }
}

/// Keeps a version readable for as long as the object lives. Until then, the space that the version refers to is not
/// reused, so the file grows with each commit.
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

  /// True if writers know that the version is in use. If not, check `Realm.isCurrent`.
  package var isKnownToWriters: Bool { snapshot.pin != nil }
}

extension Realm {
  /// Holds the newest version. Writers are not aware of the hold in an immutable realm, and writers of other programs
  /// are not aware of it in a copy that was never written to: check `isCurrent` there.
  ///
  /// - Throws: the errors of `latest()`.
  public func hold() throws(EngineError) -> VersionHold {
    while true {
      let hold = VersionHold(try latest())
      // The pin was revoked before it was held: try again. A version without a pin cannot be revoked.
      if hold.snapshot.pin?.isValid ?? true { return hold }
    }
  }
}
