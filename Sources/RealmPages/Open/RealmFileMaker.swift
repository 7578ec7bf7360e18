// Prepares the realm file before the first commit: creates it, converts it to the updatable form and truncates it. Used
// only by a process that has the file exclusively or begins a session, and only with the first transaction: opening
// changes nothing. Source: docs/format/3-commit.md 3.8, 3.9.

import Glibc

/// Opens a realm file for writing and prepares it.
struct RealmFileMaker {
  let file: FileHandle
  let storage: any Storage
  private let bytes: any Storage
  private let isEncrypted: Bool

  /// Opens the file; creates an empty one if `create` is set. `wrap` may insert a layer above the file.
  init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(EngineError) {
    file = try FileHandle(path: configuration.path, forWriting: true, create: create)
    bytes = wrap(FileStorage(file))
    isEncrypted = configuration.encryptionKey != nil
    storage = try Self.storage(of: bytes, configuration)
  }

  /// The storage that commits are written to: `bytes`, encrypted if there is a key.
  static func storage(of bytes: any Storage, _ configuration: Configuration) throws(EngineError) -> any Storage {
    guard let key = configuration.encryptionKey else { return bytes }
    guard let encrypted = EncryptedStorage(bytes, key: key) else {
      throw .failed("EVP_CIPHER_CTX_new", configuration.path, ENOMEM)
    }
    return encrypted
  }

  /// True if the file is new, or a crash left it without its first header.
  func holdsNothing() throws(EngineError) -> Bool {
    let size = try bytes.size(), page = PageCipher.pageSize
    if size > (isEncrypted ? 2 : 1) * page { return false }
    var content = try bytes.read(size, at: 0)
    // The metadata of the first page, if its first write was interrupted. No plain file begins with a 1.
    if isEncrypted && content.count == 2 * page && content[0..<4].elementsEqual([1, 0, 0, 0]) {
      content.replaceSubrange(0..<32, with: repeatElement(0, count: 32))
    }
    return content.allSatisfy { $0 == 0 }
  }

  /// Creates an empty realm if the file has no content.
  func makeEmptyIfNew() throws(EngineError) {
    guard try holdsNothing() else { return }
    do { try Self.makeEmpty(storage) } catch {
      // The remains of a failed write would be mistaken for user data.
      try? bytes.shrink(to: 0)
      throw error
    }
    try file.syncDirectory()
  }

  /// Writes a file of one page with an empty realm.
  static func makeEmpty(_ storage: any Storage) throws(EngineError) {
    try storage.grow(to: PageCipher.pageSize)
    var header = [UInt8](repeating: 0, count: PageCipher.pageSize)
    header.replaceSubrange(16..<20, with: [0x54, 0x2d, 0x44, 0x42])
    try storage.write(header, at: 0)
    try storage.sync()
  }

  /// Prepares a file for commits: converts it to the updatable form, truncates what a crash left at its end, completes
  /// the last page, and marks the first commit of an empty file.
  static func prepare(_ storage: any Storage, _ snapshot: Snapshot, _ header: Header) throws(EngineError) {
    if header.isStreaming { try convert(storage, header) }
    if header.topRef != 0, try storage.size() > wholePages(snapshot.logicalSize) {
      // The version that the header on disk shows may be longer.
      try secureHeader(storage)
      try trim(storage, to: snapshot.logicalSize)
    }
    try completePages(storage)
    if header.topRef == 0 { try markFirstCommit(storage) }
  }

  /// Records in the header of a file without a version that a first commit has begun, before any node is written.
  static func markFirstCommit(_ storage: any Storage) throws(EngineError) {
    let header = try storage.read(Header.size, at: 0)
    guard header.count == Header.size else { throw .failed("read", storage.name, EIO) }
    let slot = Int(1 - header[Layout.Header.flags] & 1)
    try Committer.write(storage, Header.firstCommitMark.littleEndian, at: Layout.Header.topRef(slot))
    try storage.sync()
  }

  /// Makes the header durable. The previous commit may have left it in memory only: its program died before its last
  /// sync ended, or the sync failed. Otherwise the next commit would overwrite the version that the header on disk
  /// shows. The header is rewritten first, as after a failed sync the kernel considers it written.
  static func secureHeader(_ storage: any Storage) throws(EngineError) {
    if let storage = storage as? EncryptedStorage { return try storage.secureHeader() }
    try storage.write(try storage.read(Header.size, at: 0), at: 0)
    try storage.sync()
  }

  /// Converts the header of a copy, which cannot be updated, to the updatable form.
  private static func convert(_ storage: any Storage, _ header: Header) throws(EngineError) {
    try Committer.write(storage, UInt64(header.topRef).littleEndian, at: Layout.Header.topRef(1))
    try Committer.write(storage, UInt8(header.format), at: Layout.Header.format(1))
    try storage.sync()
    try Committer.write(storage, UInt8(1), at: Layout.Header.flags)
    try storage.sync()
  }

  /// Pads the file to whole pages, as an updatable file requires.
  static func completePages(_ storage: any Storage) throws(EngineError) {
    try storage.grow(to: wholePages(try storage.size()))
  }

  /// Truncates the file to `logicalSize`, rounded up to whole pages.
  static func trim(_ storage: any Storage, to logicalSize: Int) throws(EngineError) {
    let wanted = wholePages(logicalSize)
    if try storage.size() > wanted { try storage.shrink(to: wanted) }
  }

  private static func wholePages(_ size: Int) -> Int { (size + PageCipher.pageSize - 1) & ~(PageCipher.pageSize - 1) }
}
