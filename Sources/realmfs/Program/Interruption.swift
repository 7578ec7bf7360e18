// Handles Ctrl-C, SIGTERM and SIGHUP during work that has to clean up: a thread waits for the signal, cleans up, and
// ends the process by that signal. The work need not poll: it ends at once, whatever its state. Work that leaves
// nothing behind, not even in the lock file, is ended by the signal itself. A mount takes over the handling: the signal
// ends its loop. In either case, signals after the first have no effect.
import CLinux
import Glibc
import RealmPages
import Synchronization
import Threads

/// Interruption of the process by a signal.
enum Interruption {
  private struct State {
    var cleanups: [(id: Int, action: @Sendable () -> Void)] = []
    var nextID = 0
    var isWatching = false
    /// True once a signal has arrived.
    var isEnding = false
    /// The action that a signal triggers instead of ending the process.
    var successor: (@Sendable () -> Void)?
  }

  private static let state = Mutex(State())

  /// The time limit for cleaning up. A cleanup that waits longer for other programs is left to them, as after a crash.
  private static let timeout = Duration.milliseconds(700)

  /// Makes SIGINT, SIGTERM and SIGHUP end the process only after the cleanups have run and the process has left the
  /// sessions of all realms. A signal that was ignored remains ignored.
  ///
  /// Returns false if no pipe or thread can be created; the signals then end the process at once.
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

  /// Makes the first of these signals call `successor`, once and on another thread, instead of ending the process.
  /// Further signals have no effect until the process ends. Returns false as `watch()` does.
  static func onFirstSignal(_ successor: @escaping @Sendable () -> Void) -> Bool {
    let isEnding = state.withLock { state in
      state.successor = successor
      return state.isEnding
    }
    // The other thread is about to end the process.
    while isEnding { pause() }
    return watch()
  }

  /// If a signal is ending the process, waits for the end. Failures during that time are caused by the signal and must
  /// not end the process in another way.
  static func awaitEnd() {
    let isEnding = state.withLock { $0.isEnding && $0.successor == nil }
    while isEnding { pause() }
  }

  /// Restores the usual effect of the signals.
  static func unwatch() { clinux_unwatch_interruptions() }

  /// Registers `action` to run before a signal ends the process. Actions run on another thread while the work
  /// continues, in reverse order of registration.
  static func cleaning(_ action: @escaping @Sendable () -> Void) -> Cleanup {
    state.withLock { state in
      state.nextID += 1
      state.cleanups.append((state.nextID, action))
      return Cleanup(id: state.nextID)
    }
  }

  /// A registered cleanup action; destroying the value removes it.
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
    let deadline = MonotonicTime.now.advanced(by: timeout)
    // Clean up on another thread, because the cleanup may wait for a lock.
    if let thread = Thread(runCleanups) {
      thread.detach()
      end.locked { while !isClear.load(ordering: .relaxed), end.wait(until: deadline) {} }
    }
    clinux_die_of(Int32(byte))
  }

  private static let end = Monitor()
  private static let isClear = Atomic(false)

  @Sendable private static func runCleanups() {
    let cleanups = state.withLock { $0.cleanups }
    for (_, action) in cleanups.reversed() { action() }
    Realm.leaveSessions()
    end.locked {
      isClear.store(true, ordering: .relaxed)
      end.wakeAll()
    }
  }
}
