// Why a change or a commit is refused.

/// Why a change or a commit is refused. `description` says what, where and what to do. A refused change leaves the
/// transaction as it was unless it says otherwise; a refused commit leaves the file at the former version.
public struct TransactionError: Error, Sendable, CustomStringConvertible {
  /// The kinds that a program decides on.
  public enum Reason: Sendable, Hashable {
    /// The file breaks a rule of the format where the change needs it.
    case format
    /// A system call failed; its errno.
    case file(Int32)
    /// No such class, property, object or position.
    case notFound
    /// A value of another type than the property's, or null where it cannot be.
    case wrongType
    /// A primary key that another object has.
    case duplicateKey
    /// Something that may not be changed: a primary key, an object of an asymmetric class.
    case forbidden
    /// A name, text or number of things beyond the limits of the format.
    case overLimit
    /// A schema that breaks a rule.
    case badSchema
    /// Another program has the file open in a way that excludes us.
    case inUse
    /// Another writer did not end before the timeout.
    case busy
    /// The file is not at its path any more, or holds something else there: it was moved, replaced, removed or
    /// overwritten. What was to be committed is not.
    case moved
    /// The file has sync history, which only a sync client may write, or an older format.
    case readOnly
    /// The realm does not open, and why.
    case open(OpenError.Reason)
    /// As many versions are in use as the configuration allows.
    case tooManyVersions
    /// A change of the schema would lose data, and there is no migration for it.
    case needsMigration
    /// The realm has a greater schema version than the one that was asked for.
    case oldSchema
    /// What the configuration does in a migration failed.
    case migrationFailed
    /// An earlier change of the transaction ended in the middle: it can only be rolled back.
    case halfDone
    /// An earlier failure to write to disk: nothing can be trusted until the file is opened again.
    case poisoned
  }

  /// What a program decides on.
  public let reason: Reason
  /// What happened, where, and what to do.
  public let description: String
  /// Whether the state on disk is unknown.
  let isFailedSync: Bool

  package init(_ reason: Reason, _ description: String, isFailedSync: Bool = false) {
    self.reason = reason
    self.description = description
    self.isFailedSync = isFailedSync
  }

  package init(_ error: FormatError) { self.init(.format, error.description) }
  init(_ error: FileError) { self.init(.file(error.code), error.description, isFailedSync: error.isFailedSync) }
}

/// Runs what reads or changes nodes. Damage there is why the change is refused.
func onNodes<R>(_ body: () throws(FormatError) -> R) throws(TransactionError) -> R {
  do throws(FormatError) { return try body() } catch { throw TransactionError(error) }
}
