// The target of one edit: a property of an object, or an element or entry in it. Source: docs/format/7-sync.md 7.7.

import RealmPages

/// The location in the realm that an edit changes.
struct EditTarget {
  let known: KnownClass
  let object: ObjKey
  let column: Column
  /// The path from the property into its collections.
  var path: [PathStep] = []

  private var parent: [PathStep] { Array(path.dropLast()) }

  // MARK: reading

  /// Returns the scalar or link at the target; a collection is returned as an empty one. Nil if the element or entry
  /// does not exist.
  func value(_ transaction: borrowing WriteTransaction) throws -> Value? {
    guard var view = try transaction.view(known.key, object, column.key) else { return nil }
    for step in path {
      switch (step, view) {
      case (.index(let index), .list(var list)):
        guard index < list.count else { return nil }
        view = try list.value(at: index)
      case (.key(let key), .dictionary(var dictionary)):
        guard let found = try Self.find(key, &dictionary) else { return nil }
        view = found
      default: return nil
      }
    }
    switch view {
    case .list, .set: return .list([])
    case .dictionary: return .dictionary([])
    default: return try Value(copying: view)
    }
  }

  private static func find(
    _ key: [UInt8],
    _ dictionary: inout DictionaryView
  ) throws(EngineError) -> ValueView? {
    // Entries are sorted by the bytes of their keys.
    var low = 0, high = dictionary.count
    while low < high {
      let middle = (low + high) / 2, other = try dictionary.key(at: middle).bytes
      if other == key { return try dictionary.value(at: middle) }
      if other.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  // MARK: changing

  /// Applies the edit; `value` is the payload if it is a scalar or a link.
  func apply(
    _ edit: Instruction.Edit,
    _ value: Value?,
    _ transaction: borrowing WriteTransaction
  ) throws {
    switch edit {
    case .update(let payload, _): try update(payload, value, transaction)
    case .updateElement(let payload, let prior):
      let index = try self.index()
      try check(prior: prior, transaction)
      if payload == .object { return }
      if try keepsCollection(payload, transaction) { return }
      let wanted = try wanted(payload, value)
      try transaction.set(known.key, object, column.key, path: parent, at: index, wanted)
    case .insert(let payload, let prior):
      let index = try self.index()
      try check(prior: prior, transaction)
      if payload == .object {
        if path.count != 1 { throw SyncError.unfit("no place for an embedded object") }
        _ = try transaction.insertEmbedded(known.key, object, column.key, at: index)
        return
      }
      let wanted = try wanted(payload, value)
      try transaction.insert(known.key, object, column.key, path: parent, at: index, wanted)
    case .move(let target, let prior):
      let index = try self.index()
      try check(prior: prior, transaction)
      if index == target { throw SyncError.unfit("an element is moved to the same position") }
      try transaction.move(known.key, object, column.key, path: parent, from: index, to: Int(target))
    case .erase(let prior):
      let index = try self.index()
      try check(prior: prior, transaction)
      try transaction.remove(known.key, object, column.key, path: parent, at: index)
    case .clear(let kind): try clear(kind, transaction)
    case .addInteger(let amount): try add(amount, transaction)
    case .setInsert, .setErase:
      guard column.collection == .set, path.isEmpty, let value else {
        throw SyncError.unfit("not a set, or not a value of one")
      }
      if case .setInsert = edit {
        _ = try transaction.add(known.key, object, column.key, value)
      } else {
        _ = try transaction.discard(known.key, object, column.key, value)
      }
    }
  }

  private func index() throws -> Int {
    if case .index(let index) = path.last { return index }
    throw SyncError.unfit("not an element of a list")
  }

  private func check(prior: UInt32, _ transaction: borrowing WriteTransaction) throws {
    let parent = parent
    let count = try transaction.count(known.key, object, column.key, path: parent)
    if count != Int(prior) { throw SyncError.unfit("a list of \(count) elements where the server has \(prior)") }
  }

  /// Returns the payload as a value for a Mixed or a property.
  private func wanted(_ payload: Instruction.Payload, _ value: Value?) throws -> Value {
    if let value { return value }
    switch payload {
    case .list: return .list([])
    case .dictionary: return .dictionary([])
    default: throw SyncError.unfit("a value that is not allowed here")
    }
  }

  /// True if the payload is a collection of the same kind as the current value, which is then kept with its contents.
  private func keepsCollection(
    _ payload: Instruction.Payload,
    _ transaction: borrowing WriteTransaction
  ) throws -> Bool {
    guard payload == .list || payload == .dictionary else { return false }
    let present = try value(transaction)
    return payload == .list ? present == .list([]) : present == .dictionary([])
  }

  private func update(
    _ payload: Instruction.Payload,
    _ value: Value?,
    _ transaction: borrowing WriteTransaction
  ) throws {
    guard case .key(let entry) = path.last else { return try updateProperty(payload, value, transaction) }
    let parent = parent
    switch payload {
    case .erased:
      _ = try transaction.remove(known.key, object, column.key, path: parent, entry: entry)
    case .object:
      _ = try transaction.setEmbedded(known.key, object, column.key, entry: entry)
    default:
      if try keepsCollection(payload, transaction) { return }
      let wanted = try wanted(payload, value)
      try transaction.set(known.key, object, column.key, path: parent, entry: entry, wanted)
    }
  }

  private func updateProperty(
    _ payload: Instruction.Payload,
    _ value: Value?,
    _ transaction: borrowing WriteTransaction
  ) throws {
    if payload == .object {
      if try self.value(transaction) != .null { return }
      _ = try transaction.setEmbedded(known.key, object, column.key)
      return
    }
    if try keepsCollection(payload, transaction) { return }
    let wanted = try wanted(payload, value)
    try transaction.set(known.key, object, column.key, wanted)
  }

  private func clear(
    _ kind: Instruction.ClearedKind,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let present: Value
    if path.isEmpty, column.collection != nil {
      return try transaction.clear(known.key, object, column.key)
    }
    guard column.type == .mixed, let found = try value(transaction) else {
      throw SyncError.unfit("there is no collection to clear")
    }
    switch kind {
    case .single: present = found
    case .list: present = .list([])
    case .dictionary: present = .dictionary([])
    case .set: throw SyncError.unfit("a set within a Mixed")
    }
    guard present == .list([]) || present == .dictionary([]) else {
      throw SyncError.unfit("there is no collection here")
    }
    if present == found {
      return try transaction.clear(known.key, object, column.key, path: path)
    }
    let parent = parent
    switch path.last {
    case nil: try transaction.set(known.key, object, column.key, present)
    case .index(let index): try transaction.set(known.key, object, column.key, path: parent, at: index, present)
    case .key(let entry): try transaction.set(known.key, object, column.key, path: parent, entry: entry, present)
    }
  }

  private func add(_ amount: Int64, _ transaction: borrowing WriteTransaction) throws {
    if !path.isEmpty { throw SyncError.unfit("a number is added to something other than a property") }
    switch try value(transaction) {
    case .int(let number):
      try transaction.set(known.key, object, column.key, .int(number &+ amount))
    case .null: break
    default: throw SyncError.unfit("a number is added to something other than an integer")
    }
  }
}
