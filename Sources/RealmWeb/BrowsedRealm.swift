// The realm that is browsed, and how it is read: each response is based on one version.

import RealmJSON
import RealmPages
import RealmQuery

/// The realm of a server.
struct BrowsedRealm: Sendable {
  let realm: Realm
  /// Nil if the realm is read-only.
  let writer: RealmWriter?
  /// The path as the user knows it.
  let path: String

  private static let attempts = 200

  /// Runs `body` on the newest version, which is held while `body` runs. Repeats it if the version was overwritten,
  /// which can happen if other programs do not know of the hold.
  func onNewest<R>(_ body: (Snapshot) throws -> R) throws -> R {
    var hold: VersionHold?
    defer { withExtendedLifetime(hold) {} }
    let result = try realm.read(
      attempts: Self.attempts,
      pauses: true,
      latest: {
        let newest = try realm.hold()
        hold = newest
        return newest.snapshot
      },
      body
    )
    guard let result else { throw WebError(503, "other programs commit faster than the realm can be read") }
    return result
  }
}

extension Snapshot {
  /// Returns the tables of all classes, in slot order.
  func classTables() throws -> [Table] {
    try classes()
  }

  /// Returns the table of a class.
  func table(ofClass name: String) throws -> Table {
    if let table = try table(named: Table.classPrefix + name) {
      if let damage = table.damage { throw damage }
      return table
    }
    throw WebError(404, "no class \(name)")
  }
}

extension Table {
  /// Returns the index of a property in `columns`.
  func columnIndex(named name: String) throws -> Int {
    guard let index = columns.firstIndex(named: name, { $0.name }) else {
      throw WebError(404, "no property \(name) in class \(className ?? self.name)")
    }
    return index
  }
}
