// The permissions of files beside a realm: users who may use the realm may use them, as far as its directory permits.
// Owner and group follow the realm, so that a program run by root does not lock out the app. ACLs, security labels and
// encryption are those of the directory, because the kernel applies them to new files. A file gets its permissions
// before its name, regardless of the umask, so no process sees it with more permissions.

import CLinux
import Glibc

/// The owner, group and mode of the files beside a realm.
struct Protection {
  private var owner = uid_t.max
  private var group = gid_t.max
  /// The read and write bits.
  private var mode: mode_t

  /// The protection of files beside the realm at `path`. For a realm that does not exist yet, the mode is derived from
  /// its directory.
  init(beside path: String) {
    var folder = stat(), realm = stat()
    let hasFolder = unsafe stat(FileHandle.folder(of: path), &folder) == 0
    if unsafe stat(path, &realm) == 0 {
      (owner, group) = (realm.st_uid, realm.st_gid)
      mode = realm.st_mode & 0o666
    } else {
      mode = (hasFolder ? folder.st_mode : 0o700) & 0o644
    }
    // Users who cannot enter the directory need no permissions in it.
    if hasFolder, folder.st_mode & 0o001 == 0 {
      mode &= ~0o007
      if folder.st_mode & 0o010 == 0 { mode &= ~0o070 }
    }
    mode |= 0o600
  }

  /// Sets the owner, group and mode of an open file. Returns an errno, or 0. If the group cannot be set, the group gets
  /// no permissions.
  func apply(to descriptor: Int32) -> Int32 {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return errno }
    var wanted = Self.give(descriptor, to: owner, group) ? mode : mode & ~0o070
    if status.st_mode & S_IFMT == S_IFDIR {
      // Users who may read or write may enter. Keep inherited bits, such as setgid.
      wanted |= (wanted & 0o444) >> 2 | status.st_mode & 0o7000
    }
    return fchmod(descriptor, wanted) == 0 ? 0 : errno
  }

  /// Sets the owner and group of an open file; -1 keeps the current one. Returns false if the group cannot be set.
  /// Failing to set the owner is not an error: only root can give files away.
  static func give(_ descriptor: Int32, to owner: uid_t, _ group: gid_t) -> Bool {
    fchown(descriptor, owner, group) == 0 || fchown(descriptor, uid_t.max, group) == 0
  }

  // MARK: creating files

  /// Opens the lock file beside the realm at `realm` for reading and writing, and creates it empty if it does not
  /// exist. Anything that is not a lock file is refused and not changed.
  static func openLock(_ path: String, besideRealm realm: String) throws(EngineError) -> Int32 {
    var attempt = 0
    while true {
      if let descriptor = try AuxiliaryFile.openLock(path, besideRealm: realm) { return descriptor }
      attempt += 1
      if attempt == 100 { throw EngineError(opening: path, ENOENT) }
      do throws(EngineError) {
        let file = try NewFile(path: path)
        let code = Protection(beside: realm).apply(to: file.handle.descriptor)
        if code != 0 { throw .failed("fchmod", path, code) }
        try file.takeName()
      } catch {
        // Another process created it first.
        if error.code != EEXIST { throw error }
      }
    }
  }

  /// Creates a directory beside a realm if it does not exist. Anything that is not a directory is refused.
  static func makeDirectory(_ path: String, besideRealm realm: String) throws(EngineError) {
    if unsafe mkdir(path, 0o700) != 0 {
      if errno == EEXIST { return try AuxiliaryFile.checkFolder(path) }
      throw .failed("mkdir", path, errno)
    }
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("open", path, errno) }
    defer { close(descriptor) }
    let code = Protection(beside: realm).apply(to: descriptor)
    if code != 0 { throw .failed("fchmod", path, code) }
  }

  /// Creates a named pipe beside a realm unless something has its name already; false on failure.
  static func makePipe(_ path: String, besideRealm realm: String) -> Bool {
    var status = stat()
    if unsafe lstat(path, &status) == 0 { return true }
    let provisional = "\(path).\(getpid())"
    // Left by a killed program with the same process id.
    if unsafe lstat(provisional, &status) == 0, status.st_mode & S_IFMT == S_IFIFO { unsafe unlink(provisional) }
    guard unsafe mkfifo(provisional, 0o600) == 0 else { return false }
    defer { unsafe unlink(provisional) }
    let descriptor = unsafe Glibc.open(provisional, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard Protection(beside: realm).apply(to: descriptor) == 0 else { return false }
    return unsafe clinux_rename_to_new(provisional, path) == 0 || errno == EEXIST
  }
}
