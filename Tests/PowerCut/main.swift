// Power cuts: creates the states that a cut could leave, opens them, compares them with the promises, verifies them and
// writes to them. Exit status 1: something was lost. See docs/RELIABILITY.md.
//
//     PowerCut states COUNT [SEED]               of single files: what was written since the last sync is kept in part
//     PowerCut disk FORMAT COUNT [SEED]          of a whole file system: ext4, ext4-journal, xfs, btrfs
//     PowerCut shutdown FORMAT ROUNDS [SEED]     of live writers on ext4 or xfs

import Foundation

let words = Array(CommandLine.arguments.dropFirst())

/// Prints a line without buffering.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// The number at a place of the command line.
func number(_ index: Int, default value: Int) -> Int { index < words.count ? Int(words[index]) ?? value : value }

let format = words.count > 1 ? DiskFormat(rawValue: words[1]) : nil

do {
  switch words.first {
  case "states":
    var states = try EngineStates()
    try states.run(count: number(1, default: 10_000), seed: UInt64(number(2, default: 1))) { say("states: \($0)") }
  case "shutdown":
    guard let format else { fallthrough }
    var shutdowns = try Shutdowns(format, seed: UInt64(number(3, default: 1)))
    try shutdowns.run(rounds: number(2, default: 20)) { say("shutdown: \($0)") }
  case "disk":
    guard let format else { fallthrough }
    let count = number(2, default: 200)
    var states = try DiskStates(format, seed: UInt64(number(3, default: 1)))
    try states.run(count: count) { say("disk: \($0)") }
  default:
    say("usage: PowerCut states COUNT [SEED] | disk FORMAT COUNT [SEED] | shutdown FORMAT ROUNDS [SEED]")
    exit(2)
  }
} catch {
  say("LOST: \(error)")
  exit(1)
}
