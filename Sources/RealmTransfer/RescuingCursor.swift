// Steps through all objects of a table that can be reached, over damaged places of the tree of clusters.
//
// Each step leads to a larger key, and the cursor bounds the clusters that it looks into by the size of the file, so
// the end comes whatever the file says.
public import RealmPages

/// A cursor that does not stop at damage.
public final class RescuingCursor {
  /// The cursor, on the object that was reached.
  public let cursor: ObjectCursor
  /// The last key that was reached; behind it lies what is still to come.
  public private(set) var last: ObjKey
  private var isLost = false
  private var complaintCount = 0

  /// Damage at more places than this is not told.
  private static let maximumComplaints = 1000

  /// A cursor before the first object behind `key`.
  ///
  /// A walk through many tables pays for all of them with one `effort`.
  package init(_ table: Table, after key: ObjKey, _ effort: Effort? = nil) {
    cursor = ObjectCursor(table, sweep: effort)
    last = key
    // Standing on no object, the cursor has to find its first one.
    isLost = key != .none
  }

  /// Moves to the next object that can be reached; false at the end.
  ///
  /// Damage on the way is added to `complaints`.
  public func next(_ complaints: inout [String]) -> Bool {
    do throws(EngineError) {
      let found = try isLost ? cursor.seek(after: last) : cursor.next()
      isLost = false
      if found { last = cursor.key }
      return found
    } catch {
      return rescue(error, &complaints)
    }
  }

  /// Lets the next step lead behind `key`, which is not before the present object.
  func pass(over key: ObjKey) {
    (last, isLost) = (max(last, key), true)
  }

  /// Moves to the first object behind the damage; false if there is none.
  private func rescue(_ first: EngineError, _ complaints: inout [String]) -> Bool {
    let place = last == .none ? "the first objects" : "objects after key \(last)"
    var damage: [EngineError] = []
    // Usually meets the first damage again, and then what else it has to leave out.
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
