// The loop that serves a mount, and its end. libfuse looks at a flag before it waits for the kernel or for its threads,
// so who sets the flag wakes the waiting thread again and again until it has left the loop: a wake-up between the look
// and the waiting is not lost.

import CFuse
import CLinux
import Glibc
import Synchronization

/// The loop of a session. `end` may be called at any time and from any thread.
public final class ServingLoop: Sendable {
  private struct State {
    var isEnded = false
    /// While the loop runs: its session and its thread.
    nonisolated(unsafe) var running: (session: OpaquePointer, thread: pthread_t)?
  }

  private let state = Mutex(State())
  /// What wakes the thread; programs ignore this signal by default.
  private static let wakeUp = SIGURG

  init() {}

  /// Ends the loop, or keeps it from beginning. Returns when it has ended.
  public func end() {
    while true {
      let isOver = state.withLock { state in
        state.isEnded = true
        guard let (session, thread) = state.running else { return true }
        fuse_session_exit(session)
        pthread_kill(thread, Self.wakeUp)
        return false
      }
      if isOver { return }
      usleep(10_000)
    }
  }

  /// Runs `loop` on this thread; its result, or 0 if the end came before.
  func run(_ session: OpaquePointer, _ loop: (OpaquePointer) -> Int32) -> Int32 {
    clinux_survive(Self.wakeUp)
    let begins = state.withLock { state in
      if !state.isEnded { state.running = (session, pthread_self()) }
      return !state.isEnded
    }
    defer { state.withLock { $0.running = nil } }
    return begins ? loop(session) : 0
  }
}
