// Simulates years in minutes: one seed determines every step of two to five programs that share a realm, on a clock
// that only the scheduler advances. The files and locks are the system's, in memory; the calls are the C library's,
// with a scheduler in them (Tests/CSchedule). A seed determines one run, so a violation can be repeated with its seed
// and its number of steps.

import CSchedule
import Foundation
import RealmPages
import TestSupport

/// A violation, and where it was found.
struct Violation: Error, CustomStringConvertible {
  let description: String
}

/// One seed.
struct VirtualSimulation {
  private let seed: UInt64
  private let rates: sim_rates
  private let count: Int
  private let path: String
  private var isAway = false
  /// The amount of promised content that lying disks left.
  private(set) var lies = 0

  /// The number of programs; chosen by the seed if nil.
  init(seed: UInt64, steps: Int, programs: Int? = nil, in folder: TemporaryFolder) throws {
    self.seed = seed
    var random = SplitMix64(seed: seed)
    let drawn = 2 + random.below(4)
    count = programs ?? drawn
    path = folder.path("\(seed).realm")
    let isEncrypted = random.below(3) == 0
    // Most seeds have some events of each kind, some have many of one kind.
    rates = sim_rates(
      kill: Int32([0, 5, 20, 60][random.below(4)]),
      kill_all: Int32([0, 1, 5][random.below(3)]),
      power: Int32([0, 3, 10, 40][random.below(4)]),
      stop: Int32([0, 20, 100][random.below(3)]),
      fault: Int32([0, 0, 100, 500][random.below(4)]),
      jump: Int32([0, 2, 20][random.below(3)]),
      move: Int32([0, 0, 5, 30][random.below(4)]),
      lies: random.below(10) == 0,
      has_pages: isEncrypted
    )
    // At least one creates the realm.
    let roles = (0..<5).map {
      $0 == 0 ? Role.library : [.library, .library, .command, .reader, .engine][random.below(5)]
    }
    setting = Setting(
      path: path,
      key: isEncrypted ? try Fixture.key() : nil,
      roles: roles,
      mayLoseFile: rates.move > 0 || rates.lies
    )
    sim_reset(seed, UInt64(steps), Int32(count), rates)
  }

  /// Runs to the end; throws a violation.
  mutating func run() throws {
    defer {
      for number in 0..<count { sim_end(Int32(number)) }
      for suffix in ["", ".lock", ".note", ".away"] { unlink(path + suffix) }
      rmdir(path + ".management")
    }
    do {
      for number in 0..<count { try start(number) }
      while try handle(sim_run()) {}
    } catch {
      let roles = setting.roles.prefix(count).map(\.description).joined(separator: ", ")
      throw Violation(
        description: """
          seed \(seed), step \(sim_counts().steps), \(setting.key == nil ? "plain" : "encrypted"), \(roles): \(error)
          \(String(cString: sim_story()))
          """
      )
    }
  }

  private func start(_ number: Int) throws {
    var mix = SplitMix64(seed: seed &* 31 &+ UInt64(number) &+ sim_random(1 << 60))
    let code = sim_start(Int32(number), mix.next()) { number, seed in
      let role = setting.roles[Int(number)]
      var participant = Participant(
        path: setting.path,
        number: Int(number),
        seed: seed,
        key: setting.key,
        role,
        VirtualStage(role)
      )
      participant.run()
    }
    if code != 0 { throw Violation(description: "fork: errno \(code)") }
  }

  /// True if the simulation continues.
  private mutating func handle(_ event: sim_event) throws -> Bool {
    switch event {
    case sim_kill:
      kill(Int(sim_target()))
      try start(Int(sim_target()))
    case sim_kill_all:
      for number in 0..<count { kill(number) }
      try moveBack()
      try checkFile()
      for number in 0..<count { try start(number) }
    case sim_power:
      for number in 0..<count { kill(number) }
      try moveBack()
      _ = sim_cut_power(path, setting.key != nil)
      try checkFile(isOnDisk: true)
      for number in 0..<count { try start(number) }
    case sim_move:
      if isAway { try moveBack() } else if sim_is_made() { try moveAway() }
    case sim_done:
      for number in 0..<count { kill(number) }
      try moveBack()
      try checkFile()
      try writeOn()
      return false
    default: throw Violation(description: String(cString: sim_text()))
    }
    return true
  }

  private func kill(_ number: Int) {
    sim_note("program \(number) is killed")
    sim_end(Int32(number))
    sim_count_kill()
  }

  private mutating func moveAway() throws {
    sim_note("the file is moved away")
    if rename(path, path + ".away") != 0 { throw Violation(description: "rename: \(errno)") }
    isAway = true
    sim_note_move(true)
  }

  private mutating func moveBack() throws {
    if !isAway { return }
    isAway = false
    sim_note_move(false)
    // A compaction in progress has created a new one there.
    if access(path, F_OK) == 0 { return }
    sim_note("the file is moved back")
    if rename(path + ".away", path) != 0 { throw Violation(description: "rename: \(errno)") }
  }

  /// Compares the file with the promises. Further content is promised from now on if it `isOnDisk`.
  private mutating func checkFile(isOnDisk: Bool = false) throws {
    let promise = sim_promised()
    // A lying disk can also damage a file for which nothing is promised yet.
    if promise.version == 0 && !rates.lies { return }
    do {
      let configuration = Configuration(path: path, encryptionKey: setting.key, mode: .immutable)
      let contents = try SharedContents(Realm(configuration).latest())
      if promise.version == 0 { return }
      let loss = promise.loss(in: contents)
      if let loss, !rates.lies { throw Violation(description: "the file: \(loss)") }
      if loss != nil { lies += 1 }
      if isOnDisk || loss != nil { sim_promise_again(sim_promise(contents)) }
    } catch  where rates.lies && !(error is Violation) {
      // Such a disk may leave anything that does not stop a program; then the realm is created again.
      lies += 1
      unlink(path)
      sim_promise_again(sim_promise())
    }
  }
  /// A program that opens the file after all of this can commit to it.
  private func writeOn() throws {
    if sim_promised().version == 0 { return }
    do {
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: setting.key, mode: .exclusive))
      let transaction = try writer.begin()
      var random = SplitMix64(seed: seed)
      try SharedContents.change(transaction, 0, &random)
      _ = try transaction.commit()
      _ = try SharedContents(writer.realm.latest())
    } catch  where !rates.lies { throw Violation(description: "the file cannot be written to any more: \(error)") }
  }
}
