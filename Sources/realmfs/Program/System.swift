// Small system calls that several commands share: reading files, absolute paths, error texts. Pointers do not leave
// this file.
import CLinux
import Glibc
import RealmPages
import Threads

/// Operating system calls.
enum System {
  /// The words of the command line. Swift's own list comes from /proc, which may be missing.
  static var arguments: [String] {
    let count = clinux_argument_count()
    if count == 0 { return CommandLine.arguments }
    return (0..<count).compactMap { unsafe clinux_argument($0).map { unsafe String(cString: $0) } }
  }

  /// True if the system reports mounts, locks and processes. Without them, the users of a realm and the mounts are
  /// unknown.
  static var hasProcesses: Bool { unsafe access("/proc/self/mountinfo", R_OK) == 0 }

  /// Returns the text of an errno.
  static func message(_ code: Int32) -> String { ErrnoText.of(code) }

  /// Makes sure that descriptors 0 to 2 exist, so that no file opened later is assigned one of them and receives our
  /// output.
  static func occupyStandardDescriptors() {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
      // open returns the lowest free number. All lower ones exist, so that is the missing one.
      _ = unsafe open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY)
    }
  }

  /// Reads a file, or standard input for `-`. Throws the errno if it cannot be read.
  static func bytes(ofFile path: String, limit: Int = .max) throws(Errno) -> [UInt8] {
    var content: [UInt8] = []
    try eachBlock(ofFile: path) { block in
      if content.count >= limit { return false }
      content += block
      return true
    }
    return content
  }

  /// Calls `body` with each block of a file, or of standard input for `-`, until it returns false.
  static func eachBlock(ofFile path: String, _ body: (ArraySlice<UInt8>) -> Bool) throws(Errno) {
    let descriptor = unsafe path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Errno(code: errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var block = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe read(descriptor, &block, block.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw Errno(code: errno) }
      if count == 0 || !body(block[..<count]) { return }
    }
  }

  /// Returns the result of stat(2), or the errno.
  ///
  /// Follows symbolic links.
  static func status(_ path: String) -> Result<stat, Errno> {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? .success(status) : .failure(Errno(code: errno))
  }

  /// True if a path refers to a directory.
  static func isDirectory(_ path: String) -> Bool {
    guard case .success(let status) = status(path) else { return false }
    return status.st_mode & S_IFMT == S_IFDIR
  }

  /// True if the file system of `path` is read-only; false if the path does not exist.
  static func isReadOnly(_ path: String) -> Bool {
    var status = statvfs()
    return unsafe statvfs(path, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
  }

  /// Returns `path` as an absolute path without touching the file system: prefixes the working directory if needed.
  static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let name = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(name) }
    let directory = unsafe String(cString: name)
    return directory.hasSuffix("/") ? directory + path : directory + "/" + path
  }

  /// Returns the directory that contains a file.
  static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// Returns the real path of a mount point whose file system may be dead. Only its parent is touched, unless the last
  /// component is a symbolic link.
  static func realMountPoint(_ path: String) -> String {
    var trimmed = absolute(path)[...]
    while trimmed.count > 1 && trimmed.hasSuffix("/") { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/"), trimmed.count > 1 else { return "/" }
    let name = trimmed[trimmed.index(after: slash)...]
    if name == "." || name == ".." { return RealmLinks.real(String(trimmed)) ?? String(trimmed) }
    guard let parent = RealmLinks.real(slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])) else {
      return String(trimmed)
    }
    let path = parent == "/" ? "/" + name : parent + "/" + name
    // readlink(2) fails with EINVAL on a mount point, without a request to the mounted file system.
    var byte: CChar = 0
    return unsafe readlink(path, &byte, 1) < 0 ? path : RealmLinks.real(path) ?? path
  }

  /// Runs a program found on $PATH with our own descriptors and waits for it. Returns its exit status, 128 + signal, or
  /// nil if it could not be started.
  static func run(_ words: [String]) -> Int32? {
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
    defer { unsafe arguments.forEach { unsafe free($0) } }
    unsafe arguments.append(nil)
    var child: pid_t = 0
    guard unsafe posix_spawnp(&child, words[0], nil, nil, arguments, environ) == 0 else { return nil }
    let started = child
    // A signal that ends this process ends the child as well.
    let cleanup = Interruption.cleaning { kill(started, SIGTERM) }
    defer { withExtendedLifetime(cleanup) {} }
    let status = wait(for: child)
    Interruption.awaitEnd()
    return status
  }

  /// Runs a program in an open directory, searching for it as a shell does, and forwards signals to it. Returns its
  /// exit status, or 128 + signal. Throws the reason if it could not be started.
  static func run(_ words: [String], in directory: Int32) throws(Errno) -> Int32 {
    // Only the forwarding thread may receive these signals.
    var signals = passedOn, former = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, &signals, &former)
    guard fchdir(directory) == 0 else { throw Errno(code: errno) }
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
    defer { unsafe arguments.forEach { unsafe free($0) } }
    unsafe arguments.append(nil)
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    unsafe posix_spawnattr_setsigmask(&attributes, &former)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var child: pid_t = 0
    let problem = unsafe posix_spawnp(&child, words[0], nil, &attributes, arguments, environ)
    unsafe posix_spawnattr_destroy(&attributes)
    // The directory may no longer exist when the command has ended.
    _ = unsafe chdir("/")
    if problem != 0 { throw Errno(code: problem) }
    let started = child
    let thread = Thread {
      var signals = passedOn, information = unsafe siginfo_t()
      while true {
        let signal = unsafe sigwaitinfo(&signals, &information)
        // The terminal sends its signals to both processes.
        let isFromTerminal = unsafe information.si_code == 0x80
        if signal > 0, !isFromTerminal { kill(started, signal) }
      }
    }
    thread?.detach()
    guard let status = wait(for: child) else { throw Errno(code: ECHILD) }
    return status
  }

  /// The signals forwarded to a command.
  private static var passedOn: sigset_t {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] { unsafe sigaddset(&signals, signal) }
    return signals
  }

  /// Waits for a child. Returns its exit status, 128 + signal, or nil if there is no such child.
  static func wait(for child: pid_t) -> Int32? {
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0 { if errno != EINTR { return nil } }
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }
}

/// An errno as an error.
struct Errno: Error, Equatable {
  let code: Int32
}

extension stat {
  /// True for a regular file of size 0.
  var isEmptyFile: Bool { st_mode & S_IFMT == S_IFREG && st_size == 0 }
}

extension String {
  /// Splits at `separator`. A backslash before a separator makes it part of the text. Empty parts are omitted.
  func split(unescaped separator: Character) -> [String] { parts(unescaped: separator).filter { !$0.isEmpty } }

  /// Like `split(unescaped:)`, but includes empty parts.
  func parts(unescaped separator: Character) -> [String] {
    var parts = [""]
    var escaping = false
    for character in self {
      if escaping {
        parts[parts.count - 1] += character == separator ? "\(character)" : "\\\(character)"
        escaping = false
      } else if character == "\\" {
        escaping = true
      } else if character == separator {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    if escaping { parts[parts.count - 1] += "\\" }
    return parts
  }
}
