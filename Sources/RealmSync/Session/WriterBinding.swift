// The second session on a connection, which uploads: its identity, what it has been sent, what it has sent.
// Source: docs/format/7-sync.md 7.9.

import RealmPages

/// The writer's session on one connection.
struct WriterBinding {
  /// What was said to the server, and what is next.
  enum Phase { case unbound, wantsIdentity, open }

  /// The number of the session; a new one for each identity.
  private(set) var session: Int64 = 1
  private(set) var phase = Phase.unbound
  /// The server's version up to which the session has been sent everything; no upload may be based on a later one.
  private var seen: Int64 = -1
  /// The last upload that the server has.
  private(set) var acknowledged: Int64 = -1
  /// The last upload that this connection sent.
  private(set) var sent: Int64 = 0
  /// An upload that the server has, and the version that has it, while the reader has not reached that.
  private var awaited: (upload: Int64, version: Int64)?
  /// The last upload that has come back.
  private var finished: Int64 = -1
  private var mark: Int64 = 0
  private var markedFor: Int64 = -1
  /// Changesets above this size are removed from the mirror when they have come back.
  private static let keptSize = 1 << 16

  let uploader: Uploader
  private let owner: SyncSession
  private var mirror: Mirror { owner.mirror }

  init(_ uploader: Uploader, _ owner: SyncSession) { (self.uploader, self.owner) = (uploader, owner) }

  /// Begins the session, when the reader has everything that was there.
  mutating func bind(_ socket: WebSocket) throws(SyncError) {
    session += 1
    (seen, acknowledged, sent, awaited, finished) = (-1, -1, 0, nil, -1)
    let needsIdentity = mirror.state.writer == .none
    try socket.send(ClientMessage.bind(session: Int(session), path: mirror.url.path, needsIdentity: needsIdentity))
    phase = needsIdentity ? .wantsIdentity : .open
    if !needsIdentity { try identify(socket) }
  }

  mutating func take(_ identity: FileIdentity, _ socket: WebSocket) throws(SyncError) {
    guard phase == .wantsIdentity, identity.file > 0 else { throw ServerMessage.broken("an unwanted identity") }
    try mirror.update { ($0.writer, $0.writerVersion, $0.pending) = (identity, 1, nil) }
    phase = .open
    try identify(socket)
  }

  private func identify(_ socket: WebSocket) throws(SyncError) {
    let state = mirror.state
    try socket.send(
      ClientMessage.ident(session: Int(session), state.writer, download: state.version, latest: state.latest)
    )
  }

  /// Notes what a DOWNLOAD of the writer says; its changes come through the reader.
  mutating func note(_ download: DownloadMessage) {
    seen = max(seen, download.version)
    acknowledged = max(acknowledged, download.uploaded)
    guard let pending = mirror.state.pending, acknowledged >= pending.version, pending.version > finished else {
      return
    }
    if awaited == nil { awaited = (pending.version, download.version) }
  }

  /// Sends what is to be sent and can be, and notes what has come back.
  mutating func advance(_ socket: WebSocket) throws(SyncError) {
    guard phase == .open, acknowledged >= 0 else { return }
    let state = mirror.state
    if acknowledged > state.writerVersion || uploader.isWaiting(acknowledged) { try giveUpIdentities() }
    if let pending = state.pending, pending.version > acknowledged {
      if seen < pending.base {
        // The server refuses what is based on a version that it has not sent to this session.
        if markedFor < pending.base {
          markedFor = pending.base
          mark += 1
          try socket.send(ClientMessage.mark(session: Int(session), number: mark))
        }
      } else if let upload = uploader.take(sentBefore: max(sent, acknowledged)) {
        try socket.send(ClientMessage.upload(session: Int(session), upload))
        (sent, awaited) = (upload.version, nil)
      }
    }
    if let awaited, state.version >= awaited.version {
      self.awaited = nil
      finished = awaited.upload
      // A short one costs less than a commit that removes it.
      if let pending = state.pending, pending.version == finished, pending.changeset.count > Self.keptSize {
        try mirror.update { $0.pending = nil }
      }
      uploader.end(.done, of: awaited.upload)
    }
    let isClear = state.pending.map { $0.version <= acknowledged } ?? true
    // Another thread may have ended the session meanwhile.
    if owner.status.canUpload != isClear { owner.change { $0.canUpload = isClear && $0.state != .failed } }
  }

  /// Whether something was sent that the server has not acknowledged.
  var isSending: Bool { sent > acknowledged }

  /// Gives the identity up, because the server refuses what it sent or does not know it; a new one takes its place.
  mutating func renew(_ socket: WebSocket, because error: SyncError) throws(SyncError) {
    let pending = mirror.state.pending, hadPending = pending.map { $0.version > acknowledged } ?? false
    try mirror.update { state in
      (state.writer, state.writerVersion, state.pending) = (.none, 0, nil)
      if hadPending { state.refused = error.description }
    }
    if let pending, hadPending { uploader.end(.failed(error), of: pending.version) }
    try socket.send(ClientMessage.unbind(session: Int(session)))
    try bind(socket)
  }

  /// Ends the connection, because the server has an upload under a number that this mirror has not sent: another copy
  /// of the mirror, perhaps a backup that was put back, is the same client. The server takes no number twice and does
  /// not say so; both identities are given up, and the mirror goes on from its version with new ones.
  private func giveUpIdentities() throws(SyncError) {
    let error = SyncError(
      .offline,
      "\(mirror.url): another copy of the mirror has sent changes as the same client; \(mirror.path) becomes a client "
        + "of its own; make the change again"
    )
    let pending = mirror.state.pending
    try mirror.update { ($0.reader, $0.writer, $0.writerVersion, $0.pending) = (.none, .none, 0, nil) }
    if let pending, uploader.isWaiting(pending.version) { uploader.end(.failed(error), of: pending.version) }
    throw error
  }
}
