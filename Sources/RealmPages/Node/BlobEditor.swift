// Edits leaves of strings and binaries, which are converted to the next form when a value needs it and never back.
// Source: docs/format/1-storage.md S8 to S10.

import Glibc

/// Size limits of values. Source: docs/format/2-model.md M12.
enum BlobLimit {
  static let string = 16_777_199
  static let data = 16_777_200
  /// The longest string of the short form.
  static let shortString = 15
  /// The longest string of the small-blobs form; binaries may have one byte more.
  static let smallString = 63
}

extension NodeEditor {
  /// Creates an empty leaf of strings.
  func makeStrings() -> Int { slab.make([], .multiply, width: 0, count: 0, payload: 16) }

  /// Creates an empty leaf of binaries.
  func makeBinaries() -> Int { makeSmallBlobs() }

  private func makeSmallBlobs() -> Int {
    slab.makeInts(
      .hasRefs,
      [
        Int64(slab.makeInts()), Int64(slab.make([], .ignore, width: 1, count: 0, payload: 64)), Int64(slab.makeInts()),
      ]
    )
  }

  // MARK: strings

  /// Inserts a string (nil: null) before element `index` of the leaf in `slot`.
  func insertString(_ slot: Slot, _ index: Int, _ value: UnsafeRawBufferPointer?) throws(EngineError) {
    let ref = try unsafe stringLeaf(slot, room: value?.count ?? 0)
    let node = slab.node(ref)
    if !node.hasRefs {
      let width = unsafe Self.shortWidth(value?.count)
      if width > node.width { widenShort(ref, to: width) }
      unsafe writeShort(openElement(ref, index), Int(slab.node(ref).width), value)
    } else if node.hasContext {
      unsafe slab.insertInt(ref, index, Int64(value.map { unsafe makeBlob($0, zeros: 1) } ?? 0))
    } else {
      try unsafe insertSmall(ref, index, value, zeros: 1)
    }
  }

  /// Replaces element `index` of the leaf in `slot`.
  func setString(_ slot: Slot, _ index: Int, _ value: UnsafeRawBufferPointer?) throws(EngineError) {
    let ref = try unsafe stringLeaf(slot, room: value?.count ?? 0)
    let node = slab.node(ref)
    if !node.hasRefs {
      let width = unsafe Self.shortWidth(value?.count)
      if width > node.width { widenShort(ref, to: width) }
      unsafe writeShort(element(ref, index), Int(slab.node(ref).width), value)
    } else if node.hasContext {
      try unsafe setBig(ref, index, value.map { unsafe makeBlob($0, zeros: 1) } ?? 0)
    } else {
      try unsafe setSmall(ref, index, value, zeros: 1)
    }
  }

  /// Removes element `index` of the leaf of strings in `slot`, in any form except the enumerated one.
  func removeString(_ slot: Slot, _ index: Int) throws(EngineError) {
    let ref = try dirty(slot)
    let node = slab.node(ref)
    if !node.hasRefs {
      closeElement(ref, index)
    } else {
      try removeBlob(ref, index, zeros: 1)
    }
  }

  /// The width for a string of `count` bytes (nil: null) in the short form.
  static func shortWidth(_ count: Int?) -> UInt8 {
    guard let count else { return 0 }
    return count == 0 ? 1 : count < 2 ? 2 : count < 4 ? 4 : count < 8 ? 8 : 16
  }

  /// Writes an element of the short form.
  func writeShort(_ target: UnsafeMutableRawPointer, _ width: Int, _ value: UnsafeRawBufferPointer?) {
    if width == 0 { return }
    unsafe memset(target, 0, width)
    guard let value = unsafe value else {
      unsafe target.storeBytes(of: UInt8(width), toByteOffset: width - 1, as: UInt8.self)
      return
    }
    if let start = value.baseAddress, unsafe !value.isEmpty { unsafe memcpy(target, start, value.count) }
    unsafe target.storeBytes(of: UInt8(width - 1 - value.count), toByteOffset: width - 1, as: UInt8.self)
  }

  /// Widens the elements of a leaf of the short form.
  func widenShort(_ ref: Int, to width: UInt8) {
    let old = slab.node(ref), oldWidth = Int(old.width), newWidth = Int(width)
    slab.reserve(ref, payload: (old.count + 1) * newWidth)
    let base = unsafe slab.memory(ref) + Node.headerSize
    var i = old.count - 1
    unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { temporary in
      guard let scratch = temporary.baseAddress else { return }
      while i >= 0 {
        var count: Int?
        if oldWidth > 0 {
          unsafe memcpy(scratch, base + i * oldWidth, oldWidth)
          let unused = unsafe Int(scratch.load(fromByteOffset: oldWidth - 1, as: UInt8.self))
          if unused < oldWidth { count = oldWidth - 1 - unused }
        }
        unsafe writeShort(
          base + i * newWidth,
          newWidth,
          count.map { unsafe UnsafeRawBufferPointer(start: scratch, count: $0) }
        )
        i -= 1
      }
    }
    slab.setHeader(ref, [], .multiply, width: width, count: old.count)
  }

  /// Returns the leaf in `slot`, dirty and in a form that can hold a string of `count` bytes.
  func stringLeaf(_ slot: Slot, room count: Int) throws(EngineError) -> Int {
    let ref = try dirty(slot)
    let node = slab.node(ref)
    if !node.hasRefs && node.scheme == .multiply && count > BlobLimit.shortString {
      return try convert(slot, ref, isText: true, toBig: count > BlobLimit.smallString)
    }
    if node.hasRefs && !node.hasContext && count > BlobLimit.smallString {
      return try convert(slot, ref, isText: true, toBig: true)
    }
    return ref
  }

  /// Copies a leaf into a new one of a larger form, which replaces it in its slot.
  private func convert(_ slot: Slot, _ ref: Int, isText: Bool, toBig: Bool) throws(EngineError) -> Int {
    let zeros = isText ? 1 : 0
    let new = toBig ? slab.makeInts([.hasRefs, .context]) : makeSmallBlobs()
    func append(_ index: Int, _ value: ByteView?) throws(EngineError) {
      if toBig {
        slab.insertInt(new, index, Int64(value.map { unsafe makeBlob($0.unsafeBytes, zeros: zeros) } ?? 0))
      } else {
        try unsafe insertSmall(new, index, value?.unsafeBytes, zeros: zeros)
      }
    }
    if isText {
      let old = try StringLeaf(arena, ref)
      for i in 0..<old.count { try append(i, old.value(i, arena)) }
    } else {
      let old = try BlobLeaf(arena, arena.node(ref), isText: false)
      for i in 0..<old.count { try append(i, old.value(i, arena)) }
    }
    try slab.dropTree(ref, arena)
    set(slot, new)
    return new
  }

  // MARK: binaries

  /// Inserts a binary (nil: null) before element `index` of the leaf in `slot`.
  func insertBinary(_ slot: Slot, _ index: Int, _ value: UnsafeRawBufferPointer?) throws(EngineError) {
    let ref = try unsafe binaryLeaf(slot, room: value?.count ?? 0)
    if slab.node(ref).hasContext {
      unsafe slab.insertInt(ref, index, Int64(value.map { unsafe makeBlob($0) } ?? 0))
    } else {
      try unsafe insertSmall(ref, index, value, zeros: 0)
    }
  }

  /// Replaces element `index` of the leaf in `slot`.
  func setBinary(_ slot: Slot, _ index: Int, _ value: UnsafeRawBufferPointer?) throws(EngineError) {
    let ref = try unsafe binaryLeaf(slot, room: value?.count ?? 0)
    if slab.node(ref).hasContext {
      try unsafe setBig(ref, index, value.map { unsafe makeBlob($0) } ?? 0)
    } else {
      try unsafe setSmall(ref, index, value, zeros: 0)
    }
  }

  /// Replaces element `index` of the leaf in `slot` with a large blob created before.
  func setBinary(_ slot: Slot, _ index: Int, blob: Int) throws(EngineError) {
    try setBig(binaryLeaf(slot, room: .max), index, blob)
  }

  /// Removes element `index` of the leaf of binaries in `slot`.
  func removeBinary(_ slot: Slot, _ index: Int) throws(EngineError) {
    try removeBlob(try dirty(slot), index, zeros: 0)
  }

  /// Returns the leaf in `slot`, dirty and in a form that can hold a binary of `count` bytes.
  func binaryLeaf(_ slot: Slot, room count: Int) throws(EngineError) -> Int {
    let ref = try dirty(slot)
    if !slab.node(ref).hasContext && count > BlobLimit.smallString + 1 {
      return try convert(slot, ref, isText: false, toBig: true)
    }
    return ref
  }

  // MARK: strings and binaries

  /// Replaces a blob. The new one (0 for null) already exists, as its bytes may have come from the old one.
  private func setBig(_ ref: Int, _ index: Int, _ new: Int) throws(EngineError) {
    let old = try slab.node(ref).child(index)
    if old != 0 { try slab.dropTree(old, arena) }
    slab.setInt(ref, index, Int64(new))
  }

  private func insertSmall(_ root: Int, _ index: Int, _ value: UnsafeRawBufferPointer?, zeros: Int) throws(EngineError)
  {
    let ends = try slab.child(root, 0, arena), blob = try slab.child(root, 1, arena)
    let nulls = try slab.child(root, 2, arena)
    let start = index == 0 ? 0 : Int(slab.int(ends, index - 1))
    let size = unsafe (value?.count ?? 0) + zeros
    unsafe splice(blob, start, start, value ?? UnsafeRawBufferPointer(start: nil, count: 0), zeros: zeros)
    slab.insertInt(ends, index, Int64(start + size))
    shift(ends, from: index + 1, size)
    unsafe slab.insertInt(nulls, index, value == nil ? 1 : 0)
  }

  private func setSmall(_ root: Int, _ index: Int, _ value: UnsafeRawBufferPointer?, zeros: Int) throws(EngineError) {
    let ends = try slab.child(root, 0, arena), blob = try slab.child(root, 1, arena)
    let nulls = try slab.child(root, 2, arena)
    let start = index == 0 ? 0 : Int(slab.int(ends, index - 1)), end = Int(slab.int(ends, index))
    unsafe splice(blob, start, end, value ?? UnsafeRawBufferPointer(start: nil, count: 0), zeros: zeros)
    unsafe shift(ends, from: index, (value?.count ?? 0) + zeros - (end - start))
    unsafe slab.setInt(nulls, index, value == nil ? 1 : 0)
  }

  private func removeBlob(_ root: Int, _ index: Int, zeros: Int) throws(EngineError) {
    if slab.node(root).hasContext {
      let blob = try slab.node(root).child(index)
      if blob != 0 { try slab.dropTree(blob, arena) }
      slab.removeInt(root, index)
      return
    }
    let ends = try slab.child(root, 0, arena), blob = try slab.child(root, 1, arena)
    let nulls = try slab.child(root, 2, arena)
    let start = index == 0 ? 0 : Int(slab.int(ends, index - 1)), end = Int(slab.int(ends, index))
    unsafe splice(blob, start, end, UnsafeRawBufferPointer(start: nil, count: 0), zeros: 0)
    slab.removeInt(ends, index)
    shift(ends, from: index, start - end)
    slab.removeInt(nulls, index)
  }

  private func shift(_ ends: Int, from index: Int, _ delta: Int) {
    if delta == 0 { return }
    for i in index..<max(index, slab.node(ends).count) { slab.setInt(ends, i, slab.int(ends, i) + Int64(delta)) }
  }
}
