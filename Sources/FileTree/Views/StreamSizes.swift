// The sizes of texts that are made while they are read, in one version, where finding one means making all of the text.

import Synchronization

/// Sizes by node.
final class StreamSizes: Sendable {
  private static let most = 4096

  private let sizes = Mutex<[NodeIdentity: Int]>([:])

  /// The size, if it was noted.
  func size(of node: NodeIdentity) -> Int? { sizes.withLock { $0[node] } }

  /// Remembers a size. With too many of them, the others are forgotten.
  func note(_ size: Int, of node: NodeIdentity) {
    sizes.withLock { sizes in
      if sizes.count >= Self.most { sizes = [:] }
      sizes[node] = size
    }
  }
}
