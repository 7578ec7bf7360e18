// The requesting process, identified through /proc.

import Glibc
import RealmPages

/// The requesting process.
public struct Caller: Sendable {
  /// User id.
  public let user: UInt32
  /// Group id.
  public let group: UInt32
  /// The requesting thread; 0 if it is not known.
  public let process: Int32

  /// A process of this user and group.
  public init(user: UInt32, group: UInt32, process: Int32 = 0) {
    self.user = user
    self.group = group
    self.process = process
  }

  /// True for root and for the user of the serving process: both may read and use everything in the mount.
  static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

  /// True if a thread belongs to the same process as another. False if /proc does not show this.
  static func isThread(_ thread: Int32, ofProcessOf other: Int32) -> Bool {
    if thread <= 0 || other <= 0 { return false }
    if thread == other { return true }
    return unsafe access("/proc/\(other)/task/\(thread)", F_OK) == 0
  }

  /// True if a thread, or a zombie process, exists. False if /proc does not show it.
  static func isRunning(_ thread: Int32) -> Bool {
    if thread <= 0 { return false }
    return unsafe access("/proc/\(thread)", F_OK) == 0
  }

  /// A thread at a point in time. Thread numbers are reused, so a number identifies a process only together with a
  /// time.
  struct ThreadTime: Sendable {
    let thread: Int32
    /// The time since boot.
    let time: Duration

    /// A thread at `time`.
    init(thread: Int32, time: Duration) { (self.thread, self.time) = (thread, time) }

    /// A thread at the current time.
    init(thread: Int32) {
      var now = timespec()
      unsafe clock_gettime(CLOCK_BOOTTIME, &now)
      self.init(thread: thread, time: .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec))
    }
  }

  /// The main thread of the caller's process at the current time: the caller's own thread may end before its process.
  var now: ThreadTime { ThreadTime(thread: Self.leader(of: process) ?? process) }

  /// The main thread of a thread's process; nil if /proc does not show it.
  private static func leader(of thread: Int32) -> Int32? {
    if thread <= 0 { return nil }
    let lines = (KernelText.of("/proc/\(thread)/status") ?? "").split(separator: "\n")
    return lines.first { $0.hasPrefix("Tgid:") }.flatMap { Int32($0.dropFirst(5).drop { $0 == "\t" }) }
  }

  /// True if the caller is a thread of the process identified by `moment`. False if /proc does not show it.
  func isProcess(of moment: ThreadTime) -> Bool {
    if moment.thread <= 0 || !Self.isThread(process, ofProcessOf: moment.thread) { return false }
    return Self.start(of: moment.thread).map { $0 <= moment.time } ?? false
  }

  /// The start time of a thread, since boot (proc_pid_stat(5)).
  private static func start(of thread: Int32) -> Duration? {
    guard let text = KernelText.of("/proc/\(thread)/stat"), let end = text.lastIndex(of: ")") else { return nil }
    // The second field is the program name, which ends at the last parenthesis.
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 19, let ticks = Int64(fields[19]) else { return nil }
    let second = max(1, Int64(sysconf(Int32(_SC_CLK_TCK))))
    return .seconds(ticks / second) + .nanoseconds(ticks % second * 1_000_000_000 / second)
  }
}
