// Applies a sequence of records, such as the lines of a file, to one transaction. A record may link to objects of later
// records: a link without a target is omitted at first, and its record is applied again after the last record.

public import RealmPages

/// Applies records to a transaction: first each record in order, then the records in `waiting` once more.
///
/// `Place` is what the caller needs to read a record again. Not thread-safe: one thread at a time.
public final class RecordApplier<Place> {
  /// A record that is applied again once all records were applied.
  public struct Waiting {
    /// The place of the record.
    public let place: Place
    /// The object of the record.
    public let object: ObjectReference
    /// The linked objects that its text created, by node.
    let made: [Int: ObjKey]
  }

  /// The records whose links had no target when they were applied, and those passed to `wait`, in order.
  public private(set) var waiting: [Waiting] = []

  private let first: ObjectPatcher
  private let second: ObjectPatcher

  /// Creates an applier without waiting records. `remaining` is the handling of links without a target in `finish`.
  /// With `createsLinked`, objects in place of links create or update objects: see `ObjectPatcher.createsLinked`.
  public init(
    mode: WriteMode = .patch,
    remaining: MissingLinks = .refuse,
    ignoredMembers: [String] = [],
    createsLinked: Bool = false
  ) {
    first = ObjectPatcher(
      mode: mode,
      missingLinks: .leaveOut,
      ignoredMembers: ignoredMembers,
      createsLinked: createsLinked
    )
    second = ObjectPatcher(
      mode: mode,
      missingLinks: remaining,
      ignoredMembers: ignoredMembers,
      createsLinked: createsLinked
    )
  }

  /// New keys of objects without a primary key; see `ObjectPatcher.renumbered`.
  package var renumbered: [ObjectReference: ObjKey] {
    get { first.renumbered }
    set { (first.renumbered, second.renumbered) = (newValue, newValue) }
  }

  /// Applies the text of the record at `place`. If links are omitted, the record is added to `waiting`. See
  /// `ObjectPatcher.apply` for errors and cost.
  public func apply(
    _ text: JSONText,
    at place: Place,
    to target: PatchTarget,
    of table: TableKey,
    in transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    let outcome = try first.apply(text, to: target, of: table, in: transaction)
    if outcome.missingLinks > 0 {
      var made: [Int: ObjKey] = [:]
      for object in outcome.linked where object.wasCreated { made[object.node] = object.object.key }
      let object = ObjectReference(table: table, key: outcome.object)
      waiting.append(Waiting(place: place, object: object, made: made))
    }
    return outcome
  }

  /// Adds a record of an existing object to `waiting`.
  public func wait(for place: Place, _ object: ObjectReference) {
    waiting.append(Waiting(place: place, object: object, made: [:]))
  }

  /// Applies the text of a waiting record again. Call this when all records were applied. See `ObjectPatcher.apply` for
  /// errors and cost.
  public func finish(
    _ record: Waiting,
    _ text: JSONText,
    in transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    try second.apply(
      text,
      to: .object(record.object.key),
      of: record.object.table,
      made: record.made,
      in: transaction
    )
  }
}
