// The realm files with the exact tree that each must show.

import Foundation
import RealmPages
import Testing

/// A realm file and the tree that it must show.
struct FixtureTree: Sendable, CustomTestStringConvertible {
  let realm: URL

  var testDescription: String { realm.deletingPathExtension().lastPathComponent }

  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let shared = package.deletingLastPathComponent().appendingPathComponent("shared/fixtures")

  /// Files of format 24 that were made for these tests.
  static let made = trees(in: package.appendingPathComponent("Tests/Fixtures"))

  /// Files that Realm's SDKs wrote, formats 10 to 24.
  ///
  /// They are not part of this package.
  static let sdk = trees(in: shared.appendingPathComponent("sdk"))

  static let whereSDKFilesAre: Comment = "the files of Realm's SDKs are not at ../shared/fixtures/sdk"

  static func named(_ name: String) throws -> FixtureTree {
    try #require(made.first { $0.testDescription == name }, "Tests/Fixtures/\(name).realm is missing")
  }

  private static func trees(in folder: URL) -> [FixtureTree] {
    // A folder that is not there has no files; the tests that need it say so.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().filter { $0.hasSuffix(".realm") && isReadable($0) }.map {
      FixtureTree(realm: folder.appendingPathComponent($0))
    }
  }

  /// Whether the format that a name begins with, if any, is one that is read.
  private static func isReadable(_ name: String) -> Bool {
    guard name.first == "v", let format = Int(name.dropFirst().prefix { $0.isNumber }) else { return true }
    return format >= 10
  }

  /// The newest version of the file.
  func snapshot() throws -> Snapshot {
    var key: EncryptionKey?
    if testDescription.hasSuffix("-encrypted") {
      let file = realm.deletingLastPathComponent().appendingPathComponent("encrypted.key.hex")
      let hex = try String(contentsOf: file, encoding: .utf8)
      let digits = hex.compactMap(\.hexDigitValue)
      key = EncryptionKey(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) })
    }
    return try Realm(Configuration(path: realm.path, encryptionKey: key, mode: .immutable)).latest()
  }

  /// The lines of the expected tree.
  func lines() throws -> [Substring] {
    let tree = realm.deletingPathExtension().appendingPathExtension("tree.jsonl")
    return try String(contentsOf: tree, encoding: .utf8).split(separator: "\n")
  }
}
