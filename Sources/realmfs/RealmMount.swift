// The mounts of realms that the mount table lists, and what each tells about itself.
import CLinux
import FileTree
import Glibc
import RealmJSON
import RealmPages

/// A mount of ours.
struct RealmMount {
  /// Where it is.
  let point: String
  /// What the mount table calls the source: the realm file, unless the user chose another name.
  let source: String
  /// What the mount tells; nil if it does not.
  let report: MountReport?
  /// Why it tells nothing.
  let silence: Errno?
  /// The processes that see it, if this one does not: those of another mount namespace.
  let seenBy: [pid_t]

  /// How long a mount has to answer, in milliseconds.
  private static let patience: Int32 = 2000
  /// The kernel's limit for an attribute.
  private static let mostBytes = 1 << 16

  /// All mounts of the mount table.
  static func all() -> [RealmMount] { MountTable.entries().filter(\.isOurs).map { RealmMount($0) } }

  /// The mounts that only processes of other mount namespaces see, as far as this user may look at those: all for root.
  static func elsewhere() -> [RealmMount] {
    guard let own = MountNamespace.of("self") else { return [] }
    var processes: [MountNamespace: [pid_t]] = [:]
    // Without /proc there are none.
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
  }

  /// An extended attribute of a mount point; `ETIMEDOUT` if the process that serves the mount does not answer.
  static func attribute(_ name: String, of mountPoint: String) -> Result<[UInt8], Errno> {
    var value = [UInt8](repeating: 0, count: mostBytes)
    let count = unsafe clinux_ask_attribute(mountPoint, name, &value, value.count, patience)
    return count < 0 ? .failure(Errno(code: Int32(-count))) : .success(Array(value.prefix(count)))
  }

  /// Why nothing is known but what the mount table says.
  var problem: String? {
    if report != nil { return nil }
    switch silence?.code {
    case ETIMEDOUT: return "does not answer"
    case ENOTCONN, ECONNABORTED: return "its process is gone: 'realmfs umount \(point)'"
    case ENOTSUP: return "a directory of a mount, bound to another place"
    case EACCES, EPERM: return "mounted by another user"
    case ENODATA, nil: return "served by another version of realmfs"
    case let code?: return System.message(code)
    }
  }
}

/// The set of mounts that some processes see, by its number.
private struct MountNamespace: Hashable {
  let number: UInt64

  /// That of a process; nil if it has ended or this user may not look at it.
  static func of(_ process: String) -> MountNamespace? {
    guard case .success(let status) = System.status("/proc/\(process)/ns/mnt") else { return nil }
    return MountNamespace(number: UInt64(status.st_ino))
  }
}
