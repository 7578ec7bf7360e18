// One stream of server-sent events. It occupies no thread: while there is nothing to send, its connection is suspended.

import CMicroHTTPD
import Synchronization

/// Events queued for one client.
@safe final class EventStream: Sendable {
  @safe private struct State: @unchecked Sendable {
    // Unchecked, safe: the library keeps the connection until it has released its response, which calls `close`.
    var connection: OpaquePointer?
    /// Complete events; the first `sent` bytes of the first one have been sent.
    var events: [[UInt8]] = []
    var sent = 0
    /// The total size of the events in bytes.
    var size = 0
    var hasSentFirst = false
    var isSuspended = false
    var isEnded = false
  }

  private let state = Mutex(State())
  private let hasClosed = Atomic(false)
  /// The socket of the connection.
  let socket: Int32

  /// The maximum number of bytes queued for a slow client. Beyond this limit, events are dropped.
  private static let limit = 256 << 10

  init(socket: Int32) { self.socket = socket }

  /// Begins sending on a connection.
  func begin(_ connection: OpaquePointer) { state.withLock { unsafe $0.connection = connection } }

  /// True once the connection is closed.
  var isClosed: Bool { hasClosed.load(ordering: .acquiring) }

  /// Records that the connection is closed.
  func close() { hasClosed.store(true, ordering: .releasing) }

  /// Appends an event. If the client is too slow, the queued events are replaced with `instead`; an event that was
  /// partly sent is completed first.
  func send(_ event: [UInt8], instead: [UInt8]) {
    state.withLock { state in
      if state.size + event.count > Self.limit {
        state.events = state.sent > 0 ? [state.events[0]] : []
        state.events.append(instead)
      } else {
        state.events.append(event)
      }
      state.size = state.events.reduce(0) { $0 + $1.count }
      Self.wake(&state)
    }
  }

  /// Sends the first event of the stream; does nothing in later calls.
  func sendFirst(_ event: [UInt8]) {
    let isFirst = state.withLock { state in
      defer { state.hasSentFirst = true }
      return !state.hasSentFirst
    }
    if isFirst { send(event, instead: event) }
  }

  /// Sends a comment, unless events are queued.
  func keepAlive() {
    let isIdle = state.withLock { $0.events.isEmpty }
    if isIdle { send(Array(":\n\n".utf8), instead: []) }
  }

  /// Ends the stream after the queued events.
  func end() {
    state.withLock { state in
      state.isEnded = true
      Self.wake(&state)
    }
  }

  /// Closes the stream if the client has closed its connection, which the library does not detect while it is
  /// suspended.
  func checkClient() {
    state.withLock { state in
      if state.isSuspended, WebRequest.isClosed(socket) {
        state.isEnded = true
        Self.wake(&state)
      }
    }
  }

  private static func wake(_ state: inout State) {
    guard state.isSuspended, let connection = unsafe state.connection else { return }
    state.isSuspended = false
    unsafe MHD_resume_connection(connection)
  }

  /// Copies events into `room` and returns the number of bytes; 0 if there are none, after suspending the connection;
  /// -1 at the end. For the polling thread.
  func read(_ room: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      guard let event = state.events.first else {
        if state.isEnded { return -1 }
        if let connection = unsafe state.connection {
          unsafe MHD_suspend_connection(connection)
          state.isSuspended = true
        }
        return 0
      }
      let count = min(room.count, event.count - state.sent)
      unsafe room.copyBytes(from: event[state.sent..<state.sent + count])
      state.sent += count
      if state.sent == event.count {
        state.events.removeFirst()
        (state.sent, state.size) = (0, state.size - event.count)
      }
      return count
    }
  }
}
