// Requests that are answered later, possibly on another thread.

import CFuse
import FileTree
import Synchronization

/// A read whose reply is delayed.
final class ParkedRequest: @unchecked Sendable {
  // Unchecked: only the first call of `answer` accesses the request.
  private var request: FuseRequest?
  private let isAnswered = Atomic(false)

  init(_ request: consuming FuseRequest) { self.request = consume request }

  /// Replies; does nothing after the first call.
  func answer(_ result: Result<[UInt8], FileTreeError>) {
    if isAnswered.exchange(true, ordering: .acquiringAndReleasing) { return }
    switch result {
    case .success(let bytes): request.take()?.reply(bytes: bytes)
    case .failure(let error): request.take()?.reply(error)
    }
  }
}
