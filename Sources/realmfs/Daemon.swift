// A process in the background whose starter returns when it is ready, with its true exit status.
//
// The child keeps standard error until it is ready, so it tells the user itself what went wrong; the parent only learns
// `ready` (one byte through a pipe) or the exit status. The fork comes before any thread exists.
import CLinux
import Glibc

enum Daemon {
  /// Runs `body` in the background.
  ///
  /// Returns in the calling process when `body` has called `becomeReady`, or when it has ended without that; `body`
  /// itself runs in the child, which exits with its code.
  ///
  /// `keeping` is a descriptor that `body` needs beside 0 to 2, or -1; all others are closed in the child.
  static func start(
    keeping descriptor: Int32,
    _ body: (_ becomeReady: @escaping @Sendable () -> Void) -> ExitCode
  ) throws(CommandFailure) -> ExitCode {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw failure("pipe") }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    let child = clinux_fork()
    if child < 0 { throw failure("fork") }
    if child == 0 {
      clinux_close_descriptors_except(writeEnd, descriptor)
      // Not inherited by --key-command, which could hold the pipe open.
      _ = fcntl(writeEnd, F_SETFD, FD_CLOEXEC)
      exit(body { becomeReady(writeEnd) }.rawValue)
    }
    close(writeEnd)
    defer { close(readEnd) }
    return try waitUntilReady(child, readEnd)
  }

  /// In the child: leaves the terminal and the working directory, and lets the parent go.
  private static func becomeReady(_ pipe: Int32) {
    Log.switchToSystemLog()
    // A session of its own is refused only to a process that has one already.
    _ = setsid()
    _ = unsafe chdir("/")
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    if null >= 0 {
      for standard in Int32(0)...2 { dup2(null, standard) }
      close(null)
    }
    // If the parent is gone, no process waits for the news.
    _ = StandardOutput.write([1], to: pipe)
    close(pipe)
  }

  private static func waitUntilReady(_ child: pid_t, _ pipe: Int32) throws(CommandFailure) -> ExitCode {
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
