// Reads messages from standard input, one per line. A line that is too long is skipped without being kept.
import Glibc

/// The messages on standard input.
struct MessageReader {
  /// The maximum length of a line in bytes.
  static let limit = 16 << 20

  enum Line {
    case message([UInt8])
    /// A line that exceeds the limit.
    case tooLong
  }

  private var block = [UInt8](repeating: 0, count: 1 << 16)
  private var unread = 0..<0

  /// Returns the next line, also one without a line feed at the end of the input; nil at the end.
  mutating func next() throws -> Line? {
    var line: [UInt8] = [], isTooLong = false
    while true {
      if unread.isEmpty, try !fill() { return isTooLong ? .tooLong : line.isEmpty ? nil : .message(line) }
      let end = block[unread].firstIndex(of: UInt8(ascii: "\n"))
      let part = block[unread.lowerBound..<(end ?? unread.upperBound)]
      isTooLong = isTooLong || line.count + part.count > Self.limit
      if isTooLong { line = [] } else { line += part }
      unread = (end.map { $0 + 1 } ?? unread.upperBound)..<unread.upperBound
      if end != nil { return isTooLong ? .tooLong : .message(line) }
    }
  }

  /// Reads the next block; returns false at the end of the input.
  private mutating func fill() throws -> Bool {
    var count: Int
    repeat { count = unsafe read(STDIN_FILENO, &block, block.count) } while count < 0 && errno == EINTR
    if count < 0 { throw CommandFailure(.unreadable, "standard input: \(System.message(errno))") }
    unread = 0..<count
    return count > 0
  }
}
