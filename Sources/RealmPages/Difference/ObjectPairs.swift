// Iterates over the objects of a table in two versions, in the order of their keys: the common interface of the
// iteration that skips shared nodes (`ClusterPairs`) and the one that reads all objects (`CursorPairs`).

/// An object in one version, or in both.
struct ObjectPair {
  enum Presence { case old, new, both }

  let key: ObjKey
  let presence: Presence
}

/// Iterates over the objects of a table that may differ.
protocol ObjectPairs: AnyObject {
  /// Moves to the next object that may differ, in ascending order of keys; nil at the end.
  func next() throws(EngineError) -> ObjectPair?

  /// The properties, by position in the newer table, in which the current object may differ. Both versions must have
  /// it.
  func suspects() throws(EngineError) -> [Int]

  /// False if a property of the current object is known to be equal without reading its value.
  func mayDiffer(_ property: Int) throws(EngineError) -> Bool

  /// The value in the older version, for a property that it has.
  func oldValue(_ property: Int) throws(EngineError) -> ValueView

  /// The value in the newer version.
  func newValue(_ property: Int) throws(EngineError) -> ValueView
}

/// Reads all objects of both versions, or of the only one that has the table.
final class CursorPairs: ObjectPairs {
  private let pairing: TablePairing?
  private let old: ObjectCursor?
  private let new: ObjectCursor?
  /// The current keys of the cursors; nil at the end.
  private var oldKey: ObjKey?
  private var newKey: ObjKey?
  private var present: ObjectPair.Presence?
  private let start: ObjKey

  /// Starts after `key`. `pairing` must be given if both tables are.
  init(_ old: Table?, _ new: Table?, _ pairing: TablePairing?, after key: ObjKey) {
    self.pairing = pairing
    self.old = old.map { ObjectCursor($0) }
    self.new = new.map { ObjectCursor($0) }
    start = key
  }

  func next() throws(EngineError) -> ObjectPair? {
    if present != .new { oldKey = try advance(old) }
    if present != .old { newKey = try advance(new) }
    switch (oldKey, newKey) {
    case (nil, nil): return nil
    case (let key?, let other?) where key == other: return move(to: key, .both)
    case (let key?, let other?): return key < other ? move(to: key, .old) : move(to: other, .new)
    case (let key?, nil): return move(to: key, .old)
    case (nil, let key?): return move(to: key, .new)
    }
  }

  private func advance(_ cursor: ObjectCursor?) throws(EngineError) -> ObjKey? {
    guard let cursor else { return nil }
    if present != nil && cursor.key == .none { return nil }
    let isThere = present == nil && start != .none ? try cursor.seek(after: start) : try cursor.next()
    return isThere ? cursor.key : nil
  }

  private func move(to key: ObjKey, _ presence: ObjectPair.Presence) -> ObjectPair {
    present = presence
    return ObjectPair(key: key, presence: presence)
  }

  func suspects() throws(EngineError) -> [Int] { Array((pairing?.properties ?? []).indices) }

  func mayDiffer(_ property: Int) -> Bool { true }

  func oldValue(_ property: Int) throws(EngineError) -> ValueView {
    guard let old, let index = pairing?.properties[property].old else { return .null }
    return try old.value(index)
  }

  func newValue(_ property: Int) throws(EngineError) -> ValueView { try new?.value(property) ?? .null }
}
