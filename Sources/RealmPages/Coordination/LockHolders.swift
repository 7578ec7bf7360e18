// The live processes that have a realm open, read from /proc/locks. The lock file is never opened and no lock is tried:
// a process that opens the realm at that moment would mistake a dead session for a live one.

import CLinux
import Glibc

/// A process that holds an flock on a realm's lock file.
package struct LockHolder: Equatable, Sendable {
  /// Zero or negative if the process belongs to another PID namespace.
  package let processID: Int32
  /// The command's name; empty if unknown.
  package let name: String

  /// The description of the process in messages.
  package var description: String {
    if processID <= 0 { return "a process outside this container" }
    return name.isEmpty ? "process \(processID)" : "process \(processID) (\(name))"
  }
}

/// The processes that have a realm open.
package enum LockHolders {
  /// The processes that hold the lock file of the realm at `path`, or that of any file in the chain of symbolic links
  /// from `path`.
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

  /// True if another process holds, or may hold, an flock on a file that may no longer have a name. `neighbour` is a
  /// path on the same file system.
  static func areOthers(holding file: LockFile.Identity, near neighbour: String) -> Bool {
    guard let locks = KernelText.of("/proc/locks") else { return true }
    return processes(holding: names(of: file, on: neighbour), locks: locks).contains { $0 != getpid() }
  }

  /// The names that /proc/locks may use for a file on the file system of `path`.
  private static func names(of file: LockFile.Identity, on path: String) -> Set<String> {
    var devices = [device(clinux_device_major(file.device), clinux_device_minor(file.device))]
    // On btrfs and overlays, the device that stat(2) reports differs from that in /proc/locks; the mount table has the
    // right one.
    if let entry = RealmLinks.real(path).flatMap(MountTable.entry(containing:)) {
      let parts = entry.device.split(separator: ":").compactMap { UInt32($0) }
      if parts.count == 2 { devices.append(device(parts[0], parts[1])) }
    }
    return Set(devices.map { "\($0):\(file.inode)" })
  }

  /// The command name of a process, given by its id or as `self`; empty if unknown.
  package static func commandName(of process: String) -> String {
    String((KernelText.of("/proc/\(process)/comm") ?? "").prefix { $0 != "\n" })
  }

  /// The process ids of flock entries for one of `files` (`major:minor:inode`).
  ///
  /// A line of a waiting process (`1: -> FLOCK ...`) does not count: the process holds no lock.
  package static func processes(holding files: Set<String>, locks: String) -> [Int32] {
    locks.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count >= 6, fields[1] == "FLOCK", files.contains(String(fields[5])) else { return nil }
      return Int32(fields[4])
    }
  }

  /// Formats a device as the kernel prints it: both numbers in hexadecimal, with at least two digits.
  private static func device(_ major: UInt32, _ minor: UInt32) -> String {
    [major, minor].map { number in
      let digits = String(number, radix: 16)
      return digits.count < 2 ? "0" + digits : digits
    }.joined(separator: ":")
  }
}
