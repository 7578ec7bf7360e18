// Who asks: a thread of a program, and what /proc tells of it.

import Glibc
import RealmPages

/// The process that asks.
public struct Caller: Sendable {
  /// User id.
  public let user: UInt32
  /// Group id.
  public let group: UInt32
  /// The number of the thread that asks; 0 if it is not known.
  public let process: Int32

  /// A process of this user and group.
  public init(user: UInt32, group: UInt32, process: Int32 = 0) {
    self.user = user
    self.group = group
    self.process = process
  }

  /// True for root and for the user who serves the mount: they read and use everything in it.
  static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

  /// The process that the thread belongs to.
  var wholeProcess: Int32 { Self.process(of: process) }

  /// The process that a thread belongs to (proc_pid_status(5)); the thread itself without /proc.
  static func process(of thread: Int32) -> Int32 {
    guard thread > 0, let status = KernelText.of("/proc/\(thread)/status") else { return thread }
    return fact("Tgid:", in: status).flatMap { Int32($0) } ?? thread
  }

  /// True if a thread belongs to the same process as another one. False where that cannot be seen.
  static func isThread(_ thread: Int32, ofProcessOf other: Int32) -> Bool {
    if thread <= 0 || other <= 0 { return false }
    if thread == other { return true }
    return unsafe access("/proc/\(other)/task/\(thread)", F_OK) == 0
  }

  /// Whether a process has the file open for writing that the kernel knows by `inode` (proc_pid_fdinfo(5)). False where
  /// that cannot be seen.
  static func hasOpen(_ inode: UInt64, in process: Int32) -> Bool {
    if process <= 0 || inode == 0 { return false }
    // There is none of a process that is gone, nor of one that this user may not look at.
    let names = (try? DirectoryListing.names(in: "/proc/\(process)/fdinfo")) ?? []
    return names.contains { name in
      let text = KernelText.of("/proc/\(process)/fdinfo/\(name)") ?? ""
      guard fact("ino:", in: text) == String(inode)[...] else { return false }
      let flags = fact("flags:", in: text).flatMap { Int32($0, radix: 8) } ?? O_RDONLY
      return flags & O_ACCMODE != O_RDONLY
    }
  }

  /// The word behind `key` in a text of /proc; nil if there is none.
  private static func fact(_ key: String, in text: String) -> Substring? {
    text.split(separator: "\n").first { $0.hasPrefix(key) }?.split(whereSeparator: \.isWhitespace).last
  }
}
