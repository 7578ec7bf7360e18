// Copies trees of nodes to the end of a new file, children before parents. Only the flag "has refs" is used to find
// children. Memory grows with the depth of the tree, not with its size. Source: docs/format/1-storage.md S4.

/// Appends nodes to a file.
struct NodeCopier {
  let arena: Arena
  let output: FrontToBackWriter
  let path: String
  private let observer: CopyObserver?
  private let expected: Int
  /// The remaining bytes for nodes of the source file. Below zero, nodes were reached more than once.
  private var budget: Int
  private let effort: Effort
  private var nextReport = 0

  /// A node whose children are being copied.
  private struct Frame {
    let flags: NodeFlags
    /// The index in `elements` of its first element; the elements of the innermost node are the last ones.
    let start: Int
    /// The index of the next element.
    var index: Int
  }

  private var frames: [Frame] = []
  private var elements: [Int64] = []

  private static let reportStep = 1 << 24
  /// Collections nest up to 100 levels deep, and each level uses a few nodes.
  private static let maximumDepth = 4096

  /// `expected` is the expected size of the copy, for the observer.
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

  /// Copies the tree at `ref` and returns the ref of its root in the new file. 0 stays 0.
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

  /// Advances to the next element of the innermost node that is a ref; nil at the end.
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

  /// Copies a node without children and returns its new ref, or opens a node that may have children and returns nil.
  private mutating func enter(_ ref: Int) throws(EngineError) -> Int? {
    if output.position >= nextReport { try report() }
    let node = try node(ref, level: frames.count)
    // With width 0 all refs are 0, whatever count a damaged header has.
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
      if node.hasRefs && node.scheme != .bits { throw .damaged("refs in a node with an unsupported scheme", ref: ref) }
      if level == Self.maximumDepth { throw .damaged("nodes nest too deeply", ref: ref) }
      return node
    } catch { throw error.at(path) }
  }

  /// Appends a node of integers in the smallest width that fits, or in `width`, and returns its ref.
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

  /// Reports progress to the observer, and drops mapped pages from memory.
  private mutating func report() throws(EngineError) {
    nextReport = output.position + Self.reportStep
    arena.space.dropPages()
    if let observer, !observer(output.position, max(expected, output.position)) {
      throw EngineError(.cancelled, "\(path): interrupted; nothing was changed")
    }
  }
}
