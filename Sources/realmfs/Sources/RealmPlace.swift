// Checks and warnings about the location of a realm before something is written to it. Programs that share a realm
// detect each other through the lock file beside the name under which they opened it, and through shared memory.
// Programs that use another name, or run on another machine, do not detect each other.
import CLinux
import Glibc
import RealmPages

enum RealmPlace {
  /// Rejects an output file in a mount of ours, where it would exist only in memory.
  static func checkOutput(_ arguments: Arguments) throws {
    let specs = Options.command(arguments.command)?.arguments ?? []
    let index = arguments.command == .create ? 0 : specs.firstIndex { $0.name == "OUT" }
    if let index, index < arguments.operands.count, arguments.operands[index] != "-" {
      let given = arguments.operands[index]
      try check(given, isIn: System.folder(of: System.absolute(given)))
    }
    for given in [arguments.value(.output), arguments.value(.conflicts)].compactMap({ $0 }) {
      try check(given, isIn: System.folder(of: System.absolute(given)))
    }
    if let folder = arguments.value(.backupFolder) { try check(folder, isIn: System.absolute(folder)) }
  }

  private static func check(_ given: String, isIn folder: String) throws {
    guard let real = RealmLinks.real(folder),
      let mount = MountTable.entry(containing: real),
      mount.isOurs
    else { return }
    throw CommandFailure(
      .mountPoint,
      "\(given) is in the mount \(mount.mountPoint), where it would be in memory only; name a file outside of it"
    )
  }

  /// Warns of circumstances that prevent programs from detecting each other at `path`.
  static func warn(_ path: String) {
    guard let real = RealmLinks.real(path) else { return }
    warnOfHardLinks(path, real)
    warnOfOtherMachines(path, real)
  }

  /// Warns of a file with hard links. Programs of this package detect each other even under different names; programs
  /// with Realm's engine do not.
  private static func warnOfHardLinks(_ path: String, _ real: String) {
    let count = unsafe clinux_count_names(-1, real)
    if count <= 1 { return }
    Log.notice(
      "\(path) has \(count) names (hard links): a program "
        + "that has it open under another name overwrites the changes made here; use one name only"
    )
  }

  /// Warns of a file that other machines may also use.
  private static func warnOfOtherMachines(_ path: String, _ real: String) {
    // A root file system is used by one machine only.
    guard let mount = MountTable.entry(containing: real), mount.mountPoint != "/",
      isShared(mount.type)
    else { return }
    Log.notice(
      "\(path) is on a shared file system (\(mount.type)): programs on other machines do not coordinate with "
        + "this one, and each overwrites the other's changes; use the realm on one machine at a time"
    )
  }

  /// True if other machines, or the host of a virtual machine, may use the files of a file system of this type.
  static func isShared(_ type: String) -> Bool {
    let types: Set = [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "afs", "9p", "virtiofs", "vboxsf", "prl_fs", "lustre", "gfs2",
      "ocfs2",
      "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.vmhgfs-fuse",
      "fuse.grpcfuse", "fuse.osxfs", "fuse.smbnetfs", "fuse.juicefs",
    ]
    return types.contains(type)
  }
}
