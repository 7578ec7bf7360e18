// Finds nodes without refs to them, by the four bytes with which every writer begins a node.
// Source: docs/format/1-storage.md S4.

/// A scan for nodes at every offset of a file where one can begin.
struct NodeSearch {
  private let space: PageSpace
  private let marks: Set<UInt32>
  /// "AAAA", which writers have stored since format 3.
  private static let mark: UInt32 = 0x4141_4141
  /// The marks of the first writers: a capacity, which is 128 in files, or the byte 1 four times.
  private static let earlyMarks: Set<UInt32> = [0x0080_0000, 0x0101_0101]
  private static let lastEarlyFormat = 3
  /// The number of bytes read before memory is released; a multiple of the page size.
  private static let stretch = 1 << 24

  init(_ space: PageSpace) {
    self.space = space
    let hasHeader = (try? space.require(0, Header.size)) != nil  // a file without a header is searched for "AAAA"
    let early = 1...Self.lastEarlyFormat
    let isEarly = hasHeader && (0...1).contains { early.contains(Header.slot($0, of: space).format) }
    marks = isEarly ? Self.earlyMarks.union([Self.mark]) : [Self.mark]
  }

  /// Calls `body` with the range of each node that ends within the file. Does not search for nodes within nodes.
  func forEachNode(_ body: (Range<Int>) -> Void) {
    var at = Arena.fileHeaderSize
    var end = at + Self.stretch
    for range in space.dataRanges {
      at = max(at, (range.lowerBound + Node.alignment - 1) & ~(Node.alignment - 1))
      while at <= min(range.upperBound, space.size) - Node.headerSize {
        if let size = nodeSize(at) {
          body(at..<at + size)
          at += size
        } else {
          at += Node.alignment
        }
        if at >= end {
          space.dropPages()
          end = at + Self.stretch
        }
      }
    }
  }

  /// The size of the node at `ref` in bytes; nil if there is none.
  private func nodeSize(_ ref: Int) -> Int? {
    // A page that cannot be read contains no node.
    if space.fillsOnDemand, (try? space.require(ref, Node.headerSize)) == nil { return nil }
    let word = space.word(at: ref)
    if !marks.contains(UInt32(truncatingIfNeeded: word)) || space.size - ref < Node.headerSize { return nil }
    guard let node = unsafe Node(header: space.base + ref, ref: ref), node.byteSize <= space.size - ref else {
      return nil
    }
    // A node of refs is always an array of integers.
    return node.hasRefs && node.scheme != .bits ? nil : node.byteSize
  }
}
