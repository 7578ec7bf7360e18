// The error of taking part: what other programs do, or the files that they share with us, stand in the way.

import Glibc

/// Why a program cannot take part in a realm, or do there what it wants.
struct SessionError: Error, CustomStringConvertible {
  enum Reason: Hashable {
    /// Others use the realm in a way that excludes us.
    case inUse
    /// Another process held a lock for longer than the timeout.
    case busy
    /// Root would share memory with programs of another user.
    case untrusted
    /// A system call failed; its errno.
    case file(Int32)
  }

  let reason: Reason
  /// What happened, where, and what to do.
  let description: String

  init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  /// A failed call on a file beside the realm.
  init(_ error: FileError) {
    let remedy =
      switch error.code {
      case EACCES, EPERM, EROFS: "; --immutable reads without files beside the realm"
      default: ""
      }
    self.init(.file(error.code), error.description + remedy)
  }
}

extension OpenError {
  init(_ error: SessionError) {
    switch error.reason {
    case .inUse, .busy: self.init(.inUse, error.description)
    case .untrusted: self.init(.untrusted, error.description, apart: .untrusted)
    case .file(let code): self.init(.unreadable(code), error.description)
    }
  }
}

extension TransactionError {
  init(_ error: SessionError) {
    switch error.reason {
    case .inUse: self.init(.inUse, error.description)
    case .busy: self.init(.busy, error.description)
    case .untrusted: self.init(.open(.untrusted), error.description)
    case .file(let code): self.init(.file(code), error.description)
    }
  }

  /// A realm that does not open for writing.
  package init(_ error: OpenError) {
    switch error.reason {
    case .inUse: self.init(.inUse, error.description)
    case .moved: self.init(.moved, error.description)
    case .unreadable(let code): self.init(.file(code), error.description, isFailedSync: error.isFailedSync)
    default: self.init(.open(error.reason), error.description)
    }
  }
}
