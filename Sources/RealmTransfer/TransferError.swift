// Why objects do not get out of a realm or into one.

public import RealmPages

/// Why an export or import ends, or leaves an object out.
public enum TransferError: Error, Sendable, CustomStringConvertible {
  /// The realm cannot be read or written.
  case engine(EngineError)
  /// Something in the realm is damaged: the class, or this object of it.
  case damaged(String)
  /// There is no such class; the message names those that there are.
  case missingClass(String)
  /// There is no such object or property; what was looked for and where.
  case missingObject(String)
  /// A system call on a file of the export or import failed: its path and the errno.
  case file(String, Int32)
  /// What goes in or out does not fit: what, where and what to do.
  case unsuitable(String)
  /// Other programs commit faster than the realm can be read.
  case busy

  /// One line for people.
  public var description: String {
    switch self {
    case .engine(let error): error.description
    case .damaged(let text), .missingClass(let text), .missingObject(let text), .unsuitable(let text): text
    case .file(let path, let code): "\(path): \(ErrnoText.of(code))"
    case .busy: "other programs commit faster than it can be read; 'realmfs backup' makes a copy to read"
    }
  }
}
