// Ctrl-C and SIGTERM during work that would leave something half-made: the work looks here now and then, clears up, and
// the process ends by the signal as if it had not been caught.
import Glibc
import Synchronization

/// The wish of the user to stop.
enum Interruption {
  private static let signal = Atomic<Int32>(0)

  /// From now on SIGINT, SIGTERM and SIGHUP are only noted. A signal that was ignored stays so.
  static func watch() {
    // The value exists before the handler can need it.
    _ = signal.load(ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      var action = sigaction()
      sigaction(number, nil, &action)
      if action.isIgnored { continue }
      action.__sigaction_handler.sa_handler = { number in
        // A second Ctrl-C finds the usual end.
        Interruption.signal.store(number, ordering: .relaxed)
        Glibc.signal(number, SIG_DFL)
      }
      // Without SA_RESTART, so that a read from a terminal ends.
      action.sa_flags = 0
      sigaction(number, &action, nil)
    }
  }

  /// Signals have their usual effect again.
  static func unwatch() {
    for number in [SIGINT, SIGTERM, SIGHUP] {
      var action = sigaction()
      sigaction(number, nil, &action)
      if !action.isIgnored { Glibc.signal(number, SIG_DFL) }
    }
  }

  /// Whether a signal has come.
  static var isRequested: Bool { signal.load(ordering: .relaxed) != 0 }

  /// Ends the work if a signal has come.
  static func check() throws(CommandFailure) {
    if isRequested { throw CommandFailure(.failure, "interrupted: nothing was left behind") }
  }

  /// Ends the process by the signal that has come, if one has.
  static func endProcess() {
    let number = signal.load(ordering: .relaxed)
    if number == 0 { return }
    Glibc.signal(number, SIG_DFL)
    raise(number)
  }
}

extension sigaction {
  fileprivate var isIgnored: Bool {
    sa_flags & SA_SIGINFO == 0 && unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == 1
  }
}
