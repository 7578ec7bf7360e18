// One request, and whether it must still check which file the realm's path refers to.
//
// The file at the path can be moved, replaced or truncated at any moment, so each request checks it once, before its
// first read. A commit checks again before it writes.

import Synchronization

/// A request of the kernel, or of a thread of the mount.
final class Request: Sendable {
  private let hasCheckedPath = Atomic<Bool>(false)

  /// Returns true, only once, if the caller must check which file the path refers to.
  func takePathCheck() -> Bool { !hasCheckedPath.exchange(true, ordering: .relaxed) }

  /// Notes that this request need not look, because its answer does not depend on the realm, or because it is the
  /// second part of a system call whose first part has looked.
  func skipPathCheck() { hasCheckedPath.store(true, ordering: .relaxed) }
}
