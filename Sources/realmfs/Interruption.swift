// Ctrl-C, SIGTERM and SIGHUP during work that leaves something behind: a thread waits for the signal, clears up, and
// ends the process by it. The work itself need not look, so it ends at once whatever it is doing. Work that leaves
// nothing behind, not even in the lock file, ends by the signal itself. A mount takes over: it has the signal end its
// loop. In either case the signals after the first change nothing.
import CLinux
import Glibc
import RealmPages
import Synchronization
import Threads

/// The wish of the user to stop.
enum Interruption {
  private struct State {
    var cleanups: [(id: Int, action: @Sendable () -> Void)] = []
    var nextID = 0
    var isWatching = false
    /// Whether a signal has come.
    var isEnding = false
    /// What a signal does instead.
    var successor: (@Sendable () -> Void)?
  }

  private static let state = Mutex(State())

  /// The time for clearing up. What waits for other programs is left to them then, as after a crash.
  private static let patience = Duration.milliseconds(700)

  /// From now on SIGINT, SIGTERM and SIGHUP end the process only after the cleanups, and after it has left the sessions
  /// of all realms. A signal that was ignored stays so.
  ///
  /// False if the system has no pipe or no thread to give: then the signals end the process at once.
  @discardableResult
  static func watch() -> Bool {
    let descriptor = clinux_watch_interruptions()
    if descriptor < 0 {
      clinux_unwatch_interruptions()
      return false
    }
    let hasThread = state.withLock { state in
      if !state.isWatching, let thread = Thread({ wait(on: descriptor) }) {
        thread.detach()
        state.isWatching = true
      }
      return state.isWatching
    }
    if !hasThread { clinux_unwatch_interruptions() }
    return hasThread
  }

  /// From now on the first of these signals calls `successor`, once and on another thread, instead of ending the
  /// process; further signals do nothing, up to the end of the process. False as for `watch()`.
  static func handOver(_ successor: @escaping @Sendable () -> Void) -> Bool {
    let isEnding = state.withLock { state in
      state.successor = successor
      return state.isEnding
    }
    // The other thread is about to end the process.
    while isEnding { pause() }
    return watch()
  }

  /// If a signal is ending the process, waits for that: what fails meanwhile fails because of it, and must not end the
  /// process in another way.
  static func awaitEnd() {
    let isEnding = state.withLock { $0.isEnding && $0.successor == nil }
    while isEnding { pause() }
  }

  /// Signals have their usual effect again.
  static func unwatch() { clinux_unwatch_interruptions() }

  /// Has `action` run before a signal ends the process, on another thread than the work, which goes on meanwhile; the
  /// last one registered runs first.
  static func cleaning(_ action: @escaping @Sendable () -> Void) -> Cleanup {
    state.withLock { state in
      state.nextID += 1
      state.cleanups.append((state.nextID, action))
      return Cleanup(id: state.nextID)
    }
  }

  /// An action for the case of an interruption, until the value goes.
  struct Cleanup: ~Copyable {
    fileprivate let id: Int

    deinit {
      let id = id
      state.withLock { state in state.cleanups.removeAll { $0.id == id } }
    }
  }

  /// Waits for a signal and ends the process by it.
  private static func wait(on descriptor: Int32) {
    var byte: UInt8 = 0
    var count: Int
    repeat { count = unsafe read(descriptor, &byte, 1) } while count < 0 && errno == EINTR
    if count != 1 { return }
    let successor = state.withLock { state in
      state.isEnding = true
      return state.successor
    }
    if let successor { return successor() }
    let deadline = MonotonicTime.now.advanced(by: patience)
    // On a further thread, because what is cleared up may wait for a lock.
    if let thread = Thread(clearUp) {
      thread.detach()
      end.locked { while !isClear.load(ordering: .relaxed), end.wait(until: deadline) {} }
    }
    clinux_die_of(Int32(byte))
  }

  private static let end = Monitor()
  private static let isClear = Atomic(false)

  @Sendable private static func clearUp() {
    let cleanups = state.withLock { $0.cleanups }
    for (_, action) in cleanups.reversed() { action() }
    Realm.leaveSessions()
    end.locked {
      isClear.store(true, ordering: .relaxed)
      end.wakeAll()
    }
  }
}
