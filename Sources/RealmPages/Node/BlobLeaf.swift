// Leaves of strings and binaries in their three forms. Source: docs/format/1-storage.md S8 to S10.

import CLinux

/// A leaf of small or big blobs. Strings have a terminating zero byte that is not part of the value.
struct BlobLeaf {
  private enum Form {
    /// Ends of values, bytes, null flags.
    case small(ends: Node, bytes: Node, nulls: Node?)
    /// One ref per element; 0 is null.
    case big(Node)
  }

  private let form: Form
  private let terminator: Int
  /// The flag of a null: 1, but 0 for strings of formats before 10.
  private let nullFlag: Int64
  let count: Int

  /// The size from which reads of values are recorded, as many such values fill much memory.
  private static let notedSize = 4096

  /// Opens the leaf with the root `root`, a has-refs node. If `isText`, values have a terminating zero.
  init(_ arena: borrowing Arena, _ root: Node, isText: Bool) throws(EngineError) {
    terminator = isText ? 1 : 0
    let isOldText = isText && arena.format < 10
    nullFlag = isOldText ? 0 : 1
    if root.scheme != .bits || !root.hasRefs { throw .damaged("expected a leaf of blobs", ref: root.ref) }
    if root.hasContext {
      form = .big(root)
      count = root.count
      return
    }
    // Before values could be null, leaves had no flags.
    let hasFlags = root.count == 3
    if !hasFlags && !(arena.format < 10 && root.count == 2) {
      throw .damaged("a small-blobs leaf with \(root.count) slots instead of 3", ref: root.ref)
    }
    let ends = try arena.integers(root.child(0)), bytes = try arena.node(root.child(1))
    let nulls = hasFlags ? try arena.integers(root.child(2)) : nil
    if bytes.scheme != .ignore { throw .damaged("expected bytes", ref: bytes.ref) }
    if let nulls, nulls.count != ends.count {
      throw .damaged("null flags and values differ in number", ref: root.ref)
    }
    form = .small(ends: ends, bytes: bytes, nulls: nulls)
    count = ends.count
  }

  /// The bytes of element `index`, nil for null, in several parts if they are too large for one node. Only the history
  /// has such blobs.
  func chunks(_ index: Int, _ arena: Arena) throws(EngineError) -> [ByteView]? {
    if case .big(let root) = form, case let ref = try root.child(index), ref != 0 {
      let node = try arena.node(ref)
      if node.hasContext {
        let refs = try arena.refs(ref)
        var chunks: [ByteView] = []
        for i in 0..<refs.count { chunks.append(try bytes(refs.child(i), arena)) }
        return chunks
      }
    }
    return try value(index, arena).map { [$0] }
  }

  private func bytes(_ ref: Int, _ arena: Arena) throws(EngineError) -> ByteView {
    let node = try arena.node(ref)
    if node.scheme != .ignore { throw .damaged("expected bytes", ref: ref) }
    if node.count >= Self.notedSize { arena.space.noteRead(ref, node.count) }
    return unsafe ByteView(base: node.payload, count: node.count)
  }

  /// The bytes of element `index`, nil for null. Fails for values of more than one node.
  func value(_ index: Int, _ arena: Arena) throws(EngineError) -> ByteView? {
    switch form {
    case .small(let ends, let bytes, let nulls):
      if let nulls, try (nulls.int(index) == 0) == (nullFlag == 0) { return nil }
      let start = index == 0 ? 0 : try ends.int(index - 1), end = try ends.int(index) &- Int64(terminator)
      if start < 0 || end < start || end > bytes.count - terminator {
        throw .damaged("value \(index) runs from \(start) to \(end) in \(bytes.count) bytes", ref: bytes.ref)
      }
      return unsafe ByteView(base: bytes.payload + Int(start), count: Int(end - start))
    case .big(let root):
      let ref = try root.child(index)
      if ref == 0 { return nil }
      let blob = try arena.node(ref)
      if blob.scheme != .ignore || blob.count < terminator {
        throw .damaged("expected the bytes of a value", ref: ref)
      }
      if blob.count >= Self.notedSize { arena.space.noteRead(ref, blob.count) }
      return unsafe ByteView(base: blob.payload, count: blob.count - terminator)
    }
  }

  /// Searches the bytes of all given elements. Returns the first element that may contain `part`; nil if none does.
  func first(_ elements: Range<Int>, near part: [UInt8]) throws(EngineError) -> Int? {
    guard case .small(let ends, let bytes, _) = form, let last = elements.last else { return elements.first }
    let first = elements.lowerBound
    let start = first == 0 ? 0 : try ends.int(first - 1), end = try ends.int(last)
    if start < 0 || end < start || end > bytes.count {
      throw .damaged("values that run from \(start) to \(end) in \(bytes.count) bytes", ref: bytes.ref)
    }
    guard let place = unsafe bytes.payload.firstPlace(of: part, in: Int(start)..<Int(end)) else { return nil }
    return min(max(first, try ends.upperBound(UInt64(place))), last)
  }
}

extension UnsafeRawPointer {
  /// Returns the offset of the first occurrence of bytes within a range; nil if there is none.
  fileprivate func firstPlace(of part: [UInt8], in range: Range<Int>) -> Int? {
    unsafe clinux_find(self + range.lowerBound, range.count, part, part.count).map { unsafe $0 - self }
  }
}

/// A leaf of strings. Source: docs/format/1-storage.md S8.
struct StringLeaf {
  private enum Form {
    case short(Node)
    case blobs(BlobLeaf)
  }

  private let form: Form
  let count: Int

  /// Opens the leaf at `ref`, which may have any form except the enumerated one.
  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    try self.init(arena, arena.node(ref))
  }

  /// Opens a leaf whose root has already been read.
  init(_ arena: borrowing Arena, _ root: Node) throws(EngineError) {
    if root.hasRefs {
      form = .blobs(try BlobLeaf(arena, root, isText: true))
    } else if root.scheme == .multiply {
      form = .short(root)
    } else {
      throw .damaged("expected a leaf of strings", ref: root.ref)
    }
    if case .blobs(let leaf) = form { count = leaf.count } else { count = root.count }
  }

  /// The node of short strings; nil for the other forms.
  var short: Node? { if case .short(let node) = form { node } else { nil } }

  /// The bytes of element `index`, nil for null.
  @inline(__always)
  func value(_ index: Int, _ arena: Arena) throws(EngineError) -> ByteView? {
    switch form {
    case .short(let node): try Self.short(node, index)
    case .blobs(let leaf): try leaf.value(index, arena)
    }
  }

  /// Searches the bytes of all given elements. Returns the first element that may contain `part`; nil if none does.
  func first(_ elements: Range<Int>, near part: [UInt8]) throws(EngineError) -> Int? {
    switch form {
    case .blobs(let leaf): return try leaf.first(elements, near: part)
    case .short(let node):
      let width = Int(node.width)
      guard let last = elements.last, width > 0 else { return nil }
      let end = try unsafe node.element(last) - node.payload + width
      return unsafe node.payload.firstPlace(of: part, in: elements.lowerBound * width..<end).map { $0 / width }
    }
  }

  /// A short string: a zero-filled element whose last byte is the number of unused bytes.
  @inline(__always)
  static func short(_ node: Node, _ index: Int) throws(EngineError) -> ByteView? {
    let bytes = try unsafe node.element(index)
    let width = Int(node.width)
    if width == 0 { return nil }
    let unused = unsafe Int(bytes.load(fromByteOffset: width - 1, as: UInt8.self))
    if unused == width { return nil }
    if unused > width { throw .damaged("short string \(index) has bad padding", ref: node.ref) }
    return unsafe ByteView(base: bytes, count: width - 1 - unused)
  }

  /// The name of a table or column; empty if it has none, or if damage wrote zero bytes into it.
  static func name(_ names: Node, _ index: Int) throws(EngineError) -> String {
    guard let text = try short(names, index), !text.bytes.contains(0) else { return "" }
    return text.string
  }
}
