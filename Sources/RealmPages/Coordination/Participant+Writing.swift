// The part of a participant that a writer uses: begin and end a commit, convert a copy, replace the file.

import Synchronization
import Threads

extension Participant {
  /// Returns the session, which is not left until `endWriting`; nil for a file that is only read, or that has no
  /// session at this stage. Throws `moved` if the file is no longer at the path, unless the stage is `publish`.
  func beginWriting(_ stage: WritingStage, until deadline: MonotonicTime) throws(EngineError) -> Session? {
    touch()
    return try state.withLock { state throws(EngineError) in
      if stage == .publish, state.isWriting, let session = state.session { return session }
      if state.location.place == .otherName || state.location.place == .untrusted {
        try enter(&state, timeout: .milliseconds(deadline.milliseconds))
      }
      if let session = state.session, !state.isWriting, isLostAfterReads(session, state) { leave(&state) }
      var checksPath = true
      if case .edit(checksPath: false) = stage { checksPath = state.session == nil || state.location.place != .here }
      let snapshot = try newest(&state, checksPath: checksPath)
      if case .commit(let file?) = stage, file != state.location.generation { throw .moved(configuration.path) }
      if state.unsharedReader != nil, state.location.place == .here, RealmWriter.refusal(snapshot) == nil {
        if case .edit = stage {
          try state.file.checkPlace()
          return nil
        }
        try convert(&state, until: deadline)
      }
      guard let session = state.session else {
        if state.location.place == .gone { throw .moved(configuration.path) }
        return nil
      }
      if checksPath { try state.file.checkPlace() }  // otherwise the commit does
      try RealmLinks.checkNoOther(of: configuration.path, than: state.file.lockedName)
      state.isWriting = true
      return session
    }
  }

  /// Throws `moved` if `base`, the version to build on, is no longer in the open file, or if that file is no longer at
  /// the path, unless `mayBeElsewhere` is true.
  func checkBeforeCommit(_ base: Snapshot, mayBeElsewhere: Bool = false) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      if !mayBeElsewhere { try state.file.checkPlace() }
      guard let session = state.session, state.file.holds(base, session) else { throw .overwritten(configuration.path) }
    }
  }

  /// The version of the top array at `topRef`, if the header of the file refers to it; otherwise nil.
  func version(at topRef: Int) -> UInt64? { state.withLock { $0.file.version(at: topRef) } }

  /// True if the session's file is no longer at the path, or no longer holds the newest version.
  var hasLostFile: Bool {
    state.withLock { state in
      guard let session = state.session else { return false }
      return state.file.place != .here || state.versions.newest.map { !state.file.holds($0, session) } ?? false
    }
  }

  /// True if commits seem impossible: the lock file was removed, truncated or overwritten, or programs use the realm
  /// under another name.
  var isObstructed: Bool {
    state.withLock { state in
      switch state.location.place {
      case .otherName, .untrusted: true
      case .here, .gone, .shared:
        state.session.map { session in
          session.lockFile.isGone || session.lockFile.isUnusable
            || RealmLinks.isOpenByOtherName(configuration.path, than: state.file.lockedName)
        } ?? false
      }
    }
  }

  /// Allows the session to be left again.
  func endWriting() {
    touch()
    state.withLock { $0.isWriting = false }
  }

  /// Converts a copy that cannot be shared yet to a file of the usual form, and joins its session.
  private func convert(_ state: inout State, until deadline: MonotonicTime) throws(EngineError) {
    guard let storage = state.file.storage, let file = state.file.handle else {
      throw EngineError(.inUse, "\(configuration.path): no file")
    }
    if file.place != .here { throw .moved(configuration.path) }
    let configuration = state.file.configuration
    let entry = try entry(configuration)
    // Holders of the version in the copy had no session to register it in.
    let isHeld = PinnedVersions.isHeldWithoutPin(configuration.path, upTo: .max)
    let timeout = Duration.milliseconds(deadline.milliseconds)
    let session = try entry.join(file, forWriting: true, timeout, until: deadline, holdsFirst: isHeld) {
      () throws(EngineError) in
      if file.place != .here { throw .moved(configuration.path) }
      let (snapshot, header, _) = try HeaderReader(configuration).latestWithHeader()
      try RealmFileMaker.prepare(storage, snapshot, header)
      return FirstVersion(try HeaderReader(configuration).latest())
    }
    (storage as? EncryptedStorage)?.marker = session.lockFile
    (state.unsharedReader, state.session) = (nil, session)
    (state.file.lockedName, state.file.stamp) = (entry.lockedName, nil)
    state.versions.keepFirst(of: session)
  }

  /// Leaves a session that other programs can no longer find, and calls `publish` while no other program has the realm
  /// open, so that commits that are not on disk yet are not lost. Does nothing if the session can still be found.
  func leaveLost(_ publish: (any Storage) throws(EngineError) -> Void) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      guard let session = state.session, let storage = state.file.storage, isLost(session, state) else { return }
      leave(&state)
      state.isWriting = false
      let lock = try ExclusiveLock(realmPath: state.file.lockedName)
      defer { withExtendedLifetime(lock) {} }
      try publish(storage)
    }
  }

  /// Leaves the session and runs `body`, which needs exclusive access to the realm and may replace its file; then joins
  /// again. Other programs of this package cannot replace the file in between, because this process keeps the
  /// replacement lock until it has rejoined. Reads by this process wait until then, and no thread may be in a
  /// transaction.
  func whileReplacing<R>(_ body: (Configuration, ReplacementLock) throws(EngineError) -> R) throws(EngineError) -> R {
    let lock = try ReplacementLock.take(configuration.path, until: .now.advanced(by: Session.timeout))
    defer { withExtendedLifetime(lock) {} }
    return try state.withLock { state throws(EngineError) in
      let path = configuration.path
      if state.location.place != .here || state.file.place != .here { throw .moved(path) }
      if configuration.inMemoryIdentifier != nil {
        throw EngineError(.notApplicable, "\(path): a realm in memory has no file")
      }
      if let session = state.session {
        if session.participants > 1 {
          throw EngineError(.inUse, "\(path): another program has the realm open; close it there first")
        }
        if isAnythingHeld(state) {
          throw EngineError(.inUse, "\(path): a snapshot or a copy holds a version of the realm; remove it or wait")
        }
        leave(&state)
      }
      // The file that was open may be replaced.
      (state.unsharedReader, state.file.storage) = (nil, nil)
      let result: R
      do throws(EngineError) { result = try body(state.file.configuration, lock) } catch {
        // The next access tries again.
        try? enter(&state, timeout: .zero)
        throw error
      }
      // A file that `body` put there is the same realm.
      if let file = state.file.handle, file.place == .elsewhere {
        state.file.handle = try FileHandle(path: path)
      }
      // The replacement is complete even if joining fails; the next access joins again.
      try? rejoin(&state)
      return result
    }
  }

  /// Joins the session of a file that was just written as a copy.
  private func rejoin(_ state: inout State) throws(EngineError) {
    try enter(&state, timeout: .zero)
    if state.unsharedReader != nil, state.location.place == .here {
      try convert(&state, until: .now.advanced(by: Session.timeout))
    }
  }
}
