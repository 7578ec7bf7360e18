// The structure of leaves of values: claims their nodes, and checks properties that reading single values does not
// verify. Source: docs/format/1-storage.md S5 to S15.

/// Checks one leaf of a column or of a collection's tree.
struct LeafCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }

  init(_ context: CheckContext) { self.context = context }

  /// Claims the nodes of a leaf of values other than Mixed and checks their structure. Returns the number of values. A
  /// leaf of links may have the context flag only if `mayHaveContext`. `enumCount` is the number of enumerated values
  /// of the column, if it has any.
  func check(
    _ ref: Int,
    _ element: ElementType,
    mayHaveContext: Bool = false,
    enumCount: Int? = nil
  ) throws(EngineError) -> Int {
    switch element.type {
    case .int:
      let node = try context.integers(ref)
      if !element.isNullable { return node.count }
      return try nullableInts(node)
    case .bool:
      let node = try context.integers(ref)
      for i in 0..<node.count {
        let value = try node.int(i)
        if value != 0 && value != 1 && value != 3 { context.report("\(value) is not a bool", ref: ref) }
      }
      return node.count
    case .float: return try elements(ref, widths: [4])
    case .double: return try elements(ref, widths: [8])
    case .string: return try strings(ref, enumCount: enumCount)
    case .data: return try blobs(context.claim(ref), isText: false)
    case .date: return try dates(ref)
    case .decimal128:
      let node = try context.claim(ref)
      // The flag distinguishes zeros from nulls at width 0, and remains set when the leaf is widened.
      try context.expect(node, .multiply, hasRefs: false, context: node.hasContext)
      if ![0, 4, 8, 16].contains(node.width) { throw .damaged("decimals of \(node.width) bytes", ref: ref) }
      return node.count
    case .objectID, .uuid:
      let node = try context.claim(ref)
      try context.expect(node, .multiply, hasRefs: false)
      return try FixedBytesLeaf(arena, ref, width: element.type == .uuid ? 16 : 12).count
    case .link:
      let node = try context.claim(ref)
      try context.expect(node, .bits, hasRefs: false, context: mayHaveContext && node.hasContext)
      return node.count
    case .mixed:
      // Typed links: two integers each.
      let node = try context.integers(ref)
      if node.count % 2 != 0 { throw .damaged("typed links in \(node.count) integers", ref: ref) }
      return node.count / 2
    }
  }

  /// Returns the number of elements, excluding the one that represents null.
  private func nullableInts(_ node: Node) throws(EngineError) -> Int {
    if node.count == 0 {
      throw .damaged("nullable integers without the element that represents null", ref: node.ref)
    }
    // Other writers would store a regular value equal to this number unchecked, which turns it into null.
    let null = try node.int(0)
    if node.width < 64, null != PackedBits.largest(node.width) {
      context.report("\(null) represents null in integers of \(node.width) bits", ref: node.ref)
    }
    return node.count - 1
  }

  private func elements(_ ref: Int, widths: Set<UInt8>) throws(EngineError) -> Int {
    let node = try context.claim(ref)
    try context.expect(node, .multiply, hasRefs: false)
    if !widths.contains(node.width) && (node.count != 0 || node.width != 0) {
      throw .damaged("elements of \(node.width) bytes", ref: ref)
    }
    return node.count
  }

  private func dates(_ ref: Int) throws(EngineError) -> Int {
    let root = try context.refs(ref, 2...2)
    let seconds = try context.integers(root.child(0)), nanoseconds = try context.integers(root.child(1))
    let count = try nullableInts(seconds)
    if nanoseconds.count != count { throw .damaged("seconds and nanoseconds differ in number", ref: ref) }
    let leaf = try TimestampLeaf(arena, ref)
    for i in 0..<count {
      do { _ = try leaf.value(i) } catch { context.report(error.problem, ref: error.ref) }
    }
    return count
  }

  /// Claims a leaf of strings in any form and returns the number of strings.
  func strings(_ ref: Int, enumCount: Int? = nil) throws(EngineError) -> Int {
    let root = try context.claim(ref)
    if root.hasRefs { return try blobs(root, isText: true) }
    if root.scheme == .multiply {
      try context.expect(root, .multiply, hasRefs: false)
      if root.width > 16 { context.report("short strings of \(root.width) bytes", ref: ref) }
      try shortStrings(root)
      return root.count
    }
    guard let enumCount else { throw .damaged("an enumerated leaf in a column without values", ref: ref) }
    try context.expect(root, .bits, hasRefs: false)
    for i in 0..<root.count {
      let index = try root.int(i)
      if index < 0 || index >= Int64(enumCount) { throw .damaged("\(index) is not an enumerated value", ref: ref) }
    }
    return root.count
  }

  /// Checks the padding of short strings: zeros up to the width.
  func shortStrings(_ node: Node) throws(EngineError) {
    let width = Int(node.width)
    for i in 0..<node.count {
      guard let text = try StringLeaf.short(node, i) else { continue }
      let bytes = try unsafe node.element(i)
      for at in text.count..<width - 1 where unsafe bytes.load(fromByteOffset: at, as: UInt8.self) != 0 {
        throw .damaged("short string \(i) has bad padding", ref: node.ref)
      }
    }
  }

  /// Checks small or big blobs below `root`, which must be claimed. Returns their number. Each value has a single node,
  /// or several if `inChunks`.
  func blobs(_ root: Node, isText: Bool, inChunks: Bool = false) throws(EngineError) -> Int {
    try context.expect(root, .bits, hasRefs: true, context: root.hasContext)
    if root.hasContext {
      for i in 0..<root.count {
        let ref = try root.child(i)
        if ref != 0 { try blob(ref, isText: isText, inChunks: inChunks) }
      }
      return root.count
    }
    // Leaves had no null flags before values could be null.
    let hasFlags = root.count == 3
    if !hasFlags && !(arena.format < 10 && root.count == 2) {
      throw .damaged("a small-blobs leaf of \(root.count) slots", ref: root.ref)
    }
    let ends = try context.integers(root.child(0)), bytes = try context.claim(root.child(1))
    let nulls = hasFlags ? try context.integers(root.child(2)) : nil
    try context.expect(bytes, .ignore, hasRefs: false)
    if let nulls, nulls.count != ends.count {
      throw .damaged("null flags and values differ in number", ref: root.ref)
    }
    var start: Int64 = 0
    for i in 0..<ends.count {
      let end = try ends.int(i), null = try nulls?.int(i) ?? 0
      if end < start || end > Int64(bytes.count) || null != 0 && null != 1 || isText && end == start {
        throw .damaged("value \(i) runs from \(start) to \(end), with a null flag of \(null)", ref: root.ref)
      }
      if unsafe isText && bytes.payload.load(fromByteOffset: Int(end - 1), as: UInt8.self) != 0 {
        throw .damaged("value \(i) does not end with a zero", ref: bytes.ref)
      }
      start = end
    }
    if start != Int64(bytes.count) { throw .damaged("\(bytes.count) bytes for values of \(start)", ref: bytes.ref) }
    return ends.count
  }

  private func blob(_ ref: Int, isText: Bool, inChunks: Bool) throws(EngineError) {
    let node = try context.claim(ref)
    if node.hasContext && inChunks {
      try context.expect(node, .bits, hasRefs: true, context: true)
      for i in 0..<node.count { try context.expect(context.claim(node.child(i)), .ignore, hasRefs: false) }
      return
    }
    try context.expect(node, .ignore, hasRefs: false)
    if unsafe isText && (node.count == 0 || node.payload.load(fromByteOffset: node.count - 1, as: UInt8.self) != 0) {
      throw .damaged("a string that does not end with a zero", ref: ref)
    }
  }
}
