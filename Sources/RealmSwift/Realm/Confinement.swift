// The confinement of a realm to one thread, one queue or one actor. Frozen realms may be used everywhere.

import Dispatch
import Glibc

/// The thread, queue or actor that may use a realm.
enum Confinement {
  case thread(pthread_t)
  case queue(DispatchQueue)
  case actor(any Actor)
  /// A frozen realm.
  case everywhere

  /// The calling thread.
  static var current: Confinement { .thread(pthread_self()) }

  /// A value that differs between confinements for as long as they exist.
  var identity: UInt {
    switch self {
    case .thread(let thread): UInt(thread)
    case .queue(let queue): UInt(bitPattern: ObjectIdentifier(queue))
    case .actor(let actor): UInt(bitPattern: ObjectIdentifier(actor))
    case .everywhere: 0
    }
  }

  /// Ends the process if the caller is outside the confinement.
  @inline(__always)
  func check() {
    switch self {
    case .thread(let thread):
      if pthread_equal(thread, pthread_self()) == 0 { Misuse.stop("Realm accessed from incorrect thread.") }
    case .queue(let queue): dispatchPrecondition(condition: .onQueue(queue))
    case .actor(let actor): actor.preconditionIsolated("Realm accessed from incorrect thread.")
    case .everywhere: break
    }
  }
}
