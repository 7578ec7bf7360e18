// Copies trees of nodes to the end of a new file, children before parents, by the flag "has refs" alone. Memory grows
// with the depth of the tree, not with its size. Source: format/1-storage.md S4.

/// Appends nodes to a file.
struct NodeCopier {
  let arena: Arena
  let output: FrontToBackWriter
  let path: String
  private let observer: CopyObserver?
  private let expected: Int
  /// Bytes of the file's own nodes that may still come; more than the file has room for is a circle.
  private var budget: Int
  private var nextReport = 0

  /// A node whose children are being copied.
  private struct Frame {
    let flags: NodeFlags
    var elements: [Int64]
    var index = 0

    /// Moves on to the next element that is a ref; nil at the end.
    mutating func nextChild() -> Int? {
      while index < elements.count {
        let element = elements[index]
        if element != 0 && element & 1 == 0 { return Int(element) }
        index += 1
      }
      return nil
    }
  }

  private static let reportStep = 1 << 24
  /// Collections nest 100 deep, and each level takes a few nodes.
  private static let maximumDepth = 4096

  /// `expected` is the size that the copy will have, for the observer.
  init(
    _ arena: Arena,
    to output: FrontToBackWriter,
    path: String,
    expected: Int = 0,
    observer: CopyObserver? = nil
  ) {
    self.arena = arena
    self.output = output
    self.path = path
    self.expected = expected
    self.observer = observer
    budget = arena.limit
  }

  /// Copies the tree at `ref`; where its root is in the new file. 0 stays 0.
  mutating func copy(_ ref: Int) throws(CopyError) -> Int {
    if ref == 0 { return 0 }
    var frames: [Frame] = []
    var made = try enter(ref, &frames)
    while let top = frames.indices.last {
      if let ref = made {
        frames[top].elements[frames[top].index] = Int64(ref)
        frames[top].index += 1
      }
      if let child = frames[top].nextChild() {
        made = try enter(child, &frames)
      } else {
        let frame = frames.removeLast()
        made = try put(frame.elements, frame.flags)
      }
    }
    return made ?? 0
  }

  /// Copies a node without children and returns its new place; opens one that may have some and returns nil.
  private mutating func enter(_ ref: Int, _ frames: inout [Frame]) throws(CopyError) -> Int? {
    if output.position >= nextReport { try report() }
    let node = try node(ref, level: frames.count)
    if node.hasRefs {
      var elements: [Int64] = []
      elements.reserveCapacity(node.count)
      for i in 0..<node.count { elements.append(PackedBits.signed(node.payload, node.width, i)) }
      frames.append(Frame(flags: node.nodeFlags, elements: elements))
      return nil
    }
    let place = output.position
    let bytes = UnsafeRawBufferPointer(
      start: node.payload - Node.headerSize,
      count: Node.headerSize + node.payloadSize
    )
    do throws(FileError) {
      // What stands in the place of a checksum differs between writers; nobody reads it.
      try output.append(Self.checksum)
      try output.append(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Self.checksum.count)))
      try output.append(zeros: node.byteSize - bytes.count)
    } catch { throw CopyError(error) }
    return place
  }

  private static let checksum: [UInt8] = [0x41, 0x41, 0x41, 0x41]

  private mutating func node(_ ref: Int, level: Int) throws(CopyError) -> Node {
    do throws(FormatError) {
      let node = try arena.node(ref)
      if ref < arena.limit { budget -= node.byteSize }
      if budget < 0 { throw FormatError("nodes that are reached twice", ref: ref) }
      if node.hasRefs && node.scheme != .bits { throw FormatError("refs of an unknown width", ref: ref) }
      if level == Self.maximumDepth { throw FormatError("nodes nest too deeply", ref: ref) }
      return node
    } catch { throw CopyError(error, path: path) }
  }

  /// Appends a node of integers in their least width, or in `width`; where it is.
  func put(_ elements: [Int64], _ flags: NodeFlags = [], width: UInt8? = nil) throws(CopyError) -> Int {
    let place = output.position
    let width = width ?? elements.reduce(0) { max($0, PackedBits.width($1)) }
    let payload = (elements.count * Int(width) + 7) / 8
    let code: UInt8 = width == 0 ? 0 : UInt8(width.trailingZeroBitCount) + 1
    let count = elements.count, size = Node.headerSize + (payload + 7) & ~7
    var bytes = [UInt8](repeating: 0, count: size)
    for i in Self.checksum.indices { bytes[i] = Self.checksum[i] }
    bytes[4] = flags.rawValue | code
    for i in 0..<3 { bytes[5 + i] = UInt8(truncatingIfNeeded: count >> (16 - 8 * i)) }
    bytes.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      for i in 0..<count { PackedBits.store(base + Node.headerSize, width, i, elements[i]) }
    }
    do throws(FileError) { try output.append(bytes) } catch { throw CopyError(error) }
    return place
  }

  /// Tells the observer, and gives memory back.
  private mutating func report() throws(CopyError) {
    nextReport = output.position + Self.reportStep
    arena.space.dropPages()
    if let observer, !observer(output.position, max(expected, output.position)) {
      throw CopyError(.cancelled, "\(path): interrupted; nothing was changed")
    }
  }
}
