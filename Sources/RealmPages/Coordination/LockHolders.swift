// Which live processes take part in a realm, read from /proc/locks. The lock file is never opened and no lock is tried:
// an opener that came at that moment would take a dead session for a running one.

import CLinux
import Glibc

/// A process that holds an flock on a realm's lock file.
package struct LockHolder: Equatable, Sendable {
  /// 0 or negative if the process lives in another PID namespace.
  package let processID: Int32
  /// The command's name; empty if unknown.
  package let name: String

  /// The process as a message names it.
  package var description: String {
    if processID <= 0 { return "a process outside this container" }
    return name.isEmpty ? "process \(processID)" : "process \(processID) (\(name))"
  }
}

/// The processes that have a realm open.
package enum LockHolders {
  /// The processes that hold the lock file of the realm at `path`; also of the files that a symbolic link leads to.
  package static func ofRealm(at path: String) -> [LockHolder] {
    var holders: [LockHolder] = []
    for name in RealmLinks.names(of: path) {
      for holder in ofLock(name + ".lock") where !holders.contains(holder) { holders.append(holder) }
    }
    return holders.sorted { $0.processID < $1.processID }
  }

  /// The processes that hold an flock on a file.
  static func ofLock(_ file: String) -> [LockHolder] {
    var status = stat()
    guard unsafe stat(file, &status) == 0 else { return [] }
    let names = names(of: LockFile.Identity(status), on: file)
    return processes(holding: names, locks: KernelText.of("/proc/locks") ?? "").map { process in
      LockHolder(processID: process, name: commandName(of: "\(process)"))
    }
  }

  /// Whether another process may hold an flock on a file that has no name any more, perhaps; it was on the file system
  /// of `neighbour`.
  static func areOthers(holding file: LockFile.Identity, near neighbour: String) -> Bool {
    guard let locks = KernelText.of("/proc/locks") else { return true }
    return processes(holding: names(of: file, on: neighbour), locks: locks).contains { $0 != getpid() }
  }

  /// What /proc/locks may call a file that is on the file system of `path`.
  private static func names(of file: LockFile.Identity, on path: String) -> Set<String> {
    var devices = [device(clinux_device_major(file.device), clinux_device_minor(file.device))]
    // stat(2) reports another device than /proc/locks on btrfs and overlays; the mount table has the right one.
    if let entry = RealmLinks.real(path).flatMap(MountTable.entry(containing:)) {
      let parts = entry.device.split(separator: ":").compactMap { UInt32($0) }
      if parts.count == 2 { devices.append(device(parts[0], parts[1])) }
    }
    return Set(devices.map { "\($0):\(file.inode)" })
  }

  /// The name of the command that a process runs, or `self`; empty if unknown.
  package static func commandName(of process: String) -> String {
    String((KernelText.of("/proc/\(process)/comm") ?? "").prefix { $0 != "\n" })
  }

  /// The process ids of flock entries for one of `files` (`major:minor:inode`).
  ///
  /// A line that waits for a lock (`1: -> FLOCK ...`) holds nothing.
  package static func processes(holding files: Set<String>, locks: String) -> [Int32] {
    locks.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count >= 6, fields[1] == "FLOCK", files.contains(String(fields[5])) else { return nil }
      return Int32(fields[4])
    }
  }

  /// Both numbers in hexadecimal, at least two digits, as the kernel prints them.
  private static func device(_ major: UInt32, _ minor: UInt32) -> String {
    [major, minor].map { number in
      let digits = String(number, radix: 16)
      return digits.count < 2 ? "0" + digits : digits
    }.joined(separator: ":")
  }
}
