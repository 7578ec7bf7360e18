// The directory in which a mount leaves files that exist only in memory when it ends:
// $XDG_STATE_HOME/realmfs/unsaved/REALM.TIME, accessible only to this user. It is created with the first file.
import FileTree
import Glibc
import RealmPages
import Synchronization

/// A directory for files that were not saved to a realm.
final class UnsavedFolder: Sendable {
  private let name: String
  private let folder = Mutex<TrustedDirectory?>(nil)

  /// Chooses the name of a directory for the realm at `path`.
  init(ofRealm path: String) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let realm = path.split(separator: "/").last.map { Array($0.utf8) } ?? []
    let stamped = Trash.earlierName(realm, seconds: Int64(now.tv_sec), nanoseconds: now.tv_nsec)
    name = String(decoding: stamped, as: UTF8.self)
  }

  /// Writes a file that has the path `path` in the mount. Returns the path of the written file.
  ///
  /// - Throws: the error that prevented the directory or the file from being created.
  func keep(_ path: String, _ bytes: [UInt8]) throws(EngineError) -> String {
    var directory = try open()
    var parts = path.split(separator: "/").map(String.init)
    if parts.first == ".realm" { parts.removeFirst() }
    guard let last = parts.popLast() else { throw .failed("open", path, EINVAL) }
    for part in parts { directory = try directory.directory(part) }
    var name = last, number = 0
    while true {
      do {
        try directory.makeFile(name, bytes)
        return directory.path + "/" + name
      } catch {
        // Two names that are not UTF-8 can become equal.
        if error.code != EEXIST { throw error }
        number += 1
        name = "\(last)~\(number)"
      }
    }
  }

  private func open() throws(EngineError) -> TrustedDirectory {
    try folder.withLock { folder throws(EngineError) in
      if let folder { return folder }
      let made = try Self.made(UserFolders.state).directory("realmfs").directory("unsaved").directory(name)
      folder = made
      return made
    }
  }

  /// Opens the directory at `path`, creating it if it does not exist.
  private static func made(_ path: String) throws(EngineError) -> TrustedDirectory {
    if path == "/" || System.isDirectory(path) { return try TrustedDirectory.open(path) }
    let name = path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]
    return try made(System.folder(of: path)).directory(String(name))
  }
}
