// The files that are open in this process. All threads that open the same realm share one engine writer.

import Foundation
import RealmPages
import RealmSync
import Synchronization

/// A realm file, opened once in the process for as long as a `Realm` needs it.
final class RealmFile: Sendable {
  let path: String
  let reader: RealmPages.Realm
  /// Nil for a read-only realm.
  let writer: RealmWriter?
  /// Notifies the realms that have observers of commits.
  let delivery = ChangeDelivery()
  /// Nil for a local realm.
  let synced: SyncedFile?
  private let encryptionKey: Data?
  private let isReadOnly: Bool

  private struct Weak { weak let file: RealmFile? }
  private static let open = Mutex<[ExactName: Weak]>([:])
  /// Held while a file is being opened, to open it only once.
  private static let opening = Mutex<Void>(())

  private init(_ configuration: Realm.Configuration) throws {
    let engine = try configuration.engine()
    path = engine.path
    encryptionKey = configuration.encryptionKey
    isReadOnly = configuration.readOnly
    if let sync = configuration.syncConfiguration {
      let synced = try SyncedFile(sync, engine, isReadOnly: isReadOnly)
      (self.synced, reader) = (synced, synced.mirror.writer.realm)
      writer = isReadOnly ? nil : synced.mirror.writer
      return
    }
    synced = nil
    if configuration.readOnly {
      (reader, writer) = (try RealmPages.Realm(engine), nil)
    } else {
      let writer = try RealmWriter.open(engine)
      (reader, self.writer) = (writer.realm, writer)
    }
  }

  /// Returns the file of a configuration; opens it if no `Realm` has it open. Throws `alreadyOpen` if the process has
  /// it open with other options and does not close it in time.
  static func of(_ configuration: Realm.Configuration) throws -> RealmFile {
    let path = try configuration.engine().path, address = try configuration.syncConfiguration?.address().description
    var conflict: String?
    let file = try polled(for: closingTime) { () -> RealmFile? in
      try opening.withLock { _ in
        guard let known = open.withLock({ $0[ExactName(path)]?.file }) else {
          conflict = nil
          return try opened(configuration, path)
        }
        conflict = known.conflict(with: configuration, address)
        return conflict == nil ? known : nil
      }
    }
    if let file { return file }
    throw Realm.Error(.alreadyOpen, "\(path) is open in this process \(conflict ?? "")")
  }

  /// Opens a file and registers it for later callers.
  private static func opened(_ configuration: Realm.Configuration, _ path: String) throws -> RealmFile {
    let file = try RealmFile(configuration)
    // Released outside the lock: this may be the last reference.
    let looked = open.withLock { open in
      let alive = open.compactMapValues(\.file)
      open = open.filter { alive[$0.key] != nil }
      open[ExactName(path)] = Weak(file: file)
      return alive
    }
    withExtendedLifetime(looked) {}
    return file
  }

  /// Describes how the file is open, if that conflicts with a configuration; nil otherwise.
  private func conflict(with configuration: Realm.Configuration, _ address: String?) -> String? {
    if address != synced?.mirror.url.description {
      return synced.map { "as the mirror of \($0.mirror.url)" } ?? "as a local realm"
    }
    if isReadOnly != configuration.readOnly { return "with another value of readOnly" }
    return encryptionKey == configuration.encryptionKey ? nil : "with another encryption key"
  }

  /// Returns true if a `Realm` of this process has the file open and does not close it in time.
  static func isOpen(_ path: String) -> Bool {
    polled(for: closingTime) { open.withLock { $0[ExactName(path)]?.file } == nil ? true : nil } == nil
  }

  // MARK: closing

  /// How long a file may stay open after its last `Realm` was released: a thread that opened it, or that waits for
  /// changes, releases its reference the next time it runs.
  private static let closingTime: Duration = .seconds(2)

  /// Returns the result of `body` as soon as it is not nil; nil after `time`.
  private static func polled<R>(for time: Duration, _ body: () throws -> R?) rethrows -> R? {
    let end = ContinuousClock.now + time
    while true {
      if let result = try body() { return result }
      if ContinuousClock.now >= end { return nil }
      usleep(5_000)
    }
  }
}
