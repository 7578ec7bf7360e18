// Detects that a file changed since it was read, cheaply enough to poll ten thousand files four times a second. Two
// copies of a realm that diverged through similar commits can have versions with the same number and layout, so a
// replica identifies its version by the file as well.

import Glibc

/// Distinguishes the states of a file.
struct FileSignature: Equatable {
  private let device: UInt
  private let inode: UInt
  private let size: Int
  private let modified: timespec
  private let changed: timespec
  /// The first bytes, which each commit changes. A program that maps the file may change its modification time much
  /// earlier.
  private var head: [UInt8]?

  /// Reads the signature of a file; nil if it does not exist or is not a regular file.
  init?(_ path: String, readsHead: Bool) {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    (device, inode, size, modified) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size), status.st_mtim)
    changed = status.st_ctim
    if readsHead { head = Self.head(path) }
  }

  /// Differs for every copy of the file and after every write: programs cannot set the change time.
  var stamp: String { "\(device)-\(inode)-\(changed.tv_sec).\(changed.tv_nsec)" }

  /// The inode number of the file.
  var number: UInt64 { UInt64(inode) }

  private static func head(_ path: String) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if descriptor < 0 { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 24)
    let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
    return count == bytes.count ? bytes : nil
  }

  /// True if the file was changed so recently that another change may get the same time.
  var isRecent: Bool {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let age = (now.tv_sec - modified.tv_sec) * 1000 + (now.tv_nsec - modified.tv_nsec) / 1_000_000
    return age < 50
  }

  /// True if the signatures are of different states. Heads are compared if both have one.
  func differs(from other: FileSignature) -> Bool {
    if let head, let otherHead = other.head, head != otherHead { return true }
    return device != other.device || inode != other.inode || size != other.size
      || modified.tv_sec != other.modified.tv_sec || modified.tv_nsec != other.modified.tv_nsec
  }

  static func == (a: FileSignature, b: FileSignature) -> Bool { !a.differs(from: b) }
}
