// A program of a simulation on a virtual clock: its calls of the C library wait for its turn, see
// Tests/CSchedule/include/schedule.h. Its reads are compared with the promises at once.

import CSchedule
import RealmPages
import TestSupport

/// The state that the processes inherit when they are forked.
nonisolated(unsafe) var setting = Setting(path: "", key: nil, roles: [], mayLoseFile: false)

/// The parameters of a simulation. Set before programs start.
struct Setting {
  let path: String
  let key: EncryptionKey?
  /// The kind of each program.
  let roles: [Role]
  /// True if the file is sometimes moved, or writes are lost.
  let mayLoseFile: Bool
}

/// The kinds of programs.
enum Role: Int, CaseIterable, CustomStringConvertible {
  /// Keeps the realm open for long, reads and writes.
  case library
  /// Opens the realm, does one operation and closes it.
  case command
  /// Only reads.
  case reader
  /// Commits with three barriers as Realm's engine does, and often ends without leaving the session.
  case engine

  var description: String { ["library", "command", "reader", "engine"][rawValue] }
}

extension sim_promise {
  var list: [Int64] { [numbers.0, numbers.1, numbers.2, numbers.3, numbers.4] }

  init(_ contents: SharedContents) {
    let list = contents.numbers
    self.init(numbers: (list[0], list[1], list[2], list[3], list[4]), version: contents.version)
  }

  /// The promised content that is not in `contents`; nil if there is none.
  func loss(in contents: SharedContents) -> String? {
    for (number, (found, wanted)) in zip(contents.numbers, list).enumerated() where found < wanted {
      return "commit \(found) of program \(number) is there, and \(wanted) was on disk"
    }
    return contents.version < version ? "version \(contents.version) is there, and \(version) was on disk" : nil
  }
}

/// The stage of a program.
final class VirtualStage: Stage, @unchecked Sendable {
  // Unchecked: one thread of the process runs at a time.
  private let role: Role
  private var promise = sim_promise()

  init(_ role: Role) { self.role = role }

  var makesRealm: Bool { promise.version == 0 }
  var mayLoseFile: Bool { setting.mayLoseFile }

  func nextAction() -> Bool {
    sim_step("act")
    if role == .engine, sim_random(40) == 0 { sim_die() }
    promise = sim_action()
    return true
  }

  func noteCommit(_ number: Int64, _ version: UInt64) {
    if version <= promise.version { noteWrong("version \(version) after \(promise.version) was on disk") }
    sim_acknowledge(number, version)
    sim_note("commit \(number), version \(version), is on disk")
  }

  func noteRefusal(_ error: EngineError) {
    // A compaction replaces the file, and in a realm without a commit this cannot be distinguished from overwriting.
    let isWrong = error.reason == .moved && error.description.contains("overwritten")
    if isWrong, !setting.mayLoseFile, sim_promised().version > 0 { noteWrong("\(error)") }
    // Without the path.
    sim_note("refused: \(error.description.split(separator: "/").last ?? "")")
  }

  func noteContents(_ contents: SharedContents) {
    if let loss = promise.loss(in: contents) { noteWrong(loss) }
    sim_count_read()
  }

  func noteWrong(_ text: String) { sim_fail(text) }

  func around(_ storage: any Storage) -> any Storage { role == .engine ? ThreeBarriers(storage) : storage }
}

/// Syncs before each write to the header, as Realm's engine does: everything that the header refers to is on disk
/// first.
private final class ThreeBarriers: Storage, @unchecked Sendable {
  // Unchecked: one committer at a time.
  private let base: any Storage
  private var hasWritten = false

  init(_ base: any Storage) { self.base = base }

  var name: String { base.name }
  func size() throws(EngineError) -> Int { try base.size() }
  func grow(to size: Int) throws(EngineError) { try base.grow(to: size) }
  func shrink(to size: Int) throws(EngineError) { try base.shrink(to: size) }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try base.read(into: buffer, at: offset)
  }
  func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
  func flush() throws(EngineError) { try base.flush() }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    if offset < 24, hasWritten { try sync() }
    try base.write(bytes, at: offset)
    hasWritten = offset >= 24
  }

  func sync() throws(EngineError) {
    try base.sync()
    hasWritten = false
  }
}
