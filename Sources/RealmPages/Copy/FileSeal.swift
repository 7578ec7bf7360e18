// Hashes of a file, in a file next to it. The realm format has no checksums, so a number with a flipped bit is another
// valid number. A seal detects any damage to a file that is no longer written to. The key of an encrypted file is not
// needed.
//
// A seal is text: `realmfs seal 1`, `size BYTES`, `block BYTES`, a line with the SHA-256 of each block, and as the last
// line the SHA-256 of all lines before it.

import COpenSSL
import Glibc

/// The seal of a file.
public struct FileSeal: Equatable, Sendable {
  /// The size of the file that was sealed.
  public let size: Int
  private let hashes: [[UInt8]]

  /// The number of bytes per hash.
  public static let blockSize = 1 << 16
  private static let magic = "realmfs seal 1"

  /// The path of the seal for the file at `path`.
  public static func path(of path: String) -> String { path + ".seal" }

  /// Hashes the file at `path`. Cost: reads the whole file.
  ///
  /// - Throws: `file` if the file cannot be read.
  public init(hashing path: String) throws(EngineError) {
    let file = try FileHandle(path: path)
    var size = 0, hashes: [[UInt8]] = []
    while true {
      let block = try file.bytes(Self.blockSize, at: size)
      if block.isEmpty { break }
      hashes.append(Self.hash(block))
      size += block.count
      if block.count < Self.blockSize { break }
    }
    (self.size, self.hashes) = (size, hashes)
  }

  /// Reads the seal of the file at `path`. Throws `notFound` if it does not exist, `damaged` if it is incomplete or
  /// altered.
  public init(of path: String) throws(EngineError) {
    let name = Self.path(of: path)
    let file: FileHandle
    do { file = try FileHandle(path: name) } catch {
      if error.reason == .file(ENOENT) {
        throw EngineError(.notFound, "\(path): no seal \(name); 'realmfs seal' creates one")
      }
      throw error
    }
    let text = try file.bytes(file.status().size, at: 0)
    func damaged() -> EngineError {
      EngineError(.damaged, "\(name): the seal is incomplete or was altered: create a new one from a sound file")
    }
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count >= 5, let end = lines.last, end.isEmpty else { throw damaged() }
    let body = lines.dropLast(2), sum = text.prefix(body.reduce(0) { $0 + $1.count + 1 })
    guard Self.bytes(lines[lines.count - 2]) == Self.hash(Array(sum)), body[0].elementsEqual(Self.magic.utf8),
      let size = Self.number(body[1], after: "size "), Self.number(body[2], after: "block ") == Self.blockSize
    else { throw damaged() }
    var hashes: [[UInt8]] = []
    for line in body.dropFirst(3) {
      guard let hash = Self.bytes(line) else { throw damaged() }
      hashes.append(hash)
    }
    let count = size / Self.blockSize + (size % Self.blockSize == 0 ? 0 : 1)
    guard size >= 0, hashes.count == count else { throw damaged() }
    (self.size, self.hashes) = (size, hashes)
  }

  /// Writes the seal of the file at `path`, replacing an older one, and returns when it is durable.
  ///
  /// - Throws: `file` if the seal cannot be written.
  public func write(besideFileAt path: String) throws(EngineError) {
    let lines = [Self.magic, "size \(size)", "block \(Self.blockSize)"] + hashes.map(Self.digits)
    let body = Array(lines.map { $0 + "\n" }.joined().utf8)
    let seal = try NewFile(path: Self.path(of: path))
    try seal.takeProtection(of: FileHandle(path: path), addingForOwner: S_IRUSR | S_IWUSR)
    let text = body + Array((Self.digits(Self.hash(body)) + "\n").utf8)
    try unsafe text.withUnsafeBytesOf { (text) throws(EngineError) in try unsafe seal.handle.write(text, at: 0) }
    try seal.put(replacing: true)
  }

  /// The ranges in which a file with the seal `other` differs from the sealed one; adjacent ranges are merged.
  public func differences(to other: FileSeal) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    for i in 0..<max(hashes.count, other.hashes.count)
    where i >= hashes.count || i >= other.hashes.count || hashes[i] != other.hashes[i] {
      let range = i * Self.blockSize..<min((i + 1) * Self.blockSize, max(size, other.size))
      if let last = ranges.last, last.upperBound == range.lowerBound {
        ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
      } else {
        ranges.append(range)
      }
    }
    return ranges
  }

  /// The SHA-256 of the file at `path`, in hexadecimal, as `sha256sum` prints it. Cost: reads the whole file.
  ///
  /// - Throws: `file` if the file cannot be read.
  public static func sha256(of path: String) throws(EngineError) -> String {
    let file = try FileHandle(path: path), size = try file.status().size
    if size == 0 { return digits(hash([])) }
    let space = try MappedFile(file, size: size)
    defer { space.dropPages() }
    return space.sha256(of: 0..<size)
  }

  // MARK: text

  private static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe SHA256(bytes, bytes.count, &hash)
    return hash
  }

  private static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }

  private static func bytes(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    guard digits.count == 2 * Int(SHA256_DIGEST_LENGTH) else { return nil }
    var bytes: [UInt8] = []
    for digit in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
      guard let byte = UInt8(String(decoding: digits[digit..<digit + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func number(_ line: ArraySlice<UInt8>, after word: String) -> Int? {
    line.starts(with: word.utf8) ? Int(String(decoding: line.dropFirst(word.utf8.count), as: UTF8.self)) : nil
  }
}
