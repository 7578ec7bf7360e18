// What this layer asks the operating system itself: who the realm file is, and what its file system has.

import Glibc

/// The realm file from outside.
enum RealmFile {
  /// A number that differs when a path leads to another file; 0 if it leads to none.
  static func identity(_ path: String) -> UInt64 {
    var status = stat()
    guard stat(path, &status) == 0 else { return 0 }
    return UInt64(status.st_dev) &* 0x9e37_79b9_7f4a_7c15 ^ UInt64(status.st_ino)
  }

  /// The file system that the file lies on; nil if it cannot be asked.
  static func fileSystem(_ path: String) -> statvfs? {
    var status = statvfs()
    return statvfs(path, &status) == 0 ? status : nil
  }
}
