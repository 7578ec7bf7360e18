// A realm that is being made in a file that no other process sees: written in batches, so that memory stays bounded,
// and without a sync, because only its copy is kept.

import Glibc

/// A realm file without a name. It goes away with the object.
final class WorkRealm {
  private let file: NewFile
  private let storage: any Storage
  private let key: EncryptionKey?
  private let path: String
  /// What the last `keep` made.
  private(set) var snapshot: Snapshot

  /// Makes an empty realm in the folder of `path`, encrypted if there is a key: no plain bytes reach the disk.
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

  /// The tables as they are now, to be changed.
  func begin() throws(EngineError) -> GroupEditor {
    try EngineError.locating(at: path) { () throws(EngineError) in try GroupEditor(on: snapshot, NoReplication()) }
  }

  /// Writes what was changed, and forgets `group`'s memory.
  func keep(_ group: GroupEditor) throws(EngineError) {
    let base = snapshot.top
    let result = try EngineError.locating(at: path) { () throws(EngineError) in
      try Committer(group: group, storage: storage, base: base, oldest: base.version).write()
    }
    try storage.flush()
    snapshot = try Self.look(file.handle, key, path, topRef: result.topRef, after: snapshot)
  }

  /// The newest version in a file that is being made, or the one whose top array is at `topRef`.
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

/// A storage whose content need not outlive the process.
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
