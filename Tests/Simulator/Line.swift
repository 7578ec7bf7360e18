// The pipe between an independent program and its scheduler. The program prints a line for each step and outcome, and
// reads one byte for each step:
//
//     s NAME                 about to do something; waits for a byte: `g` go on, `i` fail with EIO, `n` with ENOSPC,
//                            `h` write a half and fail, `q` close the realm and end
//     a NUMBER VERSION       its commit NUMBER is on disk
//     e TEXT                 what it did was refused
//     r VERSION NUMBER...    what it reads: the newest version, and the last commit of each program in it
//     x TEXT                 something is wrong

import Foundation
import RealmPages

/// The connection to the scheduler.
final class Line: Stage {
  func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    // Without a scheduler there is nothing to do.
    if write(1, bytes, bytes.count) != bytes.count { _exit(0) }
  }

  /// Waits for the scheduler's permission to continue, and returns its kind.
  func step(_ name: String) -> UInt8 {
    say("s \(name)")
    var byte: UInt8 = 0
    if read(0, &byte, 1) != 1 { _exit(0) }
    return byte
  }

  var makesRealm: Bool { true }
  var mayLoseFile: Bool { false }
  func nextAction() -> Bool { step("act") != UInt8(ascii: "q") }
  func noteCommit(_ number: Int64, _ version: UInt64) { say("a \(number) \(version)") }
  func noteRefusal(_ error: EngineError) { say("e \(error)") }
  func noteContents(_ contents: SharedContents) {
    say("r \(contents.version) \(contents.numbers.map(String.init).joined(separator: " "))")
  }
  func noteWrong(_ text: String) { say("x \(text)") }
  func around(_ storage: any Storage) -> any Storage { SteppedStorage(storage, self) }
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
    // Nothing in memory is lost, so a sync is only a step, and another one after it, before the commit is announced.
    _ = try step(EngineError.syncCall)
    _ = line.step("synced")
  }
}
