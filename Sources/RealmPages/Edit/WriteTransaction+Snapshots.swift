// What a transaction changed, as two versions to compare: the one that it began on, and the one that a commit would
// make.

extension WriteTransaction {
  /// The version that the transaction began on.
  package var former: Snapshot { base }

  /// The realm with the changes so far, for classes that the transaction did not add. Valid until its next change.
  ///
  /// Cost: O(properties) for each class.
  package func changed() throws(TransactionError) -> Snapshot {
    var tables: [Int: Table] = [:]
    for key in try tableKeys() { tables[key.slot] = try table(key) }
    return Snapshot(base, as: tables)
  }
}
