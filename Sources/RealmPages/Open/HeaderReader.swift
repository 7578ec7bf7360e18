// Finds the newest version through the header of the file alone, without an entry in the lock file.

import CLinux
import Glibc
import Synchronization

/// Reads the version that the header of a file leads to.
///
/// Other processes do not know of this reader, so a writer in another process may reuse the space of an older version.
/// `latest` therefore returns the version that the header shows, and `isCurrent` is true for that version only. Also
/// used for realms in memory and for files that no other process writes to.
final class HeaderReader: VersionReader {
  let configuration: Configuration

  private struct State {
    /// Nil for a realm in memory.
    var file: FileHandle?
    var space: PageSpace
    var header: Header
    /// The version that the header shows.
    var publishedVersion: UInt64
    /// The top ref of a later version, between a grouped commit and the full one after it.
    var unpublishedTopRef: Int?
    /// The newest version.
    var snapshot: Snapshot
    /// For an encrypted file: identifies the content of page 0.
    var slot: PageSlot?
    var calls: UInt = 0
    /// The location of the file.
    var location = FileLocation()
  }

  private let memory: MemoryStorage?
  /// True if the reader opens a file that replaces this one. False for the reader of a writer and for a realm in
  /// memory.
  private let followsPath: Bool
  /// True if a file that only looks empty is refused.
  private let isGated: Bool
  private let state: Mutex<State>

  /// Opens a file for reading. Reads only the header and the top array. A file that only looks empty is
  /// accepted as an empty realm, for callers that have a version list or that find out the cause.
  init(_ configuration: Configuration) throws(EngineError) {
    self.configuration = configuration
    (memory, followsPath, isGated) = (nil, true, false)
    state = Mutex(try Self.firstLoad(configuration))
  }

  /// Opens a file for a reader that relies on the header alone. Throws `unreached`, now or from `latest`, for a file
  /// that only looks empty.
  init(gated configuration: Configuration) throws(EngineError) {
    self.configuration = configuration
    (memory, followsPath, isGated) = (nil, true, true)
    let first = try Self.firstLoad(configuration)
    state = Mutex(first)
    try checkReached(first)
  }

  /// Opens a file whose header leads to no version, and shows the version whose top array is at `topRef` until the
  /// header changes.
  init(_ configuration: Configuration, unreached topRef: Int, format: Int) throws(EngineError) {
    self.configuration = configuration
    (memory, followsPath, isGated) = (nil, true, true)
    var first = try Self.firstLoad(configuration)
    first.snapshot = try Self.snapshot(
      first.space,
      Header(topRef: topRef, format: format),
      path: configuration.path,
      swapsGuids: configuration.showsDotNetGuids
    )
    state = Mutex(first)
  }

  private func checkReached(_ state: State) throws(EngineError) {
    if isGated { try configuration.checkReached(state.snapshot, isUnshared: configuration.mode != .exclusive) }
  }

  /// Reads an open file, whichever file is at its path later.
  init(_ configuration: Configuration, _ file: FileHandle) throws(EngineError) {
    self.configuration = configuration
    (memory, followsPath, isGated) = (nil, false, false)
    state = Mutex(try Self.load(configuration, nil, file))
  }

  /// Opens a file that may be written to at the same time: a format error counts only if it occurs twice in a row.
  private static func firstLoad(_ configuration: Configuration) throws(EngineError) -> State {
    var former: String?
    while true {
      do { return try load(configuration, nil) } catch {
        if error.description == former { throw error }
        former = error.description
        if error.code != nil { throw error }
        usleep(200)
      }
    }
  }

  /// Opens a realm in memory.
  init(memory: MemoryStorage) throws(EngineError) {
    configuration = Configuration(path: memory.name)
    (self.memory, followsPath, isGated) = (memory, false, false)
    state = Mutex(try Self.load(configuration, memory))
  }

  /// Returns the newest version. Cheap if nothing changed: it compares the header with the known one. A file that was
  /// replaced by a rename is opened again, without the key if it is plain now. If another program is truncating or
  /// rewriting the file, the error describes what was found.
  func latest(checksPath: Bool) throws(EngineError) -> Snapshot {
    try state.withLock { state throws(EngineError) -> Snapshot in
      state.calls += 1
      if state.calls % Snapshot.readsBetweenTrims == 0 { state.space.limitResidentPages() }
      let place = followsPath && checksPath ? state.file?.place ?? .here : .here, wasReplaced = place == .elsewhere
      if checksPath { state.location.place = place == .nowhere ? .gone : .here }
      if !state.space.isSpent && !wasReplaced && Self.shows(state) { return state.snapshot }
      if wasReplaced {
        var location = state.location
        let loaded = try Self.load(configuration, memory, mayBePlain: true)
        try checkReached(loaded)
        state = loaded
        location.generation += 1
        location.isEncrypted = state.slot != nil
        state.location = location
        return state.snapshot
      }
      // A commit may be in progress: try up to 20 times.
      var attempt = 0
      while true {
        let loaded: State
        do throws(EngineError) {
          loaded = try Self.load(configuration, memory, reusing: state, mayBePlain: true)
        } catch {
          attempt += 1
          if attempt == 20 { throw error }
          usleep(useconds_t(200 * attempt))
          continue
        }
        try checkReached(loaded)
        state = loaded
        return state.snapshot
      }
    }
  }

  /// Returns the newest version, the header of the file, and the version that the header shows, which is older after a
  /// grouped commit.
  func latestWithHeader() throws(EngineError) -> (Snapshot, Header, publishedVersion: UInt64) {
    _ = try latest()
    return state.withLock { ($0.snapshot, $0.header, $0.publishedVersion) }
  }

  /// Makes a version the newest one of this reader before the header shows it. The version is dropped when the header
  /// changes.
  func show(unpublished topRef: Int) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      var former = state
      former.unpublishedTopRef = topRef
      state = try Self.load(configuration, memory, reusing: former, mayBePlain: true)
    }
  }

  /// True if the header no longer shows `snapshot`. `latest` may already have returned the newer version.
  func hasChanged(since snapshot: Snapshot) -> Bool { !isCurrent(snapshot) }

  /// The oldest version that a snapshot of this process refers to.
  func oldestVersionInUse(newest: UInt64) -> UInt64 {
    min(newest, VersionRegistry.shared.oldest(of: configuration.path) ?? newest)
  }

  /// True if the header still shows `snapshot`.
  func isCurrent(_ snapshot: Snapshot) -> Bool {
    clinux_acquire_fence()
    return state.withLock { state in
      state.snapshot === snapshot && Self.shows(state) && !(state.space is MappedFile && state.space.isSpent)
    }
  }

  var location: FileLocation { state.withLock { $0.location } }

  /// Size, times, mode and owner of the realm file itself.
  func fileStatus() throws(EngineError) -> FileStatus {
    let (file, size) = state.withLock { ($0.file, $0.space.size) }
    guard let file else {
      let epoch = Timestamp(seconds: 0, nanoseconds: 0)
      return FileStatus(size: size, modified: epoch, mode: UInt32(S_IFREG | 0o600), owner: getuid(), group: getgid())
    }
    return try file.status()
  }

  /// True if the header of the file still leads to the state's snapshot.
  private static func shows(_ state: State) -> Bool {
    if let slot = state.slot, let file = state.file { return slot == PageSlot(file) }
    guard let header = try? Header(state.space, path: "", isEncrypted: false)  // an unreadable header is a changed one
    else { return false }
    // A converted copy leads to the same top array through the other slot.
    if header != state.header { return false }
    if header.topRef == 0 { return true }
    // The top array of a later version can be at the same ref.
    let arena = Arena(state.space, limit: state.space.size, format: header.format)
    guard let top = try? TopArray(arena, header.topRef) else { return false }  // unreadable means changed
    return top.version == state.publishedVersion
  }

  /// Opens the file or the memory, or reloads an open one. If `mayBePlain`, a plain file is read without the key.
  private static func load(
    _ configuration: Configuration,
    _ memory: MemoryStorage?,
    _ open: FileHandle? = nil,
    reusing old: State? = nil,
    mayBePlain: Bool = false
  ) throws(EngineError) -> State {
    let path = configuration.path
    if let memory {
      let space = try memory.pages()
      return try finish(nil, space, configuration, slot: nil, after: old)
    }
    let file: FileHandle, size: Int
    if let known = open ?? old?.file { file = known } else { file = try FileHandle(path: path) }
    size = try file.status().size
    if size == 0 { throw EngineError(FileKind([], size: 0), path: path) }
    if let key = configuration.encryptionKey, !mayBePlain || FileKind(file, size: size).family != .realm {
      return try loadEncrypted(file, size, key, configuration, after: old)
    }
    if let old, old.space is MappedFile, old.space.size == size, !old.space.isSpent {
      return try finish(file, old.space, configuration, slot: nil, after: old)
    }
    let mapped = try MappedFile(file, size: size)
    return try finish(file, mapped, configuration, slot: nil, after: old)
  }

  private static func loadEncrypted(
    _ file: FileHandle,
    _ size: Int,
    _ key: EncryptionKey,
    _ configuration: Configuration,
    after old: State?
  ) throws(EngineError) -> State {
    let path = file.path, pages: DecryptedPages, slot: PageSlot
    let kind = FileKind(file, size: size)
    switch kind.family {
    case .realm: throw EngineError(.notEncrypted, "\(path): the file is not encrypted: leave the key out")
    case .other: throw EngineError(kind, path: path)
    default: break
    }
    if size < 2 * PageCipher.pageSize || size % PageCipher.pageSize != 0 {
      throw EngineError(cutEncryptedFile: file, size, key)
    }
    // The slot is read before the page, so the next check detects a change in between.
    slot = PageSlot(file)
    pages = try DecryptedPages(file, key: key, physicalSize: size, after: old?.space)
    switch pages.fill(0) {
    case .good, .previousContent:
      do { return try finish(file, pages, configuration, slot: slot, after: old) } catch {
        guard error.reason == .damaged else { throw error }
        throw EngineError(.damaged, "\(error); the key is right")
      }
    case .beyondEnd: throw EngineError(.damaged, "\(path): truncated: the first encrypted page is missing")
    case .bad, .neverWritten, .interrupted, .zeroed:
      throw EngineError(encryptedFileIsDamaged: pages.showsRightKey(), path: path)
    }
  }

  /// The state that `space` shows. An unpublished later version in `old` stays the newest until the header changes.
  private static func finish(
    _ file: FileHandle?,
    _ space: PageSpace,
    _ configuration: Configuration,
    slot: PageSlot?,
    after old: State?
  ) throws(EngineError) -> State {
    let path = configuration.path, swapsGuids = configuration.showsDotNetGuids
    let header = try header(of: space, path: path, isEncrypted: slot != nil)
    let published = try snapshot(space, header, path: path, swapsGuids: swapsGuids)
    var state = State(
      file: file,
      space: space,
      header: header,
      publishedVersion: published.version,
      snapshot: published,
      slot: slot
    )
    state.location = old?.location ?? state.location
    state.location.isEncrypted = slot != nil
    if let old, let topRef = old.unpublishedTopRef, old.publishedVersion == published.version,
      old.header == header
    {
      state.unpublishedTopRef = topRef
      state.snapshot = try snapshot(space, header.showing(topRef), path: path, swapsGuids: swapsGuids)
    }
    return state
  }

  static func header(of space: PageSpace, path: String, isEncrypted: Bool) throws(EngineError) -> Header {
    let header = try Header(space, path: path, isEncrypted: isEncrypted)
    guard Realm.readableFormats.contains(header.format) || header.format == 0 && header.topRef == 0 else {
      throw EngineError(
        .unsupportedFormat(header.format),
        "\(path): file format \(header.format): this version reads formats 2 to 11 and 20 to 24"
      )
    }
    return header
  }

  /// Returns the version that `header` selects. `path` is used in error messages.
  static func snapshot(
    _ space: PageSpace,
    _ header: Header,
    path: String,
    pin: VersionPin? = nil,
    swapsGuids: Bool = false
  ) throws(EngineError) -> Snapshot {
    do {
      return try Snapshot(space, header, path: path, pin: pin, swapsGuids: swapsGuids)
    } catch {
      throw EngineError(.damaged, "\(path): \(error): the file is damaged or truncated")
    }
  }
}

/// The metadata slot of page 0 of an encrypted file. It changes with every write of the header.
struct PageSlot: Hashable {
  private let words: [UInt64]

  /// Reads the slot. If that fails, the value differs from all slots that were read.
  init(_ file: FileHandle) {
    var words = [UInt64](repeating: 0, count: EncryptedLayout.slotSize / 8)
    let count = unsafe words.withUnsafeMutableBytes { buffer in
      // A slot that cannot be read differs from every slot that was read.
      unsafe (try? file.read(into: buffer, at: EncryptedLayout.slotOffset(0))) ?? 0
    }
    self.words = count == EncryptedLayout.slotSize ? words : []
  }
}

extension EngineError {
  /// The error for a file whose size is not possible for an encrypted realm.
  fileprivate init(cutEncryptedFile file: FileHandle, _ size: Int, _ key: EncryptionKey) {
    let rule = "\(size) bytes, but an encrypted realm has a multiple of 4096 bytes, at least 8192"
    let whole = size - size % PageCipher.pageSize
    // If the file cannot be read, no page counts as verified.
    let pages = whole < 2 * PageCipher.pageSize ? nil : try? DecryptedPages(file, key: key, physicalSize: whole)
    if pages?.showsRightKey() ?? false {
      self.init(.damaged, "\(file.path): truncated: \(rule); the key is right: 'realmfs recover' saves what is left")
    } else if pages == nil {
      self.init(.damaged, "\(file.path): \(rule): truncated, or not a realm")
    } else {
      self.init(.wrongKey, "\(file.path): wrong encryption key, or not an encrypted Realm file: \(rule)")
    }
  }
}
