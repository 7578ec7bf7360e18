// One connection of a session: binds the reader, applies downloads, and keeps the connection alive. Source:
// docs/format/7-sync.md 7.3, 7.4.

import Glibc
import RealmPages
import Threads

/// A connection to the server, from opening to closing.
final class Connection {
  /// True if the mirror advanced through this connection.
  private(set) var hasAdvanced = false
  /// True if everything that existed when the connection began has been downloaded.
  private(set) var isComplete = false

  private let session: SyncClient
  private var writer: WriterBinding?
  /// True if the writer's identity has been renewed once.
  private var hasRenewed = false
  private var mirror: Mirror { session.mirror }

  /// The session number of the reader.
  private static let reader = 1

  /// The interval between pings, and the maximum time without a message from the server.
  private static let pingPeriod = Duration.seconds(57), pongTimeout = Duration.seconds(120)

  /// A message has up to 16 MB of changes; progress is reported each time this many bytes were applied.
  private static let progressStep: Int64 = 1 << 18

  private var nextPing = MonotonicTime.now
  private var lastSign = MonotonicTime.now
  private var roundTrip: Int64 = 0
  private var sentMark: Int64 = 0

  init(_ session: SyncClient) {
    self.session = session
    writer = session.uploader.map { WriterBinding($0, session) }
  }

  /// Runs the connection until the session is stopped.
  ///
  /// - Throws: the error that ended the connection.
  func run() throws(SyncError) {
    let token = try session.options.token()
    let deadline = MonotonicTime.now.advanced(by: session.options.connectTimeout)
    let socket = try WebSocket(
      to: mirror.url,
      token: token,
      authorities: session.options.authorities,
      versions: session.options.versions,
      until: deadline,
      session.wakeup
    )
    session.change {
      ($0.state, $0.protocolVersion) = (.downloading, socket.version)
      $0.connections += 1
    }
    nextPing = .now
    lastSign = .now
    try begin(socket)
    while !session.isPausing {
      if nextPing <= .now {
        try mirror.checkLatest()
        try ping(socket)
      }
      if let intrusion = session.intrusion { throw intrusion }
      if lastSign.advanced(by: Self.pongTimeout) < .now {
        throw SyncError(.offline, "\(socket.peer): no answer; the connection was closed")
      }
      switch try socket.receive(until: nextPing) {
      case .message(let bytes):
        lastSign = .now
        try handle(ServerMessage(bytes), socket)
      case .woken, .timeout: break
      }
      try sendMark(socket)
      try writer?.advance(socket)
    }
    try socket.send(ClientMessage.unbind(session: Self.reader))
  }

  // MARK: sending

  private func begin(_ socket: WebSocket) throws(SyncError) {
    let state = mirror.state
    let needsIdentity = state.reader == .none
    try socket.send(ClientMessage.bind(session: Self.reader, path: mirror.url.path, needsIdentity: needsIdentity))
    if !needsIdentity { try identify(state, socket) }
  }

  private func identify(_ state: MirrorState, _ socket: WebSocket) throws(SyncError) {
    let position = ClientMessage.ident(
      session: Self.reader,
      state.reader,
      download: state.version,
      latest: state.latest
    )
    try socket.send(position)
    sentMark = session.wantedMark
    try socket.send(ClientMessage.mark(session: Self.reader, number: sentMark))
  }

  /// Sends a MARK to request everything the server has now, if the program has asked for it.
  private func sendMark(_ socket: WebSocket) throws(SyncError) {
    let wanted = session.wantedMark
    if !isComplete || wanted <= sentMark { return }
    sentMark = wanted
    try socket.send(ClientMessage.mark(session: Self.reader, number: sentMark))
  }

  private func ping(_ socket: WebSocket) throws(SyncError) {
    try socket.send(ClientMessage.ping(time: Self.milliseconds, roundTrip: roundTrip))
    nextPing = MonotonicTime.now.advanced(by: Self.pingPeriod)
  }

  private static var milliseconds: Int64 { MonotonicTime.now.nanoseconds / 1_000_000 }

  // MARK: receiving

  private func handle(_ message: ServerMessage, _ socket: WebSocket) throws(SyncError) {
    switch message {
    case .ident(let number, let identity) where number == writer?.session && number > 1:
      try writer?.take(identity, socket)
    case .download(let download) where download.session == writer?.session && download.session > 1:
      writer?.note(download)
    case .mark(let number, _) where number != Int64(Self.reader): break
    case .ident(_, let identity):
      guard mirror.state.reader == .none, identity.file > 0 else { throw ServerMessage.broken("an unwanted identity") }
      // Store the identity before using it.
      try mirror.update { $0.reader = identity }
      try identify(mirror.state, socket)
    case .download(let download): try apply(download)
    case .mark(_, let number):
      if !mirror.state.isComplete { try mirror.update { $0.isComplete = true } }
      isComplete = true
      session.change {
        ($0.state, $0.isComplete, $0.bytesLeft, $0.error) = (.live, true, 0, nil)
        $0.mark = max($0.mark, number)
      }
      if writer?.phase == .unbound { try writer?.bind(socket) }
    case .pong(let time):
      roundTrip = max(0, Self.milliseconds - time)
      session.change { $0.latency = roundTrip }
    case .error(let error): try handle(error, socket)
    case .unbound, .log: break
    }
  }

  private func handle(_ error: ServerError, _ socket: WebSocket) throws(SyncError) {
    let text = "\(mirror.url): \(error.description)"
    let isWriter = error.session > 1 && error.session == writer?.session
    if !isWriter, error.session > 1 { return }
    let consequence = error.consequence(duringUpload: isWriter && writer?.isSending == true)
    switch consequence {
    case .retry: throw SyncError(.offline, text)
    case .refuse where isWriter:
      try writer?.renew(socket, because: SyncError(.refused, "\(text); the change was not made"))
    case .reset where isWriter && !hasRenewed:
      hasRenewed = true
      try writer?.renew(socket, because: SyncError(.offline, "\(text); make the change again"))
    case .retryOnce where isWriter && session.hasRetriedUpload:
      session.hasRetriedUpload = false
      try writer?.renew(socket, because: SyncError(.refused, "\(text); the change was not made"))
    case .retryOnce where isWriter:
      session.hasRetriedUpload = true
      throw SyncError(.offline, text)
    case .retryOnce, .refuse: throw SyncError(.protocolBroken, text)
    case .reset: throw SyncError(.reset, text)
    case .stop(let reason): throw SyncError(reason, text)
    }
  }

  private func apply(_ download: DownloadMessage) throws(SyncError) {
    let state = mirror.state
    if download.version < state.version || download.latest.version < state.latest.version {
      throw ServerMessage.broken("version \(download.version) after version \(state.version)")
    }
    let entries = try download.entries()
    if let first = entries.first, first.version <= state.version {
      throw ServerMessage.broken("a duplicate entry")
    }
    if entries.contains(where: { $0.origin == 0 || $0.origin == state.reader.file }) {
      throw ServerMessage.broken("a change by the reader, which never makes one")
    }
    let size = entries.reduce(Int64(0)) { $0 + $1.originalSize }
    var shown: Int64 = 0
    if entries.isEmpty, download.version == state.version, download.latest == state.latest {
      // Nothing changed: a commit would only wake other programs.
    } else {
      session.change { ($0.isApplying, $0.bytesLeft) = (true, download.bytesLeft + size) }
      var isApplied = false
      defer {
        session.change {
          $0.isApplying = false
          if !isApplied { $0.advance(by: -shown) }
        }
      }
      try mirror.commit {
        ($0.version, $0.latest) = (download.version, download.latest)
      } _: { transaction in
        var applier = InstructionApplier(), applied: Int64 = 0
        for entry in entries {
          if applied >= shown + Self.progressStep {
            session.change { $0.advance(by: applied - shown) }
            shown = applied
          }
          applied += entry.originalSize
          do { try applier.apply(Array(download.body[entry.bytes]), to: transaction) } catch {
            throw SyncError.unfit(at: "version \(entry.version)", error)
          }
        }
      }
      isApplied = true
      hasAdvanced = true
    }
    session.change {
      $0.version = download.version
      $0.advance(by: size - shown)
      $0.bytesLeft = download.bytesLeft
    }
  }
}
