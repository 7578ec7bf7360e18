// An open file descriptor of a realm file: the only code that opens, stats and reads it. Opening never changes the
// file's access time if the system allows that (O_NOATIME).

import CLinux
import Glibc

/// An open realm file. Closed with its last reference.
final class FileHandle: Sendable {
  let path: String
  let descriptor: Int32
  let device: UInt64
  let inode: UInt64

  /// Opens `path`, read-only unless `forWriting`. Refuses anything but a regular file.
  init(path: String, forWriting: Bool = false, create: Bool = false) throws(EngineError) {
    self.path = path
    let access = forWriting ? O_RDWR : O_RDONLY
    // Only the owner and root may use O_NOATIME; others open without it.
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

  /// Takes ownership of an open descriptor. `path` is used in error messages.
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

  /// Returns the status of the open file.
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

  /// True if both refer to the same file. An inode number is not reused while the file is open.
  func isSame(as other: FileHandle) -> Bool { device == other.device && inode == other.inode }

  /// The file that is now at the path of an open file.
  enum Place: Hashable {
    /// The file itself.
    case here
    /// Another file, as after a compaction that renamed a new file into place.
    case elsewhere
    /// Nothing: the file was moved or removed.
    case nowhere
    /// Not known; the errno of the lookup.
    case unknown(Int32)

    /// True if another file, or none, is at the path.
    var isAway: Bool { self == .elsewhere || self == .nowhere }
  }

  /// Changes whenever a system call writes to the file, even if its times are modified.
  struct Stamp: Hashable {
    let size: Int
    let seconds: Int
    let nanoseconds: Int

    /// True if any later write must change the stamp: file system clocks have coarse ticks.
    var isSettled: Bool {
      let now = Timestamp.now
      return (Int(now.seconds) - seconds) * 1_000_000_000 + Int(now.nanoseconds) - nanoseconds > 50_000_000
    }
  }

  /// Returns what is now at the path and, if it is the file, its stamp.
  func locate() -> (place: Place, stamp: Stamp?) {
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

  var place: Place { locate().place }

  /// True if another file is now at the path.
  func wasReplaced() -> Bool { place == .elsewhere }

  /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = unsafe pread(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, offset + done)
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .failed("pread", path, errno, bytes: offset + done..<offset + buffer.count)
      }
      done += count
    }
    return done
  }

  /// Returns up to `count` bytes at `offset`; fewer only at the end of the file.
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

  /// Returns the ranges below `size` that have data; everything outside of them reads as zeros. After 4096 ranges, the
  /// rest of the file is one range.
  func dataRanges(below size: Int) -> [Range<Int>] {
    var ranges: [Range<Int>] = [], at = 0
    while at < size {
      let start = Int(clinux_seek(descriptor, Int64(at), true))
      // ENXIO: only a hole is left.
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
        throw .failed("pwrite", path, errno, bytes: offset + done..<offset + bytes.count)
      }
      if count == 0 { throw .failed("pwrite", path, ENOSPC, bytes: offset + done..<offset + bytes.count) }
      done += count
    }
  }

  /// Reserves disk space up to `size` bytes, so that later writes cannot run out of it.
  func allocate(_ size: Int) throws(EngineError) {
    let present = try status().size
    if present >= size { return }
    let result = posix_fallocate(descriptor, 0, size)
    if result == EINVAL || result == EOPNOTSUPP || result == EPERM {
      guard ftruncate(descriptor, size) == 0 else { throw .failed("ftruncate", path, errno) }
    } else if result != 0 {
      throw .failed("posix_fallocate", path, result, bytes: present..<size)
    }
  }

  /// Truncates the file.
  func truncate(_ size: Int) throws(EngineError) {
    guard ftruncate(descriptor, size) == 0 else { throw .failed("ftruncate", path, errno) }
  }

  /// Starts writing a range to disk, so that `sync` has less to do. `sync` also reports errors of this write.
  func startSync(_ range: Range<Int>) {
    clinux_start_sync(descriptor, Int64(range.lowerBound), Int64(range.count))
  }

  /// Returns when all writes are on disk.
  func sync() throws(EngineError) {
    while fdatasync(descriptor) != 0 {
      if errno != EINTR { throw .failed(EngineError.syncCall, path, errno) }
    }
  }

  /// The directory of a path.
  static func folder(of path: String) -> String {
    let end = path.lastIndex(of: "/")
    return end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// Returns when the name of a new file is on disk.
  func syncDirectory() throws(EngineError) { try DurableTree.syncDirectory(Self.folder(of: path)) }
}
