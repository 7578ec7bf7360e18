// A realm under construction, in a file that no other process sees: written in batches, so that memory stays bounded,
// and without syncs, because only the copy made from it is kept.

import Glibc

/// A realm file without a name. It is deleted when the object is destroyed.
final class WorkRealm {
  private let file: NewFile
  private let storage: any Storage
  private let key: EncryptionKey?
  private let path: String
  /// The version that the last `keep` wrote.
  private(set) var snapshot: Snapshot

  /// Creates an empty realm in the directory of `path`, encrypted if there is a key: no plain bytes reach the disk.
  init(beside path: String, key: EncryptionKey?) throws(EngineError) {
    self.path = path
    self.key = key
    file = try NewFile(path: path + ".upgrade", shownAs: path)
    let bytes = UnsyncedStorage(FileStorage(file.handle))
    var storage: any Storage = bytes
    if let key {
      guard let encrypted = EncryptedStorage(bytes, key: key) else {
        throw .failed("EVP_CIPHER_CTX_new", path, ENOMEM)
      }
      storage = encrypted
    }
    try storage.grow(to: PageCipher.pageSize)
    var header = [UInt8](repeating: 0, count: PageCipher.pageSize)
    header.replaceSubrange(16..<20, with: [0x54, 0x2d, 0x44, 0x42])
    try storage.write(header, at: 0)
    try storage.flush()
    self.storage = storage
    snapshot = try Self.look(file.handle, key, path, topRef: 0)
  }

  /// Starts a batch of changes to the current tables.
  func begin() throws(EngineError) -> GroupEditor {
    try EngineError.locating(at: path) { () throws(EngineError) in try GroupEditor(on: snapshot, NoReplication()) }
  }

  /// Writes the changes of `group`. Its memory can be released afterwards.
  func keep(_ group: GroupEditor) throws(EngineError) {
    let base = snapshot.top
    let result = try EngineError.locating(at: path) { () throws(EngineError) in
      try Committer(group: group, storage: storage, base: base, oldest: base.version).write()
    }
    try storage.flush()
    snapshot = try Self.look(file.handle, key, path, topRef: result.topRef, after: snapshot)
  }

  /// The newest version in a file under construction, or the version whose top array is at `topRef`.
  static func look(
    _ file: FileHandle,
    _ key: EncryptionKey?,
    _ path: String,
    topRef: Int,
    after former: Snapshot? = nil
  ) throws(EngineError) -> Snapshot {
    let size = try file.status().size
    let space: PageSpace
    if let key {
      space = try DecryptedPages(file, key: key, physicalSize: size, after: former?.arena.space)
    } else {
      space = try MappedFile(file, size: size)
    }
    if key != nil { try EngineError.locating(at: path) { () throws(EngineError) in try space.require(0, Header.size) } }
    let header = try Header(space, path: path, isEncrypted: key != nil)
    return try EngineError.locating(at: path) { () throws(EngineError) in
      try Snapshot(space, topRef == 0 ? header : header.showing(topRef))
    }
  }
}

/// A storage without syncs: its content does not have to survive a crash.
private final class UnsyncedStorage: Storage {
  private let base: any Storage

  init(_ base: any Storage) { self.base = base }

  var name: String { base.name }
  func size() throws(EngineError) -> Int { try base.size() }
  func grow(to size: Int) throws(EngineError) { try base.grow(to: size) }
  func shrink(to size: Int) throws(EngineError) { try base.shrink(to: size) }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try unsafe base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    try unsafe base.write(bytes, at: offset)
  }
  func sync() throws(EngineError) {}
}
