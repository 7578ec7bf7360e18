// Finds the newest version of a shared realm, and follows the file. The file can be moved, replaced, removed or
// overwritten at any moment, even by programs outside the session.

import Synchronization
import Threads

extension Participant {
  /// The newest version. Joins, leaves or changes the session if the file at the path requires it.
  func newest(_ state: inout State, checksPath: Bool = true) throws(EngineError) -> Snapshot {
    state.calls += 1
    if state.calls % Snapshot.readsBetweenTrims == 0, let space = state.file.space {
      space.limitResidentPages()
    }
    defer { packedLocation.store(state.location.packed, ordering: .relaxed) }
    // The check of the path can be skipped only if the file was still there at the last one.
    var checksPath = checksPath || state.session == nil || state.location.place != .here
    for _ in 0..<Self.attempts {
      if let snapshot = try newestHere(&state, checksPath: checksPath) { return snapshot }
      checksPath = true
    }
    throw EngineError(.inUse, "\(configuration.path): the file is being replaced repeatedly: try again later")
  }

  /// The number of attempts, without a pause, to open a file that keeps being replaced.
  private static let attempts = 4

  /// The newest version in the current session or file; nil if it had to be left or joined first, and the caller must
  /// retry.
  private func newestHere(_ state: inout State, checksPath: Bool) throws(EngineError) -> Snapshot? {
    guard let session = state.session else { return try newestOutside(&state) }
    let before = (participants: session.participants, newest: session.versions.newestSlot)
    // Reading `newestSlot` above touched the mapping, so a truncated lock file has been noticed.
    if session.lockFile.isUnusable, !state.isWriting, isLost(session, state) {
      leave(&state)
      return nil
    }
    let (place, stamp) = checksPath ? state.file.handle?.locate() ?? (.here, nil) : (.here, nil)
    if place == .here {
      if state.location.place == .shared { state.location.place = .here }
    } else if place.isAway {
      // Other programs that have the file open continue to use it, and commits that are not on disk yet belong to it.
      if session.participants == 1 && !state.isWriting {
        leave(&state)
        return nil
      }
      state.location.place = .shared
    }
    if let snapshot = state.versions.newest, let pin = snapshot.pin, pin.isValid, pin.session === session,
      pin.listed.slot == session.versions.newestSlot, state.file.space?.isSpent == false
    {
      // A sole participant detects commits by programs that use another lock file: the header shows them.
      let isAlone = session.participants == 1 && !state.isWriting && configuration.inMemoryIdentifier == nil
      if stamp == nil || stamp == state.file.stamp
        || state.file.holds(snapshot, session, asNewest: isAlone, mayBeAhead: true)
      {
        if checksPath { state.file.stamp = stamp.flatMap { $0.isSettled ? $0 : nil } }
        return snapshot
      }
      if isAlone && state.file.holds(snapshot, session) {
        leave(&state)
        return nil
      }
    } else {
      do {
        if let snapshot = try advance(&state, session) {
          state.file.stamp = nil
          return snapshot
        }
      } catch {
        guard isLostAfterReads(session, state) else { throw error }
        if state.isWriting {
          // Commits that are not on disk yet are only in this session. The next writer publishes them and leaves it.
          if session.lockFile.isUnusable { throw error }
          guard let snapshot = try advance(&state, session, isLost: true) else {
            throw .overwritten(configuration.path)
          }
          state.file.stamp = nil
          return snapshot
        }
        leave(&state)
        return nil
      }
    }
    // Another program joined, committed or left in the meantime, so the file may have changed: try again.
    if before != (session.participants, session.versions.newestSlot) { return nil }
    // The version list has versions that the file does not hold, or lacks the newest one.
    if session.participants > 1 {
      throw EngineError(
        .moved,
        "\(configuration.path): the file was overwritten while programs had it open: close all of them"
      )
    }
    if state.isWriting { throw .overwritten(configuration.path) }
    leave(&state)
    state.location.generation += 1
    return nil
  }

  /// The newest version of a file whose session this process is not in; nil if this call joined the session.
  private func newestOutside(_ state: inout State) throws(EngineError) -> Snapshot? {
    if let unsharedReader = state.unsharedReader {
      switch state.location.place {
      case .gone where state.file.place == .nowhere: return try unsharedReader.latest()
      case .gone: break
      case .otherName, .untrusted:
        if let next = state.nextTry, .now < next { return try unsharedReader.latest() }
      default:
        let (snapshot, header, _) = try unsharedReader.latestWithHeader()
        if state.file.place != .elsewhere, !SessionEntry.canBeShared(snapshot, header) { return snapshot }
      }
    }
    try enter(&state)
    return try state.unsharedReader?.latest()
  }

  /// Reads the newest version from the list; nil if the file does not hold it. `isLost` is true if other programs can
  /// no longer find the session and none is in it.
  private func advance(
    _ state: inout State,
    _ session: Session,
    isLost: Bool = false
  ) throws(EngineError) -> Snapshot? {
    if !isLost { try session.lockFile.checkIsInPlace() }
    let listed = try session.versions.pinNewest()
    let pin = VersionPin(session, listed)
    let space = try state.file.space(session, covering: listed.logicalSize)
    let header = Header(topRef: listed.topRef, format: listed.topRef == 0 ? 0 : session.fileFormat)
    let snapshot: Snapshot
    do {
      snapshot = try HeaderReader.snapshot(
        space,
        header,
        path: configuration.path,
        pin: pin,
        swapsGuids: configuration.showsDotNetGuids
      )
    } catch {
      // Either damage, or the file was overwritten. In the second case its header differs or cannot be read.
      let found = try? HeaderReader(state.file.configuration).latest()
      if found?.top.ref == listed.topRef || found == nil && session.participants > 1 { throw error }
      return nil
    }
    if listed.topRef != 0, snapshot.version != listed.version { return nil }
    state.file.space = space
    state.versions.advance(to: snapshot)
    return snapshot
  }
}
