// FILE.note: the pipe through which programs signal a new version. Its content is not read: each write wakes all
// listeners. If the realm's directory does not support pipes, the pipe is in another directory, under a name that
// Realm's SDKs for Linux also use if they are configured with the same directory and path. Source:
// docs/format/5-coordination.md 5.8.

import CLinux
import Glibc
import Synchronization
import Threads

/// The writing end.
final class NamedPipe: Sendable {
  private let path: String
  private let open = Mutex<Int32>(-1)

  init(_ path: String) { self.path = path }

  /// The paths where pipes of a realm may exist; this process creates its own at the first.
  static func paths(_ configuration: Configuration) -> [String] {
    let beside = configuration.path + ".note"
    guard let folder = configuration.fifoFolder else { return [beside] }
    let name = "realm_\(MurmurHash.hash(Array(configuration.path.utf8))).note"
    return [folder + (folder.hasSuffix("/") ? "" : "/") + name, beside]
  }

  deinit { open.withLock { if $0 >= 0 { close($0) } } }

  /// Wakes all listeners, if the pipe exists. Never blocks.
  func wakeListeners() { open.withLock { wakeListeners(&$0) } }

  private func wakeListeners(_ descriptor: inout Int32) {
    if descriptor >= 0 && !Self.isPipe(descriptor) {
      close(descriptor)
      descriptor = -1
    }
    if descriptor < 0 { descriptor = Self.open(path) ?? -1 }
    if descriptor < 0 { return }
    var byte: UInt8 = 0
    unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      // Drain first: a full pipe cannot be written to, and not every kernel reports a write to a pipe that is not
      // empty.
      for _ in 0..<16 {
        while unsafe read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        if unsafe write(descriptor, &byte, 1) == 1 { return }
      }
    }
  }

  /// Opens the pipe; nil if it does not exist or is not a pipe.
  fileprivate static func open(_ path: String) -> Int32? {
    var status = stat()
    // Opening a device can have side effects.
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
    if descriptor < 0 { return nil }
    if isPipe(descriptor) { return descriptor }
    close(descriptor)
    return nil
  }

  /// True if the descriptor is a pipe with a single hard link.
  private static func isPipe(_ descriptor: Int32) -> Bool {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return false }
    AuxiliaryFile.countNames(&status, descriptor, "")
    return status.st_nlink == 1
  }
}

/// The listening end.
final class PipeListener: Sendable {
  private let descriptor: Int32
  private let listener: Int32

  /// Creates the pipe if it does not exist; nil if that fails, in which case the caller has to poll.
  init?(_ configuration: Configuration) {
    let path = NamedPipe.paths(configuration)[0]
    guard Protection.makePipe(path, besideRealm: configuration.path) else { return nil }
    guard let pipe = NamedPipe.open(path) else { return nil }
    let edge = clinux_edge_listener(pipe)
    if edge < 0 {
      close(pipe)
      return nil
    }
    (descriptor, listener) = (pipe, edge)
  }

  deinit {
    close(listener)
    close(descriptor)
  }

  /// Returns when a program has written to the pipe since the last call, or on timeout.
  func wait(_ duration: Duration) {
    let milliseconds = min(MonotonicTime.now.advanced(by: duration).milliseconds, 1_000_000)
    _ = clinux_edge_wait(listener, Int32(milliseconds))
  }
}
