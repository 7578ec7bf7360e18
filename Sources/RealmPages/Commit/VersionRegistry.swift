// The versions that this process itself uses, for realms without a version list shared with other programs.

import Synchronization

/// The versions that snapshots of this process refer to, so that a writer of this process does not reuse their space.
final class VersionRegistry: Sendable {
  static let shared = VersionRegistry()
  /// The versions among them that a `VersionHold` holds.
  static let held = VersionRegistry()

  private let counts = Mutex<[ExactName: [UInt64: Int]]>([:])

  func add(_ path: String, _ version: UInt64) {
    counts.withLock { $0[ExactName(path), default: [:]][version, default: 0] += 1 }
  }

  func remove(_ path: String, _ version: UInt64) {
    let path = ExactName(path)
    counts.withLock { counts in
      guard let count = counts[path]?[version] else { return }
      counts[path]?[version] = count == 1 ? nil : count - 1
      if counts[path]?.isEmpty ?? false { counts[path] = nil }
    }
  }

  /// The number of versions of a file in use, not counting `version`.
  func count(of path: String, besides version: UInt64) -> Int {
    counts.withLock { $0[ExactName(path)]?.keys.count { $0 != version } ?? 0 }
  }

  /// The oldest version of a file in use; nil if none is.
  func oldest(of path: String) -> UInt64? { counts.withLock { $0[ExactName(path)]?.keys.min() } }
}
