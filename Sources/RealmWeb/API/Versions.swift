// `/api/versions`, and the realm as of a former version, which answers all read requests with `version=`.

import RealmJSON
import RealmPages
import Synchronization

/// The realm as of the former version that was requested last.
final class FormerRealm: Sendable {
  private struct Opened {
    let version: UInt64
    let realm: Realm
    var lastUse: ContinuousClock.Instant
  }

  /// The lock is held during the search for a version, so that concurrent requests search only once.
  private let opened = Mutex<Opened?>(nil)

  /// The time after which a version that is not used is released. Until then, writers cannot reuse the space of the
  /// version that was the newest when it was opened.
  private static let idleTime = Duration.seconds(60)

  /// Returns the realm as of a version of `browsed`. Throws if the file does not hold the whole version.
  func realm(_ version: UInt64, of browsed: BrowsedRealm) throws -> Realm {
    try opened.withLock { opened in
      // A version that is no longer valid is searched for again.
      if let known = opened, known.version == version, (try? known.realm.latest()) != nil {
        opened?.lastUse = .now
        return known.realm
      }
      opened = nil
      let realm = try browsed.withTimeline { timeline in
        guard let found = timeline.version(version) else { throw WebError(404, "no version \(version) in the file") }
        if let fault = timeline.state(of: found).fault {
          throw WebError(409, "version \(version) is not whole: \(fault)")
        }
        return try timeline.realm(asOf: found)
      }
      opened = Opened(version: version, realm: realm, lastUse: .now)
      return realm
    }
  }

  /// Releases the version if it has not been used for a minute. Does nothing during a search.
  func releaseUnused() {
    opened.withLockIfAvailable { opened in
      if let known = opened, ContinuousClock.now - known.lastUse > Self.idleTime { opened = nil }
    }
  }

  /// Releases the version. Does nothing during a search, so that the end of the server does not wait for it.
  func release() { opened.withLockIfAvailable { $0 = nil } }
}

extension BrowsedRealm {
  /// How long to wait for writers in other programs.
  private static let timeout = Duration.seconds(3)
  /// The number of searches that commits may interrupt.
  private static let searches = 5

  /// Runs `body`, which searches the whole file, on the newest version. Programs can commit during the search, which
  /// may overwrite any part of the file that the newest version does not use. So if one has committed, the result is
  /// discarded, an error included, and the search is repeated. Writers are locked out only while the version is read
  /// before and after the search, because a commit in progress has no number yet.
  ///
  /// - Throws: also 503 if each of several searches was interrupted.
  func search<R>(_ body: (Snapshot) throws -> R) throws -> R {
    for _ in 0..<Self.searches {
      let start = try betweenCommits()
      let outcome = Result { try body(start.hold.snapshot) }
      if try betweenCommits().identity == start.identity { return try outcome.get() }
    }
    throw WebError(503, "other programs commit faster than the file can be searched; try again when they are idle")
  }

  /// Holds the newest version at a moment at which no commit is in progress.
  private func betweenCommits() throws -> (hold: VersionHold, identity: String) {
    let outcome: Result<(hold: VersionHold, identity: String), EngineError>
    if let writer {
      outcome = try writer.withWriterLock(timeout: Self.timeout) { _ in newest() }
    } else {
      outcome = try realm.withWriterLock(timeout: Self.timeout) { _, _ in newest() }
    }
    return try outcome.get()
  }

  private func newest() -> Result<(hold: VersionHold, identity: String), EngineError> {
    Result { () throws(EngineError) in
      let hold = try realm.hold()
      return (hold, try hold.snapshot.identity())
    }
  }

  /// Runs `body` with the versions in the file.
  fileprivate func withTimeline<R>(_ body: (VersionTimeline) throws -> R) throws -> R {
    try search { newest in
      try body(try VersionTimeline(newest, of: realm))
    }
  }
}

extension WebAPI {
  func versions() throws -> WebResponse {
    try browsed.withTimeline { timeline in
      let items = timeline.versions.map { version in
        let state = timeline.state(of: version)
        return JSONValue.object([
          ("version", .number(Int(clamping: version.version))), ("state", .string(state.name)),
          ("fault", state.fault.map { .string($0) } ?? .null),
        ])
      }
      let newest = timeline.versions.first.map { JSONValue.number(Int(clamping: $0.version)) } ?? .null
      return .json(.object([("version", newest), ("versions", .array(items))]))
    }
  }
}
