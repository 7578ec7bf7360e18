// The path from a property to a list or dictionary in its Mixed value. List elements may move, so a step also stores
// the key that the file assigns to each collection nested in a list.

import RealmPages

/// The path from a property to a list or dictionary in its Mixed value.
struct NestedPlace {
  enum Step {
    /// A dictionary entry.
    case entry([UInt8])
    /// A list element: the key of the collection that it contains, and its last known index.
    case element(key: Int64, position: Int)
  }

  /// Empty for the value of the property itself.
  let steps: [Step]
  let kind: CollectionKind

  /// Returns the collection in the value of the property and the engine's path to it; nil if it no longer exists.
  func find(in value: ValueView) throws -> (view: ValueView, path: [PathStep])? {
    var view = value, path: [PathStep] = []
    for step in steps {
      switch (step, view) {
      case (.entry(let key), .dictionary(var entries)):
        guard let index = try entries.index(of: key) else { return nil }
        view = try entries.value(at: index)
        path.append(.key(key))
      case (.element(let key, let position), .list(var list)):
        guard let index = try list.position(ofNested: key, near: position) else { return nil }
        view = try list.value(at: index)
        path.append(.index(index))
      default: return nil
      }
    }
    switch (kind, view) {
    case (.list, .list), (.dictionary, .dictionary): return (view, path)
    default: return nil
    }
  }
}

extension NestedPlace.Step: Equatable {
  /// Returns true if both steps lead to the same collection.
  static func == (a: NestedPlace.Step, b: NestedPlace.Step) -> Bool {
    switch (a, b) {
    case (.entry(let a), .entry(let b)): a == b
    case (.element(0, let a), .element(0, let b)): a == b
    case (.element(let a, _), .element(let b, _)): a == b
    default: false
    }
  }
}

extension NestedPlace: Equatable {}

extension ListView {
  /// Returns the index of the collection with this key; without a key, the last known index.
  fileprivate func position(ofNested key: Int64, near position: Int) throws -> Int? {
    if position < count, try key == 0 || nestedKey(at: position) == key { return position }
    for index in 0..<count where try key != 0 && nestedKey(at: index) == key { return index }
    return nil
  }
}
