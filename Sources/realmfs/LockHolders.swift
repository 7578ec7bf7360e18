// Which live processes take part in a realm, read from /proc/locks. The lock file is never opened and no lock is tried:
// an opener that came at that moment would take a dead session for a running one.
import CLinux
import Glibc
import RealmJSON

/// A process that holds an flock on a realm's lock file.
struct LockHolder: Equatable {
  /// 0 or negative if the process lives in another PID namespace.
  let processID: Int32
  /// The command's name; empty if unknown.
  let name: String

  var description: String {
    if processID <= 0 { return "a process outside this container" }
    return name.isEmpty ? "process \(processID)" : "process \(processID) (\(name))"
  }
}

enum LockHolders {
  /// Who has a realm open, for people.
  static func inWords(_ holders: [LockHolder]) -> String {
    if !holders.isEmpty { return holders.map(\.description).joined(separator: ", ") }
    return System.hasProcesses ? "nobody" : "unknown, because /proc is missing"
  }

  /// The same for programs; null where it is not known.
  static func json(_ holders: [LockHolder]) -> JSONValue {
    if holders.isEmpty && !System.hasProcesses { return .null }
    return .array(holders.map { .object([("pid", .number(Int($0.processID))), ("name", .string($0.name))]) })
  }

  /// The processes that hold `realm.lock` of the realm at `path`; also of the file that a symbolic link leads to.
  static func ofRealm(at path: String) -> [LockHolder] {
    var holders: [LockHolder] = []
    for file in Set([path, System.real(path) ?? path]).map({ $0 + ".lock" }) {
      guard case .success(let status) = System.status(file) else { continue }
      var devices = [device(clinux_device_major(status.st_dev), clinux_device_minor(status.st_dev))]
      // stat(2) reports another device than /proc/locks on btrfs and overlays; the mount table has the right one.
      if let entry = System.real(file).flatMap(MountTable.entry(containing:)) {
        let parts = entry.device.split(separator: ":").compactMap { UInt32($0) }
        if parts.count == 2 { devices.append(device(parts[0], parts[1])) }
      }
      let files = Set(devices.map { "\($0):\(status.st_ino)" })
      for process in processes(holding: files, locks: System.text(ofFile: "/proc/locks") ?? "") {
        let name = System.text(ofFile: "/proc/\(process)/comm") ?? ""
        let holder = LockHolder(processID: process, name: String(name.prefix { $0 != "\n" }))
        if !holders.contains(holder) { holders.append(holder) }
      }
    }
    return holders.sorted { $0.processID < $1.processID }
  }

  /// The process ids of flock entries for one of `files` (`major:minor:inode`).
  ///
  /// A line that waits for a lock (`1: -> FLOCK ...`) holds nothing.
  static func processes(holding files: Set<String>, locks: String) -> [Int32] {
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
