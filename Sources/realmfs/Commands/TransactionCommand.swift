// `realmfs tx`: runs a command whose changes in a mount are made in one commit, or not at all.
//
// Invariant: the exit code is 0 only after the mount has reported the commit of this specific transaction. The
// directory of the transaction remains open throughout, so neither a mount that ends nor another transaction of the
// same name can respond in its place.

import CLinux
import FileTree
import Glibc
import RealmJSON
import RealmPages

/// The command `tx`.
enum TransactionCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let given = arguments.operands[0]
    let command = arguments.commandToRun
    let path = System.realMountPoint(given)
    guard let entry = MountTable.entry(at: path) else {
      throw CommandFailure(.mountPoint, "\(given): nothing is mounted here; mount a realm first")
    }
    guard entry.isOurs else {
      throw CommandFailure(.mountPoint, "\(given): a mount of type \(entry.type), not of realmfs")
    }
    let status = try run(command, in: entry.mountPoint, calling: given)
    if status != 0 { exit(status) }
    return .done
  }

  /// Runs a command in a new transaction of the mount at `mountPoint`, which messages call `name`. Returns 0 after a
  /// confirmed commit, otherwise the status of the command, 127 or 126; nothing was committed then.
  static func run(
    _ command: [String],
    in mountPoint: String,
    calling name: String
  ) throws -> Int32 {
    let transaction = try MountedTransaction(in: mountPoint, calling: name)
    defer { close(transaction.descriptor) }
    unsafe setenv("REALMFS_TX", transaction.path, 1)
    unsafe setenv("PWD", transaction.path, 1)
    let status: Int32
    do { status = try System.run(command, in: transaction.descriptor) } catch {
      Log.notice("\(notStarted(command, error)); nothing was committed")
      transaction.drop()
      return notStartedStatus(error)
    }
    if status == 0 {
      try transaction.commit()
      return 0
    }
    transaction.abandon(
      because: "\(command[0]) \(status > 128 ? "ended by signal \(status - 128)" : "exited with status \(status)")"
    )
    return status
  }

  /// Returns the message for a command that could not be started.
  static func notStarted(_ command: [String], _ error: Errno) -> String {
    "\(command[0]): \(error.code == ENOENT ? "not found" : System.message(error.code))"
  }

  /// Returns the exit status for a command that could not be started, as a shell does.
  static func notStartedStatus(_ error: Errno) -> Int32 { error.code == ENOENT ? 127 : 126 }
}

extension Arguments {
  /// The command after the first operand. A program given by its path is relative to the caller's working directory.
  var commandToRun: [String] {
    var command = Array(operands.dropFirst())
    if command[0].contains("/") { command[0] = System.absolute(command[0]) }
    return command
  }
}

/// A transaction begun by this process.
private struct MountedTransaction {
  /// The path of its directory.
  let path: String
  /// The descriptor of its directory.
  let descriptor: Int32
  /// The mount point as the user typed it.
  private let mount: String

  /// Begins a transaction with a unique name.
  init(in mountPoint: String, calling mount: String) throws {
    let path = try Self.make(in: mountPoint)
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    if descriptor < 0 {
      let code = errno
      unsafe rmdir(path)
      throw CommandFailure(.failure, "\(path): \(System.message(code))")
    }
    (self.path, self.descriptor, self.mount) = (path, descriptor, mount)
    do { _ = try outcome() } catch {
      unsafe rmdir(path)
      let isOther = error.code == ENOTSUP || error.code == ENODATA
      let reason =
        isOther
        ? "it is served by another version of realmfs; unmount it and mount it again" : System.message(error.code)
      throw CommandFailure(.failure, "\(mount): the mount cannot confirm commits: \(reason)")
    }
  }

  private static func make(in mountPoint: String) throws -> String {
    let folder = mountPoint + "/.realm/tx"
    for number in 0..<1000 {
      let directory = "\(folder)/tx-\(getpid())-\(number)"
      if unsafe mkdir(directory, 0o700) == 0 { return directory }
      let code = errno
      switch code {
      case EEXIST: continue
      case EROFS, ENOENT:
        throw CommandFailure(
          .failure,
          "\(mountPoint): the mount is read-only; a transaction needs one that can be changed"
        )
      default: throw CommandFailure(.failure, "\(directory): mkdir: \(System.message(code))")
      }
    }
    throw CommandFailure(.failure, "\(folder): too many transactions are open")
  }

  /// Returns the state of the transaction as reported by the mount.
  private func outcome() throws(Errno) -> TransactionOutcome {
    var value = [UInt8](repeating: 0, count: 64)
    let count = unsafe clinux_attribute(descriptor, TransactionOutcome.attribute, &value, value.count)
    if count < 0 { throw Errno(code: Int32(-count)) }
    guard let outcome = TransactionOutcome(String(decoding: value.prefix(count), as: UTF8.self)) else {
      throw Errno(code: ENODATA)
    }
    return outcome
  }

  /// Commits the transaction. Throws the reason if the commit was not confirmed.
  func commit() throws {
    // The command may have ended the transaction itself.
    if try isCommitted() { return }
    let code = writeCommit()
    if try isCommitted() { return }
    printReasons(".log")
    drop()
    throw CommandFailure(.notCommitted, "\(mount): nothing was committed: \(System.message(code))")
  }

  /// True if the mount reports the commit, false while the transaction is open. Throws once it cannot be committed.
  private func isCommitted() throws -> Bool {
    let outcome: TransactionOutcome
    do { outcome = try self.outcome() } catch {
      throw CommandFailure(
        .notCommitted,
        "\(mount): no commit was confirmed: \(Self.reason(error)); look at the data before you try again"
      )
    }
    switch outcome {
    case .committed: return true
    case .open: return false
    case .dropped(let user):
      let actor = user.map { $0 == getuid() ? "another program" : "user \($0)" } ?? "the end of the mount"
      throw CommandFailure(
        .notCommitted,
        "\(mount): nothing was committed: \(actor) dropped the transaction before its commit"
      )
    }
  }

  /// Returns the reason why the mount does not respond.
  private static func reason(_ error: Errno) -> String {
    error.code == ENOTCONN || error.code == ECONNABORTED ? "the mount ended first" : System.message(error.code)
  }

  /// Requests the commit. Returns 0, or the errno.
  private func writeCommit() -> Int32 {
    let file = unsafe openat(descriptor, ".commit", O_WRONLY | O_CLOEXEC)
    if file < 0 { return errno }
    defer { close(file) }
    return unsafe write(file, "1\n", 2) == 2 ? 0 : errno
  }

  /// Drops the transaction of a failed command, and reports this.
  func abandon(because reason: String) {
    // Rejected saves explain why the command failed, and their reasons are lost with the transaction.
    printReasons(".realm/errors")
    let outcome: TransactionOutcome
    do { outcome = try self.outcome() } catch {
      return Log.notice("\(mount): no commit was confirmed: \(reason), and \(Self.reason(error))")
    }
    if case .committed = outcome { return Log.notice("\(mount): \(reason), after the transaction was committed") }
    drop()
    Log.notice("\(mount): nothing was committed: \(reason)")
  }

  /// Drops the transaction, if it is still open.
  func drop() {
    // A mount that does not respond has dropped the transaction.
    if case .open? = try? outcome(), unsafe rmdir(path) != 0 {
      Log.notice("\(path): rmdir: \(System.message(errno)); remove it to drop the transaction")
    }
  }

  /// Prints the reasons in a file of the transaction, one per line.
  private func printReasons(_ name: String) {
    // If the file cannot be read, the errno remains as an explanation.
    let text = (try? System.bytes(ofFile: path + "/" + name)) ?? []
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let facts = JSONValue(report: Array(line))
      guard let reason = facts?["reason"]?.string else { continue }
      Log.notice((facts?["path"]?.string.map { $0 + ": " } ?? "") + reason)
    }
  }
}
