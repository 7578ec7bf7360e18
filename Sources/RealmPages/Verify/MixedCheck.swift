// Leaves of Mixed values: each payload entry belongs to exactly one value, and the keys of collections nested in one
// list or dictionary are distinct. Source: docs/format/1-storage.md S15.

/// Checks the structure of leaves of Mixed values.
struct MixedCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }

  /// The location of a value's payload: the slot of the leaf.
  private enum Payload: Int, CaseIterable {
    case inline, ints, pairs, strings, collections
  }

  init(_ context: CheckContext) { self.context = context }

  /// Claims the nodes of the leaf at `ref`, except those of nested collections. Returns the number of values.
  func check(_ ref: Int) throws(EngineError) -> Int {
    let root = try context.refs(ref, 4...6)
    let composite = try context.integers(root.child(0))
    var used = try payloads(root)
    let keyNode = try optional(root, 5)
    if let keyNode, keyNode.count > composite.count {
      context.report("\(keyNode.count) collection keys for \(composite.count) values", ref: ref)
    }
    for i in 0..<composite.count {
      let word = try composite.int(i)
      if word == 0 { continue }
      let code = Int(word & 31) - 1
      let payload = try place(of: code, Int(word >> 5 & 7), ref)
      if payload == .inline {
        if code == Spec.TypeCode.bool && word >> 8 != 0 && word >> 8 != 1 { throw .damaged("a bad bool", ref: ref) }
        continue
      }
      let index = word >> 8
      if index < 0 || index >= Int64(used[payload.rawValue].count) {
        throw .damaged("value \(i) is outside of its payload", ref: ref)
      }
      if !used[payload.rawValue].insert(Int(index)) {
        context.report("value \(i) shares its payload with another", ref: ref)
      }
      if payload == .collections, context.isStrict {
        let key = try i < (keyNode?.count ?? 0) ? keyNode?.int(i) ?? 0 : 0
        if key == 0 { context.report("the nested collection at \(i) has no key", ref: ref) }
      }
    }
    for payload in Payload.allCases where used[payload.rawValue].first(false, from: 0) < used[payload.rawValue].count {
      context.report("an entry of the payload of \(payload) belongs to no value", ref: ref)
    }
    return composite.count
  }

  /// Adds the keys of the collections nested in the leaf at `ref`, which must already be checked, to `keys`. Keys are
  /// unique within a list or dictionary. In a Mixed property they may repeat, because the object identifies the
  /// collection.
  func checkKeys(_ ref: Int, _ keys: inout Set<Int64>) throws(EngineError) {
    let keyRef = try arena.node(ref).childIfPresent(5)
    if keyRef == 0 { return }
    let node = try arena.node(keyRef)
    for i in 0..<node.count {
      let key = try node.int(i)
      if key != 0 && !keys.insert(key).inserted {
        context.report("two nested collections with the key \(key)", ref: ref)
      }
    }
  }

  /// Returns the payload for values of a type. Throws if it is not the one in `slot`, as stored in the value.
  private func place(of code: Int, _ slot: Int, _ ref: Int) throws(EngineError) -> Payload {
    let payload: Payload
    switch code {
    case Spec.TypeCode.int: payload = slot == 0 ? .inline : .ints
    case Spec.TypeCode.bool: payload = .inline
    case Spec.TypeCode.float, Spec.TypeCode.double: payload = .ints
    case Spec.TypeCode.string, Spec.TypeCode.data, Spec.TypeCode.objectID, Spec.TypeCode.uuid: payload = .strings
    case Spec.TypeCode.date, Spec.TypeCode.decimal128, Spec.TypeCode.typedLink: payload = .pairs
    case Spec.TypeCode.nestedList, Spec.TypeCode.nestedDictionary: payload = .collections
    default: throw .damaged("a Mixed value of the unknown type \(code)", ref: ref)
    }
    if payload.rawValue != slot { throw .damaged("a Mixed value of type \(code) in payload \(slot)", ref: ref) }
    return payload
  }

  /// Claims the payload nodes. Returns an empty set for each, sized to its number of entries.
  private func payloads(_ root: Node) throws(EngineError) -> [BitSet] {
    let pairs = try optional(root, 2)
    if let pairs, pairs.count % 2 != 0 { throw .damaged("half a pair", ref: pairs.ref) }
    let strings = try root.child(3)
    let collections = try root.childIfPresent(4)
    let counts = [
      0, try optional(root, 1)?.count ?? 0, (pairs?.count ?? 0) / 2,
      strings == 0 ? 0 : try LeafCheck(context).strings(strings),
      collections == 0 ? 0 : try context.refs(collections).count,
    ]
    return counts.map { BitSet(count: $0) }
  }

  private func optional(_ root: Node, _ slot: Int) throws(EngineError) -> Node? {
    let ref = try root.childIfPresent(slot)
    return ref == 0 ? nil : try context.integers(ref)
  }

  /// Returns the ref of the nested collection of value `index` of the leaf at `ref`, and whether it is a dictionary;
  /// nil for other values. The leaf must already be checked.
  static func nested(_ arena: Arena, _ ref: Int, _ index: Int) throws(EngineError) -> (ref: Int, isDictionary: Bool)? {
    let root = try arena.node(ref)
    let word = try arena.node(root.child(0)).int(index)
    let code = Int(word & 31) - 1
    guard code == Spec.TypeCode.nestedList || code == Spec.TypeCode.nestedDictionary else { return nil }
    let collections = try arena.node(root.child(Payload.collections.rawValue))
    return (try collections.child(Int(word >> 8)), code == Spec.TypeCode.nestedDictionary)
  }
}

extension Spec.TypeCode {
  /// Type codes of collections inside a Mixed.
  fileprivate static let nestedList = 19, nestedDictionary = 21
}
