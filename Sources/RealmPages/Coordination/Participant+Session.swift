// Joins the session of the file at the path, and leaves it when it is no longer needed or others can no longer find it.

import Glibc
import Synchronization
import Threads

extension Participant {
  /// Joins the session of the file at the path. Reads without joining if the file cannot be in a session with this
  /// process, if it is in use under another name, or if no file is at the path any more.
  func enter(
    _ state: inout State,
    timeout: Duration? = nil,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(EngineError) {
    if state.isOver { throw EngineError(.inUse, "\(configuration.path): the process is exiting") }
    (state.unsharedReader, state.session, state.file.space) = (nil, nil, nil)
    state.versions.forgetNewest()
    if configuration.inMemoryIdentifier != nil {
      return try InMemoryFolder.locked { () throws(EngineError) in try tryEnter(&state, configuration, timeout, wrap)
      }
    }
    if let file = state.file.handle, file.place == .nowhere {
      state.unsharedReader = try HeaderReader(state.file.configuration, file)
      state.location.place = .gone
      return
    }
    let former = state.file.handle
    do { try tryEnter(&state, configuration, timeout, wrap) } catch {
      guard error.reason == .notEncrypted, former != nil else { throw error }
      // The file has been decrypted since it was opened.
      var plain = configuration
      plain.encryptionKey = nil
      try tryEnter(&state, plain, timeout, wrap)
    }
    if let former, let file = state.file.handle, file.device != former.device || file.inode != former.inode {
      state.location.generation += 1
    }
  }

  /// One attempt to join, with `configuration`, which has no key if the file was decrypted.
  private func tryEnter(
    _ state: inout State,
    _ configuration: Configuration,
    _ timeout: Duration?,
    _ wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    var entry = try entry(configuration)
    switch role {
    case .reader: try entry.enterReading(timeout ?? .zero)
    // A file that existed before and was removed is not created again.
    case .writer(let create):
      let isFirst = state.file.handle == nil
      try entry.enterWriting(create: create && isFirst, timeout ?? (isFirst ? Session.timeout : .zero), wrap)
    }
    if entry.session != nil, entry.file?.place.isAway ?? false {
      entry.session?.leave()
      throw EngineError(.inUse, "\(configuration.path): the file was replaced while it was being opened: try again")
    }
    (state.session, state.unsharedReader, state.file.handle, state.file.storage) =
      (entry.session, entry.unsharedReader, entry.file, entry.storage)
    (state.file.configuration, state.file.lockedName, state.file.stamp) = (configuration, entry.lockedName, nil)
    state.nextTry = entry.unsharedPlace != nil ? .now.advanced(by: Self.retryInterval) : nil
    state.location.place = entry.unsharedPlace ?? .here
    state.location.isEncrypted = configuration.encryptionKey != nil
  }

  /// An attempt to join; the session that it joins calls `releaseIdleResources`.
  func entry(_ configuration: Configuration) throws(EngineError) -> SessionEntry {
    try SessionEntry(configuration) { [weak self] in self?.releaseIdleResources() }
  }

  /// How long a realm that is in use under another name is read before the next attempt to join.
  private static let retryInterval = Duration.seconds(1)

  /// Releases idle resources, and leaves the session after the idle time without a request. Called every 500 ms on the
  /// lock thread.
  private func releaseIdleResources() {
    _ = state.withLockIfAvailable { state in
      guard let session = state.session else { return }
      let now = MonotonicTime.coarse
      state.versions.revokeExpired(at: now, path: configuration.path)
      if state.isWriting { return }
      if isLost(session, state) { return leave(&state) }
      if configuration.inMemoryIdentifier == nil, session.participants == 1, state.file.hasLeftPath,
        !isAnythingHeld(state)
      {
        // A program that opens the file by its new name must not have to wait for this process.
        return leave(&state)
      }
      // If the owner of the file changed, the session is left at once; the next access reports the cause.
      if let file = state.file.handle, !session.isTrusted(file, configuration), !isAnythingHeld(state) {
        return leave(&state)
      }
      let lastUse = timeOfLastUse
      state.versions.revokeOutdated(in: session, at: now, lastUse: lastUse)
      if configuration.inMemoryIdentifier != nil { return }
      guard let idleTime = configuration.idleTime, now >= lastUse.advanced(by: idleTime) else { return }
      if !isAnythingHeld(state) { leave(&state) }
    }
  }

  /// True if other programs can no longer find the session, because its lock file was removed or overwritten, and this
  /// process can leave it: no other process participates, and no version of it is held.
  func isLost(_ session: Session, _ state: State) -> Bool {
    if configuration.inMemoryIdentifier != nil { return false }
    let lockFile = session.lockFile, isUnusable = lockFile.isUnusable
    if !isUnusable && !lockFile.isGone || isAnythingHeld(state) { return false }
    // A process that died still counts as a participant, but holds no lock.
    if !isUnusable && session.participants == 1 { return true }
    return !LockHolders.areOthers(holding: lockFile.identity, near: configuration.path)
  }

  /// Like `isLost`, for a caller that cannot continue otherwise: waits a moment for reads of this process to end.
  func isLostAfterReads(_ session: Session, _ state: State) -> Bool {
    if !session.lockFile.isUnusable && !session.lockFile.isGone { return false }
    for _ in 0..<Self.checksWhileReading {
      if isLost(session, state) { return true }
      if !isAnythingHeld(state) { return false }
      usleep(1000)
    }
    return false
  }

  private static let checksWhileReading = 100

  /// True if any version is held, rather than only read.
  func isAnythingHeld(_ state: State) -> Bool { state.versions.isAnythingHeld(path: configuration.path) }

  /// Leaves the session, and revokes every version that was read there.
  func leave(_ state: inout State) {
    state.versions.revokeAll()
    state.session?.leave()
    state.session = nil
  }
}
