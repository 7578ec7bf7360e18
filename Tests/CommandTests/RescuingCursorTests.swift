// A walk over damaged objects ends, moves forward, and leaves out only what is damaged.

import RealmPages
import RealmTransfer
import TestSupport
import Testing

@Suite("A cursor that goes on after damage")
struct RescuingCursorTests {
  /// The keys that a walk reaches, and its reports.
  private func walk(_ table: Table, after key: ObjKey = .none) -> (keys: [ObjKey], complaints: [String]) {
    let reader = RescuingCursor(table, after: key)
    var keys: [ObjKey] = [], complaints: [String] = []
    while reader.next(&complaints) {
      #expect(reader.last == reader.cursor.key && reader.last > keys.last ?? key)
      keys.append(reader.last)
    }
    return (keys, complaints)
  }

  private func walkAll(_ bytes: [UInt8], _ name: String) {
    bytes.withUnsafeBytes { bytes in
      // An unreadable file has no classes.
      guard let snapshot = try? Realm.snapshot(of: bytes, name: name), let keys = try? snapshot.tableKeys() else {
        return
      }
      // Each cluster of 256 objects takes some bytes, and so does each leaf of 1000 values in old formats.
      let room = 256 * (64 + bytes.count / 8)
      for key in keys {
        guard let table = try? snapshot.table(key) else { continue }  // as above
        for start in [ObjKey.none, ObjKey(0), ObjKey(1000), ObjKey(.max)] {
          #expect(walk(table, after: start).keys.count <= room, "\(name), \(table.name)")
        }
      }
    }
  }

  @Test("ends on files that once caused an endless loop", arguments: Fixture.damaged)
  func knownLoops(_ fixture: Fixture) throws { walkAll(try fixture.bytes(), fixture.name) }

  @Test("ends on mutants, and each step leads to a larger key")
  func mutants() throws {
    for fixture in MutantRun.chosen(Fixture.own + Fixture.old) where !fixture.isEncrypted {
      let mutator = Mutator(try fixture.bytes())
      for seed in MutantRun.seeds(20) { walkAll(mutator.mutant(seed: seed), "\(fixture), seed \(seed)") }
    }
  }

  @Test("skips only the objects of a damaged cluster")
  func oneCluster() throws {
    let fixture = Fixture.named("items-10k"), original = try fixture.bytes()
    let sound = try fixture.snapshot()
    let table = try #require(try sound.table(named: "class_Item"))
    let all = walk(table)
    #expect(all.keys.count == table.objectCount && all.complaints.isEmpty)
    var lossy = 0
    // The first byte of a header's width and flags, of every 97th node that looks like one of refs.
    for at in stride(from: 24, to: original.count - 8, by: 8 * 97) where original[at + 4] & 0xD8 == 0x40 {
      var bytes = original
      bytes[at + 4] |= 0x18
      bytes.withUnsafeBytes { bytes in
        guard let table = try? Realm.snapshot(of: bytes).table(named: "class_Item") else { return }  // too much is lost
        let rest = walk(table)
        if rest.keys.count < all.keys.count {
          lossy += 1
          #expect(rest.keys.count >= all.keys.count - 256 || rest.keys.isEmpty, "node at \(at)")
          #expect(!rest.complaints.isEmpty)
        }
      }
    }
    #expect(lossy > 0)
  }
}
