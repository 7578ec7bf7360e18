// One request of the kernel. Invariant: it is answered exactly once: replies consume it, and a request that is dropped
// is answered with EIO.

import CFuse
import FileTree
import Glibc

/// A request that waits for its reply.
@safe struct FuseRequest: ~Copyable {
  // Safe: a request is valid until it is answered, which consumes it, and its session keeps the bridge.
  private let raw: fuse_req_t
  private let owner: Unmanaged<Bridge>

  /// Takes ownership of the request of a callback, which must not reply by other means.
  init(_ raw: fuse_req_t?) {
    // libfuse passes a request to each callback, and the session was created with user data.
    unsafe self.raw = raw.unsafelyUnwrapped
    unsafe owner = Bridge.of(self.raw)
  }

  deinit { unsafe fuse_reply_err(raw, EIO) }

  /// The mount that the request belongs to.
  var bridge: Bridge { unsafe owner.takeUnretainedValue() }
  var tree: FileTree { bridge.tree }

  // MARK: answers

  consuming func reply(_ error: FileTreeError) { reply(errno: error.errno) }

  consuming func reply(errno: Int32) {
    unsafe fuse_reply_err(raw, errno)
    discardAnswered()
  }

  /// Replies with success and no data.
  consuming func reply() { reply(errno: 0) }

  /// Ends a request that expects no reply.
  consuming func replyNothing() {
    unsafe fuse_reply_none(raw)
    discardAnswered()
  }

  consuming func reply(entry attributes: FileAttributes) {
    bridge.notifier.noteCacheableReply()
    var entry = bridge.entry(attributes)
    // If the kernel does not accept the reply, it does not know the inode.
    if unsafe fuse_reply_entry(raw, &entry) != 0 { bridge.tree.forget(attributes.inode, lookups: 1) }
    discardAnswered()
  }

  consuming func reply(attributes: FileAttributes) {
    bridge.notifier.noteCacheableReply()
    var status = status(attributes)
    unsafe fuse_reply_attr(raw, &status, bridge.attributeTimeout(attributes))
    discardAnswered()
  }

  /// Replies to a change of attributes. No program sees the size, but the kernel adopts it, even if it has learned
  /// another size in the meantime, and truncates the page cache to it.
  consuming func reply(changed attributes: FileAttributes) {
    bridge.notifier.noteCacheableReply()
    var status = status(attributes, size: attributes.kernelSize)
    unsafe fuse_reply_attr(raw, &status, bridge.attributeTimeout(attributes))
    discardAnswered()
  }

  /// The process that sent the request.
  var caller: Caller { unsafe Caller(raw) }

  private func fill(_ info: UnsafeMutablePointer<fuse_file_info>, _ file: OpenFile) -> Unmanaged<OpenFile> {
    let handle = unsafe Unmanaged.passRetained(file)
    unsafe info.pointee.fh = UInt64(UInt(bitPattern: handle.toOpaque()))
    unsafe info.pointee.keep_cache = file.caching == .keep ? 1 : 0
    unsafe info.pointee.direct_io = file.caching == .bypass ? 1 : 0
    // Closing a read-only handle needs no request.
    unsafe info.pointee.noflush = file.isWriting ? 0 : 1
    return unsafe handle
  }

  consuming func reply(created: CreatedFile, _ info: UnsafeMutablePointer<fuse_file_info>) {
    let handle = unsafe fill(info, created.file)
    var entry = bridge.entry(created.attributes)
    if unsafe fuse_reply_create(raw, &entry, info) != 0 {
      bridge.tree.release(created.file)
      bridge.tree.forget(created.attributes.inode, lookups: 1)
      unsafe handle.release()
    }
    discardAnswered()
  }

  /// Replies with the number of bytes written.
  consuming func reply(written count: Int) {
    unsafe fuse_reply_write(raw, count)
    discardAnswered()
  }

  consuming func reply(open file: OpenFile, _ info: UnsafeMutablePointer<fuse_file_info>) {
    let handle = unsafe fill(info, file)
    // An interrupted open is not followed by a release.
    if unsafe fuse_reply_open(raw, info) != 0 {
      bridge.tree.release(file)
      unsafe handle.release()
    }
    discardAnswered()
  }

  consuming func reply(open stream: DirectoryStream, _ info: UnsafeMutablePointer<fuse_file_info>) {
    let handle = unsafe Unmanaged.passRetained(stream)
    unsafe info.pointee.fh = UInt64(UInt(bitPattern: handle.toOpaque()))
    if tree.isFrozen {
      unsafe info.pointee.cache_readdir = 1
      unsafe info.pointee.keep_cache = 1
    }
    if unsafe fuse_reply_open(raw, info) != 0 { unsafe handle.release() }
    discardAnswered()
  }

  /// Replies with the destination of a symbolic link.
  consuming func reply(destination: [UInt8]) {
    unsafe (destination + [0]).withUnsafeBytes { bytes in
      _ = unsafe fuse_reply_readlink(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
    discardAnswered()
  }

  consuming func reply(bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { bytes in
      _ = unsafe fuse_reply_buf(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    discardAnswered()
  }

  consuming func reply(bytes: UnsafeRawBufferPointer) {
    unsafe fuse_reply_buf(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    discardAnswered()
  }

  /// Replies with a value to a caller that has room for `capacity` bytes; with capacity 0, replies with the length
  /// only.
  consuming func reply(value: [UInt8], capacity: Int) {
    if capacity == 0 {
      unsafe fuse_reply_xattr(raw, value.count)
    } else if capacity < value.count {
      unsafe fuse_reply_err(raw, ERANGE)
    } else {
      unsafe value.withUnsafeBytes { bytes in
        _ = unsafe fuse_reply_buf(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
      }
    }
    discardAnswered()
  }

  consuming func reply(_ status: FileSystemStatus) {
    var result = statvfs()
    result.f_bsize = numericCast(status.blockSize)
    result.f_frsize = numericCast(status.blockSize)
    result.f_blocks = numericCast(status.blocks)
    result.f_bfree = numericCast(status.freeBlocks)
    result.f_bavail = numericCast(status.availableBlocks)
    result.f_files = numericCast(status.files)
    result.f_ffree = numericCast(status.freeFiles)
    result.f_favail = numericCast(status.freeFiles)
    result.f_namemax = numericCast(status.longestName)
    unsafe fuse_reply_statfs(raw, &result)
    discardAnswered()
  }

  /// Fills a buffer of `capacity` bytes with entries and replies with it. If the reply does not reach the kernel, the
  /// lookups of its entries are released.
  consuming func reply(
    capacity: Int,
    withAttributes: Bool,
    entries: (inout DirectoryBuffer) throws(FileTreeError) -> Void
  ) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    defer { unsafe memory.deallocate() }
    var buffer = unsafe DirectoryBuffer(raw, bridge, memory, capacity, withAttributes: withAttributes)
    do {
      try entries(&buffer)
      if withAttributes { bridge.notifier.noteCacheableReply() }
      let start = unsafe UnsafePointer(memory.assumingMemoryBound(to: CChar.self))
      if unsafe fuse_reply_buf(raw, start, buffer.count) != 0 { buffer.forgetReferences() }
    } catch {
      unsafe fuse_reply_err(raw, error.errno)
    }
    discardAnswered()
  }

  private consuming func discardAnswered() { discard self }
}

/// The file type bits of a mode.
func fileType(_ kind: NodeKind) -> mode_t {
  switch kind {
  case .directory: S_IFDIR
  case .file: S_IFREG
  case .symbolicLink: S_IFLNK
  }
}

/// The number of bytes that programs should request at once from a listing. By default, most request 32 kB, which holds
/// 190 entries with attributes.
private let listingSize = 128 << 10

/// Attributes as a `stat` structure.
func status(_ attributes: FileAttributes) -> stat { status(attributes, size: attributes.size) }

/// Attributes as a `stat` structure, with another size.
func status(_ attributes: FileAttributes, size: Int) -> stat {
  var status = stat()
  let type = fileType(attributes.kind)
  status.st_ino = numericCast(attributes.inode.value)
  status.st_mode = type | attributes.permissions
  status.st_nlink = numericCast(attributes.links)
  status.st_uid = attributes.owner
  status.st_gid = attributes.group
  status.st_size = off_t(size)
  status.st_blksize = attributes.kind == .directory ? listingSize : 4096
  status.st_blocks = blkcnt_t((size + 511) / 512)
  let time = timespec(tv_sec: Int(attributes.modifiedSeconds), tv_nsec: Int(attributes.modifiedNanoseconds))
  status.st_mtim = time
  status.st_ctim = time
  status.st_atim = time
  return status
}

extension Caller {
  /// The process that sent a request.
  init(_ request: fuse_req_t?) {
    let context = unsafe fuse_req_ctx(request)
    unsafe self.init(
      user: context?.pointee.uid ?? 0,
      group: context?.pointee.gid ?? 0,
      process: context?.pointee.pid ?? 0
    )
  }
}
