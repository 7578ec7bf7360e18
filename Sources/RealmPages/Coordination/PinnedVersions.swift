// The versions that a participant has pinned in its session: the newest one that it knows, and those before it, which
// stay pinned only for a short time unless a `VersionHold` needs them.

import Threads

/// The pinned versions of a session. Writers do not overwrite them.
struct PinnedVersions {
  /// The newest known version. Its pin is revoked when the session is left.
  private(set) var newest: Snapshot?
  /// Older versions that may still be pinned, and when each was superseded.
  private var superseded: [(pin: Weak, since: MonotonicTime)] = []
  /// A version that this process held before it joined the session.
  private var heldBefore: VersionPin?

  private struct Weak { weak var pin: VersionPin? }

  /// How long a version that is not held stays pinned after a newer one appeared.
  private static let lifetime = Duration.seconds(2)

  /// Makes `snapshot` the newest version. The previous one starts to expire.
  mutating func advance(to snapshot: Snapshot) {
    if let former = newest?.pin { superseded.append((Weak(pin: former), .coarse)) }
    newest = snapshot
  }

  /// Forgets the newest version, because the file may have other content now.
  mutating func forgetNewest() { newest = nil }

  /// Keeps the first version of the session, which this process has held since before it joined.
  mutating func keepFirst(of session: Session) { heldBefore = session.first.map { VersionPin(session, $0) } }

  /// Revokes the older versions that have expired and are not held.
  mutating func revokeExpired(at now: MonotonicTime, path: String) {
    superseded.removeAll { entry in
      guard let pin = entry.pin.pin, pin.isValid else { return true }
      if !pin.isHeld && now >= entry.since.advanced(by: Self.lifetime) { pin.revoke() }
      return false
    }
    if let pin = heldBefore, !Self.isHeldWithoutPin(path, upTo: pin.listed.version) {
      pin.revoke()
      heldBefore = nil
    }
  }

  /// Revokes the newest known version if the session has a newer one, no `VersionHold` needs it, and it has not
  /// been read for the lifetime of a superseded version.
  func revokeOutdated(in session: Session, at now: MonotonicTime, lastUse: MonotonicTime) {
    guard let pin = newest?.pin, pin.isValid, !pin.isHeld, pin.listed.slot != session.versions.newestSlot,
      now >= lastUse.advanced(by: Self.lifetime)
    else { return }
    pin.revoke()
  }

  /// Revokes all versions, before the session is left.
  mutating func revokeAll() {
    newest?.pin?.revoke()
    for entry in superseded { entry.pin.pin?.revoke() }
    superseded = []
    heldBefore?.revoke()
    heldBefore = nil
  }

  /// True if any version is held, rather than only read.
  func isAnythingHeld(path: String) -> Bool {
    if let pin = heldBefore, Self.isHeldWithoutPin(path, upTo: pin.listed.version) { return true }
    let pins = [newest?.pin] + superseded.map(\.pin.pin)
    return pins.contains { $0?.isHeld ?? false }
  }

  /// True if this process holds a version of the realm at `path` up to `version` that it has held since before it
  /// joined the session.
  static func isHeldWithoutPin(_ path: String, upTo version: UInt64) -> Bool {
    VersionRegistry.held.oldest(of: path).map { $0 <= version } ?? false
  }
}
