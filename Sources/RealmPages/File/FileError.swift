// The error of the file layer: a system call that failed.

import Glibc

/// A system call on the realm file that failed.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call, for example `open`.
  public let call: String
  /// The path it was about.
  public let path: String
  /// The errno.
  public let code: Int32

  init(_ call: String, _ path: String, _ code: Int32) {
    self.call = call
    self.path = path
    self.code = code
  }

  public var description: String {
    "\(path): \(call): \(String(cString: strerror(code)))"
  }
}
