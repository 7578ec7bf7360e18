// Lists, sets and dictionaries, of a property or nested in a Mixed: order, uniqueness, nulls, links. Source:
// docs/format/2-model.md M8, M9.

/// Checks one collection with everything below it.
struct CollectionCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }

  /// The maximum nesting of collections.
  private static let maximumNesting = 100

  init(_ context: CheckContext) { self.context = context }

  /// Checks the collection at `ref`, which must not be 0. `nesting` is the number of enclosing collections.
  func check(
    _ ref: Int,
    _ kind: CollectionKind,
    _ element: ElementType,
    keyType: Int = Spec.TypeCode.string,
    nesting: Int = 0
  ) throws(EngineError) {
    if nesting > Self.maximumNesting { throw .damaged("collections nested \(nesting) deep", ref: ref) }
    switch kind {
    case .list: _ = try sequence(ref, element, nesting)
    case .set: try set(ref, element, nesting)
    case .dictionary: try dictionary(ref, element, keyType, nesting)
    }
  }

  /// Checks value `index` of the leaf of Mixed values at `ref`, including nested values. The structure of the leaf must
  /// already be checked. Returns the value; nil for a nested collection.
  func mixedValue(_ leaf: MixedLeaf, _ ref: Int, _ index: Int, nesting: Int = 0) throws(EngineError) -> ValueView? {
    if let (nested, isDictionary) = try MixedCheck.nested(arena, ref, index) {
      if nested != 0 { try check(nested, isDictionary ? .dictionary : .list, .mixed, nesting: nesting + 1) }
      return nil
    }
    let value = try leaf.value(index, arena)
    if case .link(let table, let key) = value { context.recordLink(to: table, key) }
    return value
  }

  // MARK: Lists and sets

  /// Checks a tree of elements and calls `body` for each, with nil for a nested collection. Returns the number of
  /// elements.
  private func sequence(
    _ ref: Int,
    _ element: ElementType,
    _ nesting: Int,
    _ body: (ValueView?) throws(EngineError) -> Void = { _ in }
  ) throws(EngineError) -> Int {
    var keys: Set<Int64> = []
    var nulls = 0, unresolved = false
    let ofLinks = element.type == .link, mayBeNull = element.isNullable || ofLinks
    let count = try TreeCheck(context).check(ref, ofLinks: ofLinks) { leafRef, isFirst throws(EngineError) in
      if element.type == .mixed && !element.isTypedLink {
        let count = try MixedCheck(context).check(leafRef)
        try MixedCheck(context).checkKeys(leafRef, &keys)
        let leaf = try MixedLeaf(arena, leafRef)
        for i in 0..<count {
          let value = try mixedValue(leaf, leafRef, i, nesting: nesting)
          if case .null? = value { nulls += 1 }
          try body(value)
        }
        return count
      }
      let count = try LeafCheck(context).check(leafRef, element, mayHaveContext: ofLinks && isFirst)
      let leaf = try ColumnLeaf(arena, leafRef, element, inTree: true)
      for i in 0..<count {
        let value = try leaf.value(i, arena)
        switch value {
        case .null: nulls += 1
        case .link(let table, let key):
          context.recordLink(to: table, key)
          if key.isUnresolved { unresolved = true }
        default: break
        }
        try body(value)
      }
      return count
    }
    if nulls > 0 && !mayBeNull { context.report("null in a collection that is not nullable", ref: ref) }
    if unresolved, ofLinks, try !arena.node(ref).hasContext {
      context.report("unresolved links in a tree that is not marked as having some", ref: ref)
    }
    return count
  }

  private func set(_ ref: Int, _ element: ElementType, _ nesting: Int) throws(EngineError) {
    var last: ValueView?, isOrdered = true, hasNaN = false
    _ = try sequence(ref, element, nesting) { value throws(EngineError) in
      guard var value else { throw .damaged("a collection nested in a set", ref: ref) }
      switch value {
      case .float(let number) where number.isNaN: hasNaN = true
      case .double(let number) where number.isNaN: hasNaN = true
      // In sets of decimals, null is one of the NaN values.
      case .null where element.type == .decimal128: value = .decimal128(.storedNull)
      default: break
      }
      if let last, ValueOrder.compare(last, value) >= 0 { isOrdered = false }
      last = value
    }
    // The order of typed sets of floating-point numbers is undefined with NaN. Other orders changed with format 24.
    let isExempt =
      hasNaN && (element.type == .float || element.type == .double)
      || arena.format < 24 && ValueOrder.changedBefore24(element.type)
    if !isOrdered && !isExempt { context.report("the elements of a set are out of order or not unique", ref: ref) }
  }

  // MARK: Dictionaries

  private func dictionary(
    _ ref: Int,
    _ element: ElementType,
    _ keyType: Int,
    _ nesting: Int
  ) throws(EngineError) {
    if keyType != Spec.TypeCode.string {
      throw .damaged("a dictionary with keys of type \(keyType) instead of strings", ref: ref)
    }
    if arena.format < 23 { return try hashedDictionary(ref, element, nesting) }
    let root = try context.refs(ref, 2...2)
    var last: ByteView?
    let keys = try sequence(root.child(Layout.Dictionary.keys), .string, nesting) { key throws(EngineError) in
      guard case .string(let key)? = key else { throw .damaged("a dictionary with a null key", ref: ref) }
      if let last, ValueOrder.compareBytes(last, key) >= 0 {
        context.report("the keys \(last.quoted) and \(key.quoted) of a dictionary are out of order", ref: ref)
      }
      last = key
    }
    let values = try sequence(root.child(Layout.Dictionary.values), .mixed, nesting) { value throws(EngineError) in
      checkEntry(value, element, ref)
    }
    if keys != values { throw .damaged("\(keys) dictionary keys for \(values) values", ref: ref) }
  }

  /// Checks a dictionary of formats 21 and 22: a cluster tree ordered by the hashes of its keys.
  private func hashedDictionary(_ ref: Int, _ element: ElementType, _ nesting: Int) throws(EngineError) {
    let problems = context.summary.problems
    _ = try ClusterCheck(context).check(ref) { cluster throws(EngineError) in
      if cluster.count == 0 && cluster.slots.count == 1 { return }
      let keys = try LeafCheck(context).strings(cluster.leafRef(0))
      let values = try MixedCheck(context).check(cluster.leafRef(1))
      if keys != cluster.count || values != cluster.count || cluster.slots.count > 3 {
        throw .damaged("\(keys) keys and \(values) values in a cluster of \(cluster.count)", ref: cluster.slots.ref)
      }
      let leafRef = try cluster.leafRef(1), leaf = try MixedLeaf(arena, leafRef)
      for i in 0..<values { checkEntry(try mixedValue(leaf, leafRef, i, nesting: nesting), element, ref) }
    }
    if context.summary.problems != problems { return }
    var view = try DictionaryView(arena, ref, keyType: Spec.TypeCode.string)
    for i in 1..<max(1, view.count) {
      let (a, b) = (try view.key(at: i - 1), try view.key(at: i))
      if ValueOrder.compareBytes(a, b) == 0 { context.report("the key \(a.quoted) is used twice", ref: ref) }
    }
  }

  /// Checks that a dictionary value has the dictionary's type. Nil means a nested collection.
  private func checkEntry(_ value: ValueView?, _ element: ElementType, _ ref: Int) {
    if case .null? = value {
      if !element.isNullable && element.type != .link {
        context.report("null in a dictionary that is not nullable", ref: ref)
      }
    } else if element.type != .mixed && value?.type != element.type {
      context.report("a dictionary value of the wrong type", ref: ref)
    }
  }
}

extension ByteView {
  /// True if the bytes are valid UTF-8.
  var isUTF8: Bool { unsafe String(validating: unsafeBytes, as: UTF8.self) != nil }

  /// At most 40 bytes of the text, escaped and in quotes.
  var quoted: String {
    let text = unsafe String(decoding: unsafeBytes.prefix(40), as: UTF8.self)
    return "\"" + text.unicodeScalars.map { $0.escaped(asASCII: false) }.joined() + (count > 40 ? "...\"" : "\"")
  }
}
