// `realmfs exec`: runs a command in a mount that exists only while the command runs.
import Glibc
import RealmPages

/// The command `exec`.
enum ExecCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let file = arguments.operands[0]
    let command = arguments.commandToRun
    let mount = try PrivateMount(arguments)
    unsafe setenv("REALMFS_MOUNT", mount.point, 1)
    let result = Result { () throws -> Int32 in
      if arguments.has(.inTransaction) { return try TransactionCommand.run(command, in: mount.point, calling: file) }
      return try run(command, in: mount.point)
    }
    let unsaved = mount.unsavedFiles
    UmountCommand.listUnsaved(unsaved)
    let problem = mount.end()
    let status = try result.get()
    if let problem { Log.error("\(file): \(problem)") }
    if status != 0 { exit(status) }
    if !unsaved.isEmpty { throw CommandFailure(.mountPoint, "\(file): these files were not saved in the realm") }
    return problem == nil ? .done : .failure
  }

  /// Runs a command in the mount, without a transaction. Returns its status, 127 or 126.
  private static func run(_ command: [String], in point: String) throws -> Int32 {
    let directory = unsafe open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory < 0 { throw CommandFailure(.mountPoint, "\(point): \(System.message(errno))") }
    defer { close(directory) }
    unsafe setenv("PWD", point, 1)
    do { return try System.run(command, in: directory) } catch {
      Log.error(TransactionCommand.notStarted(command, error))
      return TransactionCommand.notStartedStatus(error)
    }
  }
}
