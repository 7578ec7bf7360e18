// The realm files with the exact tree that each must show.

import Foundation
import RealmJSON
import RealmPages
import TestSupport
import Testing

/// A realm file and the tree that it must show.
struct FixtureTree: Sendable, CustomTestStringConvertible {
  let realm: URL

  var testDescription: String { realm.deletingPathExtension().lastPathComponent }

  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let shared = package.deletingLastPathComponent().appendingPathComponent("shared/fixtures")

  /// Files of format 24 made for these tests.
  static let made = trees(in: package.appendingPathComponent("Tests/Fixtures"))

  /// Files written by Realm's SDKs, formats 10 to 24.
  ///
  /// They are not part of this package.
  static let sdk = trees(in: shared.appendingPathComponent("sdk"))

  /// Files written by old releases of Realm's engine for these tests, formats 2 to 10.
  static let ownOld = trees(in: package.appendingPathComponent("Tests/Fixtures/old"), from: 2)

  /// Files of formats 2 to 9, those of Realm's SDKs included, and the package's own of format 10.
  static let legacy = ownOld + trees(in: shared.appendingPathComponent("sdk"), from: 2, below: 10)

  /// Files that can be upgraded, formats 2 to 23.
  static let old = ownOld + trees(in: shared.appendingPathComponent("sdk"), from: 2, below: 24)

  static let whereSDKFilesAre: Comment = "the files of Realm's SDKs are not at ../shared/fixtures/sdk"

  static func named(_ name: String) throws -> FixtureTree {
    try #require(made.first { $0.testDescription == name }, "Tests/Fixtures/\(name).realm is missing")
  }

  private static func trees(in folder: URL, from oldest: Int = 10, below newest: Int = 25) -> [FixtureTree] {
    // A missing folder has no files; the tests that need it report that.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().filter { $0.hasSuffix(".realm") && (oldest..<newest).contains(format($0)) }.map {
      FixtureTree(realm: folder.appendingPathComponent($0))
    }
  }

  /// The format at the start of a name; 24 if there is none.
  private static func format(_ name: String) -> Int {
    name.first == "v" ? Int(name.dropFirst().prefix { $0.isNumber }) ?? 24 : 24
  }

  /// The newest version of the file.
  func snapshot() throws -> Snapshot {
    try Realm(Configuration(path: realm.path, encryptionKey: key(), mode: .immutable)).latest()
  }

  /// The key of an encrypted file; nil for others.
  func key() throws -> EncryptionKey? {
    testDescription.hasSuffix("-encrypted") ? try Fixture.key() : nil
  }

  /// The lines of the expected tree.
  func lines() throws -> [Substring] {
    let tree = realm.deletingPathExtension().appendingPathExtension("tree.jsonl")
    return try String(contentsOf: tree, encoding: .utf8).split(separator: "\n")
  }
}

extension FixtureTree {
  /// Records every difference between the expected tree of the file and `snapshot`.
  func compare(with snapshot: Snapshot) throws {
    var lines = try self.lines()[...]
    let renderer = ObjectRenderer(snapshot)
    let out = OutputBuffer()
    for table in try topLevelClasses(of: snapshot) {
      let header = lines.popFirst() ?? ""
      #expect(header.hasSuffix(",\"objects\":\(table.objectCount)}"), "\(table.name): \(header)")
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        out.reset()
        try renderer.render(cursor, layout: .compact, into: out)
        let line = lines.popFirst() ?? ""
        guard let start = line.range(of: "\",\"value\":")?.upperBound else {
          Issue.record("\(table.name)/\(cursor.key) is not expected; the next line is \(line.prefix(100))")
          return
        }
        if out.string != line[start...].dropLast() + "\n" {
          Issue.record("\(table.name)/\(cursor.key): \(out.string) is not \(line[start...])")
        }
      }
    }
    #expect(lines.isEmpty)
  }
}

/// The classes that have a directory, in slot order.
func topLevelClasses(of snapshot: Snapshot) throws -> [Table] {
  try snapshot.tableKeys().compactMap { try snapshot.table($0) }
    .filter { $0.className != nil && $0.kind != .embedded }
}
