// Visits all reachable objects of a table, skipping damaged parts of the cluster tree.
//
// Invariant: each step moves to a larger key, and the number of clusters visited is bounded by the file size, so
// iteration terminates for any file content.
public import RealmPages

/// A cursor that does not stop at damage.
public final class RescuingCursor {
  /// The underlying cursor, at the current object.
  public let cursor: ObjectCursor
  /// The last key that was reached; iteration continues after it.
  public private(set) var last: ObjKey
  private var isLost = false
  private var complaintCount = 0

  /// The maximum number of damaged locations that are reported.
  private static let maximumComplaints = 1000

  /// Creates a cursor before the first object after `key`.
  ///
  /// A traversal of several tables charges all of them to one `effort`.
  package init(_ table: Table, after key: ObjKey, _ effort: Effort? = nil) {
    cursor = ObjectCursor(table, sweep: effort)
    last = key
    // Without a current object, the first step must seek.
    isLost = key != .none
  }

  /// Moves to the next reachable object; returns false at the end.
  ///
  /// Adds damage on the way to `complaints`.
  public func next(_ complaints: inout [String]) -> Bool {
    do {
      let found = try isLost ? cursor.seek(after: last) : cursor.next()
      isLost = false
      if found { last = cursor.key }
      return found
    } catch {
      return rescue(error, &complaints)
    }
  }

  /// Makes the next step continue after `key`, which must not be before the current object.
  func pass(over key: ObjKey) {
    (last, isLost) = (max(last, key), true)
  }

  /// Moves to the first object after the damage; returns false if there is none.
  private func rescue(_ first: EngineError, _ complaints: inout [String]) -> Bool {
    let place = last == .none ? "the first objects" : "objects after key \(last)"
    var damage: [EngineError] = []
    // Usually encounters the first damage again, then any further damage.
    let found = cursor.seek(after: last) { damage.append($0) }
    if damage.isEmpty { damage = [first] }
    let end = found ? " and before key \(cursor.key)" : ""
    for error in damage {
      complaintCount += 1
      if complaintCount <= Self.maximumComplaints { complaints.append("\(place)\(end) cannot be read: \(error)") }
    }
    isLost = false
    if found { last = cursor.key }
    return found
  }
}
