// Writes bytes to a file or descriptor, in large writes.

import Glibc
import RealmJSON

/// A file that is written sequentially.
final class FileOutput {
  let path: String
  private let descriptor: Int32
  private let isOwned: Bool
  /// True for a terminal, where control characters in the output are escaped.
  private let isTerminal: Bool

  /// The number of collected bytes that callers write at once.
  static let batchSize = 256 * 1024

  /// Creates a new file.
  init(path: String) throws {
    self.path = path
    isOwned = true
    isTerminal = false
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor < 0 { throw TransferError.file(path, errno) }
  }

  /// Creates an output to a descriptor that the caller owns.
  init(descriptor: Int32, name: String) {
    path = name
    isOwned = false
    isTerminal = isatty(descriptor) == 1
    self.descriptor = descriptor
  }

  deinit { if isOwned { close(descriptor) } }

  /// Writes all bytes of the buffer and empties it.
  func write(_ buffer: OutputBuffer) throws {
    defer { buffer.reset() }
    if !isTerminal { return try write(buffer, in: 0..<buffer.count) }
    let shown = OutputBuffer()
    unsafe shown.append(printable: buffer.bytes.span.bytes, keepingLines: true)
    try write(shown, in: 0..<shown.count)
  }

  /// Writes a range of the buffer.
  func write(_ buffer: OutputBuffer, in range: Range<Int>) throws {
    try unsafe buffer.withUnsafeBytes { bytes in
      var rest = unsafe bytes[range]
      while unsafe !rest.isEmpty {
        let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        if count < 0 { throw TransferError.file(path, errno) }
        unsafe rest = rest.dropFirst(count)
      }
    }
  }
}
