// A WebSocket to a sync server: binary messages in both directions. Source: RFC 6455, docs/format/7-sync.md 7.1.

import Threads

/// An open WebSocket, closed on deinit. Not thread-safe: one thread at a time.
final class WebSocket {
  /// The protocol version agreed on.
  let version: Int
  /// The server, for messages.
  let peer: String

  private let channel: Channel
  private var buffer: [UInt8] = []
  /// The offset of the next frame in the buffer.
  private var start = 0
  /// The message whose frames are being received.
  private var message: [UInt8]?

  /// The timeout of a write while the server does not read.
  private static let timeout = Duration.seconds(120)

  /// Connects and negotiates a version.
  init(
    to url: SyncURL,
    token: String,
    authorities: String?,
    versions: [Int] = Upgrade.versions,
    until deadline: MonotonicTime,
    _ wakeup: Wakeup
  ) throws(SyncError) {
    let channel = try Channel(to: url, authorities: authorities, until: deadline, wakeup)
    peer = channel.peer
    let upgrade = Upgrade(to: url, token: token, versions: versions)
    try channel.write(upgrade.request, until: deadline)
    var buffer: [UInt8] = [], version: Int?
    while version == nil {
      if deadline <= .now { throw SyncError(.offline, "\(peer): no answer") }
      switch try channel.read(into: &buffer, until: deadline) {
      case .bytes: version = try upgrade.answer(&buffer, from: peer)
      case .ended:
        let hint = url.isSecure ? "" : "; the address of a server with TLS begins with realms://"
        throw SyncError(.offline, "\(peer): closed the connection instead of answering\(hint)")
      case .timeout: throw SyncError(.offline, "\(peer): no answer")
      case .woken: throw SyncError(.cancelled, "\(peer): interrupted")
      }
    }
    self.version = version ?? 0
    (self.channel, self.buffer) = (channel, buffer)
  }

  /// Sends one message.
  func send(_ message: [UInt8]) throws(SyncError) {
    try channel.write(Frame.masked(.binary, message), until: .now.advanced(by: Self.timeout))
  }

  /// The result of waiting for a message.
  enum Outcome { case message([UInt8]), woken, timeout }

  /// Returns the next message. Waits until `deadline`, or until the wakeup is signaled.
  func receive(until deadline: MonotonicTime) throws(SyncError) -> Outcome {
    while true {
      if let message = try nextMessage() { return .message(message) }
      // Control frames alone do not extend the wait.
      if deadline <= .now { return .timeout }
      switch try channel.read(into: &buffer, until: deadline) {
      case .bytes: continue
      case .ended: throw SyncError(.offline, "\(peer): the server closed the connection")
      case .timeout: return .timeout
      case .woken: return .woken
      }
    }
  }

  /// Returns the next completely received message; nil if there is none.
  private func nextMessage() throws(SyncError) -> [UInt8]? {
    while let head = try Frame.Head(buffer, at: start) {
      let first = start + head.size
      guard buffer.count - first >= head.payload else { break }
      let payload = buffer[first..<first + head.payload]
      start = first + head.payload
      switch head.kind {
      case .ping: try channel.write(Frame.masked(.pong, Array(payload)), until: .now.advanced(by: Self.timeout))
      case .pong: break
      case .close: throw SyncError(.offline, "\(peer): the server closed the connection")
      case .text: throw ServerMessage.broken("a text instead of bytes")
      case .binary, .continuation:
        if (head.kind == .binary) != (message == nil) { throw ServerMessage.broken("frames out of order") }
        if (message?.count ?? 0) + head.payload > Frame.maximumSize { throw ServerMessage.broken("an endless message") }
        message = (message ?? []) + payload
        if head.isLast {
          defer { message = nil }
          return message
        }
      }
    }
    if start > 0 {
      buffer.removeFirst(start)
      start = 0
    }
    return nil
  }
}
