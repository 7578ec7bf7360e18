// The directory that a realm is mounted on: checks it, detaches a stale mount of realmfs, and unmounts.
import CLinux
import Glibc
import RealmPages
import Threads

/// Operations on mount points.
enum MountPoint {
  /// Checks that `given` can be mounted on, and returns its real path.
  ///
  /// Detaches a stale mount of realmfs first.
  static func prepare(_ given: String, verbose: Bool) throws -> String {
    let path = System.realMountPoint(given)
    if let entry = MountTable.entry(at: path), entry.isOurs {
      guard isDead(path) else {
        throw CommandFailure(
          .mountPoint,
          "mount point \(given) already shows \(entry.source); 'realmfs umount \(given)' ends that mount"
        )
      }
      try unmount(path, isLazy: true)
      if verbose { Log.notice("\(given): detached a stale mount of realmfs") }
    }
    switch System.status(given) {
    case .failure(let error):
      throw CommandFailure(.mountPoint, "mount point \(given): \(System.message(error.code))")
    case .success(let status) where status.st_mode & S_IFMT != S_IFDIR:
      throw CommandFailure(.mountPoint, "mount point \(given) is not a directory")
    case .success: return RealmLinks.real(given) ?? path
    }
  }

  /// Throws if a mount would hide existing files.
  static func requireEmpty(_ given: String) throws {
    let names: [String]
    do { names = try DirectoryListing.names(in: given) } catch {
      throw CommandFailure(
        .mountPoint,
        "mount point \(given) cannot be listed (\(error.problem)), so it may hold files; "
          + "-o nonempty mounts over it anyway"
      )
    }
    guard let first = names.first else { return }
    let more = names.count > 1 ? " and \(names.count - 1) more" : ""
    throw CommandFailure(
      .mountPoint,
      "mount point \(given) is not empty: the mount would hide \(first)\(more); choose an empty directory, "
        + "or hide that with -o nonempty"
    )
  }

  /// Unmounts by the system call, or through fusermount3 if the system call requires root.
  static func unmount(_ path: String, isLazy: Bool) throws {
    var code = unsafe clinux_unmount(path, isLazy ? 1 : 0)
    // Wait for processes that use the mount only briefly, such as a desktop or `df`.
    let deadline = MonotonicTime.now.advanced(by: .milliseconds(500))
    while code == EBUSY, MonotonicTime.now < deadline {
      usleep(10_000)
      code = unsafe clinux_unmount(path, isLazy ? 1 : 0)
    }
    switch code {
    case 0: return
    case EBUSY:
      throw CommandFailure(
        .mountPoint,
        "\(path) is busy: a program has a file or its working directory there ('fuser -vm' shows which); "
          + "'realmfs umount --lazy' detaches it anyway"
      )
    case EPERM where geteuid() != 0:
      // fusermount3 prints its own reason.
      let status = System.run(["fusermount3", isLazy ? "-uz" : "-u", "--", path])
      if status == 0 { return }
      throw CommandFailure(
        status == nil || status == 127 ? .fuse : .mountPoint,
        status == nil || status == 127
          ? "fusermount3 is missing; install fuse3" : "\(path): fusermount3 did not unmount it"
      )
    default:
      throw CommandFailure(.mountPoint, "cannot unmount \(path): \(System.message(code))")
    }
  }

  /// Detaches a mount of realmfs from the tree even if processes still use it.
  static func detach(_ path: String) {
    // If this fails, nothing else can be done.
    try? unmount(path, isLazy: true)
  }

  /// True if the process that served a FUSE mount has ended.
  ///
  /// The kernel answers `stat` from its cache for a while, but never `statfs`.
  private static func isDead(_ path: String) -> Bool {
    var status = statvfs()
    return unsafe statvfs(path, &status) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
  }
}
