// Rendered text can be read back: saving it to the object changes nothing, and in an empty realm it creates an equal
// object.

import Foundation
import RealmJSON
import RealmPages
import TestSupport
import Testing

@Suite("round trip")
struct RoundTripTests {
  static let writable = (Fixture.own + Fixture.large + Fixture.sdk).filter {
    $0.format == 24 && !$0.name.hasPrefix("synced") && !$0.name.contains("guids")
  }

  @Test("writing an object's own text back changes nothing", arguments: writable, JSONStyle.allCases)
  func ownTextChangesNothing(_ fixture: Fixture, style: JSONStyle) throws {
    try withTemporaryFile(fixture.bytes()) { path in
      let key = fixture.isEncrypted ? try Fixture.key() : nil
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: key))
      let transaction = try writer.begin()
      let snapshot = try writer.realm.latest()
      let renderer = ObjectRenderer(snapshot, style: style)
      for mode in WriteMode.allCases {
        let patcher = ObjectPatcher(mode: mode)
        for table in try classes(of: snapshot) {
          try forSomeObjects(of: table) { cursor in
            let text = OutputBuffer()
            try renderer.render(cursor, layout: .pretty, into: text)
            let outcome = try patcher.apply(
              JSONText(text.bytes),
              to: .object(cursor.key),
              of: table.key,
              in: transaction
            )
            #expect(!outcome.hasChanged && !outcome.wasCreated, "\(table.name)/\(cursor.key) with \(style)")
          }
        }
      }
      let hasChanges = transaction.hasChanges
      #expect(!hasChanges)
    }
  }

  private func classes(of snapshot: Snapshot) throws -> [Table] {
    try snapshot.tableKeys().compactMap { try snapshot.table($0) }
      .filter { $0.className != nil && $0.kind == .topLevel }
  }

  private func forSomeObjects(of table: Table, _ body: (ObjectCursor) throws -> Void) throws {
    let cursor = ObjectCursor(table)
    var count = 0
    while try cursor.next() {
      if count < 200 || count % 97 == 0 { try body(cursor) }
      count += 1
    }
  }
}
