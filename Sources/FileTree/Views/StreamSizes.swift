// The sizes of texts of one version that are generated while they are read. Computing such a size requires generating
// the complete text.

import Synchronization

/// Sizes by node.
final class StreamSizes: Sendable {
  private static let most = 4096

  private let sizes = Mutex<[NodeIdentity: Int]>([:])

  /// The size, if it is known.
  func size(of node: NodeIdentity) -> Int? { sizes.withLock { $0[node] } }

  /// Stores a size. If there are too many, discards the others.
  func note(_ size: Int, of node: NodeIdentity) {
    sizes.withLock { sizes in
      if sizes.count >= Self.most { sizes = [:] }
      sizes[node] = size
    }
  }
}
