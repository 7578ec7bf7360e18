// One program of a simulation: it reads and writes a realm that others have open too, and stops before each change of
// the file until the scheduler lets it go on. Its choices come from its seed.
//
// It prints a line for each step and outcome, and reads one byte for each step:
//
//     s NAME                 about to do something; waits for a byte: `g` go on, `i` fail with EIO, `n` with ENOSPC,
//                            `h` write a half and fail, `q` close the realm and end
//     a NUMBER VERSION       its commit NUMBER is on disk
//     e TEXT                 what it did was refused
//     r VERSION NUMBER...    what it reads: the newest version, and the last commit of each program in it
//     x TEXT                 something is wrong

import Foundation
import RealmPages
import TestSupport

/// The line to the scheduler.
final class Line: Sendable {
  func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    // Without a scheduler there is nothing to do.
    if write(1, bytes, bytes.count) != bytes.count { _exit(0) }
  }

  /// Waits until the scheduler lets the program go on; how.
  func step(_ name: String) -> UInt8 {
    say("s \(name)")
    var byte: UInt8 = 0
    if read(0, &byte, 1) != 1 { _exit(0) }
    return byte
  }
}

/// Stops before each change of a file, which the scheduler can make fail.
private final class SteppedStorage: Storage, Sendable {
  private let base: any Storage
  private let line: Line

  init(_ base: any Storage, _ line: Line) { (self.base, self.line) = (base, line) }

  private func step(_ name: String) throws(EngineError) -> Bool {
    switch line.step(name) {
    case UInt8(ascii: "i"): throw .failed(name, base.name, EIO)
    case UInt8(ascii: "n"): throw .failed(name, base.name, ENOSPC)
    case UInt8(ascii: "h"): return true
    default: return false
    }
  }

  var name: String { base.name }
  func size() throws(EngineError) -> Int { try base.size() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try base.read(into: buffer, at: offset)
  }
  func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
  func flush() throws(EngineError) { try base.flush() }

  func grow(to size: Int) throws(EngineError) {
    _ = try step("posix_fallocate")
    try base.grow(to: size)
  }

  func shrink(to size: Int) throws(EngineError) {
    _ = try step("ftruncate")
    try base.shrink(to: size)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    if try step("pwrite") {
      try base.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2)), at: offset)
      throw .failed("pwrite", base.name, ENOSPC)
    }
    try base.write(bytes, at: offset)
  }

  func sync() throws(EngineError) {
    // Nothing is lost in memory, so a sync is a step only; one more after it, before the commit is announced.
    _ = try step(EngineError.syncCall)
    _ = line.step("synced")
  }
}

/// A program.
struct Participant {
  private let path: String
  private let number: Int
  private let key: EncryptionKey?
  private let line = Line()
  private var random: SplitMix64
  private var writer: RealmWriter?
  private var held: (hold: VersionHold, contents: SharedContents)?

  init(path: String, number: Int, seed: UInt64, key: EncryptionKey?) {
    (self.path, self.number, self.key) = (path, number, key)
    random = SplitMix64(seed: seed)
  }

  /// Works until it is told to end, or killed.
  mutating func run() {
    while line.step("act") != UInt8(ascii: "q") {
      do { try act() } catch let error as EngineError {
        line.say(error.reason == .damaged ? "x \(error)" : "e \(error)")
        // A failed sync, a session that cannot go on: begin anew.
        if error.reason == .poisoned || error.reason == .inUse { close() }
      } catch { line.say("x \(error)") }
    }
    close()
  }

  private mutating func close() {
    held = nil
    writer = nil
  }

  private mutating func open() throws -> RealmWriter {
    if let writer { return writer }
    var configuration = Configuration(path: path, encryptionKey: key)
    // What stands between the engine and the file is there for one session.
    configuration.idleTime = nil
    let line = line
    let made = try RealmWriter(configuration, create: true, over: { SteppedStorage($0, line) })
    writer = made
    return made
  }

  private mutating func act() throws {
    let writer = try open()
    switch random.below(20) {
    case 0..<8: try commit(writer, .full)
    case 8..<11: try commit(writer, .grouped)
    case 11: try writer.sync(timeout: .seconds(3))
    case 12: close()
    case 13:
      _ = try writer.compact(timeout: .seconds(3))
      close()
    case 14:
      let transaction = try writer.begin(timeout: .seconds(3))
      try SharedContents.change(transaction, number, &random)
      transaction.rollback()
    case 15: held = try held ?? Self.hold(writer)
    case 16:
      if let held, try SharedContents(held.hold.snapshot) != held.contents { line.say("x a held version has changed") }
      held = nil
    default:
      let contents = try SharedContents(writer.realm.latest())
      line.say("r \(contents.version) \(contents.numbers.map(String.init).joined(separator: " "))")
    }
  }

  private static func hold(_ writer: RealmWriter) throws -> (VersionHold, SharedContents) {
    let hold = try writer.realm.hold()
    return (hold, try SharedContents(hold.snapshot))
  }

  private mutating func commit(_ writer: RealmWriter, _ durability: Durability) throws {
    let staysOnThread = random.below(2) == 0
    let transaction =
      try staysOnThread ? writer.beginOnThisThread(timeout: .seconds(3)) : writer.begin(timeout: .seconds(3))
    let made = try SharedContents.change(transaction, number, &random)
    let version = try transaction.commit(durability)
    if durability == .full { line.say("a \(made) \(version)") }
  }
}
