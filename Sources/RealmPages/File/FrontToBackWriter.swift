// Writes a file from the first byte to the last, plain or encrypted, in pieces of 64 pages. For files that no other
// process can see until they are complete, so write order does not matter. Source: docs/format/4-encryption.md 4.2.

/// The bytes of a new realm file, in order.
@safe final class FrontToBackWriter {
  // Safe: owns both buffers; `count` never exceeds `pieceSize`, the size of the smaller one.
  private let file: FileHandle
  private let cipher: PageCipher?
  /// The current piece, and how many bytes of it are filled.
  private let buffer: UnsafeMutableRawPointer
  private var count = 0
  /// The buffer for an encrypted piece, preceded by its metadata page; nil for a plain file.
  private let sealed: UnsafeMutableRawPointer?
  /// The number of bytes that were flushed from the buffer.
  private var written = 0
  /// The number of bytes of the file for which writeback has been started.
  private var begun = 0

  private static let pieceSize = EncryptedLayout.pagesPerGroup * PageCipher.pageSize
  private static let sealedSize = pieceSize + PageCipher.pageSize
  /// The number of bytes after which writeback is started.
  private static let syncStep = 1 << 23

  /// Prepares to write to an empty file, encrypted if there is a key.
  init(_ file: FileHandle, key: EncryptionKey?) throws(EngineError) {
    self.file = file
    if let key {
      guard let cipher = PageCipher(key) else { throw .failed("EVP_CIPHER_CTX_new", file.path, 12) }
      self.cipher = cipher
      unsafe sealed = .allocate(byteCount: Self.sealedSize, alignment: 16)
    } else {
      unsafe (cipher, sealed) = (nil, nil)
    }
    unsafe buffer = .allocate(byteCount: Self.pieceSize, alignment: 16)
  }

  deinit {
    unsafe buffer.deallocate()
    unsafe sealed?.deallocate()
  }

  /// The offset of the next byte.
  var position: Int { written + count }

  /// True if the end must be a page boundary.
  var needsWholePages: Bool { cipher != nil }

  func append(_ bytes: UnsafeRawBufferPointer) throws(EngineError) {
    guard let base = bytes.baseAddress else { return }
    var done = 0
    while done < bytes.count {
      let part = min(bytes.count - done, Self.pieceSize - count)
      unsafe (buffer + count).copyMemory(from: base + done, byteCount: part)
      count += part
      done += part
      if count == Self.pieceSize { try flush() }
    }
  }

  func append(_ bytes: [UInt8]) throws(EngineError) {
    try unsafe bytes.withUnsafeBytesOf { (bytes) throws(EngineError) in try unsafe append(bytes) }
  }

  /// Appends eight bytes in memory order.
  func append(_ word: UInt64) throws(EngineError) {
    var word = word
    try unsafe withUnsafeBytes(of: &word) { (bytes) throws(EngineError) in try unsafe append(bytes) }
  }

  /// Appends zero bytes.
  func append(zeros total: Int) throws(EngineError) {
    var rest = total
    while rest > 0 {
      let part = min(rest, Self.pieceSize - count)
      unsafe (buffer + count).initializeMemory(as: UInt8.self, repeating: 0, count: part)
      count += part
      rest -= part
      if count == Self.pieceSize { try flush() }
    }
  }

  /// Writes buffered bytes, and sets the size of the file. An encrypted file must end at a page boundary.
  func finish() throws(EngineError) {
    let size = position
    try flush()
    if cipher != nil { try file.truncate(EncryptedLayout.physicalSize(size)) }
  }

  private func flush() throws(EngineError) {
    if count == 0 { return }
    if let cipher, let sealed = unsafe sealed {
      try unsafe encrypt(cipher, into: sealed)
    } else {
      try unsafe file.write(UnsafeRawBufferPointer(start: buffer, count: count), at: written)
    }
    written += count
    count = 0
    let end = cipher == nil ? written : EncryptedLayout.physicalSize(written)
    if end - begun >= Self.syncStep {
      file.startSync(begun..<end)
      begun = end
    }
  }

  /// Writes one metadata page and the pages it describes.
  private func encrypt(_ cipher: PageCipher, into sealed: UnsafeMutableRawPointer) throws(EngineError) {
    let page = PageCipher.pageSize, first = written / page, pages = count / page
    unsafe sealed.initializeMemory(as: UInt8.self, repeating: 0, count: page)
    for index in 0..<pages {
      let target = unsafe sealed + (index + 1) * page, slot = unsafe sealed + index * EncryptedLayout.slotSize
      if unsafe !cipher.seal(buffer + index * page, into: target, slot: slot, page: first + index) {
        throw .failed("EVP_EncryptUpdate", file.path, 5)
      }
    }
    let bytes = unsafe UnsafeRawBufferPointer(start: sealed, count: (pages + 1) * page)
    try unsafe file.write(bytes, at: EncryptedLayout.slotOffset(first))
  }
}
