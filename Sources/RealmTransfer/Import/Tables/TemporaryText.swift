// Text that is written to an unnamed temporary file, to be read as the input of an import.

import Glibc
import RealmJSON

/// Collects text in an unnamed temporary file.
final class TemporaryText {
  private let descriptor: Int32
  /// The text that is not in the file yet.
  let buffer = OutputBuffer()
  private var written = 0
  private let limit: Int
  private var isTaken = false

  private static let chunkSize = 1 << 18

  /// Creates an empty text, of at most `limit` bytes.
  init(limit: Int = .max) throws {
    self.limit = limit
    descriptor = try InputFile.unnamed()
  }

  deinit { if !isTaken { close(descriptor) } }

  /// The number of bytes written so far.
  var count: Int { written + buffer.count }

  /// True if the text is longer than the limit.
  var isOverLimit: Bool { count > limit }

  /// Writes the collected text to the file, once there is enough of it.
  func flush(isEnd: Bool = false) throws {
    if buffer.count < Self.chunkSize, !isEnd { return }
    try Self.write(buffer.bytes[...], to: descriptor)
    written += buffer.count
    buffer.reset()
  }

  /// Returns bytes of the file, which must have been written.
  func bytes(at offset: Int, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let done = unsafe pread(descriptor, &bytes, count, offset)
    if done != count { throw TransferError.file("a temporary file", done < 0 ? errno : EIO) }
    return bytes
  }

  /// Ends the text and returns it as the input of an import.
  func input(name: String, rowsBefore: Int = 0) throws -> InputFile {
    try flush(isEnd: true)
    isTaken = true
    return InputFile(converted: descriptor, name: name, rowsBefore: rowsBefore)
  }

  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws {
    var rest = bytes
    while !rest.isEmpty {
      let done = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if done < 0, errno != EINTR { throw TransferError.file("a temporary file", errno) }
      rest = rest.dropFirst(max(done, 0))
    }
  }
}
