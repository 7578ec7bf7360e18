// The errors of exports and imports.

import RealmPages

/// The reason that an export or import ends, or omits an object.
public enum TransferError: Error, Sendable, CustomStringConvertible {
  /// Data in the realm is damaged: the class, or this object of it.
  case damaged(String)
  /// The class does not exist; the message lists the existing ones.
  case missingClass(String)
  /// The object or property does not exist; the message states what was looked up and where.
  case missingObject(String)
  /// A system call on a file of the export or import failed: its path and the errno.
  case file(String, Int32)
  /// The data or target is unsuitable for the operation; the message states the problem, its location and the remedy.
  case unsuitable(String)
  /// Other programs commit faster than the realm can be read.
  case busy

  /// The message, on one line.
  public var description: String {
    switch self {
    case .damaged(let text), .missingClass(let text), .missingObject(let text), .unsuitable(let text): text
    case .file(let path, let code): "\(path): \(ErrnoText.of(code))"
    case .busy: "other programs commit faster than it can be read; 'realmfs backup' makes a copy to read"
    }
  }
}
