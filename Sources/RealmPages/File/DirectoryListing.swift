// The names in a directory.

import Glibc

/// Lists directories.
package enum DirectoryListing {
  /// Returns the names in byte order, without `.` and `..`.
  package static func names(in directory: String) throws(EngineError) -> [String] {
    guard let stream = unsafe opendir(directory) else { throw .failed("opendir", directory, errno) }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    if errno != 0 { throw .failed("readdir", directory, errno) }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
