// The realm mounts in the mount table, and the report of each mount about itself.
import CLinux
import FileTree
import Glibc
import RealmJSON
import RealmPages

/// A mount of ours.
struct RealmMount {
  /// The mount point.
  let point: String
  /// The source in the mount table: the realm file, unless the user chose another name.
  let source: String
  /// The report of the mount; nil if there is none.
  let report: MountReport?
  /// The process that serves the mount; nil if there is no report or this process does not see it.
  let process: pid_t?
  /// The reason why there is no report.
  let silence: Errno?
  /// The processes of another mount namespace in which the mount is visible, if it is not visible to this process.
  let seenBy: [pid_t]

  /// The time in milliseconds within which a mount must respond.
  private static let timeout: Int32 = 2000
  /// The kernel's size limit for an attribute.
  private static let maxBytes = 1 << 16

  /// Returns all our mounts in the mount table.
  static func all() -> [RealmMount] { MountTable.entries().filter(\.isOurs).map { RealmMount($0) } }

  /// Returns our mounts that exist only in other mount namespaces, as far as this user may inspect them; root may
  /// inspect all.
  static func inOtherNamespaces() -> [RealmMount] {
    guard let own = MountNamespace.of("self") else { return [] }
    var processes: [MountNamespace: [pid_t]] = [:]
    // Without /proc, none can be found.
    for process in ((try? DirectoryListing.names(in: "/proc")) ?? []).compactMap({ pid_t($0) }) {
      if let namespace = MountNamespace.of("\(process)"), namespace != own {
        processes[namespace, default: []].append(process)
      }
    }
    var known = Set(MountTable.entries().map(\.device)), mounts: [RealmMount] = []
    for members in processes.values.sorted(by: { $0[0] < $1[0] }) {
      for entry in MountTable.entries(of: members[0]) where entry.isOurs && known.insert(entry.device).inserted {
        mounts.append(RealmMount(entry, seenBy: members))
      }
    }
    return mounts
  }

  private init(_ entry: MountEntry, seenBy: [pid_t] = []) {
    (point, source) = (entry.mountPoint, entry.source)
    self.seenBy = seenBy
    let path = seenBy.first.map { "/proc/\($0)/root\(entry.mountPoint)" } ?? entry.mountPoint
    switch Self.attribute(MountReport.attribute, of: path) {
    case .success(let text): (report, silence) = (MountReport(text), nil)
    case .failure(let error): (report, silence) = (nil, error)
    }
    process = report.flatMap { MountServer.process(knownAs: $0.process, serving: entry) }
  }

  /// Reads an extended attribute of a mount point; `ETIMEDOUT` if the process that serves the mount does not respond.
  static func attribute(_ name: String, of mountPoint: String) -> Result<[UInt8], Errno> {
    var value = [UInt8](repeating: 0, count: maxBytes)
    let count = unsafe clinux_ask_attribute(mountPoint, name, &value, value.count, timeout)
    return count < 0 ? .failure(Errno(code: Int32(-count))) : .success(Array(value.prefix(count)))
  }

  /// An explanation of a missing report; nil if there is a report.
  var problem: String? {
    if report != nil { return nil }
    switch silence?.code {
    case ETIMEDOUT: return "does not answer"
    case ENOTCONN, ECONNABORTED: return "its process has ended: 'realmfs umount \(point)'"
    case ENOTSUP: return "a directory of a mount, bound to another place"
    case EACCES, EPERM: return "mounted by another user"
    case ENODATA, nil: return "served by another version of realmfs"
    case let code?: return System.message(code)
    }
  }
}

/// A mount namespace, identified by its number.
private struct MountNamespace: Hashable {
  let number: UInt64

  /// Returns the namespace of a process; nil if the process has ended or this user may not inspect it.
  static func of(_ process: String) -> MountNamespace? {
    guard case .success(let status) = System.status("/proc/\(process)/ns/mnt") else { return nil }
    return MountNamespace(number: UInt64(status.st_ino))
  }
}
