// One program of a simulation: it reads and writes a realm that others have open too. Its seed determines its choices.

import RealmPages
import TestSupport

/// The reports of a program, and their receiver.
protocol Stage: Sendable {
  /// True if the program creates a missing realm.
  var makesRealm: Bool { get }
  /// True if the file may be moved, or writes may be lost.
  var mayLoseFile: Bool { get }
  /// Waits for its turn; false if it must close the realm and end.
  func nextAction() -> Bool
  /// Commit `number` of this program is on disk.
  func noteCommit(_ number: Int64, _ version: UInt64)
  /// Its last operation was refused.
  func noteRefusal(_ error: EngineError)
  /// The content that it read in the newest version.
  func noteContents(_ contents: SharedContents)
  /// A check failed.
  func noteWrong(_ text: String)
  /// The storage between the engine and the file.
  func around(_ storage: any Storage) -> any Storage
}

/// A program.
struct Participant {
  private let path: String
  private let number: Int
  private let key: EncryptionKey?
  private let role: Role
  private let stage: any Stage
  private var random: SplitMix64
  private var writer: RealmWriter?
  private var held: (hold: VersionHold, contents: SharedContents)?

  init(path: String, number: Int, seed: UInt64, key: EncryptionKey?, _ role: Role, _ stage: any Stage) {
    (self.path, self.number, self.key, self.role, self.stage) = (path, number, key, role, stage)
    random = SplitMix64(seed: seed)
  }

  /// Works until it must end, or is killed.
  mutating func run() {
    while stage.nextAction() {
      do { try act() } catch let error as EngineError {
        if error.reason == .damaged { stage.noteWrong("\(error)") } else { stage.noteRefusal(error) }
        // After a failed sync or the end of its session, it starts again.
        if error.reason == .poisoned || error.reason == .inUse { close() }
      } catch { stage.noteWrong("\(error)") }
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
    // The storage between the engine and the file is for one session.
    configuration.idleTime = nil
    let made = try RealmWriter(configuration, create: stage.makesRealm, over: stage.around)
    writer = made
    return made
  }

  private mutating func act() throws {
    let writer = try open()
    if role == .command, random.below(3) == 0 { return close() }
    switch role == .reader ? 15 + random.below(5) : random.below(20) {
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
      // A moved file is closed, with the versions held there.
      if let held, held.hold.isKnownToWriters, !stage.mayLoseFile || writer.realm.isCurrent(held.hold.snapshot),
        try SharedContents(held.hold.snapshot) != held.contents
      {
        stage.noteWrong("a held version has changed")
      }
      held = nil
    default:
      stage.noteContents(try SharedContents(writer.realm.latest()))
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
    if durability == .full { stage.noteCommit(made, version) }
  }
}
