// `realmfs replicate`: replicates one or many realms to PostgreSQL, until a signal arrives or for a single pass.
import Glibc
import RealmJSON
import RealmPages
import RealmReplica
import RealmTransfer
import Synchronization
import Threads

/// The command `replicate`.
enum ReplicateCommand {
  /// The time of the signal to stop, in nanoseconds of the monotonic clock; 0 before it arrives.
  static let stopTime = Atomic<Int64>(0)
  static var isStopping: Bool { stopTime.load(ordering: .acquiring) != 0 }
  /// The time within which a running transaction must end after the signal.
  private static let grace: Int64 = 3_000_000_000

  static func run(_ arguments: Arguments) throws -> ExitCode {
    let operands = ReplicaOperands(arguments)
    let address = try operands.address()
    let watches = Interruption.onFirstSignal { stopTime.store(MonotonicTime.now.nanoseconds, ordering: .releasing) }
    if !watches { Log.notice("signals end the command at once, in the middle of a transaction") }
    signal(SIGPIPE, SIG_IGN)
    if operands.isMany { return try ReplicateMany(arguments, operands, address).run() }
    return try follow(arguments, operands, address)
  }

  /// True if a pass must be abandoned.
  static func isStopped() -> Bool {
    let time = stopTime.load(ordering: .acquiring)
    return time != 0 && MonotonicTime.now.nanoseconds - time > grace
  }

  // MARK: one realm

  private static func follow(
    _ arguments: Arguments,
    _ operands: ReplicaOperands,
    _ address: PostgresAddress
  ) throws -> ExitCode {
    let source = try WatchChanges.source(arguments)
    let path = source.path, lag = LagReport(arguments)
    let place = try operands.place(), replicator: Replicator
    replicator = try located(path) { try Replicator(source.realm, place, address) }
    var complaints: Set<String> = []
    replicator.onComplaint = { text in
      if complaints.count < 1000, complaints.insert(text).inserted { Log.error("\(path): \(text)") }
    }
    replicator.shouldStop = isStopped
    (replicator.acceptsReplacement, replicator.wantsComparison) = (
      arguments.has(.acceptReplacement), arguments.has(.repair)
    )
    var failure: String?, pause: Int64 = 200, wasGone = false
    while true {
      let error: any Error
      do {
        let pass = try replicator.run()
        if let pass { report(pass, path, lag, isQuiet: arguments.has(.quiet)) }
        if failure != nil { Log.notice("\(path): rewriting the replica") }
        (failure, pause) = (nil, 200)
        if arguments.has(.once) { return pass?.damaged ?? 0 > 0 ? .damaged : .done }
        if isStopping { return .done }
        if replicator.isFileGone != wasGone {
          wasGone.toggle()
          if wasGone { Log.error("\(path): the file is gone; the replica keeps its rows and waits for the file") }
        }
        if !replicator.waitForChange(timeout: .milliseconds(250)) { lag.idle(path, replicator.newestVersion) }
        continue
      } catch let cause { error = cause }
      if case ReplicaError.stopped = error { return .done }
      if case ReplicaError.overtaken = error, pause < 1000 {
        // The next pass catches up.
        pause += 200
        continue
      }
      if (error as? EngineError)?.reason == .busy { continue }
      guard let error = error as? ReplicaError, error.isTemporary, !arguments.has(.once) else {
        throw CommandFailure(error, path: path)
      }
      let text = error.description
      if text != failure { Log.error("\(path): \(text); the replica waits") }
      failure = text
      lag.waiting(path, replicator.newestVersion, text)
      try wait(pause, replicator, path)
      pause = min(pause * 2, 15_000)
      if isStopping { return .done }
    }
  }

  /// Waits while the replicator continues to read new versions of the realm, so that no old version remains pinned.
  private static func wait(_ milliseconds: Int64, _ replicator: Replicator, _ path: String) throws {
    let deadline = MonotonicTime.now.advanced(by: .milliseconds(milliseconds))
    while deadline.milliseconds > 0, !isStopping {
      try located(path) { try replicator.advanceWindow() }
      usleep(useconds_t(min(deadline.milliseconds, 100) * 1000))
    }
  }

  private static func report(_ pass: ReplicaPass, _ path: String, _ lag: LagReport, isQuiet: Bool) {
    for remark in pass.remarks { Log.notice("\(path): \(remark)") }
    lag.pass(path, pass)
    if isQuiet || lag.isOn { return }
    var words = ["\(counted(pass.written, "row")) written"]
    if pass.removed > 0 { words.append("\(pass.removed) removed") }
    if pass.compared > 0 { words.append("\(counted(pass.compared, "class", "classes")) compared") }
    if pass.damaged > 0 { words.append("\(pass.damaged) damaged left out") }
    Log.notice("\(path): version \(pass.version): \(words.joined(separator: ", "))")
  }
}

/// The operands of `replicate` and `verify-replica`.
struct ReplicaOperands {
  let files: [String]
  let database: String
  private let arguments: Arguments

  init(_ arguments: Arguments) {
    files = Array(arguments.operands.dropLast())
    database = arguments.operands.last ?? ""
    self.arguments = arguments
  }

  /// True if the replica has a column `realm`.
  var isMany: Bool { arguments.has(.sourceOf) }

  func address() throws -> PostgresAddress {
    if files.count > 1 && !isMany {
      throw arguments.usage("several files need --source-of, which names their realms")
    }
    // The address may contain a password, so it is not printed.
    do { return try PostgresAddress(database) } catch {
      throw CommandFailure(.failure, "\(error)")
    }
  }

  /// Returns the destination of a realm, with the realm's name if there are many.
  func place(_ realm: String? = nil) throws -> ReplicaPlace {
    let schema = arguments.value(.schemaFile) ?? "realm"
    if schema.isEmpty || schema.utf8.count > 63 { throw arguments.usage("--schema: a name has 1 to 63 bytes") }
    var partition: ReplicaPlace.Partition?
    if let text = arguments.value(.partition) {
      if !isMany { throw arguments.usage("--partition goes with --source-of") }
      let parts = text.split(separator: ":", maxSplits: 1)
      switch (parts.first, parts.dropFirst().first.flatMap { Int($0) }) {
      case ("list", nil): partition = .list
      case ("hash", let count?) where (2...1024).contains(count): partition = .hash(count)
      default: throw arguments.usage("--partition \(text): expected list, or hash:N with N from 2 to 1024")
      }
    }
    return ReplicaPlace(schema: schema, realm: realm, partition: partition)
  }
}

/// The output of `--lag`: a line of JSON for each pass, and one each second.
final class LagReport {
  let isOn: Bool
  private var last = MonotonicTime.now

  init(_ arguments: Arguments) { isOn = arguments.has(.lag) }

  func pass(_ path: String, _ pass: ReplicaPass) {
    print([
      ("file", .string(path)), ("state", .string("following")), ("version", .number(Int(clamping: pass.version))),
      ("milliseconds", .number(Int(pass.duration / 1_000_000))), ("written", .number(pass.written)),
      ("removed", .number(pass.removed)), ("compared", .number(pass.compared)),
    ])
  }

  func idle(_ path: String, _ version: UInt64) {
    if MonotonicTime.now.nanoseconds - last.nanoseconds < 1_000_000_000 { return }
    print([
      ("file", .string(path)), ("state", .string("following")), ("version", .number(Int(clamping: version))),
    ])
  }

  func waiting(_ path: String, _ newest: UInt64, _ reason: String) {
    print([
      ("file", .string(path)), ("state", .string("waiting")), ("newest", .number(Int(clamping: newest))),
      ("reason", .string(reason)),
    ])
  }

  private func print(_ members: [(String, JSONValue)]) {
    guard isOn else { return }
    last = .now
    // An error in writing a report cannot be reported.
    _ = StandardOutput.write(Array(JSONValue.object(members).line.utf8), to: STDERR_FILENO)
  }
}
