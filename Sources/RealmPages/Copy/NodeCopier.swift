// Copies trees of nodes to the end of a new file, children before parents, by the flag "has refs" alone. Memory grows
// with the depth of the tree, not with its size. Source: docs/format/1-storage.md S4.

/// Appends nodes to a file.
struct NodeCopier {
  let arena: Arena
  let output: FrontToBackWriter
  let path: String
  private let observer: CopyObserver?
  private let expected: Int
  /// Bytes of the file's own nodes that may still come; more than the file has room for is a circle.
  private var budget: Int
  private let effort: Effort
  private var nextReport = 0

  /// A node whose children are being copied.
  private struct Frame {
    let flags: NodeFlags
    /// Where its elements begin in `elements`, of which the last ones are those of the innermost node.
    let start: Int
    /// The element that is next.
    var index: Int
  }

  private var frames: [Frame] = []
  private var elements: [Int64] = []

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
    effort = Effort(arena)
  }

  /// Copies the tree at `ref`; where its root is in the new file. 0 stays 0.
  mutating func copy(_ ref: Int) throws(EngineError) -> Int {
    if ref == 0 { return 0 }
    var made = try enter(ref)
    while let top = frames.indices.last {
      if let ref = made {
        elements[frames[top].index] = Int64(ref)
        frames[top].index += 1
      }
      if let child = nextChild(of: top) {
        made = try enter(child)
      } else {
        let frame = frames.removeLast()
        made = try put(elements[frame.start...], frame.flags)
        elements.removeLast(elements.count - frame.start)
      }
    }
    return made ?? 0
  }

  /// Moves on to the next element of the innermost node that is a ref; nil at the end.
  private mutating func nextChild(of top: Int) -> Int? {
    var index = frames[top].index
    defer { frames[top].index = index }
    while index < elements.count {
      let element = elements[index]
      if element != 0 && element & 1 == 0 { return Int(element) }
      index += 1
    }
    return nil
  }

  /// Copies a node without children and returns its new place; opens one that may have some and returns nil.
  private mutating func enter(_ ref: Int) throws(EngineError) -> Int? {
    if output.position >= nextReport { try report() }
    let node = try node(ref, level: frames.count)
    // Without bits all refs are 0, however many a damaged header counts.
    if node.hasRefs && node.width > 0 {
      frames.append(Frame(flags: node.nodeFlags, start: elements.count, index: elements.count))
      for i in 0..<node.count { unsafe elements.append(PackedBits.signed(node.payload, node.width, i)) }
      return nil
    }
    let place = output.position, size = node.payloadSize
    let header = unsafe (node.payload - Node.headerSize).loadUnaligned(as: UInt64.self)
    try output.append(Node.header(header))
    try unsafe output.append(UnsafeRawBufferPointer(start: node.payload, count: size))
    try output.append(zeros: node.byteSize - Node.headerSize - size)
    return place
  }

  private mutating func node(_ ref: Int, level: Int) throws(EngineError) -> Node {
    do throws(EngineError) {
      let node = try arena.node(ref)
      if ref < arena.limit { budget -= node.byteSize }
      try effort.spend(Node.headerSize, at: ref)
      if budget < 0 { throw .damaged("nodes that are reached twice", ref: ref) }
      if node.hasRefs && node.scheme != .bits { throw .damaged("refs of an unknown width", ref: ref) }
      if level == Self.maximumDepth { throw .damaged("nodes nest too deeply", ref: ref) }
      return node
    } catch { throw error.at(path) }
  }

  /// Appends a node of integers in their least width, or in `width`; where it is.
  func put(_ elements: ArraySlice<Int64>, _ flags: NodeFlags = [], width: UInt8? = nil) throws(EngineError) -> Int {
    let output = output, place = output.position
    let width = width ?? elements.reduce(0) { max($0, PackedBits.width($1)) }
    let size = Node.size(elements.count, width)
    try unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { (bytes) throws(EngineError) in
      guard let base = bytes.baseAddress else { return }
      unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
      unsafe Node.write(elements, width: width, flags, to: base)
      try unsafe output.append(UnsafeRawBufferPointer(bytes))
    }
    return place
  }

  /// Tells the observer, and gives memory back.
  private mutating func report() throws(EngineError) {
    nextReport = output.position + Self.reportStep
    arena.space.dropPages()
    if let observer, !observer(output.position, max(expected, output.position)) {
      throw EngineError(.cancelled, "\(path): interrupted; nothing was changed")
    }
  }
}
