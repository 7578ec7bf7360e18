// A blob in the making. Source: docs/format/1-storage.md S10.

import Glibc

/// Bytes that become a blob: the newest in an array, those before them in nodes of the transaction, so that many bytes
/// take no more memory than its other nodes.
struct GrowingBlob {
  /// The bytes that are in no node. Whoever adds some calls `storeIfMany` from time to time.
  var bytes: [UInt8] = []
  private let slab: Slab
  /// The nodes, all full but the last; as `NodeEditor.makeBlob` makes them.
  private var chunks: [Int] = []
  private var stored = 0

  /// From so many bytes on, they go to a node.
  static let most = 1 << 20

  /// An empty one of a transaction.
  init(_ slab: Slab) { self.slab = slab }

  /// The number of all bytes.
  var count: Int { stored + bytes.count }

  /// Whether all bytes are in the array.
  var isSmall: Bool { chunks.isEmpty }

  /// Moves the bytes to a node if they are many.
  @inline(__always)
  mutating func storeIfMany() { if bytes.count >= Self.most { store() } }

  @inline(never)
  private mutating func store() {
    let limit = BlobLimit.data
    var rest = bytes[...]
    while !rest.isEmpty {
      if stored == chunks.count * limit {
        // With all its room at once: a node that grows is copied.
        chunks.append(slab.make([], .ignore, width: 1, count: 0, payload: limit))
      }
      let chunk = chunks[chunks.count - 1], used = slab.node(chunk).count
      let part = rest.prefix(limit - used)
      unsafe part.withUnsafeBytes { part in
        if let from = part.baseAddress {
          unsafe memcpy(slab.memory(chunk) + Node.headerSize + used, from, part.count)
        }
      }
      slab.setCount(chunk, used + part.count)
      stored += part.count
      rest = rest.dropFirst(part.count)
    }
    bytes.removeAll(keepingCapacity: true)
  }

  /// The root of the blob, with all bytes. Nothing is added after it.
  mutating func finish() -> Int {
    store()
    if chunks.count == 1 { return chunks[0] }
    return slab.makeInts([.hasRefs, .context], chunks.map { Int64($0) })
  }
}
