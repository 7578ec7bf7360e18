// The error of the file layer: a system call that failed.

import CLinux
import Glibc

/// A system call on the realm file that failed.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call, for example `open`.
  public let call: String
  /// The path it was about.
  public let path: String
  /// The errno.
  public let code: Int32
  /// What was found instead of what was expected, and what to do; nil if the errno says it all.
  public let problem: String?

  package init(_ call: String, _ path: String, _ code: Int32, problem: String? = nil) {
    self.call = call
    self.path = path
    self.code = code
    self.problem = problem
  }

  /// A file that could not be opened or made. In a folder that is encrypted and locked names cannot be read, so what is
  /// there seems not to be: then the error is that the key is not there.
  package init(opening path: String, _ code: Int32) {
    let isLocked = code == ENOENT && clinux_folder_is_locked(FileHandle.folder(of: path))
    self.init("open", path, isLocked ? ENOKEY : code)
  }

  /// Whether it is unknown what reached the disk of all that was written before.
  var isFailedSync: Bool { call == Self.syncCall }

  /// The call that ends a barrier.
  package static let syncCall = "fdatasync"

  /// The path, the call, the system's words for the errno, and a remedy where the words do not suggest one.
  public var description: String {
    if let problem { return "\(path): \(problem)" }
    let remedy =
      switch code {
      case ENOKEY: " (ENOKEY): the folder is encrypted and locked; unlock it, for example with 'fscrypt unlock'"
      case EXDEV: " (EXDEV): the folder is on another file system, or has another encryption policy"
      case EINVAL where call == "open": " (EINVAL): not a regular file"
      default: ""
      }
    return "\(path): \(call): \(ErrnoText.of(code))\(remedy)"
  }
}
