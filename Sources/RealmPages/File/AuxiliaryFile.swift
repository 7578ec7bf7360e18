// Checks files beside a realm before this program changes them: a file under one of our names must look like one we
// would have created, because a directory can come from anywhere and a link in it can refer to any file. Files that are
// written to are checked on the open descriptor, so they cannot be replaced between check and use.

import CLinux
import Glibc

/// Checks files beside a realm.
enum AuxiliaryFile {
  /// The purpose of a file beside a realm.
  enum Kind {
    case lock
    case pipe
    case folder
    case replacement

    var words: String {
      switch self {
      case .lock: "the lock file"
      case .pipe: "a named pipe"
      case .folder: "a folder"
      case .replacement: "the new file of a compaction"
      }
    }
  }

  /// Opens the lock file of the realm at `realm` for reading and writing; nil if it does not exist. Changes nothing.
  static func openLock(_ path: String, besideRealm realm: String) throws(EngineError) -> Int32? {
    var attempt = 0
    while true {
      var named = stat()
      if unsafe lstat(path, &named) != 0 {
        if errno == ENOENT { return nil }
        throw EngineError(opening: path, errno)
      }
      // Opening a device or a pipe can have side effects.
      guard named.st_mode & S_IFMT == S_IFREG else { throw unsound(path, .lock, type(of: named)) }
      let descriptor = unsafe open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
      if descriptor < 0 {
        if errno == ENOENT { return nil }
        if errno == ELOOP { throw unsound(path, .lock, "a symbolic link") }
        throw EngineError(opening: path, errno)
      }
      var isSound = false
      defer { if !isSound { close(descriptor) } }
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0 else { throw .failed("fstat", path, errno) }
      countNames(&status, descriptor, path)
      if let problem = problem(ofLock: descriptor, status, besideRealm: realm) {
        attempt += 1
        // The file was just removed, or is being renamed from its provisional name on a system where that takes two
        // steps.
        if status.st_nlink != 1, attempt < 20 {
          usleep(1000)
          continue
        }
        throw unsound(path, .lock, problem)
      }
      isSound = true
      return descriptor
    }
  }

  /// Throws if something other than a directory is at `path`.
  static func checkFolder(_ path: String) throws(EngineError) {
    guard let status = look(path), status.st_mode & S_IFMT != S_IFDIR else { return }
    throw unsound(path, .folder, type(of: status))
  }

  /// Throws if something is at `path` that is neither a pipe nor what remains of a copied pipe: an empty file.
  static func checkPipe(_ path: String) throws(EngineError) {
    guard let status = look(path) else { return }
    let type = status.st_mode & S_IFMT
    if type == S_IFREG, status.st_size == 0, status.st_nlink == 1 { return }
    if type != S_IFIFO { throw unsound(path, .pipe, Self.type(of: status)) }
    if status.st_nlink > 1 { throw unsound(path, .pipe, "a pipe that has other names too (hard links)") }
  }

  /// Removes the file `name` of an open directory, left by a program that was killed while it replaced a realm. Error
  /// messages show `path`.
  static func removeReplacement(_ name: String, in folder: Int32, called path: String) throws(EngineError) {
    var status = stat()
    guard unsafe fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
    countNames(&status, -1, path)
    guard status.st_mode & S_IFMT == S_IFREG else { throw unsound(path, .replacement, type(of: status)) }
    if status.st_nlink > 1 { throw unsound(path, .replacement, "a file that has other names too (hard links)") }
    // If this fails, creating the new file fails and reports it.
    unsafe unlinkat(folder, name, 0)
  }

  /// The defect of an open lock file; nil if there is none.
  private static func problem(ofLock descriptor: Int32, _ status: stat, besideRealm realm: String) -> String? {
    if status.st_mode & S_IFMT != S_IFREG { return type(of: status) }
    if status.st_nlink > 1 { return "a file that has other names too (hard links)" }
    if status.st_nlink == 0 { return "a file that is being removed" }
    var beside = stat()
    if unsafe stat(realm, &beside) == 0, !canBe(status.st_uid, besideRealm: beside) {
      return "a file of user \(status.st_uid), who may not write to the realm,"
    }
    var head = [UInt8](repeating: 0, count: 24)
    let count = unsafe head.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    if count < 0 { return "a file that cannot be read (\(ErrnoText.of(errno)))" }
    // A process that begins a session may have truncated the file after the call to `fstat`.
    let size = count == 0 ? 0 : Int(status.st_size)
    return isLock(head: Array(head.prefix(count)), size: size) ? nil : "a file of another kind"
  }

  /// True if this user can own a lock file here: any user who may write to the realm may have created it.
  private static func canBe(_ owner: uid_t, besideRealm realm: stat) -> Bool {
    owner == geteuid() || owner == 0 || owner == realm.st_uid || realm.st_mode & 0o022 != 0
  }

  /// The size limit of a lock file. Lock files are small: 40 bytes for each version that has a reader.
  private static let largestLock = 16 << 20

  /// True if the bytes can be those of a lock file of any layout, machine and system. The first eight bytes have the
  /// same meaning in all of them. A lock file that was never filled is empty or all zeros.
  /// Source: docs/format/5-coordination.md 5.2.
  static func isLock(head: [UInt8], size: Int) -> Bool {
    if size == 0 { return true }
    guard head.count >= 8, size <= largestLock else { return false }
    // A realm can begin with such bytes.
    if head.count >= 20, head[16..<20].elementsEqual("T-DB".utf8) { return false }
    let isFilled = head[0], sizes = head[1...2], isCritical = head[3], format = head[4], history = head[5]
    let layout = Int(head[6]) | Int(head[7]) << 8
    return isFilled <= 1 && sizes.allSatisfy { $0 <= 128 } && isCritical <= 1 && format <= 64 && history <= 16
      && layout <= 64
  }

  private static func look(_ path: String) -> stat? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    countNames(&status, -1, path)
    return status
  }

  /// Queries the link count again if it is not 1, as the kernel may return an outdated one.
  static func countNames(_ status: inout stat, _ descriptor: Int32, _ path: String) {
    if status.st_nlink == 1 || status.st_mode & S_IFMT == S_IFDIR { return }
    let count = unsafe clinux_count_names(descriptor, path)
    if count >= 0 { status.st_nlink = numericCast(count) }
  }

  private static func type(of status: stat) -> String {
    switch status.st_mode & S_IFMT {
    case S_IFLNK: "a symbolic link"
    case S_IFREG: "a regular file"
    case S_IFDIR: "a directory"
    case S_IFIFO: "a named pipe"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }

  private static func unsound(_ path: String, _ kind: Kind, _ found: String) -> EngineError {
    .failed(
      "open",
      path,
      EPERM,
      problem: "\(found) where \(kind.words) of the realm belongs; it was not changed: remove it if no program needs it"
    )
  }
}
