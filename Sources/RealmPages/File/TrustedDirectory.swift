// Opens a directory once and accesses files in it by descriptor, so later changes to its path have no effect. No other
// user may be able to replace a name in it or on the way to it; otherwise that user's link could choose where this
// process writes.
//
// Invariant: everything opened here belongs to this user or to a privileged user, and no symbolic link of another user
// is followed.

import CLinux
import Glibc

/// An open directory in which other users cannot change what a name refers to.
package final class TrustedDirectory: Sendable {
  /// The descriptor for openat(2) and related calls.
  package let descriptor: Int32
  /// The path for error messages.
  package let path: String

  private init(_ descriptor: Int32, _ path: String) { (self.descriptor, self.path) = (descriptor, path) }

  deinit { close(descriptor) }

  /// Opens the directory at an absolute path, step by step.
  ///
  /// - Throws: `untrusted` with the directory or link that another user controls; `file` with the path that cannot be
  ///   opened.
  package static func open(_ path: String) throws(EngineError) -> TrustedDirectory {
    let root = try look("/", at: AT_FDCWD, called: "/")
    let trusted: Set<uid_t> = [geteuid(), 0, root.st_uid]
    var current = try descend(AT_FDCWD, "/", "/")
    defer { close(current) }
    // In reverse order: the next step is last.
    var left = steps(of: path)
    var shown = "", links = 0
    while let name = left.popLast() {
      let place = shown + "/" + name
      let status = try look(name, at: current, called: place)
      guard trusted.contains(status.st_uid) else { throw untrusted(place, "belongs to user \(status.st_uid)") }
      if status.st_mode & S_IFMT == S_IFLNK {
        links += 1
        if links > 40 { throw .failed("open", place, ELOOP) }
        let target = try destination(of: name, at: current, called: place)
        left += steps(of: target)
        guard target.hasPrefix("/") else { continue }
        let top = try descend(AT_FDCWD, "/", "/")
        close(current)
        (current, shown) = (top, "")
        continue
      }
      let next = try descend(current, name, place)
      close(current)
      (current, shown) = (next, place)
      // In a sticky directory only the owner of an entry can rename it, and that owner is trusted.
      try check(current, place, trusted, maySticky: !left.isEmpty)
    }
    let descriptor = unsafe openat(current, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("open", path, errno) }
    return TrustedDirectory(descriptor, path)
  }

  /// Opens the directory `name` in this one, and creates it, for this user only, if it does not exist.
  package func directory(_ name: String) throws(EngineError) -> TrustedDirectory {
    let place = path + "/" + name
    if unsafe mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST { throw .failed("mkdir", place, errno) }
    let directory = unsafe openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { throw .failed("open", place, errno) }
    let found = TrustedDirectory(directory, place)
    try Self.check(directory, place, [geteuid(), 0], maySticky: false)
    return found
  }

  /// The device and inode.
  package var identity: [UInt64] {
    get throws(EngineError) {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0 else { throw .failed("fstat", path, errno) }
      return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }
  }

  // MARK: steps

  /// The names in a path, in reverse order.
  private static func steps(of path: String) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.map(String.init).reversed()
  }

  private static func descend(_ directory: Int32, _ name: String, _ place: String) throws(EngineError) -> Int32 {
    let found = unsafe openat(directory, name, clinux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard found >= 0 else { throw .failed("open", place, errno) }
    return found
  }

  private static func look(_ name: String, at directory: Int32, called place: String) throws(EngineError) -> stat {
    var status = stat()
    guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      throw .failed("stat", place, errno)
    }
    return status
  }

  private static func destination(
    of name: String,
    at directory: Int32,
    called place: String
  ) throws(EngineError) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlinkat(directory, name, &buffer, buffer.count)
    guard count >= 0 else { throw .failed("readlink", place, errno) }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Throws if users who are not trusted can change what the names in an open directory refer to.
  private static func check(
    _ directory: Int32,
    _ place: String,
    _ trusted: Set<uid_t>,
    maySticky: Bool
  ) throws(EngineError) {
    var status = stat()
    guard unsafe fstat(directory, &status) == 0 else { throw .failed("fstat", place, errno) }
    guard trusted.contains(status.st_uid) else { throw untrusted(place, "belongs to user \(status.st_uid)") }
    if maySticky, status.st_mode & S_ISVTX != 0 { return }
    if status.st_mode & 0o002 != 0 { throw untrusted(place, "can be written to by every user") }
    // Many users have a private group.
    if status.st_mode & 0o020 != 0, status.st_gid != getegid() {
      throw untrusted(place, "can be written to by group \(status.st_gid)")
    }
  }

  private static func untrusted(_ place: String, _ reason: String) -> EngineError {
    EngineError(
      .untrusted,
      "\(place) \(reason), so other users could choose where files are written; name a directory that only you control"
    )
  }
}
