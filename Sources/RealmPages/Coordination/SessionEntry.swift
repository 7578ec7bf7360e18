// The steps by which a participant joins a session: open the file, check if this process can share it, and join the
// programs that have it open. A file that cannot be shared is read without joining.

import Threads

/// One attempt to join the session of the realm at a path, and its result.
struct SessionEntry {
  /// The configuration with which the file is opened.
  let configuration: Configuration
  /// The name whose lock file coordinates the session.
  let lockedName: String
  /// Called periodically on a thread of the session.
  private let whenIdle: @Sendable () -> Void
  /// The session that was joined; nil if `unsharedReader` reads the file.
  private(set) var session: Session?
  /// The reader of a file that is read without joining a session.
  private(set) var unsharedReader: HeaderReader?
  /// The open file.
  private(set) var file: FileHandle?
  /// The target of commits; nil for a reader.
  private(set) var storage: (any Storage)?
  /// The reason why `unsharedReader` reads a file that other programs have open.
  private(set) var unsharedPlace: FileLocation.Place?

  /// Finds the lock file of the realm. Joins nothing yet.
  init(_ configuration: Configuration, whenIdle: @escaping @Sendable () -> Void) throws(EngineError) {
    (self.configuration, self.whenIdle) = (configuration, whenIdle)
    lockedName = try RealmLinks.lockedName(of: configuration.path)
  }

  /// Joins for reading. Waits for `timeout` while programs use the file with another lock file.
  mutating func enterReading(_ timeout: Duration) throws(EngineError) {
    let configuration = configuration
    let probe = try HeaderReader(configuration)
    let (snapshot, header, _) = try probe.latestWithHeader()
    let file = try FileHandle(path: configuration.path)
    self.file = file
    if !Self.canBeShared(snapshot, header) {
      try configuration.checkReached(snapshot, isUnshared: false)
      unsharedReader = probe
      return
    }
    do {
      session = try join(file, forWriting: false, timeout) { () throws(EngineError) in
        try Self.firstVersion(configuration)
      }
    } catch {
      guard let place = error.unsharedPlace else { throw error }
      try configuration.checkReached(snapshot, isUnshared: true)
      (unsharedReader, unsharedPlace) = (probe, place)
    }
  }

  /// Joins for writing, and creates the file if `create` is true. `wrap` can put a layer between the engine and the
  /// file. Waits for `timeout` while programs use the file with another lock file.
  mutating func enterWriting(
    create: Bool,
    _ timeout: Duration,
    _ wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    let configuration = configuration
    let maker = try RealmFileMaker(configuration, create: create, over: wrap)
    let isNew = try maker.holdsNothing()
    (file, storage) = (maker.file, maker.storage)
    var probe: HeaderReader?, canBeShared = true
    if !isNew || !create {
      let reader = try HeaderReader(configuration)
      let (snapshot, header, _) = try reader.latestWithHeader()
      probe = reader
      if RealmWriter.refusal(snapshot) != nil {
        try configuration.checkReached(snapshot, isUnshared: true)
        unsharedReader = reader
        return
      }
      canBeShared = Self.canBeShared(snapshot, header)
      if !canBeShared { try configuration.checkReached(snapshot, isUnshared: false) }
    }
    do {
      if !canBeShared {
        // The first save converts it.
        try Trust.check(maker.file, configuration)
        unsharedReader = probe
        return
      }
      session = try join(maker.file, forWriting: true, timeout) { () throws(EngineError) in
        if create { try maker.makeEmptyIfNew() }
        // A copy may have replaced the file in the meantime; it has to be converted before a session begins.
        return try Self.firstVersion(configuration)
      }
      (maker.storage as? EncryptedStorage)?.marker = session?.lockFile
    } catch {
      guard let place = error.unsharedPlace, let probe, timeout == .zero else { throw error }
      (unsharedReader, unsharedPlace) = (probe, place)
    }
  }

  /// Joins the session of `file`, or begins one with the version that `begin` returns. See `Session`.
  func join(
    _ file: FileHandle,
    forWriting: Bool,
    _ timeout: Duration,
    until deadline: MonotonicTime? = nil,
    holdsFirst: Bool = false,
    begin: () throws(EngineError) -> FirstVersion
  ) throws(EngineError) -> Session {
    var configuration = configuration
    if !configuration.path.isExactly(lockedName) { configuration.path = lockedName }
    return try Session(
      configuration,
      of: file,
      forWriting: forWriting,
      timeout: timeout,
      until: deadline,
      holdsFirst: holdsFirst,
      whenIdle: whenIdle,
      begin: begin
    )
  }

  /// The version that a session begins with. At that time no other program has the realm open, so no first commit is in
  /// progress: a header without a top ref, in a file with nodes, has lost its version.
  private static func firstVersion(_ configuration: Configuration) throws(EngineError) -> FirstVersion {
    let (snapshot, header, _) = try HeaderReader(configuration).latestWithHeader()
    try configuration.checkReached(snapshot, isUnshared: false)
    guard canBeShared(snapshot, header) else {
      throw EngineError(.inUse, "\(configuration.path): the file changed while it was being opened: try again")
    }
    return FirstVersion(snapshot)
  }

  /// True if a file with this content can be in a session that this process joins.
  static func canBeShared(_ snapshot: Snapshot, _ header: Header) -> Bool {
    // No commit can replace the header of a copy. That includes a copy of an empty realm, but not a copy whose end is
    // missing.
    if header.topRef == 0 { return !header.isStreaming || !isCopyOfEmptyRealm(snapshot.arena.space) }
    if header.isStreaming || snapshot.fileFormat != 24 { return false }
    return snapshot.historyType == 0 || snapshot.historyType == 2 && snapshot.top.historySchemaVersion <= 1
      || snapshot.historyType == 3 && snapshot.top.historySchemaVersion == 12
  }

  /// True if the file has only zeros between the header and the footer of a copy.
  private static func isCopyOfEmptyRealm(_ space: PageSpace) -> Bool {
    if space.size > PageCipher.pageSize { return false }
    return (Header.size..<space.size - Header.footerSize).allSatisfy { space.byte(at: $0) == 0 }
  }
}

extension FirstVersion {
  /// The version in the header of a file.
  init(_ snapshot: Snapshot) {
    self.init(
      version: snapshot.version,
      topRef: snapshot.top.ref,
      logicalSize: snapshot.logicalSize,
      historyType: snapshot.historyType == 0 ? 2 : snapshot.historyType
    )
  }
}
