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

  package init(_ call: String, _ path: String, _ code: Int32) {
    self.call = call
    self.path = path
    self.code = code
  }

  /// Whether it is unknown what reached the disk of all that was written before.
  var isFailedSync: Bool { call == Self.syncCall }

  /// The call that ends a barrier.
  package static let syncCall = "fdatasync"

  /// The path, the call and the system's words for the errno.
  public var description: String {
    "\(path): \(call): \(String(cString: strerror(code)))"
  }
}
