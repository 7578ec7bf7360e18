// Writes a file, or a directory with everything below it, to disk before it gets its final name. Syncing the file
// system costs as much as syncing a few files, so it is used if there are many.

import CLinux
import Glibc

/// Makes files and directories durable.
package enum DurableTree {
  /// The number of entries above which the whole file system is synced. Below it, syncing does not wait for data of
  /// other programs.
  package static let maxSingleSyncs = 64

  /// Returns when the file at `path`, or the directory and everything below it, is on disk.
  package static func sync(_ path: String) throws(EngineError) {
    var left = maxSingleSyncs
    if try !isWithin(&left, path), try syncFileSystem(of: path) { return }
    try syncEach(path)
  }

  /// Returns when the names in a directory are on disk.
  package static func syncDirectory(_ path: String) throws(EngineError) {
    try sync(path, O_RDONLY | O_DIRECTORY)
  }

  /// True if there are at most `left` files and directories at and below a path.
  private static func isWithin(_ left: inout Int, _ path: String) throws(EngineError) -> Bool {
    left -= 1
    if left < 0 { return false }
    guard try kind(path) == S_IFDIR else { return true }
    for name in try DirectoryListing.names(in: path) where try !isWithin(&left, "\(path)/\(name)") { return false }
    return true
  }

  private static func syncEach(_ path: String) throws(EngineError) {
    switch try kind(path) {
    case S_IFREG: try sync(path, O_RDONLY)
    case S_IFDIR:
      for name in try DirectoryListing.names(in: path) { try syncEach("\(path)/\(name)") }
      try syncDirectory(path)
    // Symbolic links, pipes and devices have nothing to sync.
    default: break
    }
  }

  private static func kind(_ path: String) throws(EngineError) -> mode_t {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { throw .failed("lstat", path, errno) }
    return status.st_mode & S_IFMT
  }

  /// Returns false if the file system cannot be synced as a whole.
  private static func syncFileSystem(of path: String) throws(EngineError) -> Bool {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("open", path, errno) }
    defer { close(descriptor) }
    while clinux_sync_file_system(descriptor) != 0 {
      if errno == EOPNOTSUPP { return false }
      if errno != EINTR { throw .failed("syncfs", path, errno) }
    }
    return true
  }

  private static func sync(_ path: String, _ flags: Int32) throws(EngineError) {
    let descriptor = unsafe open(path, flags | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("open", path, errno) }
    defer { close(descriptor) }
    while fsync(descriptor) != 0 {
      // Some file systems reject fsync on a directory because they do not need it.
      if errno == EINVAL, flags & O_DIRECTORY != 0 { return }
      if errno != EINTR { throw .failed("fsync", path, errno) }
    }
  }
}
