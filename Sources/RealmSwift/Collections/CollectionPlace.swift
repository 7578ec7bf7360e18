// The place of a list, set or map in a managed object, and the operations on it.

import RealmPages

/// A collection of a managed object.
struct CollectionPlace {
  let context: RealmContext
  let type: ManagedClass
  let key: Int64
  let property: Int
  /// The path of a collection in a Mixed; nil for the collection of a property.
  let nested: NestedPlace?

  init(_ place: PropertyPlace, _ nested: NestedPlace? = nil) {
    guard let context = place.object.context, let type = place.object.managedClass else {
      Misuse.stop("the object is not managed")
    }
    self.init(context, type, place.object.objectKey, place.index, nested)
  }

  init(_ context: RealmContext, _ type: ManagedClass, _ key: Int64, _ property: Int, _ nested: NestedPlace? = nil) {
    (self.context, self.type, self.key, self.property, self.nested) = (context, type, key, property, nested)
  }

  /// Returns the place of the list or dictionary `view`, which is nested in this collection.
  private func inside(_ step: NestedPlace.Step, _ view: ValueView) -> CollectionPlace {
    let kind: CollectionKind = if case .dictionary = view { .dictionary } else { .list }
    return CollectionPlace(context, type, key, property, NestedPlace(steps: (nested?.steps ?? []) + [step], kind: kind))
  }

  /// True if the owner was deleted, or the Mixed has another value.
  var isInvalidated: Bool {
    if !context.contains(type, key) { return true }
    return nested != nil && Misuse.unwrap { try found() } == nil
  }

  private func found() throws -> (view: ValueView, path: [PathStep])? {
    guard let view = try context.view(type, key, property) else { return nil }
    return if let nested { try nested.find(in: view) } else { (view, []) }
  }

  private func place() -> (view: ValueView, path: [PathStep]) {
    context.checkThread()
    guard let found = Misuse.unwrap({ try found() }) else {
      Misuse.stop("The object that the collection belongs to was deleted, or its realm invalidated.")
    }
    return found
  }

  private func view() -> ValueView {
    if nested != nil { return place().view }
    context.checkThread()
    guard let view = Misuse.unwrap({ try context.view(type, key, property) }) else {
      Misuse.stop("The object that the collection belongs to was deleted, or its realm invalidated.")
    }
    return view
  }

  /// True if the collection is a list.
  var isList: Bool { if case .list = view() { true } else { false } }

  /// Returns the engine's path to a collection in a Mixed.
  private func path() -> [PathStep] { nested == nil ? [] : place().path }

  /// Returns the elements of a list or set; nil for a map.
  func list() -> ListView? {
    switch view() {
    case .list(let list), .set(let list): list
    default: nil
    }
  }

  /// Returns the entries of a map; nil for another collection.
  func dictionary() -> DictionaryView? { if case .dictionary(let entries) = view() { entries } else { nil } }

  var count: Int {
    switch view() {
    case .list(let list), .set(let list): list.count
    case .dictionary(let entries): entries.count
    default: 0
    }
  }

  /// Returns an element of a list or set, or the value of a map entry.
  func element<T: RealmCollectionValue>(at index: Int) -> T {
    if var list = list(), list.indices.contains(index) {
      return Misuse.unwrap { try read(list.value(at: index), in: list, index) }
    }
    if var entries = dictionary(), entries.indices.contains(index) {
      return Misuse.unwrap { try read(entries.value(at: index), entries.key(at: index)) }
    }
    Misuse.stop("Index \(index) is out of bounds (must be less than \(count)).")
  }

  /// Returns all elements of a list or set, or the values of a map in the order of their keys.
  func values() throws -> [ValueView] {
    switch view() {
    case .list(var list), .set(var list): try list.indices.map { try list.value(at: $0) }
    case .dictionary(var entries): try entries.indices.map { try entries.value(at: $0) }
    default: []
    }
  }

  /// Returns all elements of a list or set, or the values of a map, converted to a type.
  func elements<T: RealmCollectionValue>() -> [T] {
    Misuse.unwrap {
      switch view() {
      case .list(var list), .set(var list):
        try list.indices.map { try read(list.value(at: $0), in: list, $0) }
      case .dictionary(var entries):
        try entries.indices.map { try read(entries.value(at: $0), entries.key(at: $0)) }
      default: []
      }
    }
  }

  /// Returns the entries of a map in the order of their keys.
  func entries<T: RealmCollectionValue>() -> [(key: String, value: T)] {
    guard var entries = dictionary() else { return [] }
    return Misuse.unwrap {
      try entries.indices.map { index in
        let key = try entries.key(at: index)
        return (key.string, try read(entries.value(at: index), key))
      }
    }
  }

  private func read<T: RealmCollectionValue>(_ view: ValueView, in list: ListView, _ index: Int) throws -> T {
    switch view {
    case .list, .dictionary:
      read(view, .element(key: try list.nestedKey(at: index), position: index))
    default: read(view)
    }
  }

  private func read<T: RealmCollectionValue>(_ view: ValueView, _ key: ByteView) -> T {
    switch view {
    case .list, .dictionary: read(view, .entry(key.bytes))
    default: read(view)
    }
  }

  /// Returns a nested collection, one step below this one.
  private func read<T: RealmCollectionValue>(_ view: ValueView, _ step: NestedPlace.Step) -> T {
    AnyRealmValue(inside(step, view)) as? T ?? T._rlmDefault()
  }

  private func read<T: RealmCollectionValue>(_ view: ValueView) -> T {
    T._rlmRead(StoredValue(view: view, context: context)) ?? T._rlmDefault()
  }

  /// Returns a value as the engine stores it. An unmanaged object is added first.
  func write<T: RealmCollectionValue>(_ value: T) -> EngineValue {
    context.checkWrite()
    return value._rlmWrite(WriteTarget(context: context, policy: context.policy))
  }

  private var object: ObjKey { ObjKey(key) }
  private var column: ColKey { type.columnKeys[property] }

  // MARK: lists

  func insert(_ value: EngineValue, at index: Int) {
    let path = path()
    context.store(
      value,
      plain: { try $0.insert(type.key, object, column, path: path, at: index, $1) },
      embedded: { try $0.insertEmbedded(type.key, object, column, at: index) }
    )
  }

  func replace(_ value: EngineValue, at index: Int) {
    switch value.content {
    case .value(let value):
      let path = path()
      context.apply { try $0.set(type.key, object, column, path: path, at: index, value) }
    case .embedded:
      if var list = list(), list.indices.contains(index), context.isStored(value, in: { try list.value(at: index) }) {
        return
      }
      remove(at: index)
      insert(value, at: index)
    }
  }

  func remove(at index: Int) {
    let path = path()
    context.apply { try $0.remove(type.key, object, column, path: path, at: index) }
  }

  func move(from: Int, to: Int) {
    let path = path()
    context.apply { try $0.move(type.key, object, column, path: path, from: from, to: to) }
  }

  func clear() {
    let path = path()
    context.apply { try $0.clear(type.key, object, column, path: path) }
  }

  // MARK: sets

  func add(_ value: EngineValue) { context.apply { _ = try $0.add(type.key, object, column, value.value) } }

  func discard(_ value: EngineValue) { context.apply { _ = try $0.discard(type.key, object, column, value.value) } }

  // MARK: maps

  func set(_ value: EngineValue, entry: String) {
    let isStored = context.isStored(value) {
      guard var entries = dictionary(), let index = try entries.index(of: entry.utf8) else { return nil }
      return try entries.value(at: index)
    }
    if isStored { return }
    let entry = Array(entry.utf8), path = path()
    context.store(
      value,
      plain: { try $0.set(type.key, object, column, path: path, entry: entry, $1) },
      embedded: { try $0.setEmbedded(type.key, object, column, entry: entry) }
    )
  }

  func remove(entry: String) {
    let path = path()
    context.apply { _ = try $0.remove(type.key, object, column, path: path, entry: Array(entry.utf8)) }
  }

  /// Returns the value of an entry; nil if it does not exist.
  func entry<T: RealmCollectionValue>(_ name: String) -> T? {
    guard var entries = dictionary() else { return nil }
    return Misuse.unwrap {
      try entries.index(of: name.utf8).map { try read(entries.value(at: $0), entries.key(at: $0)) }
    }
  }
}

extension CollectionPlace: Equatable {
  /// Returns true if the two are the same collection of the same object.
  static func == (a: CollectionPlace, b: CollectionPlace) -> Bool {
    a.context.isSameRealm(as: b.context) && a.type.key == b.type.key && a.key == b.key && a.property == b.property
      && a.nested == b.nested
  }
}

extension ListView {
  fileprivate var indices: Range<Int> { 0..<count }
}
extension DictionaryView {
  fileprivate var indices: Range<Int> { 0..<count }
}
