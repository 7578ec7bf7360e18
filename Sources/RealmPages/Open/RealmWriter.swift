// A realm that is open for writing: the lock, the storage, and the sequence of versions.

import Glibc
import Synchronization

/// A realm file that this process writes to, alone.
///
/// A commit that fails leaves the file at the former version, and the next transaction can try again: after space
/// was made on a full disk, for example. Only when the system fails to bring data to disk, nobody knows what is
/// there; then every later transaction is refused, until the file is opened again.
public final class RealmWriter: Sendable {
  /// The realm for reading; it sees each commit at once.
  public let realm: Realm

  let gate = WriterGate()
  /// Nil for a realm in memory.
  private let lock: ExclusiveLock?
  private let storage: any Storage
  private let state = Mutex(State())

  private struct State {
    /// The failed sync after which nothing is certain.
    var failure: TransactionError?
    /// The last grouped commit, if the header does not show it yet.
    var unpublished: Committer.Result?
  }

  /// Opens a file for writing, and makes it if it does not exist and `create` is set. Others must not have it open.
  public convenience init(_ configuration: Configuration, create: Bool = false) throws(TransactionError) {
    try self.init(configuration, create: create, over: { $0 })
  }

  /// Opens a file with something between the engine and the file, that records what is written or makes it fail.
  package init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage
  ) throws(TransactionError) {
    lock = try ExclusiveLock(realmPath: configuration.path)
    do throws(FileError) {
      let file = try FileHandle(path: configuration.path, forWriting: true, create: create)
      let bytes = wrap(FileStorage(file))
      if let key = configuration.encryptionKey {
        guard let encrypted = EncryptedStorage(bytes, key: key) else {
          throw FileError("EVP_CIPHER_CTX_new", configuration.path, ENOMEM)
        }
        storage = encrypted
      } else {
        storage = bytes
      }
      if create, try Self.holdsNothing(bytes, isEncrypted: configuration.encryptionKey != nil) {
        do throws(FileError) { try Self.makeEmpty(storage) } catch {
          // What a failed write left would be taken for somebody's data.
          try? bytes.shrink(to: 0)
          throw error
        }
        try file.syncDirectory()
      }
    } catch { throw TransactionError(error) }
    do throws(OpenError) {
      realm = try Realm(configuration)
      try prepare()
    } catch { throw TransactionError(.format, error.description) }
  }

  /// Opens a realm in memory, which holds nothing if the memory is new.
  package init(memory: MemoryStorage) throws(TransactionError) {
    lock = nil
    storage = memory
    do throws(FileError) {
      if try memory.size() == 0 { try Self.makeEmpty(memory) }
    } catch { throw TransactionError(error) }
    do throws(OpenError) { realm = try Realm(memory: memory) } catch {
      throw TransactionError(.format, error.description)
    }
  }

  deinit {
    // Who needs to know whether grouped commits reached the disk has called sync().
    try? sync()
  }

  // MARK: opening

  /// Whether the file is new, or was left by a crash before its first header was written.
  private static func holdsNothing(_ file: any Storage, isEncrypted: Bool) throws(FileError) -> Bool {
    let size = try file.size(), page = PageCipher.pageSize
    if size > (isEncrypted ? 2 : 1) * page { return false }
    var bytes = try file.read(size, at: 0)
    // The metadata of the first page, whose first write was interrupted. No plain file begins with a 1.
    if isEncrypted && bytes.count == 2 * page && bytes[0..<4].elementsEqual([1, 0, 0, 0]) {
      bytes.replaceSubrange(0..<32, with: repeatElement(0, count: 32))
    }
    return bytes.allSatisfy { $0 == 0 }
  }

  /// A file of one page that holds nothing.
  private static func makeEmpty(_ storage: any Storage) throws(FileError) {
    try storage.grow(to: PageCipher.pageSize)
    var header = [UInt8](repeating: 0, count: PageCipher.pageSize)
    header.replaceSubrange(16..<20, with: [0x54, 0x2d, 0x44, 0x42])
    try storage.write(header, at: 0)
    try storage.sync()
  }

  /// Brings a file into the form that can be updated, and gives back what a crash left at its end. Source:
  /// format/3-commit.md 3.8, 3.9.
  private func prepare() throws(OpenError) {
    let (snapshot, header, _) = try realm.latestWithHeader()
    guard Self.refusal(snapshot) == nil else { return }
    do throws(FileError) {
      if header.isStreaming {
        try Committer.write(storage, UInt64(header.topRef).littleEndian, at: 8)
        try Committer.write(storage, UInt8(header.format), at: 21)
        try storage.sync()
        try Committer.write(storage, UInt8(1), at: 23)
        try storage.sync()
      }
      if header.topRef != 0 { try trim(to: snapshot.logicalSize) }
      // A normal file is a whole number of pages.
      try storage.grow(to: Self.wholePages(try storage.size()))
    } catch { throw OpenError(error) }
    _ = try realm.latest()
  }

  private static func wholePages(_ size: Int) -> Int { (size + PageCipher.pageSize - 1) & ~(PageCipher.pageSize - 1) }

  private func trim(to logicalSize: Int) throws(FileError) {
    let wanted = Self.wholePages(logicalSize)
    if try storage.size() > wanted { try storage.shrink(to: wanted) }
  }

  /// Why a version cannot be written on, in words: sync history, an older format. Nil if it can.
  public static func reasonAgainst(writing snapshot: Snapshot) -> String? { refusal(snapshot)?.description }

  /// Why a version cannot be written on; nil if it can.
  private static func refusal(_ snapshot: Snapshot) -> TransactionError? {
    if snapshot.historyType > 2 {
      return TransactionError(
        .readOnly,
        "the realm has sync history, which only a sync client may write; make a local copy of it"
      )
    }
    if snapshot.fileFormat != 24 && snapshot.fileFormat != 0 {
      return TransactionError(.readOnly, "file format \(snapshot.fileFormat): only format 24 is written")
    }
    return nil
  }

  // MARK: transactions

  /// Begins a transaction on the newest version; waits while another thread has one.
  public func begin() throws(TransactionError) -> WriteTransaction {
    gate.enter()
    let snapshot: Snapshot
    do throws(TransactionError) {
      try checkIsSound()
      snapshot = try newest().snapshot
      if let refusal = Self.refusal(snapshot) { throw refusal }
    } catch {
      gate.leave()
      throw error
    }
    return try WriteTransaction(self, base: snapshot)
  }

  /// Returns when every commit so far is on disk, the grouped ones too; waits while another thread has a transaction.
  public func sync() throws(TransactionError) {
    gate.enter()
    defer { gate.leave() }
    guard let unpublished = state.withLock({ $0.unpublished }) else { return }
    try checkIsSound()
    storage.begin { [] }
    try publish(unpublished)
  }

  func commit(
    _ group: GroupEditor,
    base: Snapshot,
    _ durability: Durability
  ) throws(TransactionError) -> UInt64 {
    let published = try newest().publishedVersion
    let oldest = min(published, realm.oldestVersionInUse(newest: base.version))
    do throws(TransactionError) {
      let result = try Committer(group: group, storage: storage, base: base.top, oldest: oldest).write()
      switch durability {
      case .full: try publish(result)
      case .grouped:
        try noting { () throws(FileError) in try storage.flush() }
        do throws(OpenError) { try realm.show(unpublished: result.topRef) } catch {
          throw TransactionError(.format, error.description)
        }
        state.withLock { $0.unpublished = result }
      }
      return result.version
    } catch {
      if error.isFailedSync { state.withLock { $0.failure = error } }
      // Space that the file had grown by stays with it when it cannot be given back; the next commit uses it.
      if state.withLock({ $0.failure == nil }) { try? trim(to: base.logicalSize) }
      throw error
    }
  }

  private func publish(_ result: Committer.Result) throws(TransactionError) {
    let header = try newest().header
    try noting { () throws(FileError) in try Committer.publish(result, storage, replacing: header) }
    state.withLock { $0.unpublished = nil }
  }

  private func newest() throws(TransactionError) -> (snapshot: Snapshot, header: Header, publishedVersion: UInt64) {
    do throws(OpenError) { return try realm.latestWithHeader() } catch {
      throw TransactionError(.format, error.description)
    }
  }

  private func checkIsSound() throws(TransactionError) {
    if let failure = state.withLock({ $0.failure }) {
      throw TransactionError(
        .poisoned,
        "an earlier commit failed to reach the disk, so the file must be opened again: \(failure)"
      )
    }
  }

  /// Remembers a failed sync: nothing may be built on what is perhaps not on disk.
  private func noting(_ body: () throws(FileError) -> Void) throws(TransactionError) {
    do throws(FileError) { try body() } catch {
      let failed = TransactionError(error)
      if failed.isFailedSync { state.withLock { $0.failure = failed } }
      throw failed
    }
  }
}
