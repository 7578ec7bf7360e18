// Standard output in large writes, for gigabytes of objects. If the reader ends (`| head`), the program ends silently,
// by SIGPIPE; a full disk is an error.
import Glibc
import RealmJSON

/// Collects output and writes it in large pieces.
final class StandardOutput {
  /// The text not yet written; renderers append to it.
  let buffer = OutputBuffer()
  private static let writeSize = 256 * 1024
  /// True if control characters must be escaped; files and pipes receive the data unchanged.
  private let isTerminal = isatty(STDOUT_FILENO) == 1

  /// Appends text unchanged, such as data or source code.
  func print(_ text: String) {
    var text = text
    text.withUTF8 { unsafe buffer.append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends a line of human-readable text.
  func line(_ text: String) {
    buffer.append(printable: text, keepingLines: false)
    buffer.append("\n")
  }

  /// Appends lines consisting of a name and a value, with the values aligned.
  func table(_ lines: [(name: String, value: String)]) {
    let names = lines.map(\.name.printable)
    let width = max(14, names.map(\.count).max() ?? 0)
    for (name, line) in zip(names, lines) {
      self.line("\(name)\(String(repeating: " ", count: width - name.count))  \(line.value)")
    }
  }

  /// True if it is time for `flush()`.
  var isFull: Bool { buffer.count >= Self.writeSize }

  /// Writes everything collected so far.
  func flush() throws {
    let failure: Int32
    if isTerminal {
      failure = Self.write(Array(buffer.string.printableLines.utf8), to: STDOUT_FILENO)
    } else {
      failure = unsafe buffer.withUnsafeBytes { unsafe Self.write($0, to: STDOUT_FILENO) }
    }
    buffer.reset()
    if failure != 0 { throw CommandFailure(.failure, "cannot write the output: \(System.message(failure))") }
  }

  /// Writes all bytes. Returns 0, or the errno.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    unsafe bytes.withUnsafeBytes { unsafe write($0, to: descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = unsafe bytes[...]
    while unsafe !rest.isEmpty {
      let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return errno }
      unsafe rest = rest.dropFirst(count)
    }
    return 0
  }
}
