// A mount in a private directory that ends with the process that created it, however that process ends.
//
// The server is a child process, connected to its parent by a socket pair: it sends a byte when the tree is live, and
// unmounts when the other end is closed. The kernel closes that end even after SIGKILL. If the server is killed, the
// process that created the mount detaches it. Both processes remove the directory.
import CLinux
import Glibc
import RealmPages
import Threads

/// A mount that only this process and its children use.
struct PrivateMount {
  /// The mount point.
  let point: String
  private let server: pid_t
  private let socket: Int32

  /// Mounts the realm of `arguments` on a new directory with mode 0700, in `UserFolders.runtime`. Returns when the
  /// tree is live. Call it only before any thread exists.
  init(_ arguments: Arguments) throws {
    // Both processes know the path before the directory exists, so each can remove it if the other is killed.
    point = "\(UserFolders.runtime)/realmfs-exec.\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    var ends: [Int32] = [0, 0]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Self.failure("socketpair")
    }
    socket = ends[0]
    server = clinux_fork()
    if server < 0 { throw Self.failure("fork") }
    if server == 0 {
      close(ends[0])
      exit(Self.serve(arguments, at: point, ends[1]).rawValue)
    }
    close(ends[1])
    var byte: UInt8 = 0
    var count: Int
    repeat { count = unsafe read(socket, &byte, 1) } while count < 0 && errno == EINTR
    if count == 1 {
      Self.forgetKey(arguments)
      return
    }
    let status = System.wait(for: server)
    unsafe rmdir(point)
    // The server has printed the reason.
    if let code = status.flatMap(ExitCode.init(rawValue:)), code != .done { throw CommandFailure(code, "") }
    throw CommandFailure(.failure, "the serving process ended before the tree was live (status \(status ?? -1))")
  }

  /// Serves the mount until it is unmounted or the other end of the socket is closed. Runs in the child.
  private static func serve(_ arguments: Arguments, at point: String, _ socket: Int32) -> ExitCode {
    // SIGTERM ends a mount at any time, even if the caller ignores that signal. Until the cleanup is registered, the
    // signals are blocked.
    signal(SIGTERM, SIG_DFL)
    var signals = sigset_t(), former = sigset_t()
    unsafe sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { unsafe sigaddset(&signals, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &signals, &former)
    Interruption.watch()
    if unsafe mkdir(point, 0o700) != 0 {
      Log.error("\(point): mkdir: \(System.message(errno))")
      return .mountPoint
    }
    let cleanup = Interruption.cleaning { unsafe rmdir(point) }
    defer {
      withExtendedLifetime(cleanup) {}
      unsafe rmdir(point)
    }
    unsafe sigdelset(&former, SIGTERM)
    unsafe pthread_sigmask(SIG_SETMASK, &former, nil)
    let watcher = Thread {
      var byte: UInt8 = 0
      var count: Int
      repeat { count = unsafe read(socket, &byte, 1) } while count < 0 && errno == EINTR
      kill(getpid(), SIGTERM)
    }
    guard let watcher else {
      Log.error("cannot mount: no thread to wait for the end of the command: \(System.message(errno))")
      return .failure
    }
    watcher.detach()
    do {
      return try Mount(arguments, at: point).serve { becomeReady(socket) }
    } catch {
      let failure = CommandFailure(error).explaining(arguments.files).naming(holdersOf: arguments.files)
      if !failure.message.isEmpty { Log.error(failure.message, more: failure.more) }
      return failure.code
    }
  }

  /// Detaches from the terminal, the working directory, standard input and output, and lets the other process continue.
  private static func becomeReady(_ socket: Int32) {
    // setsid fails only for a process group leader, which a forked child is not.
    _ = setsid()
    _ = unsafe chdir("/")
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    if null >= 0 {
      for standard in [STDIN_FILENO, STDOUT_FILENO] { dup2(null, standard) }
      close(null)
    }
    // If the other process has ended, the watcher ends the mount.
    _ = StandardOutput.write([1], to: socket)
  }

  /// Removes the key from this process, so that the command does not inherit it. The server has its copy.
  private static func forgetKey(_ arguments: Arguments) {
    if let descriptor = arguments.value(.keyDescriptor).flatMap({ Int32($0) }), descriptor > STDERR_FILENO {
      close(descriptor)
    }
    if let name = arguments.value(.keyVariable) {
      var secret = SecretBuffer()
      _ = secret.takeEnvironment(name)
    }
  }

  /// The printable paths of files that exist only in memory.
  var unsavedFiles: [String] { MountServer.unsavedFiles(of: point) }

  /// Unmounts and waits for the end of the server. Returns a description of what went wrong, or nil.
  ///
  /// A mount that a process still uses is detached: the process loses access to its files.
  func end() -> String? {
    // The command may have unmounted it.
    if MountTable.entry(at: point) != nil {
      do { try MountPoint.unmount(point, isLazy: false) } catch {
        MountPoint.detach(point)
        Log.notice(
          "a background process of the command still uses the mount; it was detached, and the process cannot use its "
            + "files"
        )
      }
    }
    close(socket)
    let status = System.wait(for: server)
    unsafe rmdir(point)
    if status == 0 { return nil }
    let end = status.map { $0 > 128 ? "was ended by signal \($0 - 128)" : "ended with \($0)" } ?? "ended"
    return "the process that served the mount \(end)"
  }

  private static func failure(_ call: String) -> CommandFailure {
    CommandFailure(.failure, "cannot start a process for the mount: \(call): \(System.message(errno))")
  }
}
