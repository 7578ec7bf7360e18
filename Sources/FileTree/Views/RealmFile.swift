// What this layer asks the operating system itself: what the file system of the realm file has.

import Glibc

/// The realm file from outside.
enum RealmFile {
  /// The file system that the file lies on; nil if it cannot be asked.
  static func fileSystem(_ path: String) -> statvfs? {
    var status = statvfs()
    return unsafe statvfs(path, &status) == 0 ? status : nil
  }
}
