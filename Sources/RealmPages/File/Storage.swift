// Where commits are written: the seam between the committer and the disk, and the file behind it. Layers stand on one
// another: encryption on a file, and in tests something that records or fails.

/// Bytes that a commit is written to: a file, memory, or a layer over another storage. One committer at a time.
package protocol Storage: AnyObject, Sendable {
  /// What messages call it: the path of the file.
  var name: String { get }
  /// The bytes that there is room for.
  func size() throws(EngineError) -> Int
  /// Makes room for `size` bytes; new ones are zeros. On failure the size is as it was.
  func grow(to size: Int) throws(EngineError)
  /// Cuts to `size` bytes, rounded up to the storage's unit.
  func shrink(to size: Int) throws(EngineError)
  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int
  /// Writes at `offset`, within the size. Readers may see it from now on, and surely after `flush`.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError)
  /// Shows readers everything that was written, with no promise of what a power cut leaves of it, but that what was
  /// synced before stays readable.
  func flush() throws(EngineError)
  /// Returns when everything written is on disk. The only call whose failure leaves unknown what is there.
  func sync() throws(EngineError)
  /// Begins a commit: forgets what an earlier one wrote and did not flush. `reusable` gives the ranges that hold
  /// nothing of any version, in ascending order; a storage that writes whole pages need not preserve them.
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

/// A file as it is.
final class FileStorage: Storage {
  private let file: FileHandle

  /// Takes a file that was opened for writing.
  init(_ file: FileHandle) { self.file = file }

  var name: String { file.path }

  func size() throws(EngineError) -> Int { try file.status().size }

  func grow(to size: Int) throws(EngineError) {
    let former = try self.size()
    do throws(EngineError) { try file.allocate(size) } catch {
      // A full disk may have given a part. It stays when it cannot be cut off: no version knows of it.
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
