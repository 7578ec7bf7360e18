// An open file descriptor on a realm file: the only place that opens, stats and reads it. Opening never changes a
// time of the file where the system allows that (O_NOATIME).

import CLinux
import Glibc

/// An open realm file. Closed when the last user lets go.
final class FileHandle: Sendable {
  let path: String
  let descriptor: Int32
  let device: UInt64
  let inode: UInt64

  /// Opens `path`, read-only unless `forWriting`. A directory, or anything but a regular file, is refused.
  init(path: String, forWriting: Bool = false, create: Bool = false) throws(EngineError) {
    self.path = path
    let access = forWriting ? O_RDWR : O_RDONLY
    // O_NOATIME is for the owner or root only; others open plainly.
    var fd = unsafe open(
      path,
      access | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | clinux_o_noatime() | (create ? O_CREAT : 0),
      0o644
    )
    if fd < 0 && errno == EPERM { fd = unsafe open(path, access | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
    guard fd >= 0 else { throw EngineError(opening: path, errno) }
    var status = stat()
    guard unsafe fstat(fd, &status) == 0 else {
      let code = errno
      close(fd)
      throw .failed("fstat", path, code)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close(fd)
      throw .failed("open", path, status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
    }
    descriptor = fd
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  /// Takes over an open descriptor. `path` is what messages call the file.
  init(adopting descriptor: Int32, path: String) throws(EngineError) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw .failed("fstat", path, code)
    }
    self.path = path
    self.descriptor = descriptor
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  deinit { close(descriptor) }

  /// What the system says of the open file.
  func status() throws(EngineError) -> FileStatus {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .failed("fstat", path, errno) }
    return FileStatus(
      size: Int(status.st_size),
      modified: Timestamp(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int32(status.st_mtim.tv_nsec)),
      mode: UInt32(status.st_mode),
      owner: status.st_uid,
      group: status.st_gid
    )
  }

  /// Whether both are open on one file. No other file gets its inode number while it is open.
  func isSame(as other: FileHandle) -> Bool { device == other.device && inode == other.inode }

  /// Where a path leads, seen from a file that was opened by it.
  enum Place: Hashable {
    /// To the file.
    case here
    /// To another one, as after a compaction that renamed a new file into place.
    case elsewhere
    /// To none: the file was moved or removed.
    case nowhere
    /// The system does not say; its errno.
    case unknown(Int32)
  }

  /// Changes when the file is written to by a system call, whatever is done to its times.
  struct Stamp: Hashable {
    let size: Int
    let seconds: Int
    let nanoseconds: Int

    /// Whether a later write must change it: clocks of file systems tick slowly.
    var isSettled: Bool {
      let now = Timestamp.now
      return (Int(now.seconds) - seconds) * 1_000_000_000 + Int(now.nanoseconds) - nanoseconds > 50_000_000
    }
  }

  /// Where the path leads now, and if to the file, its stamp.
  func look() -> (place: Place, stamp: Stamp?) {
    var status = stat()
    if unsafe stat(path, &status) != 0 {
      let code = errno
      let isAbsent = unsafe (code == ENOENT || code == ENOTDIR) && !clinux_folder_is_locked(Self.folder(of: path))
      return (isAbsent ? .nowhere : .unknown(code), nil)
    }
    if UInt64(status.st_ino) != inode || UInt64(status.st_dev) != device { return (.elsewhere, nil) }
    let stamp = Stamp(size: Int(status.st_size), seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
    return (.here, stamp)
  }

  var place: Place { look().place }

  /// Whether the path leads to another file now.
  func wasReplaced() -> Bool { place == .elsewhere }

  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = unsafe pread(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, offset + done)
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .failed("pread", path, errno)
      }
      done += count
    }
    return done
  }

  /// Up to `count` bytes at `offset`; fewer only at the end of the file.
  func bytes(_ count: Int, at offset: Int) throws(EngineError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var failure: EngineError?
    let done = unsafe bytes.withUnsafeMutableBytes { buffer in
      do throws(EngineError) { return try unsafe read(into: buffer, at: offset) } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    return Array(bytes.prefix(done))
  }

  /// Where the file has data below `size`: everything outside of the ranges reads as zeros. A file in more than some
  /// thousand pieces has its rest in one.
  func dataRanges(below size: Int) -> [Range<Int>] {
    var ranges: [Range<Int>] = [], at = 0
    while at < size {
      let start = Int(clinux_seek(descriptor, Int64(at), true))
      // ENXIO: nothing but a hole is left.
      if start < 0 { return errno == ENXIO ? ranges : ranges + [at..<size] }
      if start >= size { return ranges }
      let end = ranges.count < Self.maximumRanges ? Int(clinux_seek(descriptor, Int64(start), false)) : size
      ranges.append(start..<(end > start ? min(end, size) : size))
      at = ranges.last?.upperBound ?? size
    }
    return ranges
  }

  private static let maximumRanges = 4096

  /// Writes all bytes at `offset`.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    var done = 0
    while done < bytes.count {
      let count = unsafe pwrite(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, offset + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw .failed("pwrite", path, errno)
      }
      if count == 0 { throw .failed("pwrite", path, ENOSPC) }
      done += count
    }
  }

  /// Reserves space on disk up to `size` bytes, so that later writes cannot run out of it.
  func allocate(_ size: Int) throws(EngineError) {
    if try status().size >= size { return }
    let result = posix_fallocate(descriptor, 0, size)
    if result == EINVAL || result == EOPNOTSUPP || result == EPERM {
      guard ftruncate(descriptor, size) == 0 else { throw .failed("ftruncate", path, errno) }
    } else if result != 0 {
      throw .failed("posix_fallocate", path, result)
    }
  }

  /// Cuts the file.
  func truncate(_ size: Int) throws(EngineError) {
    guard ftruncate(descriptor, size) == 0 else { throw .failed("ftruncate", path, errno) }
  }

  /// Has the disk begin with what was written there, so that less is left for `sync`, which also says what failed.
  func startSync(_ range: Range<Int>) {
    clinux_start_sync(descriptor, Int64(range.lowerBound), Int64(range.count))
  }

  /// Returns when what was written is on disk.
  func sync() throws(EngineError) {
    while fdatasync(descriptor) != 0 {
      if errno != EINTR { throw .failed(EngineError.syncCall, path, errno) }
    }
  }

  /// The folder that a file with this path is in.
  static func folder(of path: String) -> String {
    let end = path.lastIndex(of: "/")
    return end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// Returns when the name of a new file is on disk.
  func syncDirectory() throws(EngineError) { try DurableTree.syncDirectory(Self.folder(of: path)) }
}
