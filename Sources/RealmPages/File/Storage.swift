// The interface between the committer and the disk, and its implementation for files. Storages can be layered:
// encryption over a file, and in tests a layer that records or fails.

/// Bytes that a commit is written to: a file, memory, or a layer over another storage. One committer at a time.
package protocol Storage: AnyObject, Sendable {
  /// The name for error messages: the path of the file.
  var name: String { get }
  /// The size in bytes.
  func size() throws(EngineError) -> Int
  /// Grows to `size` bytes; new bytes are zeros. On failure the size is unchanged.
  func grow(to size: Int) throws(EngineError)
  /// Truncates to `size` bytes, rounded up to the storage's unit.
  func shrink(to size: Int) throws(EngineError)
  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int
  /// Writes at `offset`, within the size. Readers may see the bytes from now on, and do after `flush`.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError)
  /// Makes all writes visible to readers. A power failure may lose any of them, but data synced before stays readable.
  func flush() throws(EngineError)
  /// Returns when all writes are on disk. This is the only call whose failure leaves the content of the disk unknown.
  func sync() throws(EngineError)
  /// Begins a commit: discards writes of an earlier commit that were not flushed. `reusable` returns the ranges that
  /// contain no part of any version, in ascending order; a storage that writes whole pages need not preserve them.
  func begin(reusable: () -> [Range<Int>])
}

extension Storage {
  package func flush() throws(EngineError) {}
  package func begin(reusable: () -> [Range<Int>]) {}

  /// Writes an array.
  func write(_ bytes: [UInt8], at offset: Int) throws(EngineError) {
    try unsafe bytes.withUnsafeBytesOf { (bytes) throws(EngineError) in try unsafe write(bytes, at: offset) }
  }

  /// Reads up to `count` bytes.
  func read(_ count: Int, at offset: Int) throws(EngineError) -> [UInt8] {
    let box = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
    defer { unsafe box.deallocate() }
    let done = try unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: box[0..<count]), at: offset)
    return unsafe [UInt8](box[0..<done])
  }
}

/// A file without encryption.
final class FileStorage: Storage {
  private let file: FileHandle

  /// Wraps a file opened for writing.
  init(_ file: FileHandle) { self.file = file }

  var name: String { file.path }

  func size() throws(EngineError) -> Int { try file.status().size }

  func grow(to size: Int) throws(EngineError) {
    let former = try self.size()
    do { try file.allocate(size) } catch {
      // On a full disk, part of the space may have been allocated. If it cannot be truncated, it remains: no version
      // refers to it.
      try? file.truncate(former)
      throw error
    }
  }

  func shrink(to size: Int) throws(EngineError) { try file.truncate(size) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try unsafe file.read(into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    try unsafe file.write(bytes, at: offset)
  }

  func sync() throws(EngineError) { try file.sync() }
}
