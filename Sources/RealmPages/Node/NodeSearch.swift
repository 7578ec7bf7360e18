// Finds nodes without a ref to them, by the bytes "AAAA" that every node begins with.
// Source: docs/format/1-storage.md S4.

/// A search for nodes at every place of a file where one can begin.
struct NodeSearch {
  private let space: PageSpace
  private static let mark: UInt32 = 0x4141_4141
  /// A multiple of the page size: so many bytes are read before memory is given back.
  private static let stretch = 1 << 24

  init(_ space: PageSpace) { self.space = space }

  /// Calls `body` with the place of each node that ends within the file. Nodes within nodes are not looked for.
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

  /// The bytes of the node at `ref`; nil where there is none.
  private func nodeSize(_ ref: Int) -> Int? {
    // A page that cannot be read holds no node.
    if space.fillsOnDemand, (try? space.require(ref, Node.headerSize)) == nil { return nil }
    let word = space.word(at: ref)
    if UInt32(truncatingIfNeeded: word) != Self.mark || space.size - ref < Node.headerSize { return nil }
    guard let node = unsafe Node(header: space.base + ref, ref: ref), node.byteSize <= space.size - ref else {
      return nil
    }
    // No node refers to others without being an array of integers.
    return node.hasRefs && node.scheme != .bits ? nil : node.byteSize
  }
}
