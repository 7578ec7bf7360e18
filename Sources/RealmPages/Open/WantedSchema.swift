// What opening a realm has to know of the schema that it must have. Readers of schema files know the rest.

/// A schema that a realm must have when it is open. `SchemaDescription` of RealmJSON is one.
public protocol WantedSchema: Sendable {
  /// The schema version; nil leaves that of the realm.
  var version: UInt64? { get }
  /// What has to be changed in a transaction for it to have this schema, classes apart that only the realm has.
  /// Throws `needsMigration` if data would be lost and the version does not grow, `oldSchema` if it shrinks, and
  /// `badSchema` if there is no way.
  func change(in transaction: borrowing WriteTransaction) throws(EngineError) -> any PlannedSchemaChange
}

/// A change of a schema that was worked out, to be made in the same transaction.
public protocol PlannedSchemaChange: Sendable {
  /// Whether nothing changes.
  var isEmpty: Bool { get }
  /// What loses or converts data, in words.
  var losses: [String] { get }
  /// The schema version of the realm before; nil if it had none.
  var formerVersion: UInt64? { get }
  /// Makes the change. On error the transaction may hold a part of it: drop it.
  func make(in transaction: borrowing WriteTransaction) throws(EngineError)
}
