// The directory of `mount --trash DIR`. CLASS/NAME.json contains the text that an object had before a mount last
// changed or deleted it, and schema.json the schema before a mount changed it. Earlier texts have the time when they
// were written appended to their names. Nothing in the directory is ever overwritten or removed. Saves are serialized,
// so only one text is written at a time.
//
// The directory is checked when the realm is mounted, and opened once for all texts. Its content is accessed through
// the descriptor, so that no other user can redirect the texts or the renaming of earlier ones.
import CLinux
import FileTree
import Glibc
import RealmPages
import Synchronization

/// A directory for the previous texts of objects.
final class TrashFolder: Sendable {
  private let path: String
  /// The identity of the directory.
  private let identity: [UInt64]
  /// The open directory; nil until the first text. A mount in the background does not inherit its starter's
  /// descriptors.
  private let folder = Mutex<TrustedDirectory?>(nil)

  /// Creates the object for the directory `given`, which must exist outside the mount.
  init(_ given: String, mountPoint: String) throws {
    path = System.absolute(given)
    let found: TrustedDirectory
    do {
      found = try TrustedDirectory.open(path)
      identity = try found.identity
    } catch {
      switch error.code {
      case ENOENT:
        throw CommandFailure(.unreadable, "--trash \(given): \(System.message(ENOENT)); create the directory first")
      case ENOTDIR: throw CommandFailure(.unreadable, "--trash \(given) is not a directory")
      default: throw CommandFailure(.unreadable, "--trash \(given): \(error)")
      }
    }
    guard unsafe faccessat(found.descriptor, ".", W_OK | X_OK, 0) == 0 else {
      throw CommandFailure(.unreadable, "--trash \(given): \(System.message(errno)); name a folder to write to")
    }
    if let real = RealmLinks.real(path), MountTable.isPath(real, atOrBelow: mountPoint) {
      throw CommandFailure(.mountPoint, "--trash \(given) is in the mount; name a folder outside of \(mountPoint)")
    }
  }

  /// Writes the text of an object, or of the schema if `className` is nil. Returns the reason for a failure, or nil.
  func keep(_ className: String?, _ name: String, _ text: [UInt8]) -> String? {
    do {
      var folder = try open()
      if let className { folder = try folder.directory(className) }
      try write(text, name, in: folder)
      return nil
    } catch { return error.description }
  }

  private func open() throws(EngineError) -> TrustedDirectory {
    try folder.withLock { folder throws(EngineError) in
      if let folder { return folder }
      let found = try TrustedDirectory.open(path)
      guard try found.identity == identity else {
        throw .failed(
          "open",
          path,
          ESTALE,
          problem: "another directory replaced it since the realm was mounted"
        )
      }
      folder = found
      return found
    }
  }

  private func write(_ text: [UInt8], _ name: String, in folder: TrustedDirectory) throws(EngineError) {
    let directory = folder.descriptor
    var status = stat()
    if unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
      let time = status.st_mtim
      let earlierName = Trash.earlierName(Array(name.utf8), seconds: Int64(time.tv_sec), nanoseconds: time.tv_nsec)
      let earlier = String(decoding: earlierName, as: UTF8.self)
      guard unsafe clinux_rename_to_new_at(directory, name, earlier) == 0 else {
        throw .failed("rename", folder.path + "/" + earlier, errno)
      }
    }
    try folder.makeFile(name, text)
  }
}
