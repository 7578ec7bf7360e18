// A list, set or map of a managed object: where it is, and what is done with it.

import RealmPages

/// A collection of a managed object.
struct CollectionPlace {
  let context: RealmContext
  let type: ManagedClass
  let key: Int64
  let property: Int

  init(_ place: PropertyPlace) {
    guard let context = place.object.context, let type = place.object.managedClass else {
      Misuse.stop("the object is not managed")
    }
    (self.context, self.type, key, property) = (context, type, place.object.objectKey, place.index)
  }

  init(_ context: RealmContext, _ type: ManagedClass, _ key: Int64, _ property: Int) {
    (self.context, self.type, self.key, self.property) = (context, type, key, property)
  }

  /// Whether the owner was deleted.
  var isInvalidated: Bool { !context.contains(type, key) }

  private func view() -> ValueView {
    context.checkThread()
    guard let view = Misuse.unwrap({ try context.view(type, key, property) }) else {
      Misuse.stop("The object that the collection belongs to was deleted, or its realm invalidated.")
    }
    return view
  }

  /// The elements of a list or set.
  func list() -> ListView? {
    switch view() {
    case .list(let list), .set(let list): list
    default: nil
    }
  }

  /// The entries of a map.
  func dictionary() -> DictionaryView? { if case .dictionary(let entries) = view() { entries } else { nil } }

  var count: Int {
    switch view() {
    case .list(let list), .set(let list): list.count
    case .dictionary(let entries): entries.count
    default: 0
    }
  }

  /// An element of a list or set, or the value of an entry of a map.
  func element<T: RealmCollectionValue>(at index: Int) -> T {
    if var list = list(), list.indices.contains(index) { return read(Misuse.unwrap { try list.value(at: index) }) }
    if var entries = dictionary(), entries.indices.contains(index) {
      return read(Misuse.unwrap { try entries.value(at: index) })
    }
    Misuse.stop("Index \(index) is out of bounds (must be less than \(count)).")
  }

  /// All elements of a list or set, or the values of a map in the order of their names.
  func values() throws -> [ValueView] {
    switch view() {
    case .list(var list), .set(var list): try list.indices.map { try list.value(at: $0) }
    case .dictionary(var entries): try entries.indices.map { try entries.value(at: $0) }
    default: []
    }
  }

  /// The same as values of a type.
  func elements<T: RealmCollectionValue>() -> [T] { Misuse.unwrap { try values() }.map { read($0) } }

  func read<T: RealmCollectionValue>(_ view: ValueView) -> T {
    T._rlmRead(StoredValue(view: view, context: context)) ?? T._rlmDefault()
  }

  /// A value on its way in; objects are added first.
  func write<T: RealmCollectionValue>(_ value: T) -> EngineValue {
    context.checkWrite()
    return value._rlmWrite(WriteTarget(context: context, policy: context.policy))
  }

  private var object: ObjKey { ObjKey(key) }
  private var column: ColKey { type.columnKeys[property] }

  // MARK: lists

  func insert(_ value: EngineValue, at index: Int) {
    context.store(
      value,
      plain: { try $0.insert(type.key, object, column, at: index, $1) },
      embedded: { try $0.insertEmbedded(type.key, object, column, at: index) }
    )
  }

  func replace(_ value: EngineValue, at index: Int) {
    switch value.content {
    case .value(let value): context.apply { try $0.set(type.key, object, column, at: index, value) }
    case .embedded:
      remove(at: index)
      insert(value, at: index)
    }
  }

  func remove(at index: Int) { context.apply { try $0.remove(type.key, object, column, at: index) } }

  func move(from: Int, to: Int) { context.apply { try $0.move(type.key, object, column, from: from, to: to) } }

  func clear() { context.apply { try $0.clear(type.key, object, column) } }

  // MARK: sets

  func add(_ value: EngineValue) { context.apply { _ = try $0.add(type.key, object, column, value.value) } }

  func discard(_ value: EngineValue) { context.apply { _ = try $0.discard(type.key, object, column, value.value) } }

  // MARK: maps

  func set(_ value: EngineValue, entry: String) {
    let entry = Array(entry.utf8)
    context.store(
      value,
      plain: { try $0.set(type.key, object, column, entry: entry, $1) },
      embedded: { try $0.setEmbedded(type.key, object, column, entry: entry) }
    )
  }

  func remove(entry: String) {
    context.apply { _ = try $0.remove(type.key, object, column, entry: Array(entry.utf8)) }
  }

  /// The value of an entry.
  func entry<T: RealmCollectionValue>(_ name: String) -> T? {
    guard var entries = dictionary() else { return nil }
    return Misuse.unwrap { try entries.index(of: name.utf8).map { read(try entries.value(at: $0)) } }
  }
}

extension ListView {
  fileprivate var indices: Range<Int> { 0..<count }
}
extension DictionaryView {
  fileprivate var indices: Range<Int> { 0..<count }
}
