// Flips every byte of a realm file, one at a time, and reports which flips are detected by opening, reading or the
// verifier, and whether the others change a value. Figures: docs/RELIABILITY.md.
//
//     Flips [--list] FILE...          --list names the flips that were not noticed

import Foundation
import RealmPages
import TestSupport

/// The content of a realm, or the fact that it is damaged.
struct Look: Equatable {
  var digest: UInt64 = 0
  var objects = 0
  var schema: [String] = []

  /// Nil if opening, reading or verifying finds a problem.
  init?(_ bytes: UnsafeRawBufferPointer) {
    // A file that does not open counts as detected.
    guard let snapshot = try? Realm.snapshot(of: bytes) else { return nil }
    var walk = ObjectWalk()
    walk.run(snapshot)
    if walk.errors > 0 || !Verifier(snapshot, isStrict: true).problems(limit: 1).isEmpty { return nil }
    (digest, objects) = (walk.digest, walk.objects)
    do {
      for key in try snapshot.tableKeys() {
        guard let table = try snapshot.table(key) else { continue }
        schema.append("\(table.name) \(table.columns.map { "\($0.name) \($0.type) \($0.key)" })")
      }
    } catch { return nil }
  }
}

/// The outcomes of flips.
struct Tally {
  var flips = 0, noticed = 0, changed = 0, schema = 0

  static func + (a: Tally, b: Tally) -> Tally {
    Tally(
      flips: a.flips + b.flips,
      noticed: a.noticed + b.noticed,
      changed: a.changed + b.changed,
      schema: a.schema + b.schema
    )
  }

  /// One line.
  func line(_ name: String) -> String {
    func share(_ count: Int) -> String { String(format: "%6.2f %%", 100 * Double(count) / Double(max(1, flips))) }
    let harmless = flips - noticed - changed - schema
    return "\(name): \(flips) flips, noticed \(share(noticed)), no value changes \(share(harmless)), "
      + "names change \(share(schema)), values change \(share(changed))"
  }
}

var files = Array(CommandLine.arguments.dropFirst())
let isListing = files.first == "--list"
if isListing { files.removeFirst() }
var total = Tally()
for file in files {
  var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
  guard let sound = bytes.withUnsafeBytes({ Look($0) }) else {
    print("\(file): not sound, or encrypted")
    continue
  }
  var tally = Tally()
  // One bit, which is another one at each byte, and all bits.
  for offset in bytes.indices {
    for mask in [1 << UInt8(offset * 5 % 8), 0xFF] as [UInt8] {
      bytes[offset] ^= mask
      let look = bytes.withUnsafeBytes { Look($0) }
      bytes[offset] ^= mask
      tally.flips += 1
      switch look {
      case nil: tally.noticed += 1
      case sound: if isListing { print("\(file) \(offset) \(mask) same") }
      case let look?:
        if look.schema != sound.schema { tally.schema += 1 } else { tally.changed += 1 }
        if isListing { print("\(file) \(offset) \(mask)", look.schema == sound.schema ? "value" : "name") }
      }
    }
  }
  print(tally.line(URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent))
  total = total + tally
}
if files.count > 1 { print(total.line("all")) }
