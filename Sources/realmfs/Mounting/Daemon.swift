// Runs a process in the background. Its starter returns when the process is ready, or with its exit status.
//
// The child keeps standard error until it is ready, so it reports errors to the user itself. The parent receives only
// one byte through a pipe (ready) or the exit status. The fork happens before any thread exists.
import CLinux
import Glibc

enum Daemon {
  /// Runs `body` in the background.
  ///
  /// Returns in the calling process when `body` has called `becomeReady`, or has ended without calling it. `body` runs
  /// in the child, which exits with the code that `body` returns.
  ///
  /// `keeping` is a descriptor that `body` needs in addition to 0 to 2, or -1. All others are closed in the child.
  static func start(
    keeping descriptor: Int32,
    _ body: (_ becomeReady: @escaping @Sendable () -> Void) -> ExitCode
  ) throws -> ExitCode {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw failure("pipe") }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    let child = clinux_fork()
    if child < 0 { throw failure("fork") }
    if child == 0 {
      clinux_close_descriptors_except(writeEnd, descriptor)
      // Close on exec, so that --key-command cannot hold the pipe open.
      _ = fcntl(writeEnd, F_SETFD, FD_CLOEXEC)
      exit(body { becomeReady(writeEnd) }.rawValue)
    }
    close(writeEnd)
    defer { close(readEnd) }
    return try waitUntilReady(child, readEnd)
  }

  /// Runs in the child: leaves the terminal and the working directory, and lets the parent return.
  private static func becomeReady(_ pipe: Int32) {
    Log.switchToSystemLog()
    // setsid fails only for a process group leader, which a forked child is not.
    _ = setsid()
    _ = unsafe chdir("/")
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    if null >= 0 {
      for standard in Int32(0)...2 { dup2(null, standard) }
      close(null)
    }
    // If the parent has ended, no process reads this byte.
    _ = StandardOutput.write([1], to: pipe)
    close(pipe)
  }

  private static func waitUntilReady(_ child: pid_t, _ pipe: Int32) throws -> ExitCode {
    var byte: UInt8 = 0
    var count: Int
    repeat { count = unsafe read(pipe, &byte, 1) } while count < 0 && errno == EINTR
    if count == 1 { return .done }
    guard let status = System.wait(for: child) else { throw failure("waitpid") }
    if let code = ExitCode(rawValue: status), code != .done { return code }
    throw CommandFailure(.failure, "the serving process ended before the tree was live (status \(status))")
  }

  private static func failure(_ call: String) -> CommandFailure {
    CommandFailure(.failure, "cannot start a background process: \(call): \(System.message(errno))")
  }
}
