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

  /// Runs `body` on the newest version while no program can commit, with the realm that holds it.
  func withWriterLock<R>(_ body: (Snapshot, Realm) throws -> R) throws -> R {
    let outcome: Result<R, any Error>
    if let writer {
      outcome = try writer.withWriterLock(timeout: Self.timeout) { newest in
        Result { try body(newest, writer.realm) }
      }
    } else {
      outcome = try realm.withWriterLock(timeout: Self.timeout) { newest, realm in
        Result { try body(newest, realm) }
      }
    }
    return try outcome.get()
  }

  /// Runs `body` with the versions in the file while no program can commit.
  fileprivate func withTimeline<R>(_ body: (VersionTimeline) throws -> R) throws -> R {
    try withWriterLock { newest, realm in
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
