// The folder of a mount's pipes. The mount holds an advisory lock on it as long as it runs, so that the next mount
// recognizes the folder of one that was killed, and removes it.

import Glibc
import RealmPages

/// A folder for named pipes below the user's runtime folder.
final class PipeFolder: Sendable {
  let path: String
  /// The folder, locked.
  private let descriptor: Int32

  private static let prefix = "realmfs-"
  /// Other users may open a pipe whose name they know, but not list the names.
  private static let mode: mode_t = 0o711

  /// Creates a folder, and removes those of mounts that were killed.
  init() throws(EngineError) {
    var failure = EngineError.failed("mkdtemp", UserFolders.runtime, ENOENT)
    for parent in [UserFolders.runtime, "/tmp"] {
      Self.removeAbandoned(in: parent)
      do {
        (path, descriptor) = try Self.make(in: parent)
        return
      } catch { failure = error }
    }
    throw failure
  }

  deinit {
    unsafe rmdir(path)
    close(descriptor)
  }

  /// False once a program has removed the folder.
  var exists: Bool { unsafe access(path, F_OK) == 0 }

  private static func make(in parent: String) throws(EngineError) -> (String, Int32) {
    var template = Array((parent + "/" + prefix + "XXXXXX").utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw .failed("mkdtemp", parent, errno) }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("open", path, errno) }
    // The mode comes last: a folder without it is not taken for an abandoned one.
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fchmod(descriptor, mode) == 0 { return (path, descriptor) }
    let code = errno
    close(descriptor)
    unsafe rmdir(path)
    throw .failed("flock", path, code)
  }

  /// Removes the folders of this user's mounts that no process has locked.
  private static func removeAbandoned(in parent: String) {
    // A folder that cannot be listed has none to remove.
    for name in (try? DirectoryListing.names(in: parent)) ?? [] where name.hasPrefix(prefix) {
      let path = parent + "/" + name
      let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if descriptor < 0 { continue }
      defer { close(descriptor) }
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o7777 == mode,
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      else { continue }
      // Only pipes are removed. A folder with anything else is not one of a mount, and stays.
      for pipe in (try? DirectoryListing.names(in: path)) ?? [] {
        let isPipe = unsafe fstatat(descriptor, pipe, &status, AT_SYMLINK_NOFOLLOW) == 0
        if isPipe, status.st_mode & S_IFMT == S_IFIFO { unsafe unlinkat(descriptor, pipe, 0) }
      }
      unsafe rmdir(path)
    }
  }
}
