// A file that is read line by line or record by record, from any place of it. What cannot be read twice, such as a
// pipe, is kept in a file without a name first.

import Glibc

/// Reads lines, records of CSV and JSON values.
final class InputFile {
  let path: String
  let name: String
  private let descriptor: Int32
  /// Whether `buffer` holds all there is.
  private let isWhole: Bool
  private var buffer: [UInt8] = []
  /// Where the next line begins in `buffer`, and where `buffer` begins in the file.
  private var start = 0
  private var base = 0
  /// The number of the last line, from 1.
  private(set) var line = 0

  /// What the text was converted from; nil for UTF-8.
  let encoding: String?
  /// Where the text begins, behind a byte order mark.
  private let textStart: Int

  private static let chunkSize = 1 << 18
  /// As long as the longest text of an object.
  private static let longestLine = 1 << 30

  /// A text in memory, that messages call `name`.
  init(text: [UInt8], name: String) {
    (path, self.name, descriptor, buffer) = ("", name, -1, text)
    (isWhole, encoding, textStart) = (true, nil, 0)
  }

  /// Opens a file, or standard input for `-`. Without an encoding it is that of the byte order mark, else UTF-8.
  init(path: String, encoding: String? = nil) throws(TransferError) {
    isWhole = false
    self.path = path
    name = path == "-" ? "standard input" : path
    let opened = unsafe path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
    if opened < 0 { throw .file(name, errno) }
    var status = stat()
    var file = opened
    if unsafe fstat(opened, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
      defer { close(opened) }
      file = try Self.kept(opened, name)
    }
    var head = [UInt8](repeating: 0, count: 4)
    unsafe head.removeLast(head.count - max(0, pread(file, &head, head.count, 0)))
    do throws(TransferError) {
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

  /// A file without a name with all that a descriptor gives.
  private static func kept(_ source: Int32, _ name: String) throws(TransferError) -> Int32 {
    let copy = try unnamed()
    var chunk = [UInt8](repeating: 0, count: chunkSize)
    while true {
      let count = unsafe read(source, &chunk, chunk.count)
      if count == 0 { return copy }
      if count < 0 {
        let code = errno
        close(copy)
        throw .file(name, code)
      }
      var written = 0
      while written < count {
        let part = Array(chunk[written..<count])
        let done = unsafe write(copy, part, part.count)
        if done < 0 {
          let code = errno
          close(copy)
          throw .file("a temporary file", code)
        }
        written += done
      }
    }
  }

  /// The place of the next line in the file.
  var offset: Int { base + start }

  /// Goes to the beginning of the text.
  func rewind() { seek(to: textStart, line: 0) }

  /// Goes on with the line at a place, which comes after `line` lines.
  func seek(to offset: Int, line: Int) {
    self.line = line
    if isWhole { return start = offset }
    buffer = []
    start = 0
    base = offset
  }

  /// Reads on, and drops what comes before the next line or value; false at the end of the file.
  private func fill() throws(TransferError) -> Bool {
    if isWhole { return false }
    if start > 0 {
      buffer.removeFirst(start)
      base += start
      start = 0
    }
    var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
    let count = unsafe pread(descriptor, &chunk, chunk.count, base + buffer.count)
    if count < 0 { throw .file(name, errno) }
    buffer += chunk[..<count]
    return count > 0
  }

  /// The next line without its end; nil after the last.
  func readLine() throws(TransferError) -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        line += 1
        return Array(buffer[start..<end])
      }
      searched = buffer.count
      if buffer.count - start > Self.longestLine {
        throw .unsuitable("\(name): line \(line + 1) is longer than 1 GiB")
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

  /// The next record of CSV: lines up to one where no quotes are open.
  func readRecord(_ delimiter: UInt8) throws(TransferError) -> [UInt8]? {
    guard var record = try readLine() else { return nil }
    let first = line
    var quotes = CSVQuotes(delimiter: delimiter)
    quotes.pass(record)
    while quotes.isOpen {
      guard let more = try readLine() else {
        throw .unsuitable("\(name): line \(first): a field in quotes has no end")
      }
      if record.count + more.count > Self.longestLine {
        throw .unsuitable("\(name): line \(first): a record longer than 1 GiB; perhaps quotes that have no end")
      }
      quotes.pass(more)
      record.append(0x0A)
      record += more
    }
    return record
  }

  // MARK: values

  /// The byte at a distance from the next one to read; nil beyond the end.
  func peek(_ distance: Int = 0) throws(TransferError) -> UInt8? {
    while start + distance >= buffer.count {
      if buffer.count - start > Self.longestLine { throw .unsuitable("\(name): line \(line + 1): longer than 1 GiB") }
      if try !fill() { return nil }
    }
    return buffer[start + distance]
  }

  /// Passes over bytes that were looked at.
  func skip(_ count: Int) { start = min(start + count, buffer.count) }

  /// The next bytes, which were looked at.
  func take(_ count: Int) -> [UInt8] {
    defer { skip(count) }
    return Array(buffer[start..<start + count])
  }

  func countLines(_ count: Int) { line += count }

  /// All that is left.
  func readRest() throws(TransferError) -> [UInt8] {
    var rest: [UInt8] = []
    while let line = try readLine() {
      rest += line
      rest.append(0x0A)
    }
    return rest
  }
}
