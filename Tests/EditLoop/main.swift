// Makes random edits in a tree and compares it with a model. Tests/e2e/edit_everything.sh runs it on mounts, and other
// checkers of realm files run it on files. Exits with 1 and reports the first difference.
//
//     EditLoop library FILE SEED EDITS [KEYFILE]     the library's tree, and the verifier after each batch
//     EditLoop mount DIRECTORY SEED EDITS            a mounted realm
//
// KEYFILE holds 128 hexadecimal digits. EDIT_LOG=1 names each edit, EDIT_BATCH=N sets the edits between comparisons
// (20), EDIT_ALL=1 compares the whole tree each time, EDIT_DEEP_LINKS=0 makes no links in collections within
// collections, which the checks of Realm's own engine cannot follow.

import Foundation
import RealmPages
import TestSupport
import TreeSupport

let words = CommandLine.arguments
guard words.count >= 5, let seed = UInt64(words[3]), let count = Int(words[4]) else {
  print("usage: EditLoop library FILE SEED EDITS [KEYFILE] | EditLoop mount DIRECTORY SEED EDITS")
  exit(2)
}

let environment = ProcessInfo.processInfo.environment
let batch = environment["EDIT_BATCH"].flatMap { Int($0) } ?? 20

/// Makes the edits in batches; `check` runs after each.
func run(_ tree: any EditedTree, _ check: () throws -> Void) throws {
  var settings = RandomEdits.Settings()
  settings.hasDeepLinks = environment["EDIT_DEEP_LINKS"] != "0"
  var edits = try RandomEdits(tree, seed: seed, settings)
  while edits.edits < count {
    try edits.run(min(batch, count - edits.edits))
    if environment["EDIT_ALL"] != nil { try edits.compareAll() }
    do { try check() } catch {
      throw TreeModel.Disagreement("seed \(seed), edit \(edits.edits) (\(edits.lastEdit)): \(error)")
    }
  }
  try edits.compareAll()
  print("\(words[2]): seed \(seed): \(edits.edits) edits, \(edits.refusals) of them refused as they must be")
}

do {
  if words[1] == "mount" {
    try run(MountedTree(words[2])) {}
  } else {
    var key: EncryptionKey?
    if words.count > 5 {
      let digits = try String(contentsOfFile: words[5], encoding: .utf8).compactMap(\.hexDigitValue)
      key = EncryptionKey(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
    let writer = try RealmWriter(Configuration(path: words[2], encryptionKey: key))
    let tree = try LibraryTree(writer)
    // Leftovers of properties that an app removed remain; edits add none.
    let hadLeftovers = Verifier(try writer.realm.latest()).run { _ in }.leftovers > 0
    try run(tree) {
      let problems = Verifier(try writer.realm.latest()).problems(limit: 1)
      if let first = problems.first(where: { !hadLeftovers || !$0.isLeftover }) {
        throw TreeModel.Disagreement("\(first)")
      }
    }
    tree.finish()
  }
} catch {
  print("\(words[2]): \(error)")
  exit(1)
}
