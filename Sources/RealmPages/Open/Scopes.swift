// Reading and writing in closures: the version stays valid until the closure ends, as does the transaction.

extension Realm {
  /// The number of versions that `read` tries while another program reuses the space of each.
  private static let readAttempts = 100

  /// Runs `body` on the newest version and returns its result.
  ///
  /// Other programs can commit meanwhile; `body` does not see their commits. In the mode `immutable`, another program
  /// may overwrite the version while it is read. The result or the error of `body` is then discarded, and `body` runs
  /// again on a newer version, so it must return its results rather than store them.
  ///
  /// - Throws: the error of `body`, an `EngineError` if there is no readable version, or `busy` if 100 versions in
  ///   succession were overwritten while they were read.
  public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
    guard
      let result = try read(attempts: Self.readAttempts, pauses: true, latest: { () throws in try latest() }, body)
    else {
      throw EngineError(.busy, "\(configuration.path): other programs commit faster than it can be read; try again")
    }
    return result
  }
}

extension RealmWriter {
  /// Runs `body` in a transaction, commits its changes, and returns the result of `body`. Commits nothing if `body`
  /// changes nothing. If `body` throws, the changes are rolled back.
  ///
  /// Waits up to `timeout` while another thread or program writes. With `full` durability, the changes are on disk when
  /// the call returns.
  ///
  /// - Throws: the error of `body`, or an `EngineError` if the transaction cannot begin (`busy`, `readOnly`, `moved`,
  ///   `tooManyVersions`) or the commit fails (`file` with the errno, such as `ENOSPC`). The realm is then unchanged.
  public func write<R>(
    timeout: Duration = RealmWriter.timeout,
    durability: Durability = .full,
    _ body: (borrowing WriteTransaction) throws -> R
  ) throws -> R {
    let transaction = try begin(timeout: timeout)
    let result = try body(transaction)
    if transaction.hasChanges { _ = try transaction.commit(durability) }
    return result
  }
}
