// The location of in-memory realms: files on a memory file system, in a directory that only this user can enter, so
// that programs share them like other realms. A realm that no program has open is removed by the last program to leave
// it or, after a crash, by the next program to join or leave any realm there. A lock on the directory makes joining,
// leaving and removal mutually exclusive.

import CLinux
import Glibc

/// The directory of this user's realms in memory.
enum InMemoryFolder {
  private static let root = "/dev/shm"
  private static let suffix = ".realm"
  /// The longest name, after escaping, to which suffixes can be added.
  private static let longestName = 200

  static var path: String { "\(root)/realmfs-\(geteuid())" }

  /// The path of the realm with this identifier.
  static func path(of identifier: String) -> String { "\(path)/\(name(of: identifier))\(suffix)" }

  /// Keeps letters, digits, `-` and `_`, and escapes other bytes as `%XX`.
  private static func name(of identifier: String) -> String {
    var name = ""
    for byte in identifier.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        name.unicodeScalars.append(Unicode.Scalar(byte))
      default: name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return name
  }

  /// Throws if the identifier is empty or too long.
  static func check(_ identifier: String) throws(EngineError) {
    if identifier.isEmpty || name(of: identifier).utf8.count > longestName {
      throw EngineError(.contradictory, "an identifier of a realm in memory has 1 to \(longestName) letters")
    }
  }

  /// Creates the directory if necessary, removes the realms that no program has open, and runs `body` while no program
  /// joins or leaves.
  static func locked<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
    if unsafe mkdir(path, 0o700) != 0 && errno != EEXIST { throw .failed("mkdir", path, errno) }
    let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { throw .failed("open", path, errno) }
    defer { close(folder) }
    var status = stat()
    guard unsafe fstat(folder, &status) == 0 else { throw .failed("fstat", path, errno) }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw EngineError(.file(EACCES), "\(path): others can enter the folder of realms in memory: remove it")
    }
    guard unsafe clinux_folder_is_in_memory(path) else {
      throw EngineError(.file(ENODEV), "\(path): not on tmpfs, so it cannot hold a realm in memory")
    }
    while flock(folder, LOCK_EX) != 0 {
      if errno != EINTR { throw .failed("flock", path, errno) }
    }
    removeAbandoned()
    return try body()
  }

  /// Removes the realms that no program has open. Does nothing if another program holds the lock on the directory: that
  /// program removes them.
  static func cleanUp() {
    let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    if folder < 0 { return }
    defer { close(folder) }
    for _ in 0..<1000 {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 { return removeAbandoned() }
      usleep(1000)
    }
  }

  /// The caller holds the lock on the directory.
  private static func removeAbandoned() {
    // If the directory cannot be listed now, the next program to acquire the lock removes the realms.
    guard let names = try? DirectoryListing.names(in: path) else { return }
    for name in names where name.hasSuffix(suffix) {
      let realm = path + "/" + name
      let lock = unsafe open(realm + ".lock", O_RDWR | O_CLOEXEC)
      defer { if lock >= 0 { close(lock) } }
      // A lock with shared holders belongs to a realm in use.
      if lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 { continue }
      unsafe unlink(realm)
      unsafe unlink(realm + ".note")
      unsafe rmdir(realm + ".management")
      unsafe unlink(realm + ".lock")
    }
  }
}
