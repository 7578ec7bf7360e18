// Changes the kernel's caches of the tree through notifications of the FUSE protocol.

import CFuse
import FileTree
import Glibc

/// The kernel's caches of names, attributes and texts.
@safe final class KernelCache: @unchecked Sendable {
  // Unchecked: the session is set once, before other threads exist, and libfuse allows any thread to send
  // notifications.
  // Safe: the session outlives the threads that use this object.
  private var session: OpaquePointer?

  /// Sets the session whose kernel receives the notifications.
  func attach(_ session: OpaquePointer?) { unsafe self.session = session }

  /// Makes the kernel look up every name again. Returns false if the kernel is too old to support it.
  func forgetNames() -> Bool { unsafe realmfs_notify_epoch(session) != -EINVAL }

  /// Makes the kernel look up a name in a directory, and everything below it, again. Waits for requests in progress in
  /// the directory.
  func forgetName(_ name: [UInt8], in directory: InodeNumber = .root) {
    unsafe name.withUnsafeBytes { bytes in
      let text = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      // Ignore errors: they mean that the kernel does not know the name (or, below, the inode).
      _ = unsafe fuse_lowlevel_notify_inval_entry(session, directory.value, text, bytes.count)
    }
  }

  /// Makes the kernel request the attributes of an inode again and drop replies in flight. It never blocks, so a thread
  /// that opens a file may call it before its reply.
  func forgetAttributes(_ inode: InodeNumber) {
    _ = unsafe fuse_lowlevel_notify_inval_inode(session, inode.value, -1, 0)
  }

  /// Stores the text of a file that is being opened in the page cache. This saves the kernel a request: for small
  /// files, half of the requests that a reader waits for.
  ///
  /// Unlike other notifications, it is sent by the thread that replies to the open. The kernel makes it wait only for
  /// pages that are being read, of which there are none: the tree guarantees that the file has no other handle.
  ///
  /// For a text that bypasses the page cache, only the last page is stored, which the kernel drops at the reply to the
  /// open. The effect is that the kernel knows the size: it may have to discard replies to stat, and mappings end at
  /// that size.
  func store(_ file: OpenFile) {
    let start = file.caching == .bypass ? max(0, file.size - 1) / Self.pageSize * Self.pageSize : 0
    // The text of an object is in memory. If the kernel does not accept it, it sends a read request later.
    try? file.read(from: start, count: file.size) { bytes in _ = store(bytes, of: file.inode, at: start) }
  }

  private static let smallText = Int(REALMFS_STORED_TEXT)
  private static let pageSize = sysconf(Int32(_SC_PAGESIZE))

  /// Stores a text or a part of it in the page cache. Returns false if the kernel does not know the file or cannot
  /// accept it.
  func store(_ text: RawSpan, of inode: InodeNumber, at offset: Int = 0) -> Bool {
    unsafe text.withUnsafeBytes { bytes in
      if bytes.count <= Self.smallText, offset == 0 {
        return unsafe realmfs_notify_store(session, inode.value, bytes.baseAddress, UInt32(bytes.count)) == 0
      }
      var buffer = unsafe fuse_buf()
      unsafe buffer.size = bytes.count
      unsafe buffer.mem = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
      unsafe buffer.fd = -1
      var vector = unsafe fuse_bufvec(count: 1, idx: 0, off: 0, buf: buffer)
      return unsafe fuse_lowlevel_notify_store(session, inode.value, off_t(offset), &vector, fuse_buf_copy_flags(0))
        == 0
    }
  }
}
