// Who may use what lies beside a realm: those who may use the realm itself, as far as its folder lets them in. Owner
// and group follow the realm, so that a program of root's does not shut out the app; ACLs, security labels and
// encryption come from the folder by themselves, because the kernel gives them to each new file. A file gets its
// rights before its name, whatever the umask: no process sees it with more.

import CLinux
import Glibc

/// The owner, group and mode of the files beside a realm.
struct Protection {
  private var owner = uid_t.max
  private var group = gid_t.max
  /// The read and write bits.
  private var mode: mode_t

  /// What the files beside the realm at `path` get; a realm that is not there yet counts as one of its folder's.
  init(beside path: String) {
    var folder = stat(), realm = stat()
    let hasFolder = unsafe stat(FileHandle.folder(of: path), &folder) == 0
    if unsafe stat(path, &realm) == 0 {
      (owner, group) = (realm.st_uid, realm.st_gid)
      mode = realm.st_mode & 0o666
    } else {
      mode = (hasFolder ? folder.st_mode : 0o700) & 0o644
    }
    // Who cannot get into the folder needs no rights in it.
    if hasFolder, folder.st_mode & 0o001 == 0 {
      mode &= ~0o007
      if folder.st_mode & 0o010 == 0 { mode &= ~0o070 }
    }
    mode |= 0o600
  }

  /// Gives an open file its owner, group and mode; an errno, or 0. Where the group cannot be had, the group gets no
  /// rights.
  func apply(to descriptor: Int32) -> Int32 {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return errno }
    var wanted = Self.give(descriptor, to: owner, group) ? mode : mode & ~0o070
    if status.st_mode & S_IFMT == S_IFDIR {
      // Who may read or write may enter. What the folder hands down, such as setgid, stays.
      wanted |= (wanted & 0o444) >> 2 | status.st_mode & 0o7000
    }
    return fchmod(descriptor, wanted) == 0 ? 0 : errno
  }

  /// Gives an open file to an owner and a group, of which -1 stands for the present one; false if the group cannot be
  /// had. That the owner cannot is no failure: only root can give files away.
  static func give(_ descriptor: Int32, to owner: uid_t, _ group: gid_t) -> Bool {
    fchown(descriptor, owner, group) == 0 || fchown(descriptor, uid_t.max, group) == 0
  }

  // MARK: making files

  /// Opens the lock file beside the realm at `realm` for reading and writing, and makes it, empty, if it is not there.
  /// What is no lock file is refused, and not changed.
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
        // Another process was faster.
        if error.code != EEXIST { throw error }
      }
    }
  }

  /// Makes a directory beside a realm, if it is not there. What is no directory is refused.
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

  /// Makes a named pipe beside a realm, if there is nothing; false if that is not possible.
  static func makePipe(_ path: String, besideRealm realm: String) -> Bool {
    var status = stat()
    if unsafe lstat(path, &status) == 0 { return true }
    let provisional = "\(path).\(getpid())"
    // Of a program with this number that was killed here.
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
