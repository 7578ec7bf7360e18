// Creates files in a directory that no other user controls.

import Glibc
import RealmPages

extension TrustedDirectory {
  /// Creates a file with these bytes that only this user can read. Leaves no file behind on failure.
  ///
  /// - Throws: `file` with EEXIST if the name is in use, or the error that prevented the file from being created or
  ///   written.
  func makeFile(_ name: String, _ bytes: [UInt8]) throws(EngineError) {
    let place = path + "/" + name
    let file = unsafe openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .failed("open", place, errno) }
    var problem = StandardOutput.write(bytes, to: file)
    if close(file) != 0 && problem == 0 { problem = errno }
    if problem == 0 { return }
    unsafe unlinkat(descriptor, name, 0)
    throw .failed("write", place, problem)
  }
}
