// The parts of a ZIP archive (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT). Only archives as
// spreadsheet programs write them are read: one file, without encryption, below 4 GiB. Parts that overlap are refused,
// so that the parts expand to a bounded multiple of the file.

import CZlib
import Glibc
import RealmJSON

/// A ZIP archive.
final class ZipArchive {
  /// A part of the archive.
  struct Entry {
    let name: String
    /// 0 for stored, 8 for deflate.
    let method: Int
    /// The range of its bytes in the file.
    let range: Range<Int>
    /// The size after expansion.
    let size: Int
    let checksum: UInt32
  }

  /// The path, for messages.
  let name: String
  private let descriptor: Int32
  private(set) var entries: [Entry] = []

  private static let maxDirectory = 1 << 24
  private static let maxPart = 1 << 31

  /// Opens an archive, or standard input for `-`, and reads its directory.
  init(_ path: String) throws {
    name = path == "-" ? "standard input" : path
    var file = unsafe path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 { throw TransferError.file(name, errno) }
    var status = stat()
    if unsafe fstat(file, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
      let stream = file
      defer { close(stream) }
      file = try InputFile.kept(stream, name)
      _ = unsafe fstat(file, &status)
    }
    descriptor = file
    try readDirectory(size: Int(status.st_size))
  }

  deinit { close(descriptor) }

  /// The part with this name, compared without case; nil if there is none.
  func entry(_ name: String) -> Entry? { entries.first { $0.name.lowercased() == name.lowercased() } }

  /// Returns an error of this archive.
  func error(_ text: String) -> TransferError { .unsuitable("\(name): \(text)") }

  /// Returns bytes of the file.
  func bytes(_ range: Range<Int>) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: range.count), done = 0
    while done < bytes.count {
      var part = [UInt8](repeating: 0, count: bytes.count - done)
      let count = unsafe pread(descriptor, &part, part.count, range.lowerBound + done)
      if count < 0 { throw TransferError.file(name, errno) }
      if count == 0 { throw error("the archive is truncated") }
      bytes.replaceSubrange(done..<done + count, with: part[..<count])
      done += count
    }
    return bytes
  }

  // MARK: directory

  private func readDirectory(size: Int) throws {
    let head = try bytes(0..<min(size, 8))
    if head.starts(with: [0xD0, 0xCF, 0x11, 0xE0]) {
      throw error("an .xls file, or one with a password: save it as .xlsx without a password")
    }
    if !head.starts(with: [0x50, 0x4B, 3, 4]) { throw error("not an .xlsx file, which is a ZIP archive") }
    // The end record has 22 bytes and a comment of up to 65535.
    let tailStart = max(0, size - 65_557), tail = try bytes(tailStart..<size)
    guard
      let end = (0...max(0, tail.count - 22)).reversed().first(where: { index in
        index + 22 <= tail.count && tail[index..<index + 4].elementsEqual([0x50, 0x4B, 5, 6])
          && index + 22 + Self.number(tail, index + 20, 2) == tail.count
      })
    else { throw error("the archive is truncated: it has no directory") }
    let count = Self.number(tail, end + 10, 2), length = Self.number(tail, end + 12, 4)
    let start = Self.number(tail, end + 16, 4)
    if Self.number(tail, end + 4, 4) != 0 { throw error("the archive has several files") }
    if count == 0xFFFF || start == 0xFFFF_FFFF { throw error("an archive in the form ZIP64: save the file again") }
    if length > Self.maxDirectory || start + length > tailStart + end { throw error("the directory is damaged") }
    let directory = try bytes(start..<start + length)
    var index = 0, names: Set<String> = [], ranges: [Range<Int>] = []
    for _ in 0..<count {
      guard index + 46 <= length, Self.number(directory, index, 4) == 0x0201_4B50 else {
        throw error("the directory is damaged")
      }
      let nameLength = Self.number(directory, index + 28, 2)
      let next = index + 46 + nameLength + Self.number(directory, index + 30, 2) + Self.number(directory, index + 32, 2)
      if next > length { throw error("the directory is damaged") }
      let bytes = directory[index + 46..<index + 46 + nameLength]
      let entry = try entry(directory, index, bytes, before: start)
      if !names.insert(entry.part.name.lowercased()).inserted {
        throw error("two parts have the name \(entry.part.name)")
      }
      entries.append(entry.part)
      ranges.append(entry.whole)
      index = next
    }
    ranges.sort { $0.lowerBound < $1.lowerBound }
    for (a, b) in zip(ranges, ranges.dropFirst()) where b.lowerBound < a.upperBound {
      throw error("parts of the archive overlap")
    }
  }

  private func entry(
    _ directory: [UInt8],
    _ index: Int,
    _ nameBytes: ArraySlice<UInt8>,
    before end: Int
  ) throws -> (part: Entry, whole: Range<Int>) {
    let name = String(decoding: nameBytes, as: UTF8.self), shown = name.printable
    let method = Self.number(directory, index + 10, 2)
    let compressed = Self.number(directory, index + 20, 4), size = Self.number(directory, index + 24, 4)
    let offset = Self.number(directory, index + 42, 4)
    if Self.number(directory, index + 8, 2) & 1 != 0 {
      throw error("\(shown): encrypted; save the file without a password")
    }
    if method != 0 && method != 8 { throw error("\(shown): an unknown compression method (\(method))") }
    if size > Self.maxPart { throw error("\(shown): larger than 2 GiB") }
    guard offset + 30 <= end else { throw error("\(shown): outside of the archive") }
    let header = try bytes(offset..<offset + 30)
    let nameLength = Self.number(header, 26, 2), start = offset + 30 + nameLength + Self.number(header, 28, 2)
    guard Self.number(header, 0, 4) == 0x0403_4B50, start + compressed <= end,
      try bytes(offset + 30..<offset + 30 + nameLength).elementsEqual(nameBytes)
    else { throw error("\(shown): damaged, or outside of the archive") }
    let checksum = UInt32(Self.number(directory, index + 16, 4)), range = start..<start + compressed
    return (
      Entry(name: name, method: method, range: range, size: size, checksum: checksum), offset..<start + compressed
    )
  }

  /// Returns a number of `count` bytes, low byte first.
  private static func number(_ bytes: [UInt8], _ index: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 | Int(bytes[index + $1]) << (8 * $1) }
  }
}
