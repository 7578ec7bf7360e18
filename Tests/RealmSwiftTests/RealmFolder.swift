// A folder for the realms of one test, and a check of every file in it.

import Foundation
import RealmPages
import RealmSwift
import TestSupport
import Testing

/// A folder with realms, removed with the value.
struct RealmFolder {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func url(_ name: String = "test") -> URL { folder.url.appendingPathComponent("\(name).realm") }

  func configuration(_ types: ObjectBase.Type..., named name: String = "test") -> RealmSwift.Realm.Configuration {
    RealmSwift.Realm.Configuration(fileURL: url(name), objectTypes: types)
  }

  /// The problems that the engine's checker finds in a file.
  func problems(_ name: String = "test", key: Data? = nil) throws -> [String] {
    let key = key.flatMap { EncryptionKey([UInt8]($0)) }
    let realm = try RealmPages.Realm(Configuration(path: url(name).path, encryptionKey: key, mode: .immutable))
    var problems: [String] = []
    _ = Verifier(try realm.latest()).run { problems.append("\($0)") }
    return problems
  }
}
