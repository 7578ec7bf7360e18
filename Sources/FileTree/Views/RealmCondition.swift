// Tracks the condition of the realm file while it is mounted: moved, removed, replaced, encrypted, unreadable. Each
// change is reported once, in the log and in `.realm/errors`, because users of the mount may never look at the file
// itself.

import RealmPages
import Synchronization

/// The last known condition of the realm file.
final class RealmCondition: Sendable {
  private struct State {
    var location: FileLocation?
    /// The reason why the realm cannot be read; nil if it can be read.
    var problem: String?
  }

  private let path: String
  private let report: @Sendable (String) -> Void
  private let state = Mutex(State())
  /// A copy of the state for checks without the lock: the packed location, or -1 while there is a problem.
  private let quick = Atomic<Int>(-1)

  /// Reports changes of the realm at `path`.
  init(_ path: String, _ report: @escaping @Sendable (String) -> Void) {
    (self.path, self.report) = (path, report)
  }

  /// Records that the realm could be read.
  @inline(__always)
  func note(_ location: FileLocation) {
    if quick.load(ordering: .relaxed) != location.packed { change(to: location) }
  }

  private func change(to location: FileLocation) {
    let texts = state.withLock { state -> [String] in
      defer { state = State(location: location) }
      quick.store(location.packed, ordering: .relaxed)
      return Self.texts(from: state.location, to: location, hadProblem: state.problem != nil)
    }
    for text in texts { report("\(path): \(text)") }
  }

  /// Records that the realm cannot be read.
  func note(_ error: EngineError) {
    let isNew = state.withLock { state in
      defer { state.problem = error.description }
      quick.store(-1, ordering: .relaxed)
      return state.problem != error.description
    }
    if isNew { report("the realm cannot be shown: \(error)\(Self.advice(error.reason))") }
  }

  /// Advice for errors whose cause is a change since the realm was mounted.
  private static func advice(_ reason: EngineError.Reason) -> String {
    switch reason {
    case .keyNeeded: "; it was replaced since it was mounted: mount it again with its key, or put the former file back"
    case .wrongKey: "; its key changed since it was mounted: mount it again with that, or put the former file back"
    default: ""
    }
  }

  private static func texts(from former: FileLocation?, to location: FileLocation, hadProblem: Bool) -> [String] {
    var texts: [String] = []
    let hasMoved = former.map { $0.place != location.place } ?? (location.place != .here)
    switch location.place {
    case .gone where hasMoved:
      texts.append("the realm was moved or removed; its content is shown, and changes are refused until it is back")
    case .shared where hasMoved:
      texts.append(
        "the realm was moved, replaced or removed while programs have it open; their file is shown, and "
          + "changes are refused until they close it"
      )
    case .otherName where hasMoved:
      texts.append("the realm is in use under another name (a link, or the name that it had before); changes must wait")
    case .untrusted where hasMoved:
      texts.append(
        "the realm belongs to another user, so root reads it without locks, as with --immutable; --trust-owner "
          + "takes locks"
      )
    default: break
    }
    guard let former else { return texts }
    if former.generation != location.generation {
      texts.append("another file is there now; it is shown from now on")
    } else if hadProblem || hasMoved && location.place == .here {
      texts.append("the realm is available again")
    }
    if former.isEncrypted && !location.isEncrypted { texts.append("it is no longer encrypted; the key is not used") }
    if !former.isEncrypted && location.isEncrypted { texts.append("it is encrypted again, with the key of this mount") }
    return texts
  }
}
