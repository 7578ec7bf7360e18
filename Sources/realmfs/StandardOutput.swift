// Standard output in big writes, for what may be gigabytes of objects. A reader that goes away (`| head`) ends the
// program quietly, by SIGPIPE; a full disk is an error.
import Glibc
import RealmJSON

/// Collects output and writes it when there is enough.
final class StandardOutput {
  /// The text not yet written; renderers append to it.
  let buffer = OutputBuffer()
  private static let writeSize = 256 * 1024

  /// Appends a text.
  func print(_ text: String) {
    var text = text
    text.withUTF8 { buffer.append(UnsafeRawBufferPointer($0)) }
  }

  /// Whether it is time for `flush()`.
  var isFull: Bool { buffer.count >= Self.writeSize }

  /// Writes everything collected so far.
  func flush() throws(CommandFailure) {
    let failure = buffer.withUnsafeBytes { Self.write($0, to: STDOUT_FILENO) }
    buffer.reset()
    if failure != 0 { throw CommandFailure(.failure, "cannot write the output: \(System.message(failure))") }
  }

  /// Writes all bytes; 0, or the errno.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { write($0, to: descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return errno }
      rest = rest.dropFirst(count)
    }
    return 0
  }
}
