// A file that comes into being whole or not at all: it has no name until everything is on disk, so whatever ends the
// program before leaves nothing behind, and no process sees it in part. Where the file system knows no files without a
// name, it has a name of its own meanwhile.
//
// The folder is opened once, and the file and its names are made in that: a user who moves the folder, or a link on the
// way to it, leads no step of the work to another place.

import CLinux
import Glibc
import Synchronization

/// A file on its way to `path`.
package final class NewFile {
  /// Where the file will be.
  let path: String
  /// The file, for writing. Its messages speak of `path`.
  let handle: FileHandle
  /// The folder, and the name in it.
  private let folder: FileFolder
  private let name: String
  /// The name in the folder that the file has meanwhile, if it needs one.
  private var provisionalName: String?

  /// The provisional names that this process has given.
  private static let unfinished = Mutex<Set<ExactName>>([])

  /// Removes what this process is making under a name: for one that ends in the middle of it.
  package static func removeUnfinished() {
    for name in unfinished.withLock({ $0 }) { unsafe unlink(name.text) }
  }

  /// What is added to `path` for the moment in which a file replaces another. Realm's own compaction uses this name
  /// too, and removes a file that it finds there.
  static let provisionalSuffix = ".tmp_compaction_space"

  /// Makes a file that only its owner can read, in the folder of `path`. Messages speak of `shownPath`, if that is not
  /// `path`.
  init(path: String, shownAs shownPath: String? = nil) throws(EngineError) {
    self.path = path
    let folder = try FileFolder(of: path), name = FileFolder.name(of: path)
    (self.folder, self.name) = (folder, name)
    // Of a program that was killed, where it had to name its file.
    let provisional = name + Self.provisionalSuffix, shown = path + Self.provisionalSuffix
    try AuxiliaryFile.removeReplacement(provisional, in: folder.descriptor, called: shown)
    var descriptor = clinux_open_unnamed_at(folder.descriptor)
    if descriptor < 0 && [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(errno) {
      Self.unfinished.withLock { _ = $0.insert(ExactName(shown)) }
      let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
      descriptor = unsafe openat(folder.descriptor, provisional, flags, 0o600)
      if descriptor >= 0 {
        provisionalName = provisional
      } else {
        let error = errno
        Self.unfinished.withLock { _ = $0.remove(ExactName(shown)) }
        errno = error
      }
    }
    guard descriptor >= 0 else { throw EngineError(opening: shownPath ?? path, errno) }
    handle = try FileHandle(adopting: descriptor, path: shownPath ?? path)
  }

  deinit {
    if let provisionalName { unsafe unlinkat(folder.descriptor, provisionalName, 0) }
    Self.unfinished.withLock { _ = $0.remove(ExactName(path + Self.provisionalSuffix)) }
  }

  /// Gives the file the mode, owner, group and attributes of another. Where the group cannot be kept, the group gets no
  /// rights. The owner gets the rights `more` besides.
  func takeProtection(of other: FileHandle, addingForOwner more: mode_t = 0) throws(EngineError) {
    let status = try other.status()
    var mode = mode_t(status.mode & 0o777) | more
    clinux_copy_attributes(other.descriptor, handle.descriptor)
    if !Protection.give(handle.descriptor, to: status.owner, status.group) { mode &= ~0o070 }
    guard fchmod(handle.descriptor, mode) == 0 else { throw .failed("fchmod", path, errno) }
  }

  /// Throws if something else than `other` has the name that the file is to have.
  func checkReplaces(_ other: FileHandle) throws(EngineError) {
    var status = stat()
    let isThere = unsafe fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    if isThere, UInt64(status.st_dev) == other.device, UInt64(status.st_ino) == other.inode { return }
    throw EngineError(.moved, "\(path): another file has taken its place meanwhile, and stays as it is; try again")
  }

  /// Puts the file at its path when it is on disk, in place of what is there if `replacing`, and returns when the name
  /// is on disk too. Without `replacing`, an existing file is an error (EEXIST).
  func put(replacing: Bool) throws(EngineError) {
    while fsync(handle.descriptor) != 0 {
      if errno != EINTR { throw .failed("fsync", path, errno) }
    }
    try takeName(replacing: replacing)
    try handle.syncDirectory()
  }

  /// Puts the file at its path, without waiting for any disk.
  func takeName(replacing: Bool = false) throws(EngineError) {
    if provisionalName == nil {
      if !replacing {
        guard unsafe clinux_name_file_at(handle.descriptor, folder.descriptor, name) == 0 else {
          throw .failed("link", path, errno)
        }
        return
      }
      let provisional = name + Self.provisionalSuffix, shown = path + Self.provisionalSuffix
      try AuxiliaryFile.removeReplacement(provisional, in: folder.descriptor, called: shown)
      Self.unfinished.withLock { _ = $0.insert(ExactName(shown)) }
      guard unsafe clinux_name_file_at(handle.descriptor, folder.descriptor, provisional) == 0 else {
        throw .failed("link", path, errno)
      }
      provisionalName = provisional
    }
    let provisional = provisionalName ?? name, folder = folder.descriptor
    let result =
      unsafe replacing
      ? renameat(folder, provisional, folder, name) : clinux_rename_to_new_at(folder, provisional, name)
    guard result == 0 else { throw .failed("rename", path, errno) }
    provisionalName = nil
    Self.unfinished.withLock { _ = $0.remove(ExactName(path + Self.provisionalSuffix)) }
  }
}

/// The folder of a file, open.
private final class FileFolder {
  let descriptor: Int32

  /// Opens the folder that `path` lies in.
  init(of path: String) throws(EngineError) {
    descriptor = unsafe open(FileHandle.folder(of: path), clinux_o_path() | O_DIRECTORY | O_CLOEXEC)
    if descriptor < 0 { throw EngineError(opening: path, errno) }
  }

  deinit { close(descriptor) }

  /// The last part of a path.
  static func name(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }
}
