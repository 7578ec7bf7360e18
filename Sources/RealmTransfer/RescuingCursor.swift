// Steps through all objects of a table that can be reached, over damaged places of the tree of clusters.
public import RealmPages

/// A cursor that does not stop at damage.
public final class RescuingCursor {
  /// The cursor, on the object that was reached.
  public let cursor: ObjectCursor
  /// The last key that was reached; behind it lies what is still to come.
  public private(set) var last: ObjKey
  private var isLost = false
  private var rescues = 0

  /// Damage at more places than this, and the rest is given up.
  private static let maximumRescues = 1000

  /// A cursor before the first object behind `key`.
  public init(_ table: Table, after key: ObjKey) {
    cursor = ObjectCursor(table)
    last = key
    // Standing on no object, the cursor has to find its first one.
    isLost = key != .none
  }

  /// Moves to the next object that can be reached; false at the end.
  ///
  /// Damage on the way is told in `complaints`.
  public func next(_ complaints: inout [String]) -> Bool {
    do throws(FormatError) {
      let found = try isLost ? cursor.seek(after: last) : cursor.next()
      isLost = false
      if found { last = cursor.key }
      return found
    } catch {
      rescues += 1
      let place = last == .none ? "the first objects" : "objects after key \(last)"
      guard rescues <= Self.maximumRescues, let next = firstReachable() else {
        complaints.append("\(place) cannot be read: \(error)")
        return false
      }
      complaints.append("\(place) and before key \(next) cannot be read: \(error)")
      last = next
      return true
    }
  }

  /// The cursor moves to the first object behind the damage; nil if there is none.
  ///
  /// Keys are tried at doubling distances, then the gap is halved, so what is lost is little more than the damaged
  /// cluster.
  private func firstReachable() -> ObjKey? {
    var damaged = last.value
    var distance: Int64 = 1
    while true {
      let (key, overflow) = last.value.addingReportingOverflow(distance)
      if overflow { return nil }
      if canSeek(after: key) {
        var sound = key
        while sound - damaged > 1 {
          let middle = damaged + (sound - damaged) / 2
          if canSeek(after: middle) { sound = middle } else { damaged = middle }
        }
        return canSeek(after: sound) && cursor.key != .none ? cursor.key : nil
      }
      damaged = key
      distance = distance.multipliedReportingOverflow(by: 2).overflow ? .max : distance * 2
    }
  }

  /// Whether the tree can be read from `key` on.
  private func canSeek(after key: Int64) -> Bool {
    // Only the fact of failure counts here; the caller has the message already.
    (try? cursor.seek(after: ObjKey(key))) != nil
  }
}
