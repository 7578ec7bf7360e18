// `realmfs tx`: a command whose changes in a mount are made in one commit, or not at all.

import Glibc
import RealmPages

/// The command `tx`.
enum TransactionCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let given = arguments.operands[0]
    var command = Array(arguments.operands.dropFirst())
    // A program that is given by its path is where the caller is, not in the transaction.
    if command[0].contains("/") { command[0] = System.absolute(command[0]) }
    let path = System.realMountPoint(given)
    guard let entry = MountTable.entry(at: path) else {
      throw CommandFailure(.mountPoint, "\(given): nothing is mounted here; mount a realm first")
    }
    guard entry.isOurs else {
      throw CommandFailure(.mountPoint, "\(given): a mount of type \(entry.type), not of realmfs")
    }
    let directory = try begin(in: entry.mountPoint)
    unsafe setenv("REALMFS_TX", directory, 1)
    unsafe setenv("PWD", directory, 1)
    let status = System.run(command, in: directory)
    if status == 127 || status == 126, !isThere(directory) { exit(status) }
    guard status == 0 else {
      if status == 127 { Log.notice("\(command[0]): not found; nothing was changed") }
      // Why something was refused goes with the transaction.
      tell(directory + "/.realm/errors")
      drop(directory)
      exit(status)
    }
    return try commit(directory, of: given)
  }

  /// Makes a transaction with a name of its own.
  private static func begin(in mountPoint: String) throws(CommandFailure) -> String {
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

  private static func isThere(_ directory: String) -> Bool { unsafe access(directory, F_OK) == 0 }

  private static func drop(_ directory: String) {
    if unsafe rmdir(directory) != 0, errno != ENOENT, errno != ESTALE {
      Log.notice("\(directory): rmdir: \(System.message(errno)); remove it to drop the transaction")
    }
  }

  /// Commits, or says why not.
  private static func commit(_ directory: String, of mountPoint: String) throws(CommandFailure) -> ExitCode {
    // The command may have ended the transaction itself.
    if !isThere(directory) { return .done }
    let descriptor = unsafe open(directory + "/.commit", O_WRONLY | O_CLOEXEC)
    var code = descriptor < 0 ? errno : 0
    if descriptor >= 0 {
      if unsafe write(descriptor, "1\n", 2) != 2 { code = errno }
      close(descriptor)
    }
    if code == 0 { return .done }
    tell(directory + "/.log")
    drop(directory)
    throw CommandFailure(.notCommitted, "\(mountPoint): nothing was committed: \(System.message(code))")
  }

  /// Prints the reasons that are in a file of the transaction.
  private static func tell(_ path: String) {
    // Without them there is still the errno.
    let reasons = (try? System.bytes(ofFile: path)) ?? []
    for line in String(decoding: reasons, as: UTF8.self).split(separator: "\n") { Log.notice(String(line)) }
  }
}
