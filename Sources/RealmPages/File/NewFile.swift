// A file that comes into being whole or not at all: it has no name until everything is on disk, so whatever ends the
// program before leaves nothing behind, and no process sees it in part. Where the file system knows no files without a
// name, it has a name of its own meanwhile.

import CLinux
import Glibc
import Synchronization

/// A file on its way to `path`.
package final class NewFile {
  /// Where the file will be.
  let path: String
  /// The file, for writing. Its messages speak of `path`.
  let handle: FileHandle
  /// The name that the file has meanwhile, if it needs one.
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

  /// Makes a file that only its owner can read, in the folder of `path`.
  init(path: String) throws(EngineError) {
    self.path = path
    // Of a program that was killed, where it had to name its file.
    let name = path + Self.provisionalSuffix
    try AuxiliaryFile.removeReplacement(name)
    var descriptor = unsafe clinux_open_unnamed(FileHandle.folder(of: path))
    if descriptor < 0 && [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(errno) {
      Self.unfinished.withLock { _ = $0.insert(ExactName(name)) }
      descriptor = unsafe open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if descriptor >= 0 {
        provisionalName = name
      } else {
        let error = errno
        Self.unfinished.withLock { _ = $0.remove(ExactName(name)) }
        errno = error
      }
    }
    guard descriptor >= 0 else { throw EngineError(opening: path, errno) }
    handle = try FileHandle(adopting: descriptor, path: path)
  }

  deinit {
    if let provisionalName { unsafe unlink(provisionalName) }
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
        guard unsafe clinux_name_file(handle.descriptor, path) == 0 else { throw .failed("link", path, errno) }
        return
      }
      let name = path + Self.provisionalSuffix
      try AuxiliaryFile.removeReplacement(name)
      Self.unfinished.withLock { _ = $0.insert(ExactName(name)) }
      guard unsafe clinux_name_file(handle.descriptor, name) == 0 else { throw .failed("link", name, errno) }
      provisionalName = name
    }
    let name = provisionalName ?? path
    guard unsafe (replacing ? rename(name, path) : clinux_rename_to_new(name, path)) == 0 else {
      throw .failed("rename", path, errno)
    }
    provisionalName = nil
    Self.unfinished.withLock { _ = $0.remove(ExactName(name)) }
  }
}
