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

  /// How long a mount has to answer, in milliseconds.
  private static let patience: Int32 = 2000
  /// The kernel's limit for an attribute.
  private static let mostBytes = 1 << 16

  /// All mounts of the mount table.
  static func all() -> [RealmMount] { MountTable.entries().filter(\.isOurs).map(RealmMount.init) }

  private init(_ entry: MountEntry) {
    (point, source) = (entry.mountPoint, entry.source)
    switch Self.attribute(MountReport.attribute, of: entry.mountPoint) {
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
