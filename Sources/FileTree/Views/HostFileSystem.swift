// Queries the file system that holds the realm file.

import Glibc

/// The file system of the realm file.
enum HostFileSystem {
  /// The status of the file system that holds `path`; nil on error.
  static func fileSystem(_ path: String) -> statvfs? {
    var status = statvfs()
    return unsafe statvfs(path, &status) == 0 ? status : nil
  }
}
