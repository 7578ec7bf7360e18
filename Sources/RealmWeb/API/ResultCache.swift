// The object keys of recent results, so that a page of a sorted or filtered class costs no more than its rows.

import RealmPages
import Synchronization

/// Caches object keys by version, class, query and order.
final class ResultCache: Sendable {
  struct Request: Hashable, Sendable {
    /// `Snapshot.identity`.
    let version: String
    let table: TableKey
    let query: String
    let sort: String
  }

  /// One result. Concurrent requests for the same result wait for the first of them.
  private final class Entry: Sendable {
    let keys = Mutex<[ObjKey]?>(nil)
    let count = Atomic(0)
  }

  /// The most recently used first.
  private let entries = Mutex<[(request: Request, entry: Entry)]>([])

  private static let maxEntries = 4
  /// The maximum number of keys in all results together; a single result may exceed it.
  private static let maxKeys = 4_000_000

  /// Returns the keys that `find` returned for an earlier identical request; otherwise calls `find`. If `find` returns
  /// nil, because the version has been overwritten, nothing is cached.
  func keys(
    _ request: Request,
    _ find: () throws -> (keys: [ObjKey], isValid: Bool)
  ) throws -> [ObjKey] {
    let entry = entries.withLock { entries in
      let index = entries.firstIndex { $0.request == request }
      let found = index.map { entries.remove(at: $0) } ?? (request, Entry())
      entries.insert(found, at: 0)
      var sum = 0
      for (place, item) in entries.enumerated() {
        sum += item.entry.count.load(ordering: .relaxed)
        if place > 0, place >= Self.maxEntries || sum > Self.maxKeys {
          entries.removeSubrange(place...)
          break
        }
      }
      return found.1
    }
    return try entry.keys.withLock { known in
      if let known { return known }
      let found = try find()
      if found.isValid {
        known = found.keys
        entry.count.store(found.keys.count, ordering: .relaxed)
      }
      return found.keys
    }
  }
}
