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
  func onNewest<R>(_ body: (Snapshot) throws(WebError) -> R) throws(WebError) -> R {
    var hold: VersionHold?
    defer { withExtendedLifetime(hold) {} }
    let result = try realm.read(
      attempts: Self.attempts,
      pauses: true,
      latest: { () throws(WebError) in
        do throws(EngineError) {
          let newest = try realm.hold()
          hold = newest
          return newest.snapshot
        } catch { throw WebError(error) }
      },
      body
    )
    guard let result else { throw WebError(503, "other programs commit faster than the realm can be read") }
    return result
  }
}

extension Snapshot {
  /// Returns the tables of all classes, in slot order.
  func classTables() throws(WebError) -> [Table] {
    do throws(EngineError) { return try classes() } catch { throw WebError(error) }
  }

  /// Returns the table of a class.
  func table(ofClass name: String) throws(WebError) -> Table {
    do throws(EngineError) {
      if let table = try table(named: Table.classPrefix + name) {
        if let damage = table.damage { throw damage }
        return table
      }
    } catch { throw WebError(error) }
    throw WebError(404, "no class \(name)")
  }
}

extension Table {
  /// Returns the index of a property in `columns`.
  func columnIndex(named name: String) throws(WebError) -> Int {
    guard let index = columns.firstIndex(named: name, { $0.name }) else {
      throw WebError(404, "no property \(name) in class \(className ?? self.name)")
    }
    return index
  }
}

extension WebError {
  /// Converts the errors of reads.
  static func converting<R>(_ body: () throws -> R) throws(WebError) -> R {
    do { return try body() } catch let error as WebError { throw error } catch let error as EngineError {
      throw WebError(error)
    } catch let error as RenderError { throw WebError(error) } catch { throw WebError(500, "\(error)") }
  }

  init(_ failure: QueryFailure) {
    switch failure {
    case .damaged(let error): self.init(error)
    case .refused(let error): self.init(error)
    case .timedOut: self.init(503, "the query took too long")
    }
  }

  init(_ error: QueryError) { self.init(400, error.problem, column: error.condition == 0 ? error.column : nil) }

  init(_ error: RenderError) { self.init(500, error.description) }

  init(_ error: JSONInputError) {
    switch error.kind {
    case .engine(let cause): self.init(cause)
    case .missingObject: self.init(404, error.description)
    case .duplicate: self.init(409, error.description)
    default: self.init(400, error.description)
    }
  }
}
