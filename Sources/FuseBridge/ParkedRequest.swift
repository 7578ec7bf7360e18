// Requests that are answered later, on another thread than the one that took them.

import CFuse
import FileTree
import Synchronization

/// A read that waits for bytes.
final class ParkedRequest: @unchecked Sendable {
  // Unchecked: the request is touched by the one call of `answer` that comes first.
  private var request: FuseRequest?
  private let isAnswered = Atomic(false)

  init(_ request: consuming FuseRequest) { self.request = consume request }

  /// Answers, once.
  func answer(_ result: Result<[UInt8], FileTreeError>) {
    if isAnswered.exchange(true, ordering: .acquiringAndReleasing) { return }
    switch result {
    case .success(let bytes): request.take()?.reply(bytes: bytes)
    case .failure(let error): request.take()?.reply(error)
    }
  }
}
