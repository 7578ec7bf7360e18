// A blob that is built piece by piece. Source: docs/format/1-storage.md S10.

import Glibc

/// Bytes that become a blob: the latest in an array, earlier ones in nodes of the transaction, so that many bytes are
/// spilled like its other nodes.
struct GrowingBlob {
  /// The bytes that are not in a node yet. Code that appends calls `storeIfMany` from time to time.
  var bytes: [UInt8] = []
  private let slab: Slab
  /// The nodes, all full except the last, as `NodeEditor.makeBlob` creates them.
  private var chunks: [Int] = []
  private var stored = 0

  /// The number of bytes from which they are moved to a node.
  static let most = 1 << 20

  /// Creates an empty blob in a transaction.
  init(_ slab: Slab) { self.slab = slab }

  /// The number of bytes in total.
  var count: Int { stored + bytes.count }

  /// True if all bytes are in the array.
  var isSmall: Bool { chunks.isEmpty }

  /// Moves the bytes to a node if there are many.
  @inline(__always)
  mutating func storeIfMany() { if bytes.count >= Self.most { store() } }

  @inline(never)
  private mutating func store() {
    let limit = BlobLimit.data
    var rest = bytes[...]
    while !rest.isEmpty {
      if stored == chunks.count * limit {
        // Reserve the full size at once: a node that grows is copied.
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

  /// Returns the root of the finished blob. Nothing may be appended afterwards.
  mutating func finish() -> Int {
    store()
    if chunks.count == 1 { return chunks[0] }
    return slab.makeInts([.hasRefs, .context], chunks.map { Int64($0) })
  }
}
