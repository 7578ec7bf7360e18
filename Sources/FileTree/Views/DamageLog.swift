// Reports damage once, no matter how often the kernel requests the damaged object.

import Synchronization

/// Forwards lines that were not forwarded before.
final class DamageLog: Sendable {
  private let sink: @Sendable (String) -> Void
  private let reported = Mutex<Set<String>>([])

  /// The maximum number of different lines forwarded.
  private static let maxLines = 100

  init(_ sink: @escaping @Sendable (String) -> Void) { self.sink = sink }

  /// Reports `error` if it indicates damage.
  func note(_ error: FileTreeError) {
    guard case .damaged = error else { return }
    let line = error.description
    let isNew = reported.withLock { $0.count < Self.maxLines && $0.insert(line).inserted }
    if isNew { sink(line) }
  }
}
