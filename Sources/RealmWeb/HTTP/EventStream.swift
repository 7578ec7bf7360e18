// One stream of server-sent events. It holds no thread: while there is nothing to send, its connection is suspended.

import CMicroHTTPD
import Synchronization

/// Events on their way to one client.
@safe final class EventStream: Sendable {
  @safe private struct State: @unchecked Sendable {
    // Unchecked, safe: the library keeps the connection until it has released its answer, which calls `close`.
    var connection: OpaquePointer?
    var bytes: [UInt8] = []
    var isSuspended = false
    var isEnded = false
  }

  private let state = Mutex(State())
  private let hasClosed = Atomic(false)
  /// The socket of the connection.
  let socket: Int32

  /// The bytes that wait for a slow client at most. It loses the events in between.
  private static let limit = 256 << 10

  init(socket: Int32) { self.socket = socket }

  /// Begins to send on a connection.
  func begin(_ connection: OpaquePointer) { state.withLock { unsafe $0.connection = connection } }

  /// True once the connection is closed.
  var isClosed: Bool { hasClosed.load(ordering: .acquiring) }

  /// Notes that the connection is closed.
  func close() { hasClosed.store(true, ordering: .releasing) }

  /// Appends an event. If the client is too slow, all events that wait are replaced by `instead`.
  func send(_ event: [UInt8], instead: [UInt8]) {
    state.withLock { state in
      if state.bytes.count + event.count > Self.limit {
        state.bytes = instead
      } else {
        state.bytes += event
      }
      Self.wake(&state)
    }
  }

  /// Ends the stream after the events that wait.
  func end() {
    state.withLock { state in
      state.isEnded = true
      Self.wake(&state)
    }
  }

  /// Closes the stream if the client has closed its connection, which the library does not see while it is suspended.
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
      if state.bytes.isEmpty {
        if state.isEnded { return -1 }
        if let connection = unsafe state.connection {
          unsafe MHD_suspend_connection(connection)
          state.isSuspended = true
        }
        return 0
      }
      let count = min(room.count, state.bytes.count)
      unsafe room.copyBytes(from: state.bytes.prefix(count))
      state.bytes.removeFirst(count)
      return count
    }
  }
}
