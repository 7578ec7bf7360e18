// Reads the state that CommitLoop, which commits until it is killed, left in its realm.

public import RealmPages

/// The last round recorded in a realm of CommitLoop.
public struct CommitRound {
  /// The number of the round; 0 if there was none yet.
  public let number: Int64
  /// True if the objects match the count and the sum that the round recorded.
  public let isWhole: Bool

  /// Reads the round and all objects.
  public init(_ snapshot: Snapshot) throws {
    guard let rounds = try snapshot.table(named: "class_Round"), let items = try snapshot.table(named: "class_Item")
    else {
      (number, isWhole) = (0, true)
      return
    }
    func int(_ cursor: ObjectCursor, _ column: Int) throws -> Int64 {
      if case .int(let number) = try cursor.value(column) { number } else { -1 }
    }
    let round = ObjectCursor(rounds)
    guard try round.next() else {
      (number, isWhole) = (-1, false)
      return
    }
    var count: Int64 = 0, sum: Int64 = 0
    let item = ObjectCursor(items)
    while try item.next() {
      count += 1
      sum += try int(item, 0)
    }
    number = try int(round, 0)
    isWhole = try int(round, 1) == count && int(round, 2) == sum
  }
}
