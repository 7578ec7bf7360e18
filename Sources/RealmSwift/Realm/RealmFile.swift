// The open files of this process: every thread that opens the same realm shares the engine's writer.

import Foundation
import RealmPages
import RealmSync
import Synchronization

/// A realm file, opened once in the process for as long as a `Realm` needs it.
final class RealmFile: Sendable {
  let path: String
  let reader: RealmPages.Realm
  /// Nil for a realm that is only read.
  let writer: RealmWriter?
  /// Tells those who observe of changes.
  let delivery = ChangeDelivery()
  /// Nil for a local realm.
  let synced: SyncedFile?
  private let encryptionKey: Data?
  private let isReadOnly: Bool

  private struct Weak { weak let file: RealmFile? }
  private static let open = Mutex<[ExactName: Weak]>([:])
  /// Held while a file is being opened, so that it is opened once.
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

  /// The file of a configuration, which is opened if no `Realm` has it open. Throws `alreadyOpen` where the process has
  /// it open with other options, after a wait for what is closing.
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

  /// Opens a file, and keeps it for those who ask for it next.
  private static func opened(_ configuration: Realm.Configuration, _ path: String) throws -> RealmFile {
    let file = try RealmFile(configuration)
    // What turns out to have no other reference here ends behind the lock.
    let looked = open.withLock { open in
      let alive = open.compactMapValues(\.file)
      open = open.filter { alive[$0.key] != nil }
      open[ExactName(path)] = Weak(file: file)
      return alive
    }
    withExtendedLifetime(looked) {}
    return file
  }

  /// How it is open, where that is not what a configuration wants.
  private func conflict(with configuration: Realm.Configuration, _ address: String?) -> String? {
    if address != synced?.mirror.url.description {
      return synced.map { "as the mirror of \($0.mirror.url)" } ?? "as a local realm"
    }
    if isReadOnly != configuration.readOnly { return "with another value of readOnly" }
    return encryptionKey == configuration.encryptionKey ? nil : "with another encryption key"
  }

  /// Whether a `Realm` of this process has the file open, after a wait for one that is closing.
  static func isOpen(_ path: String) -> Bool {
    polled(for: closingTime) { open.withLock { $0[ExactName(path)]?.file } == nil ? true : nil } == nil
  }

  // MARK: closing

  /// How long a file may stay open after the last `Realm` is gone: a thread that opened it, or waits for changes, lets
  /// go of it when it runs next.
  private static let closingTime: Duration = .seconds(2)

  /// What `body` returns as soon as that is not nil; nil after `time`.
  private static func polled<R>(for time: Duration, _ body: () throws -> R?) rethrows -> R? {
    let end = ContinuousClock.now + time
    while true {
      if let result = try body() { return result }
      if ContinuousClock.now >= end { return nil }
      usleep(5_000)
    }
  }
}
