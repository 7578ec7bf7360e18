// Tells the user about damage once, however often the kernel asks for the damaged thing.

import Synchronization

/// Passes lines on that were not passed on before.
final class DamageLog: Sendable {
  private let sink: (@Sendable (String) -> Void)?
  private let told = Mutex<Set<String>>([])

  /// Beyond this many different lines nothing more is said.
  private static let maximumCount = 100

  init(_ sink: (@Sendable (String) -> Void)?) { self.sink = sink }

  /// Logs an error if it tells of damage.
  func note(_ error: FileTreeError) {
    guard let sink, case .damaged = error else { return }
    let line = error.description
    let isNew = told.withLock { $0.count < Self.maximumCount && $0.insert(line).inserted }
    if isNew { sink(line) }
  }
}
