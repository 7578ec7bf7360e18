// Crash states in large numbers, between the engine and the file: the storage may keep any part of what was written
// since the last sync.

import Foundation
import RealmPages
import TestSupport

/// Records runs, one per seed, and checks the files that a crash during them could leave.
struct EngineStates {
  private let folder: TemporaryFolder
  private var seen: Set<UInt64> = []
  private var visited = 0
  private var runs = 0
  /// States that showed the former version, and the new one.
  private var found = (old: 0, new: 0)

  init() throws { folder = try TemporaryFolder() }

  /// Checks until `count` states were different, from `seed` on. `report` receives a line from time to time.
  mutating func run(count: Int, seed: UInt64, report: (String) -> Void) throws {
    defer { folder.remove() }
    let key = try Fixture.key(), start = Date()
    let first = seed
    var seed = seed, next = 0
    while seen.count < count {
      for key in [nil, key] where seen.count < count {
        // The kinds of commits are few, so that their random parts have another seed each time.
        for shape in CommitShape.allCases where shape != .conversion || key == nil {
          // By a program that has the realm open exclusively, and by one that shares it.
          for mode in [Configuration.Mode.exclusive, .shared] where seed == first || seed % 16 == 0 {
            try check(RecordedRun(shape, key: key, mode: mode), samples: 20, seed: seed, until: count)
          }
        }
        try check(RecordedRun(history: seed, key: key), samples: 6, seed: seed, until: count)
      }
      seed += 1
      if seen.count >= next {
        report(line(start, seed))
        next = seen.count + max(1, count / 20)
      }
    }
    report(line(start, seed))
  }

  private func line(_ start: Date, _ seed: UInt64) -> String {
    """
    \(seen.count) distinct states of \(visited), \(runs) runs before seed \(seed), \(found.old) with the former \
    version, \(found.new) with the new one, \(Int(Date().timeIntervalSince(start))) s
    """
  }

  private mutating func check(
    _ run: RecordedRun,
    samples: Int,
    seed: UInt64,
    until count: Int,
    isSecond: Bool = false
  ) throws {
    let images = CrashImages(before: run.before, events: run.events, unit: run.unit)
    let path = folder.path("state.realm")
    runs += 1
    try images.visit(samples: samples, seed: seed) { image in
      if seen.count >= count { return }
      visited += 1
      var mark = Fingerprint()
      image.bytes.withUnsafeBytes { mark.mix($0) }
      if !seen.insert(mark.value).inserted && !image.isComplete { return }
      try Data(image.bytes).write(to: URL(fileURLWithPath: path))
      let allowed = run.allowed(after: image.isComplete ? .max : image.syncs)
      do {
        let index = try StateCheck.run(
          path,
          run.key,
          allowed: allowed,
          mayBeNew: run.isNew && allowed.startIndex == 0,
          isShared: visited % 8 == 0
        )
        if index == allowed.startIndex { found.old += 1 } else { found.new += 1 }
        if !isSecond, visited % 32 == 0, !(run.isNew && allowed.startIndex == 0) {
          // A crash of the first commit after a crash.
          try check(
            RecordedRun(continuing: image.bytes, key: run.key),
            samples: 1,
            seed: seed,
            until: count,
            isSecond: true
          )
        }
      } catch {
        let kept = FileManager.default.temporaryDirectory.appendingPathComponent("lost-\(seed).realm")
        try Data(image.bytes).write(to: kept)
        throw Loss(description: "\(run.name), \(image.story): \(error); the file is \(kept.path)")
      }
    }
  }
}
