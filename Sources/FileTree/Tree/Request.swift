// One request, and whether it still has to look where the realm's path leads.
//
// The file at the path can be moved, replaced or truncated at any moment, so each request looks once, when it first
// reads. A commit looks again before it writes. Requests that belong to one that has just looked, or that end with a
// commit, rely on that look and on the commit.

import Synchronization

/// A request of the kernel, or of a thread of the mount.
final class Request: Sendable {
  private enum Look {
    static let isDue: UInt8 = 0
    static let isDone: UInt8 = 1
    /// Not needed, unless the request finds that it cannot rely on another one.
    static let isSpared: UInt8 = 2
  }

  private let look: Atomic<UInt8>

  /// A request that looks where the path leads when it first reads.
  init() { look = Atomic(Look.isDue) }

  private init(_ look: UInt8) { self.look = Atomic(look) }

  /// Returns a request that relies on the look of an earlier one, or on that of its commit.
  static func relying() -> Request { Request(Look.isSpared) }

  /// Returns true if the caller must look where the path leads; once.
  func takeLook() -> Bool {
    look.compareExchange(expected: Look.isDue, desired: Look.isDone, ordering: .relaxed).exchanged
  }

  /// Makes a request that relies on another one look at its next read. Returns false if it does not rely on any.
  func stopRelying() -> Bool {
    look.compareExchange(expected: Look.isSpared, desired: Look.isDue, ordering: .relaxed).exchanged
  }
}
