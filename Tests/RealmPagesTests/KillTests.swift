// A program that commits is killed at random moments: its acknowledged commits are in the file, and the file is sound.
//
//     KILLS=1000 swift test --filter Kill

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Kill")
struct KillTests {
  private static let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 20
  private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("CommitLoop")

  @Test("a killed program loses no commit that had returned", arguments: [false, true])
  func kill(isEncrypted: Bool) throws {
    let temporary = try TemporaryFolder(), folder = temporary.url
    defer { temporary.remove() }
    let path = folder.appendingPathComponent("a.realm").path
    let digits = try String(
      contentsOf: Fixture.package.appendingPathComponent("Tests/Fixtures/encrypted.key.hex"),
      encoding: .utf8
    )
    var random = SplitMix64(seed: Seeds.first)
    var promised: Int64 = 0, found: Int64 = 0, later = 0
    for kill in 0..<Self.kills / 2 {
      let process = Process(), pipe = Pipe()
      process.executableURL = Self.program
      process.arguments = [path] + (isEncrypted ? [digits.trimmingCharacters(in: .whitespacesAndNewlines)] : [])
      process.standardOutput = pipe
      try process.run()
      // Sometimes it dies while it opens the file.
      let delay = Int.random(in: 0..<10, using: &random) == 0 ? 3_000 : 120_000
      usleep(useconds_t(Int.random(in: 0..<delay, using: &random)))
      Foundation.kill(process.processIdentifier, SIGKILL)
      let lines = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(!lines.contains("error"), "kill \(kill): \(lines.suffix(200))")
      // A killed program may leave an incomplete line.
      let numbers = lines.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { Int64($0) }
      promised = numbers.last ?? max(promised, found)
      guard FileManager.default.fileExists(atPath: path), try promised > 0 || size(path) > 0 else { continue }
      let key = isEncrypted ? try Fixture.key() : nil
      let snapshot: Snapshot
      do throws(EngineError) { snapshot = try Realm(Configuration(path: path, encryptionKey: key)).latest() } catch {
        // It died before the first header was written; the next one creates the file again.
        #expect(promised == 0 && found == 0, "kill \(kill): \(error)")
        continue
      }
      #expect(Verifier(snapshot).problems(limit: 3) == [], "kill \(kill)")
      let round = try CommitRound(snapshot)
      #expect(round.isWhole, "kill \(kill)")
      #expect(round.number >= promised, "kill \(kill): round \(round.number), but \(promised) was promised")
      // The grouped rounds between the last acknowledged one and the commit in progress become visible with it.
      #expect(round.number <= promised + 30, "kill \(kill): round \(round.number) after \(promised)")
      if round.number > promised { later += 1 }
      found = round.number
    }
    print("\(Self.kills / 2) kills, encrypted: \(isEncrypted), \(found) rounds, \(later) times one more than promised")
    #expect(found > 0)
  }

  private func size(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }
}
