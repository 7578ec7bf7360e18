// Creates a file atomically: it has no name until all of it is on disk. If the program ends earlier, it leaves no file,
// and no process sees a partial one. If the file system does not support unnamed files, the file has a provisional name
// until then.
//
// The directory is opened once, and the file and its names are created relative to its descriptor: moving the directory
// or changing a link in its path cannot redirect any step.

import CLinux
import Glibc
import Synchronization

/// A file being created for `path`.
package final class NewFile {
  /// The final path of the file.
  let path: String
  /// The file, for writing. Error messages show `path`.
  let handle: FileHandle
  /// The directory, and the name in it.
  private let folder: FileFolder
  private let name: String
  /// The provisional name in the directory, if the file needs one.
  private var provisionalName: String?

  /// The provisional names in use by this process.
  private static let unfinished = Mutex<Set<ExactName>>([])

  /// Removes the provisional files of this process. Called when the process exits while creating one.
  package static func removeUnfinished() {
    for name in unfinished.withLock({ $0 }) { unsafe unlink(name.text) }
  }

  /// The suffix of `path` under which a new file exists briefly before it replaces another. Realm's own compaction uses
  /// the same name, and removes a file that it finds there.
  static let provisionalSuffix = ".tmp_compaction_space"

  /// Creates a file that only its owner can read, in the directory of `path`. Error messages show `shownPath`, or
  /// `path` if it is nil.
  init(path: String, shownAs shownPath: String? = nil) throws(EngineError) {
    self.path = path
    let folder = try FileFolder(of: path), name = FileFolder.name(of: path)
    (self.folder, self.name) = (folder, name)
    // Left by a program that was killed while its file had this name.
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

  /// Copies the mode, owner, group and attributes of another file. If the group cannot be set, the group gets no
  /// permissions. The owner also gets the permissions `more`.
  func takeProtection(of other: FileHandle, addingForOwner more: mode_t = 0) throws(EngineError) {
    let status = try other.status()
    var mode = mode_t(status.mode & 0o777) | more
    clinux_copy_attributes(other.descriptor, handle.descriptor)
    if !Protection.give(handle.descriptor, to: status.owner, status.group) { mode &= ~0o070 }
    guard fchmod(handle.descriptor, mode) == 0 else { throw .failed("fchmod", path, errno) }
  }

  /// Throws if the name refers to something other than `other`.
  func checkReplaces(_ other: FileHandle) throws(EngineError) {
    var status = stat()
    let isThere = unsafe fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    if isThere, UInt64(status.st_dev) == other.device, UInt64(status.st_ino) == other.inode { return }
    throw EngineError(.moved, "\(path): another file replaced it in the meantime and was kept; try again")
  }

  /// Syncs the file, gives it its name and syncs the name. Replaces an existing file if `replacing`; otherwise an
  /// existing file is an error (EEXIST).
  func put(replacing: Bool) throws(EngineError) {
    while fsync(handle.descriptor) != 0 {
      if errno != EINTR { throw .failed("fsync", path, errno) }
    }
    try takeName(replacing: replacing)
    try handle.syncDirectory()
  }

  /// Gives the file its name without syncing.
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

/// The open directory of a file.
private final class FileFolder {
  let descriptor: Int32

  /// Opens the directory that contains `path`.
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
