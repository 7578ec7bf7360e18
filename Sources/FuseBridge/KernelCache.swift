// What this process can do to the kernel's caches of the tree: the notifications of the FUSE protocol.

import CFuse
import FileTree
import Glibc

/// The kernel's caches of names, attributes and texts.
@safe final class KernelCache: @unchecked Sendable {
  // Unchecked: the session is set once, before other threads exist, and libfuse lets any thread send notifications.
  // Safe: the session lives longer than the threads that use this.
  private var session: OpaquePointer?

  /// Names the session behind which the kernel is.
  func attach(_ session: OpaquePointer?) { unsafe self.session = session }

  /// Makes the kernel look up every name again. False if it is too old for that.
  func forgetNames() -> Bool { unsafe realmfs_notify_epoch(session) != -EINVAL }

  /// Makes the kernel look up a name in a directory again, and all below it. It waits for requests that are under way
  /// in the directory.
  func forgetName(_ name: [UInt8], in directory: InodeNumber = .root) {
    unsafe name.withUnsafeBytes { bytes in
      let text = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      // An error says that the kernel does not know the name; the same below for inodes.
      _ = unsafe fuse_lowlevel_notify_inval_entry(session, directory.value, text, bytes.count)
    }
  }

  /// Makes the kernel ask for the attributes of an inode again, and drop those that are on their way. It does not wait
  /// for anything, so the thread that opens a file may send it before it answers.
  func forgetAttributes(_ inode: InodeNumber) {
    _ = unsafe fuse_lowlevel_notify_inval_inode(session, inode.value, -1, 0)
  }

  /// Puts the text of a file that is being opened into the page cache, which saves the kernel from asking for it:
  /// for small files that is every second request that a reader waits for.
  ///
  /// Unlike other notifications it is sent by the thread that answers the open. The kernel lets it wait only for
  /// pages that are being read, and there are none: the tree answers for it that the file has no other handle.
  ///
  /// Of a text that is read past the page cache it is the last page, which the kernel drops with the answer to the
  /// open. What stays is its idea of the size: answers to stat it may have to drop, and maps end there.
  func store(_ file: OpenFile) {
    let start = file.caching == .bypass ? max(0, file.size - 1) / Self.pageSize * Self.pageSize : 0
    // The text of an object, which is in memory. If the kernel does not take it, it asks for it after all.
    try? file.read(from: start, count: file.size) { bytes in _ = store(bytes, of: file.inode, at: start) }
  }

  private static let smallText = Int(REALMFS_STORED_TEXT)
  private static let pageSize = sysconf(Int32(_SC_PAGESIZE))

  /// Puts a text, or a part of it, into the page cache; false if the kernel does not know the file or cannot take it.
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
