// Recent results, so that a page of a sorted or filtered class costs no more than its rows.

import RealmPages
import Synchronization

/// The objects that match a query, in its order.
struct QueryResult: Sendable {
  /// All keys, or only the first ones.
  let keys: [ObjKey]
  /// The number of all objects.
  let count: Int
}

/// Caches results by version, class, query and order.
final class ResultCache: Sendable {
  struct Request: Hashable, Sendable {
    /// `Snapshot.identity`.
    let version: String
    let table: TableKey
    let query: String
    let sort: String
    /// True for a result with only the first keys.
    let isBeginning: Bool
  }

  /// One result. Concurrent requests for the same result wait for the first of them.
  private final class Entry: Sendable {
    let result = Mutex<QueryResult?>(nil)
    let keyCount = Atomic(0)
  }

  /// The most recently used first.
  private let entries = Mutex<[(request: Request, entry: Entry)]>([])

  private static let maxEntries = 4
  /// The maximum number of keys in all results together; a single result may exceed it.
  private static let maxKeys = 500_000

  /// Returns the result of an earlier identical request; otherwise calls `find`. A result that is not valid, because
  /// the version has been overwritten, is not cached.
  func result(
    _ request: Request,
    _ find: () throws -> (result: QueryResult, isValid: Bool)
  ) throws -> QueryResult {
    let entry = entries.withLock { entries in
      let index = entries.firstIndex { $0.request == request }
      let found = index.map { entries.remove(at: $0) } ?? (request, Entry())
      entries.insert(found, at: 0)
      var sum = 0
      for (place, item) in entries.enumerated() {
        sum += item.entry.keyCount.load(ordering: .relaxed)
        if place > 0, place >= Self.maxEntries || sum > Self.maxKeys {
          entries.removeSubrange(place...)
          break
        }
      }
      return found.1
    }
    return try entry.result.withLock { known in
      if let known { return known }
      let found = try find()
      if found.isValid {
        known = found.result
        entry.keyCount.store(found.result.keys.count, ordering: .relaxed)
      }
      return found.result
    }
  }
}
