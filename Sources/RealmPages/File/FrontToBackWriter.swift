// Writes a file from its first byte to its last, plain or encrypted, in pieces of 64 pages: for files that nobody knows
// of until they are complete, so nothing needs an order. Source: format/4-encryption.md 4.2.

/// The bytes of a new realm file, in order.
final class FrontToBackWriter {
  private let file: FileHandle
  private let cipher: PageCipher?
  private var buffer: [UInt8] = []
  /// Bytes that have left the buffer.
  private var written = 0

  private static let pieceSize = EncryptedLayout.pagesPerGroup * PageCipher.pageSize

  /// Writes to an empty file, encrypted if there is a key.
  init(_ file: FileHandle, key: EncryptionKey?) throws(FileError) {
    self.file = file
    if let key {
      guard let cipher = PageCipher(key) else { throw FileError("EVP_CIPHER_CTX_new", file.path, 12) }
      self.cipher = cipher
    } else {
      cipher = nil
    }
    buffer.reserveCapacity(2 * Self.pieceSize)
  }

  /// Where the next byte goes.
  var position: Int { written + buffer.count }

  /// Whether the end must be the end of a page.
  var needsWholePages: Bool { cipher != nil }

  func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    var rest = bytes
    while buffer.count + rest.count >= Self.pieceSize {
      let part = Self.pieceSize - buffer.count
      buffer.append(contentsOf: rest.prefix(part))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part))
      try flush()
    }
    buffer.append(contentsOf: rest)
  }

  func append(_ bytes: [UInt8]) throws(FileError) {
    try bytes.withUnsafeBytesOf { (bytes) throws(FileError) in try append(bytes) }
  }

  /// Appends zero bytes; fewer than a piece.
  func append(zeros count: Int) throws(FileError) {
    if count > 0 { try append([UInt8](repeating: 0, count: count)) }
  }

  /// Writes what waits, and gives the file its size. An encrypted file must end with a page.
  func finish() throws(FileError) {
    let size = position
    try flush()
    if cipher != nil { try file.truncate(EncryptedLayout.physicalSize(size)) }
  }

  private func flush() throws(FileError) {
    if buffer.isEmpty { return }
    if let cipher {
      try encrypt(cipher)
    } else {
      try buffer.withUnsafeBytesOf { (bytes) throws(FileError) in try file.write(bytes, at: written) }
    }
    written += buffer.count
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes one metadata page and the pages that it is about.
  private func encrypt(_ cipher: PageCipher) throws(FileError) {
    let first = written / PageCipher.pageSize, count = buffer.count / PageCipher.pageSize
    var slots = [UInt8](repeating: 0, count: PageCipher.pageSize), pages: [UInt8] = []
    pages.reserveCapacity(buffer.count)
    for index in 0..<count {
      var slot = [UInt8](repeating: 0, count: EncryptedLayout.slotSize)
      let start = index * PageCipher.pageSize
      let plain = Array(buffer[start..<start + PageCipher.pageSize])
      guard let sealed = cipher.seal(plain, slot: &slot, page: first + index) else {
        throw FileError("EVP_EncryptUpdate", file.path, 5)
      }
      slots.replaceSubrange(index * slot.count..<(index + 1) * slot.count, with: slot)
      pages += sealed
    }
    let all = slots + pages
    try all.withUnsafeBytesOf { (bytes) throws(FileError) in
      try file.write(bytes, at: EncryptedLayout.slotOffset(first))
    }
  }
}
