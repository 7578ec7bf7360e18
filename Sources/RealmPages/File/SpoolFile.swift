// Temporary storage for data too large for memory: pieces in an unnamed file beside the realm, which is deleted when
// the process ends, however it ends. All pieces are encrypted with a key that only this object has, so no plain text of
// an encrypted realm reaches the disk, and nothing of any realm is readable after the process has ended.

import CLinux
import COpenSSL
import Glibc
import Synchronization

/// An unnamed file for pieces of up to `pieceSize` bytes. Created when the first piece is stored.
package final class SpoolFile: Sendable {
  /// The maximum number of bytes in a piece.
  package static let pieceSize = 64 << 10

  /// Stored bytes. Their space in the file is reused after the last reference is released.
  package final class Piece: Sendable {
    /// The number of bytes.
    package let count: Int
    private let spool: SpoolFile
    fileprivate let place: Int
    /// Unique for each piece.
    fileprivate let number: UInt64

    fileprivate init(_ spool: SpoolFile, _ place: Int, _ number: UInt64, _ count: Int) {
      self.spool = spool
      self.place = place
      self.number = number
      self.count = count
    }

    deinit { spool.state.withLock { $0.unused.append(place) } }

    /// Reads and decrypts the bytes.
    package func bytes() throws(EngineError) -> [UInt8] { try spool.read(self) }
  }

  private struct State {
    var file: FileHandle?
    /// True if no file can be created in the directory.
    var isRefused = false
    var cipher: SpoolCipher?
    /// The offsets of released pieces.
    var unused: [Int] = []
    var places = 0
    var pieces: UInt64 = 0
  }

  private let realm: String
  private let state = Mutex(State())

  /// Creates a spool in the directory of the realm at `path`.
  package init(besideRealm path: String) { realm = path }

  /// Stores bytes. Returns nil if no file can be created in the directory of the realm; the bytes must then stay in
  /// memory. Throws if the disk is full.
  package func store(_ bytes: [UInt8]) throws(EngineError) -> Piece? {
    try state.withLock { state throws(EngineError) -> Piece? in
      guard let (file, cipher) = try open(&state) else { return nil }
      let number = state.pieces
      guard let sealed = cipher.apply(to: bytes, number: number) else {
        throw .failed("EVP_CipherUpdate", realm, ENOMEM)
      }
      let isNew = state.unused.isEmpty
      let place = state.unused.last ?? state.places
      var failure: EngineError?
      unsafe sealed.withUnsafeBytes { sealed in
        do throws(EngineError) { try unsafe file.write(sealed, at: place * Self.pieceSize) } catch { failure = error }
      }
      if let failure { throw failure }
      if isNew { state.places += 1 } else { state.unused.removeLast() }
      state.pieces += 1
      return Piece(self, place, number, bytes.count)
    }
  }

  private func read(_ piece: Piece) throws(EngineError) -> [UInt8] {
    try state.withLock { state throws(EngineError) in
      guard let file = state.file, let cipher = state.cipher else { throw .failed("pread", realm, EBADF) }
      let sealed = try file.bytes(piece.count, at: piece.place * Self.pieceSize)
      guard sealed.count == piece.count, let bytes = cipher.apply(to: sealed, number: piece.number) else {
        throw .failed("pread", realm, EIO, problem: "the auxiliary file beside it is shorter than it was written")
      }
      return bytes
    }
  }

  private func open(_ state: inout State) throws(EngineError) -> (FileHandle, SpoolCipher)? {
    if let file = state.file, let cipher = state.cipher { return (file, cipher) }
    if state.isRefused { return nil }
    guard let file = try Self.unnamed(besideRealm: realm) else {
      state.isRefused = true
      return nil
    }
    guard let cipher = SpoolCipher() else { throw .failed("EVP_CIPHER_CTX_new", realm, ENOMEM) }
    (state.file, state.cipher) = (file, cipher)
    return (file, cipher)
  }

  /// Creates an unnamed file in the directory of a realm, with the owner and group of the realm. Returns nil if no file
  /// can be created there.
  static func unnamed(besideRealm path: String) throws(EngineError) -> FileHandle? {
    var descriptor = unsafe clinux_open_unnamed(FileHandle.folder(of: path))
    if descriptor < 0 && [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(errno) {
      let name = "\(path).\(getpid()).spool"
      descriptor = unsafe Glibc.open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      let code = errno
      if descriptor >= 0 { unsafe unlink(name) }
      errno = code
    }
    if descriptor < 0 {
      if [EACCES, EPERM, EROFS, ENOKEY, ENOENT].contains(errno) { return nil }
      throw EngineError(opening: "\(path).spool", errno)
    }
    let file = try FileHandle(adopting: descriptor, path: "\(path).spool")
    let code = Protection(beside: path).apply(to: descriptor)
    if code != 0 { throw .failed("fchmod", file.path, code) }
    return file
  }
}

/// AES-256 in counter mode with a random key that never leaves the object. Not thread-safe.
@safe private final class SpoolCipher: @unchecked Sendable {
  // Unchecked: used under the lock of its spool.
  // Safe: owns the context, which libcrypto alone changes.
  private let context: OpaquePointer

  /// Nil if libcrypto is out of memory.
  init?() {
    guard let key = unsafe clinux_secret_alloc(32) else { return nil }
    defer { unsafe clinux_secret_free(key, 32) }
    let bytes = unsafe key.assumingMemoryBound(to: UInt8.self)
    let isInVault = PageCipher.hasVault && clinux_vault_open()
    defer { if isInVault { clinux_vault_close() } }
    // The system's generator: getrandom(2).
    var random = SystemRandomNumberGenerator()
    for word in 0..<4 { unsafe key.storeBytes(of: random.next(), toByteOffset: word * 8, as: UInt64.self) }
    guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
    guard unsafe EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nil, bytes, nil) == 1 else {
      unsafe EVP_CIPHER_CTX_free(context)
      return nil
    }
    unsafe self.context = context
  }

  deinit { unsafe EVP_CIPHER_CTX_free(context) }

  /// Encrypts or decrypts the bytes of a piece, which is the same operation; nil if libcrypto fails.
  func apply(to bytes: [UInt8], number: UInt64) -> [UInt8]? {
    // The last bytes hold the block counter, the first ones the number of the piece.
    let vector = (number.bigEndian, UInt64(0))
    let isReady = unsafe withUnsafeBytes(of: vector) { vector in
      unsafe EVP_EncryptInit_ex(context, nil, nil, nil, vector.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
    if isReady != 1 { return nil }
    var isDone = false
    let result = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
      var written: Int32 = 0
      isDone =
        unsafe EVP_EncryptUpdate(context, target.baseAddress, &written, bytes, Int32(bytes.count)) == 1
        && Int(written) == bytes.count
      count = isDone ? bytes.count : 0
    }
    return isDone ? result : nil
  }
}
