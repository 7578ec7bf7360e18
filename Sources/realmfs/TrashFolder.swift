// The folder of `mount --trash DIR`: CLASS/NAME.json there is the text that an object had before a mount changed or
// deleted it last; earlier texts have the time of their own writing behind the name. Nothing in the folder is ever
// overwritten or removed. Saves take turns, so one text is written at a time.
import CLinux
import FileTree
import Glibc
import RealmPages

/// A folder for the former texts of objects.
struct TrashFolder: Sendable {
  private let path: String

  /// The folder `given`, which must exist and lie outside of the mount.
  init(_ given: String, mountPoint: String) throws(CommandFailure) {
    guard let real = RealmLinks.real(System.absolute(given)), case .success(let status) = System.status(real) else {
      throw CommandFailure(.unreadable, "--trash \(given): \(System.message(errno)); make the folder first")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw CommandFailure(.unreadable, "--trash \(given) is not a directory")
    }
    guard unsafe access(real, W_OK | X_OK) == 0 else {
      throw CommandFailure(.unreadable, "--trash \(given): \(System.message(errno)); name a folder to write to")
    }
    if MountTable.isPath(real, atOrBelow: mountPoint) {
      throw CommandFailure(.mountPoint, "--trash \(given) lies in the mount; name a folder outside of \(mountPoint)")
    }
    path = real
  }

  /// Writes a text; why that failed, or nil.
  func keep(_ className: String, _ name: String, _ text: [UInt8]) -> String? {
    let folder = path + "/" + className, file = folder + "/" + name
    guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else { return "\(folder): \(System.message(errno))" }
    var status = stat()
    if unsafe lstat(file, &status) == 0 {
      let time = status.st_mtim
      let earlierName = Trash.earlierName(Array(name.utf8), seconds: Int64(time.tv_sec), nanoseconds: time.tv_nsec)
      let earlier = folder + "/" + String(decoding: earlierName, as: UTF8.self)
      guard unsafe clinux_rename_to_new(file, earlier) == 0 else { return "\(earlier): \(System.message(errno))" }
    }
    let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return "\(file): \(System.message(errno))" }
    var problem = StandardOutput.write(text, to: descriptor)
    if close(descriptor) != 0 && problem == 0 { problem = errno }
    if problem == 0 { return nil }
    unsafe unlink(file)
    return "\(file): \(System.message(problem))"
  }
}
