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
  private static let open = Mutex<[String: Weak]>([:])
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

  /// The file of a configuration, which is opened if no `Realm` has it open.
  static func of(_ configuration: Realm.Configuration) throws -> RealmFile {
    let path = try configuration.engine().path
    return try opening.withLock { _ in
      if let known = open.withLock({ $0[path]?.file }) {
        let address = try configuration.syncConfiguration?.address().description
        if address != known.synced?.mirror.url.description {
          let other = known.synced.map { "the mirror of \($0.mirror.url)" } ?? "a local realm"
          throw Realm.Error(.alreadyOpen, "\(path) is open in this process as \(other)")
        }
        if known.isReadOnly != configuration.readOnly {
          throw Realm.Error(.alreadyOpen, "\(path) is open in this process with another value of readOnly")
        }
        if known.encryptionKey != configuration.encryptionKey {
          throw Realm.Error(.alreadyOpen, "\(path) is open in this process with another encryption key")
        }
        return known
      }
      let file = try RealmFile(configuration)
      // What turns out to have no other reference here ends behind the lock.
      let looked = open.withLock { open in
        let alive = open.compactMapValues(\.file)
        open = open.filter { alive[$0.key] != nil }
        open[path] = Weak(file: file)
        return alive
      }
      withExtendedLifetime(looked) {}
      return file
    }
  }

  /// Whether a `Realm` of this process has the file open.
  static func isOpen(_ path: String) -> Bool { open.withLock { $0[path]?.file } != nil }
}
