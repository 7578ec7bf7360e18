// Reads a file line by line or record by record, starting at any position. Input that cannot be read twice, such as a
// pipe, is first copied to an unnamed temporary file.

import Glibc

/// Reads lines, CSV records and JSON values.
final class InputFile {
  let path: String
  let name: String
  private let descriptor: Int32
  /// True if `buffer` contains the complete text.
  private let isWhole: Bool
  private var buffer: [UInt8] = []
  /// The offset of the next line in `buffer`, and the offset of `buffer` in the file.
  private var start = 0
  private var base = 0
  /// The number of the last line read, from 1.
  private(set) var line = 0

  /// The word for the position of a record: `line`, or `row` in a table that was converted to text.
  let unit: String
  /// The number of rows before the first one.
  private let rowsBefore: Int

  /// The original encoding of the text; nil for UTF-8.
  let encoding: String?
  /// The start of the text, after any byte order mark.
  private let textStart: Int

  private static let chunkSize = 1 << 18
  /// The limit for one line: the maximum length of an object's text.
  private static let longestLine = 1 << 30

  /// Creates a file from text in memory. `name` is used in messages.
  init(text: [UInt8], name: String) {
    (path, self.name, descriptor, buffer) = ("", name, -1, text)
    (isWhole, encoding, textStart, unit, rowsBefore) = (true, nil, 0, "line", 0)
  }

  /// Takes a temporary file with a table converted to text, one record for each row after the first `rowsBefore`.
  init(converted descriptor: Int32, name: String, rowsBefore: Int = 0) {
    (path, self.name, self.descriptor, self.rowsBefore) = (name, name, descriptor, rowsBefore)
    (isWhole, encoding, textStart, unit) = (false, nil, 0, "row")
  }

  /// Opens a file, or standard input for `-`. If `encoding` is nil, it is determined by the byte order mark; without
  /// one, it is UTF-8.
  init(path: String, encoding: String? = nil) throws {
    (isWhole, unit, rowsBefore) = (false, "line", 0)
    self.path = path
    name = path == "-" ? "standard input" : path
    let opened = unsafe path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
    if opened < 0 { throw TransferError.file(name, errno) }
    var status = stat()
    var file = opened
    if unsafe fstat(opened, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
      defer { close(opened) }
      file = try Self.kept(opened, name)
    }
    var head = [UInt8](repeating: 0, count: 4)
    unsafe head.removeLast(head.count - max(0, pread(file, &head, head.count, 0)))
    do {
      self.encoding = try Self.encoding(encoding, head, name)
      if let encoding = self.encoding {
        descriptor = try Self.converted(file, from: encoding, name)
        head = [UInt8](repeating: 0, count: 4)
        unsafe head.removeLast(head.count - max(0, pread(descriptor, &head, head.count, 0)))
        close(file)
      } else {
        descriptor = file
      }
    } catch {
      close(file)
      throw error
    }
    textStart = Self.encoding(of: head) == "UTF-8" ? 3 : 0
    base = textStart
  }

  deinit { if !isWhole { close(descriptor) } }

  /// Copies all bytes of a descriptor to an unnamed temporary file.
  static func kept(_ source: Int32, _ name: String) throws -> Int32 {
    let copy = try unnamed()
    var chunk = [UInt8](repeating: 0, count: chunkSize)
    while true {
      let count = unsafe read(source, &chunk, chunk.count)
      if count == 0 { return copy }
      if count < 0 {
        let code = errno
        close(copy)
        throw TransferError.file(name, code)
      }
      var written = 0
      while written < count {
        let part = Array(chunk[written..<count])
        let done = unsafe write(copy, part, part.count)
        if done < 0 {
          let code = errno
          close(copy)
          throw TransferError.file("a temporary file", code)
        }
        written += done
      }
    }
  }

  /// The offset of the next line in the file.
  var offset: Int { base + start }

  /// Moves to the beginning of the text.
  func rewind() { seek(to: textStart, line: rowsBefore) }

  /// Moves to an offset that follows `line` lines.
  func seek(to offset: Int, line: Int) {
    self.line = line
    if isWhole { return start = offset }
    buffer = []
    start = 0
    base = offset
  }

  /// Reads more bytes, and drops those before the next line or value; returns false at the end of the file.
  private func fill() throws -> Bool {
    if isWhole { return false }
    if start > 0 {
      buffer.removeFirst(start)
      base += start
      start = 0
    }
    var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
    let count = unsafe pread(descriptor, &chunk, chunk.count, base + buffer.count)
    if count < 0 { throw TransferError.file(name, errno) }
    buffer += chunk[..<count]
    return count > 0
  }

  /// Reads the next line, without its line break; returns nil at the end.
  func readLine() throws -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        line += 1
        return Array(buffer[start..<end])
      }
      searched = buffer.count
      if buffer.count - start > Self.longestLine {
        throw TransferError.unsuitable("\(name): line \(line + 1) is longer than 1 GiB")
      }
      searched -= start
      if try fill() { continue }
      searched += start
      if start == buffer.count { return nil }
      defer { start = buffer.count }
      line += 1
      return Array(buffer[start...])
    }
  }

  /// Reads the next CSV record: lines up to the first one after which no quotes are open.
  func readRecord(_ delimiter: UInt8) throws -> [UInt8]? {
    guard var record = try readLine() else { return nil }
    let first = line
    var quotes = CSVQuotes(delimiter: delimiter)
    quotes.pass(record)
    while quotes.isOpen {
      guard let more = try readLine() else {
        throw TransferError.unsuitable("\(name): line \(first): a field in quotes has no end")
      }
      if record.count + more.count > Self.longestLine {
        throw TransferError.unsuitable(
          "\(name): line \(first): a record longer than 1 GiB; perhaps quotes that have no end"
        )
      }
      quotes.pass(more)
      record.append(0x0A)
      record += more
    }
    if unit == "row" { line = first }
    return record
  }

  // MARK: values

  /// Returns the byte at a distance from the next one; nil past the end.
  func peek(_ distance: Int = 0) throws -> UInt8? {
    while start + distance >= buffer.count {
      if buffer.count - start > Self.longestLine {
        throw TransferError.unsuitable("\(name): line \(line + 1): longer than 1 GiB")
      }
      if try !fill() { return nil }
    }
    return buffer[start + distance]
  }

  /// Skips bytes that `peek` has returned.
  func skip(_ count: Int) { start = min(start + count, buffer.count) }

  /// Consumes bytes that `peek` has returned.
  func take(_ count: Int) -> [UInt8] {
    defer { skip(count) }
    return Array(buffer[start..<start + count])
  }

  func countLines(_ count: Int) { line += count }

  /// Reads the rest of the file.
  func readRest() throws -> [UInt8] {
    var rest: [UInt8] = []
    while let line = try readLine() {
      rest += line
      rest.append(0x0A)
    }
    return rest
  }
}
