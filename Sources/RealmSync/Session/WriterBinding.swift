// The second session on a connection, which uploads: its identity, what it has received, and what it has sent. Source:
// docs/format/7-sync.md 7.9.

import RealmPages

/// The writer's session on one connection.
struct WriterBinding {
  /// The progress of binding.
  enum Phase { case unbound, wantsIdentity, open }

  /// The number of the session; it changes with each identity.
  private(set) var session: Int64 = 1
  private(set) var phase = Phase.unbound
  /// The server's version up to which the session has received everything; an upload must not be based on a later one.
  private var seen: Int64 = -1
  /// The last upload that the server has acknowledged.
  private(set) var acknowledged: Int64 = -1
  /// The last upload sent on this connection.
  private(set) var sent: Int64 = 0
  /// An acknowledged upload and the version that contains it, until the reader has reached that version.
  private var awaited: (upload: Int64, version: Int64)?
  /// The last upload that the reader has received back.
  private var finished: Int64 = -1
  private var mark: Int64 = 0
  private var markedFor: Int64 = -1
  /// Changesets above this size are removed from the mirror once the reader has received them back.
  private static let keptSize = 1 << 16

  let uploader: Uploader
  private let owner: SyncClient
  private var mirror: Mirror { owner.mirror }

  init(_ uploader: Uploader, _ owner: SyncClient) { (self.uploader, self.owner) = (uploader, owner) }

  /// Binds the session. Called once the reader has downloaded everything that existed.
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

  /// Records the numbers of a DOWNLOAD for the writer. Its changes are applied by the reader.
  mutating func note(_ download: DownloadMessage) {
    seen = max(seen, download.version)
    acknowledged = max(acknowledged, download.uploaded)
    guard let pending = mirror.state.pending, acknowledged >= pending.version, pending.version > finished else {
      return
    }
    if awaited == nil { awaited = (pending.version, download.version) }
  }

  /// Sends the pending upload if possible, and ends uploads that the reader has received back.
  mutating func advance(_ socket: WebSocket) throws(SyncError) {
    guard phase == .open, acknowledged >= 0 else { return }
    let state = mirror.state
    if acknowledged > state.writerVersion || uploader.isWaiting(acknowledged) { try discardIdentities() }
    if let pending = state.pending, pending.version > acknowledged {
      if seen < pending.base {
        // The server rejects an upload based on a version that it has not sent to this session.
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
      // Keeping a short changeset costs less than a commit that removes it.
      if let pending = state.pending, pending.version == finished, pending.changeset.count > Self.keptSize {
        try mirror.update { $0.pending = nil }
      }
      uploader.end(.done, of: awaited.upload)
    }
    let isClear = state.pending.map { $0.version <= acknowledged } ?? true
    // Another thread may have ended the session in the meantime.
    if owner.status.canUpload != isClear { owner.change { $0.canUpload = isClear && $0.state != .failed } }
  }

  /// True if an upload was sent that the server has not acknowledged.
  var isSending: Bool { sent > acknowledged }

  /// Replaces the identity, because the server rejects its uploads or does not know it.
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
  /// of the mirror, perhaps a restored backup, acts as the same client. The server silently ignores an upload whose
  /// number it has already received, so both identities are dropped, and the mirror continues from its version with new
  /// ones.
  private func discardIdentities() throws(SyncError) {
    let error = SyncError(
      .offline,
      "\(mirror.url): another copy of the mirror has sent changes as the same client; \(mirror.path) "
        + "becomes a separate client; make the change again"
    )
    let pending = mirror.state.pending
    try mirror.update { ($0.reader, $0.writer, $0.writerVersion, $0.pending) = (.none, .none, 0, nil) }
    if let pending, uploader.isWaiting(pending.version) { uploader.end(.failed(error), of: pending.version) }
    throw error
  }
}
