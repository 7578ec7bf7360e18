// One request, and whether it still has to look where the realm's path leads.
//
// The file at the path can be moved, replaced or truncated at any moment, so each request looks once, when it first
// reads. A commit looks again before it writes.

import Synchronization

/// A request of the kernel, or of a thread of the mount.
final class Request: Sendable {
  private let hasLooked = Atomic<Bool>(false)

  /// Returns true if the caller must look where the path leads; once.
  func takeLook() -> Bool { !hasLooked.exchange(true, ordering: .relaxed) }

  /// Notes that this request need not look, because its answer does not depend on the realm, or because it is the
  /// second part of a system call whose first part has looked.
  func skipLook() { hasLooked.store(true, ordering: .relaxed) }
}
