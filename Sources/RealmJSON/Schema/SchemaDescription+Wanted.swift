// Lets a caller open a realm with a schema that the realm must have.

public import RealmPages

extension SchemaDescription: WantedSchema {
  /// Returns the change that adds this schema to the realm of a transaction. Classes that exist only in the realm are
  /// kept.
  public func change(in transaction: borrowing WriteTransaction) throws(EngineError) -> any PlannedSchemaChange {
    let present = try SchemaDescription(transaction)
    var wanted = self
    wanted.classes += present.classes.filter { self[$0.name] == nil }
    do {
      return Planned(change: try SchemaChange(to: wanted, in: transaction), formerVersion: present.version)
    } catch { throw EngineError(error) }
  }
}

private struct Planned: PlannedSchemaChange {
  let change: SchemaChange
  let formerVersion: UInt64?

  var isEmpty: Bool { change.isEmpty }
  var losses: [String] { change.losses }

  func make(in transaction: borrowing WriteTransaction) throws(EngineError) {
    do { try change.apply(transaction) } catch { throw EngineError(error) }
  }
}

extension EngineError {
  /// The error for a rejected schema.
  package init(_ error: SchemaChangeError) {
    switch error.reason {
    case .engine(let cause): self = cause
    case .needsVersion: self.init(.needsMigration, error.description)
    case .oldVersion: self.init(.oldSchema, error.description)
    case .invalid, .unsupported: self.init(.badSchema, error.description)
    }
  }
}
