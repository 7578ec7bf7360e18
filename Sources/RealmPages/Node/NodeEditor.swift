// Edits nodes in a write transaction: the slab for dirty nodes, the arena to read all nodes.

import Glibc

/// A slot that refers to a node: an element of a dirty has-refs node.
struct Slot {
  /// A dirty node.
  let parent: Int
  let index: Int
}

/// The basis of all editors of leaves and trees.
struct NodeEditor {
  let arena: Arena
  let slab: Slab

  /// Makes the node in `slot` dirty and returns its ref.
  @inline(__always)
  func dirty(_ slot: Slot) throws(EngineError) -> Int { try slab.child(slot.parent, slot.index, arena) }

  /// The ref in `slot`; 0 if there is none.
  @inline(__always)
  func ref(_ slot: Slot) throws(EngineError) -> Int { try slab.node(slot.parent).child(slot.index) }

  /// Makes `slot` refer to another node. The previous node is not dropped.
  @inline(__always)
  func set(_ slot: Slot, _ ref: Int) { slab.setChild(slot.parent, slot.index, ref) }

  /// Drops the tree that `slot` refers to and clears the slot.
  func clear(_ slot: Slot) throws(EngineError) {
    let ref = try ref(slot)
    if ref == 0 { return }
    try slab.dropTree(ref, arena)
    set(slot, 0)
  }

  // MARK: elements of scheme `multiply`

  /// Creates a node for elements of `width` bytes.
  func makeElements(width: UInt8, capacity: Int = 8) -> Int {
    slab.make([], .multiply, width: width, count: 0, payload: Int(width) * capacity)
  }

  /// Makes room for one element before `index` and returns where to write it.
  func openElement(_ ref: Int, _ index: Int) -> UnsafeMutableRawPointer {
    let node = slab.node(ref), width = Int(node.width)
    if index < 0 || index > node.count || node.count >= 0xFF_FFFF || node.scheme != .multiply {
      return unsafe slab.refusing(ref, index)
    }
    slab.reserve(ref, payload: (node.count + 1) * width)
    let base = unsafe slab.memory(ref) + Node.headerSize
    if index < node.count {
      unsafe memmove(base + (index + 1) * width, base + index * width, (node.count - index) * width)
    }
    slab.setCount(ref, node.count + 1)
    return unsafe base + index * width
  }

  /// Makes room for `more` elements at the end and returns where to write them.
  func openElements(_ ref: Int, _ more: Int) throws(EngineError) -> UnsafeMutableRawPointer {
    let node = slab.node(ref), width = Int(node.width)
    if node.scheme != .multiply { throw .damaged("expected elements of some bytes each", ref: ref) }
    slab.reserve(ref, payload: (node.count + more) * width)
    slab.setCount(ref, node.count + more)
    return unsafe slab.memory(ref) + Node.headerSize + node.count * width
  }

  /// The address of element `index`.
  func element(_ ref: Int, _ index: Int) -> UnsafeMutableRawPointer {
    let node = slab.node(ref)
    if index < 0 || index >= node.count || node.scheme != .multiply { return unsafe slab.refusing(ref, index) }
    return unsafe slab.memory(ref) + Node.headerSize + index * Int(node.width)
  }

  /// Removes element `index`.
  func closeElement(_ ref: Int, _ index: Int) {
    let node = slab.node(ref), width = Int(node.width)
    if index < 0 || index >= node.count || node.scheme != .multiply { return slab.refuse(ref, index) }
    let base = unsafe slab.memory(ref) + Node.headerSize
    unsafe memmove(base + index * width, base + (index + 1) * width, (node.count - index - 1) * width)
    slab.setCount(ref, node.count - 1)
  }

  /// Returns the leaf in `slot`, dirty, for elements of `width` bytes.
  func elements(_ slot: Slot, width: UInt8) throws(EngineError) -> Int {
    let ref = try dirty(slot), node = slab.node(ref)
    if node.scheme == .multiply && node.width == width { return ref }
    if node.count > 0 || node.hasRefs { throw .damaged("expected elements of \(width) bytes", ref: ref) }
    slab.setHeader(ref, [], .multiply, width: width, count: 0)
    return ref
  }

  // MARK: blobs

  /// Creates a blob of bytes followed by `zeros` zero bytes: one node, or a node of chunks that are all full except the
  /// last. Source: docs/format/1-storage.md S10.
  func makeBlob(_ bytes: UnsafeRawBufferPointer, zeros: Int = 0) -> Int {
    let count = bytes.count + zeros, limit = BlobLimit.data
    if count <= limit { return unsafe makeChunk(bytes, zeros: zeros) }
    let chunks = stride(from: 0, to: count, by: limit).map { start in
      let part = unsafe UnsafeRawBufferPointer(
        rebasing: bytes[min(start, bytes.count)..<min(start + limit, bytes.count)]
      )
      return unsafe Int64(makeChunk(part, zeros: min(limit, count - start) - part.count))
    }
    return slab.makeInts([.hasRefs, .context], chunks)
  }

  private func makeChunk(_ bytes: UnsafeRawBufferPointer, zeros: Int) -> Int {
    let count = bytes.count + zeros
    let ref = slab.make([], .ignore, width: 1, count: count, payload: count)
    let base = unsafe slab.memory(ref) + Node.headerSize
    if let start = bytes.baseAddress, unsafe !bytes.isEmpty { unsafe memcpy(base, start, bytes.count) }
    if zeros > 0 { unsafe memset(base + bytes.count, 0, zeros) }
    return ref
  }

  /// Replaces the bytes `start ..< end` of a dirty blob with `bytes` and `zeros` zero bytes.
  func splice(_ ref: Int, _ start: Int, _ end: Int, _ bytes: UnsafeRawBufferPointer, zeros: Int) {
    let count = slab.node(ref).count, inserted = bytes.count + zeros
    if start < 0 || end < start || end > count || slab.node(ref).scheme != .ignore {
      return slab.refuse(ref, max(start, end))
    }
    let newCount = count - (end - start) + inserted
    slab.reserve(ref, payload: newCount)
    let base = unsafe slab.memory(ref) + Node.headerSize
    if end < count { unsafe memmove(base + start + inserted, base + end, count - end) }
    if let from = bytes.baseAddress, unsafe !bytes.isEmpty { unsafe memmove(base + start, from, bytes.count) }
    if zeros > 0 { unsafe memset(base + start + bytes.count, 0, zeros) }
    slab.setCount(ref, newCount)
  }
}
