// Index entries of single objects, batched so that their objects are read in approximate file order. The index lists
// them in arbitrary order, so each could load other pages of the file.

/// Entries whose objects have not been checked yet.
struct IndexBatch {
  /// An entry: the object, the index keys that lead to it, and the node that contains it.
  typealias Entry = (object: Int64, path: ArraySlice<Int32>, ref: Int)

  private var objects: [Int64] = []
  /// The concatenated paths of all entries, and the position where each ends.
  private var words: [Int32] = []
  private var ends: [Int32] = []
  /// Each node and the position of its first entry.
  private var nodes: [(ref: Int, first: Int)] = []

  /// Limits a batch to ten megabytes. Smaller batches would require more passes over the objects of a large table.
  private static let maxWords = 1 << 19
  /// For a table of ten million objects, the objects of a bucket are mostly in one cluster.
  private static let bucketBits = 16

  var isEmpty: Bool { objects.isEmpty }
  var isFull: Bool { words.count >= Self.maxWords }

  mutating func append(_ object: Int64, _ path: [Int32], ref: Int) {
    if nodes.last?.ref != ref { nodes.append((ref, objects.count)) }
    objects.append(object)
    words += path
    ends.append(Int32(truncatingIfNeeded: words.count))
  }

  /// Removes all entries but keeps their memory.
  mutating func removeAll() {
    objects.removeAll(keepingCapacity: true)
    words.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    nodes.removeAll(keepingCapacity: true)
  }

  private func path(_ index: Int) -> Range<Int> { (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index]) }

  /// Returns the object of an entry.
  func object(_ index: Int) -> Int64 { objects[index] }

  /// Returns true if the entry's path consists of the index keys of `data`.
  func leads(_ index: Int, to data: IndexData) -> Bool {
    var offset = 0
    for place in path(index) {
      if data.key(offset) != words[place] { return false }
      offset += 4
    }
    return true
  }

  /// Calls `body` for each entry in insertion order.
  func forEach(_ body: (Entry) -> Void) {
    for (position, node) in nodes.enumerated() {
      let end = position + 1 < nodes.count ? nodes[position + 1].first : objects.count
      for index in node.first..<end {
        body((objects[index], words[path(index)], node.ref))
      }
    }
  }

  /// Returns the positions of all entries, sorted by approximate object key.
  func byObject() -> [Int32] {
    guard let low = objects.min(), let high = objects.max() else { return [] }
    func distance(_ object: Int64) -> UInt64 { UInt64(bitPattern: object &- low) }
    let shift = max(0, UInt64.bitWidth - distance(high).leadingZeroBitCount - Self.bucketBits)
    var starts = [Int32](repeating: 0, count: 1 << Self.bucketBits + 1)
    for object in objects { starts[Int(distance(object) >> UInt64(shift)) + 1] += 1 }
    for bucket in starts.indices.dropFirst() { starts[bucket] += starts[bucket - 1] }
    var order = [Int32](repeating: 0, count: objects.count)
    for (index, object) in objects.enumerated() {
      let bucket = Int(distance(object) >> UInt64(shift))
      order[Int(starts[bucket])] = Int32(truncatingIfNeeded: index)
      starts[bucket] += 1
    }
    return order
  }
}
