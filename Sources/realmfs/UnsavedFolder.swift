// Where a mount leaves what is in memory only when it ends: $XDG_STATE_HOME/realmfs/unsaved/REALM-TIME, for this user
// alone. The folder is made with the first file.
import CLinux
import FileTree
import Glibc
import RealmPages
import Synchronization

/// A folder for the files that were not saved to a realm.
final class UnsavedFolder: Sendable {
  private let name: String
  private let folder = Mutex<TrustedDirectory?>(nil)

  /// A folder for the realm at `path`.
  init(ofRealm path: String) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let realm = path.split(separator: "/").last.map { Array($0.utf8) } ?? []
    let stamped = Trash.earlierName(realm, seconds: Int64(now.tv_sec), nanoseconds: now.tv_nsec)
    name = String(decoding: stamped, as: UTF8.self)
  }

  /// Writes a file that the mount knows by `path`. Returns where it is.
  ///
  /// - Throws: what keeps the folder or the file from being made.
  func keep(_ path: String, _ bytes: [UInt8]) throws(EngineError) -> String {
    var directory = try open()
    var parts = path.split(separator: "/").map(String.init)
    if parts.first == ".realm" { parts.removeFirst() }
    guard let last = parts.popLast() else { throw .failed("open", path, EINVAL) }
    for part in parts { directory = try directory.directory(part) }
    // Two names that are not UTF-8 can look the same.
    var place = "", descriptor: Int32 = -1
    for number in 0..<100 {
      let name = number == 0 ? last : "\(last)~\(number)"
      place = directory.path + "/" + name
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      descriptor = unsafe openat(directory.descriptor, name, flags, 0o600)
      if descriptor >= 0 || errno != EEXIST { break }
    }
    guard descriptor >= 0 else { throw .failed("open", place, errno) }
    var problem = StandardOutput.write(bytes, to: descriptor)
    if close(descriptor) != 0 && problem == 0 { problem = errno }
    if problem != 0 { throw .failed("write", place, problem) }
    return place
  }

  private func open() throws(EngineError) -> TrustedDirectory {
    try folder.withLock { folder throws(EngineError) in
      if let folder { return folder }
      guard let state = Self.stateFolder else { throw .failed("open", "$XDG_STATE_HOME", ENOENT) }
      let made = try Self.made(state).directory("realmfs").directory("unsaved").directory(name)
      folder = made
      return made
    }
  }

  /// $XDG_STATE_HOME, or ~/.local/state; nil without a home.
  private static var stateFolder: String? {
    func folder(_ variable: String) -> String? {
      guard let value = unsafe getenv(variable) else { return nil }
      let path = unsafe String(cString: value)
      return path.hasPrefix("/") ? path : nil
    }
    return folder("XDG_STATE_HOME") ?? folder("HOME").map { $0 + "/.local/state" }
  }

  /// Opens the directory at `path`, which is made if it is not there.
  private static func made(_ path: String) throws(EngineError) -> TrustedDirectory {
    let parts = path.split(separator: "/").map(String.init)
    var existing = path
    var missing: [String] = []
    while !System.isDirectory(existing), missing.count < parts.count {
      missing.append(parts[parts.count - 1 - missing.count])
      existing = "/" + parts.dropLast(missing.count).joined(separator: "/")
    }
    var directory = try TrustedDirectory.open(existing)
    for name in missing.reversed() { directory = try directory.directory(name) }
    return directory
  }
}
