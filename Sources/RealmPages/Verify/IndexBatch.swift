// Entries of a search index with one object each, gathered so that the objects are read in about the order in which the
// file has them. The index leads to them in any order, and each would bring other pages of the file into memory.

/// Entries that wait until their objects are looked at.
struct IndexBatch {
  /// An entry: the object, the index keys that lead to it, and the node that it is in.
  typealias Entry = (object: Int64, path: ArraySlice<Int32>, ref: Int)

  private var objects: [Int64] = []
  /// The paths of all entries, and where each ends.
  private var words: [Int32] = []
  private var ends: [Int32] = []
  /// Each node, and its first entry.
  private var nodes: [(ref: Int, first: Int)] = []

  /// Ten megabytes in all. With fewer entries, the objects of a large table are gone through more often.
  private static let mostWords = 1 << 19
  /// Of a table of ten million objects, those of a bucket are mostly in one cluster.
  private static let bucketBits = 16

  var isEmpty: Bool { objects.isEmpty }
  var isFull: Bool { words.count >= Self.mostWords }

  mutating func append(_ object: Int64, _ path: [Int32], ref: Int) {
    if nodes.last?.ref != ref { nodes.append((ref, objects.count)) }
    objects.append(object)
    words += path
    ends.append(Int32(truncatingIfNeeded: words.count))
  }

  /// Forgets all entries, but not their memory.
  mutating func removeAll() {
    objects.removeAll(keepingCapacity: true)
    words.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    nodes.removeAll(keepingCapacity: true)
  }

  private func path(_ index: Int) -> Range<Int> { (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index]) }

  /// The object of an entry.
  func object(_ index: Int) -> Int64 { objects[index] }

  /// Whether a value is where the entry is.
  func leads(_ index: Int, to data: IndexData) -> Bool {
    var offset = 0
    for place in path(index) {
      if data.key(offset) != words[place] { return false }
      offset += 4
    }
    return true
  }

  /// The entries in the order in which they came.
  func forEach(_ body: (Entry) -> Void) {
    for (position, node) in nodes.enumerated() {
      let end = position + 1 < nodes.count ? nodes[position + 1].first : objects.count
      for index in node.first..<end {
        body((objects[index], words[path(index)], node.ref))
      }
    }
  }

  /// The positions of all entries, near objects near each other.
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
