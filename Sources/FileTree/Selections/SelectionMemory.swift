// Cached results of queries with DISTINCT or LIMIT in one version, so that looking up the names of a listing does not
// run the query for each name.

import RealmPages
import Synchronization

/// The results of a few selections of one version.
final class SelectionMemory: Sendable {
  private static let maxResults = 4
  private static let maxKeys = 1_000_000

  private let results = Mutex<[(selection: ObjectSelection, keys: Set<ObjKey>)]>([])

  /// True if the result of `find`, cached for `selection`, contains the key.
  func contains<E: Error>(
    _ key: ObjKey,
    of selection: ObjectSelection,
    _ find: () throws(E) -> [ObjKey]
  ) throws(E) -> Bool {
    if let known = results.withLock({ $0.first { $0.selection == selection }?.keys.contains(key) }) { return known }
    let keys = try find()
    if keys.count <= Self.maxKeys {
      results.withLock { results in
        if results.count == Self.maxResults { results.removeFirst() }
        results.append((selection, Set(keys)))
      }
    }
    return keys.contains(key)
  }
}
