// Keeps the realms of a thread that are in a write transaction: `try Realm().beginWrite()` leaves no other reference to
// the realm. A thread that ends releases its realms, which rolls back their transactions.

import Foundation

/// The realms that the calling thread has open because of a transaction that began with `beginWrite()`.
final class OpenRealms {
  private static let name = "RealmSwift.OpenRealms"
  private var contexts: [RealmContext] = []

  /// Retains a realm for the calling thread. Does nothing for a realm of a queue or an actor, whose thread may change.
  static func keep(_ context: RealmContext) {
    guard case .thread = context.confinement else { return }
    context.isKeptOpen = true
    let dictionary = Thread.current.threadDictionary
    let realms = dictionary[name] as? OpenRealms ?? OpenRealms()
    dictionary[name] = realms
    realms.contexts.append(context)
  }

  /// Releases a realm whose transaction ends. Cheap for one that `keep` did not retain.
  static func forget(_ context: RealmContext) {
    guard context.isKeptOpen else { return }
    context.isKeptOpen = false
    (Thread.current.threadDictionary[name] as? OpenRealms)?.contexts.removeAll { $0 === context }
  }
}
