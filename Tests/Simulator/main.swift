// Simulates programs that share a realm: one seed determines each step, each kill and each failure.
//
//     Simulator run SEED [SEEDS [STEPS]]         SEEDS simulations from SEED on, of STEPS steps each; virtual clock
//     Simulator log SEED [STEPS]                 one of them, with every step
//     Simulator minimise SEED [STEPS]            the fewest programs and steps with which a seed still fails
//     Simulator processes SEED [SEEDS [STEPS]]   programs that run by themselves, on the clock of the system
//
// Exit status 1: something was wrong, with the last steps. `run` repeats a failing seed exactly: `Simulator run SEED 1
// STEPS`; `processes` repeats its choices only.

import CSchedule
import Foundation
import TestSupport

/// Prints a line without buffering.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let words = Array(CommandLine.arguments.dropFirst())

/// The number at a place of the command line.
func number(_ index: Int, default value: Int) -> Int { index < words.count ? Int(words[index]) ?? value : value }

/// Prints the violation, and ends.
func fail(_ violation: any Error, _ folder: TemporaryFolder) -> Never {
  folder.remove()
  say("VIOLATION: \(violation)")
  exit(1)
}

/// Real programs, `count` seeds of them.
func runProcesses(_ first: UInt64, _ count: Int, _ steps: Int) throws {
  let folder = try TemporaryFolder(), start = Date()
  var total = (steps: 0, kills: 0, faults: 0, commits: 0, reads: 0)
  for seed in first..<first + UInt64(count) {
    var simulation = try ProcessSimulation(seed: seed, steps: steps, in: folder)
    do { try simulation.run() } catch { fail(error, folder) }
    total.steps += simulation.steps
    total.kills += simulation.kills
    total.faults += simulation.faults
    total.commits += simulation.commits
    total.reads += simulation.reads
    if seed == first + UInt64(count) - 1 || (seed - first) % 50 == 49 {
      say(
        """
        processes: seeds \(first) to \(seed): \(total.steps) steps, \(total.commits) commits acknowledged, \
        \(total.reads) reads, \(total.kills) kills, \(total.faults) faults, no violation; \
        \(Int(Date().timeIntervalSince(start))) s
        """
      )
    }
  }
  folder.remove()
}

/// Runs one seed; returns the violation, if there was one.
func outcome(_ seed: UInt64, _ steps: Int, _ programs: Int?) throws -> Violation? {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  var simulation = try VirtualSimulation(seed: seed, steps: steps, programs: programs, in: folder)
  do { try simulation.run() } catch let violation as Violation { return violation }
  return nil
}

/// Searches for the fewest programs and steps.
func minimise(_ seed: UInt64, _ limit: Int) throws {
  var steps = limit, programs: Int?
  guard var found = try outcome(seed, steps, nil) else {
    say("seed \(seed) does not fail")
    exit(2)
  }
  for fewer in 2...SharedContents.programs {
    guard let violation = try outcome(seed, steps, fewer) else { continue }
    (found, programs) = (violation, fewer)
    break
  }
  var low = 1
  while low < steps {
    let middle = (low + steps) / 2
    if let violation = try outcome(seed, middle, programs) {
      (found, steps) = (violation, middle)
    } else {
      low = middle + 1
    }
  }
  say("seed \(seed), \(steps) steps\(programs.map { ", \($0) programs" } ?? ""): \(found)")
  exit(1)
}

/// `count` seeds on a virtual clock.
func runVirtual(_ first: UInt64, _ count: Int, _ steps: Int) throws {
  let folder = try TemporaryFolder(), start = Date()
  var total = VirtualTotal()
  for seed in first..<first + UInt64(count) {
    var simulation = try VirtualSimulation(seed: seed, steps: steps, in: folder)
    do { try simulation.run() } catch { fail(error, folder) }
    total.add(sim_counts(), lies: simulation.lies)
    if seed == first + UInt64(count) - 1 || (seed - first) % 500 == 499 {
      say("simulator: seeds \(first) to \(seed): \(total.line(Date().timeIntervalSince(start)))")
    }
  }
  folder.remove()
}

// The programs that are killed may have pipes open.
signal(SIGPIPE, SIG_IGN)
switch words.first {
case "participant":
  var participant = Participant(
    path: words[1],
    number: number(2, default: 0),
    seed: UInt64(words[3]) ?? 0,
    key: words[4] == "key" ? try Fixture.key() : nil,
    .library,
    Line()
  )
  participant.run()
case "processes":
  try runProcesses(UInt64(number(1, default: 1)), number(2, default: 10), number(3, default: 1000))
case "run", "log", "minimise":
  let code = sim_begin()
  if code != 0 {
    say("simulator: cannot begin: errno \(code)")
    exit(2)
  }
  if words[0] == "log" {
    sim_be_loud()
    try runVirtual(UInt64(number(1, default: 1)), 1, number(2, default: 1000))
  } else if words[0] == "run" {
    try runVirtual(UInt64(number(1, default: 1)), number(2, default: 100), number(3, default: 1000))
  } else {
    try minimise(UInt64(number(1, default: 1)), number(2, default: 1000))
  }
default:
  say("usage: Simulator run|processes SEED [SEEDS [STEPS]] | log|minimise SEED [STEPS]")
  exit(2)
}
