// The part of a wanted schema that opening a realm needs. The types that parse schema files know the rest.

/// A schema that a realm must have when it is open. RealmJSON's `SchemaDescription` conforms to it.
public protocol WantedSchema: Sendable {
  /// The schema version; nil keeps that of the realm.
  var version: UInt64? { get }
  /// Plans the changes that give the realm this schema, ignoring classes that only the realm has. Throws
  /// `needsMigration` if data would be lost and the version does not increase, `oldSchema` if it decreases, and
  /// `badSchema` if the change is impossible.
  func change(in transaction: borrowing WriteTransaction) throws(EngineError) -> any PlannedSchemaChange
}

/// A planned schema change, to be made in the transaction it was planned in.
public protocol PlannedSchemaChange: Sendable {
  /// True if nothing changes.
  var isEmpty: Bool { get }
  /// Descriptions of the changes that lose or convert data.
  var losses: [String] { get }
  /// The schema version of the realm before the change; nil if it had none.
  var formerVersion: UInt64? { get }
  /// Makes the change. After an error the transaction may contain part of it: roll it back.
  func make(in transaction: borrowing WriteTransaction) throws(EngineError)
}
