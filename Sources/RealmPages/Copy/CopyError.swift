// Why no new realm file came of an old one.

/// Why an operation on a whole file was not done. `description` says what, where and what to do. The file that was to
/// be copied is as it was, and no part of a new one is left.
public struct CopyError: Error, Sendable, CustomStringConvertible {
  /// The kinds that a program decides on.
  public enum Reason: Sendable, Hashable {
    /// The realm does not open.
    case open(OpenError.Reason)
    /// The file breaks a rule of the format where it had to be read.
    case damaged
    /// A system call failed; its errno.
    case file(Int32)
    /// The file that was to be made exists.
    case exists
    /// Another program has the realm open.
    case inUse
    /// The realm is not of the kind that the operation is for.
    case notApplicable
    /// The observer wanted no more.
    case cancelled
  }

  /// What a program decides on.
  public let reason: Reason
  /// What happened, where, and what to do.
  public let description: String

  init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  init(_ error: FileError) {
    if error.code == 17 {
      self.init(.exists, "\(error.path): the file exists: remove it first, or name another")
    } else {
      self.init(.file(error.code), error.description)
    }
  }

  init(_ error: OpenError) { self.init(.open(error.reason), error.description) }

  package init(_ error: FormatError, path: String) { self.init(.damaged, "\(path): \(error)") }

  init(_ error: TransactionError, path: String) {
    switch error.reason {
    case .inUse: self.init(.inUse, error.description)
    case .file(let code): self.init(.file(code), error.description)
    case .open(let reason): self.init(.open(reason), error.description)
    case .format: self.init(.damaged, "\(path): \(error)")
    default: self.init(.notApplicable, "\(path): \(error)")
    }
  }
}

/// Receives from time to time how many bytes of about how many are done; false ends the operation with `cancelled`.
public typealias CopyObserver = (_ done: Int, _ total: Int) -> Bool

extension CopyError {
  /// Runs `body`, which works on files.
  static func onFiles<R>(_ body: () throws(FileError) -> R) throws(CopyError) -> R {
    do throws(FileError) { return try body() } catch { throw CopyError(error) }
  }

  /// Runs `body`, which reads the realm at `path`.
  static func onNodes<R>(of path: String, _ body: () throws(FormatError) -> R) throws(CopyError) -> R {
    do throws(FormatError) { return try body() } catch { throw CopyError(error, path: path) }
  }

  /// Runs `body`, which changes a copy of the realm at `path`.
  static func onChanges<R>(of path: String, _ body: () throws(TransactionError) -> R) throws(CopyError) -> R {
    do throws(TransactionError) { return try body() } catch { throw CopyError(error, path: path) }
  }
}
