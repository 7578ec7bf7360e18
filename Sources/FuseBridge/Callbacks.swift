// The operations table: each callback turns a request into a call of the tree. What is missing here libfuse answers
// with ENOSYS, after which the kernel does not ask again: flush, fsync, access, poll, seek.
//
// The closures must be made outside of the main actor, or they trap on libfuse's threads.

import CFuse
import FileTree
import Glibc

/// The callbacks of a mount.
enum Callbacks {
  static func table() -> fuse_lowlevel_ops {
    var operations = fuse_lowlevel_ops()
    operations.`init` = { _, connection in
      guard let connection else { return }
      Callbacks.configure(&connection.pointee)
    }
    addLookups(&operations)
    addDirectories(&operations)
    addFiles(&operations)
    addExtendedAttributes(&operations)
    addRefusals(&operations)
    return operations
  }

  /// Settles with the kernel how to talk.
  private static func configure(_ connection: inout fuse_conn_info) {
    let wanted =
      FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS
    // Whether cached data is good is decided at open and announced; times do not tell.
    connection.want = connection.capable & UInt32(wanted)
    connection.time_gran = 1
  }

  // MARK: names

  private static func addLookups(_ operations: inout fuse_lowlevel_ops) {
    operations.lookup = { raw, parent, name in
      let request = FuseRequest(raw)
      do throws(FileTreeError) {
        let entry = try request.tree.lookup(InodeNumber(parent), Callbacks.bytes(name))
        request.reply(entry: entry)
      } catch {
        request.reply(error)
      }
    }
    operations.forget = { raw, inode, lookups in
      let request = FuseRequest(raw)
      request.tree.forget(InodeNumber(inode), lookups: lookups)
      request.replyNothing()
    }
    operations.forget_multi = { raw, count, forgets in
      let request = FuseRequest(raw)
      for forget in UnsafeBufferPointer(start: forgets, count: count) {
        request.tree.forget(InodeNumber(forget.ino), lookups: forget.nlookup)
      }
      request.replyNothing()
    }
    operations.getattr = { raw, inode, _ in
      let request = FuseRequest(raw)
      do throws(FileTreeError) {
        let attributes = try request.tree.attributes(InodeNumber(inode))
        request.reply(attributes: attributes)
      } catch {
        request.reply(error)
      }
    }
    operations.statfs = { raw, _ in
      let request = FuseRequest(raw)
      do throws(FileTreeError) {
        let status = try request.tree.fileSystemStatus()
        request.reply(status)
      } catch {
        request.reply(error)
      }
    }
  }

  // MARK: directories

  private static func addDirectories(_ operations: inout fuse_lowlevel_ops) {
    operations.opendir = { raw, inode, info in
      let request = FuseRequest(raw)
      guard let info else { return request.reply(errno: EINVAL) }
      do throws(FileTreeError) {
        let stream = try request.tree.openDirectory(InodeNumber(inode))
        request.reply(open: stream, info)
      } catch {
        request.reply(error)
      }
    }
    operations.readdir = { raw, _, size, offset, info in
      Callbacks.list(raw, size, offset, info, withAttributes: false)
    }
    operations.readdirplus = { raw, _, size, offset, info in
      Callbacks.list(raw, size, offset, info, withAttributes: true)
    }
    operations.releasedir = { raw, _, info in
      let request = FuseRequest(raw)
      Callbacks.handle(info, DirectoryStream.self)?.release()
      request.reply()
    }
  }

  private static func list(
    _ raw: fuse_req_t?,
    _ size: Int,
    _ offset: off_t,
    _ info: UnsafeMutablePointer<fuse_file_info>?,
    withAttributes: Bool
  ) {
    let request = FuseRequest(raw)
    guard let stream = Callbacks.handle(info, DirectoryStream.self)?.takeUnretainedValue() else {
      return request.reply(errno: EBADF)
    }
    let tree = request.tree
    request.reply(capacity: size, withAttributes: withAttributes) { buffer throws(FileTreeError) in
      try tree.readDirectory(stream, from: UInt64(bitPattern: Int64(offset)), attributes: withAttributes, into: &buffer)
    }
  }

  // MARK: files

  private static func addFiles(_ operations: inout fuse_lowlevel_ops) {
    operations.open = { raw, inode, info in
      let request = FuseRequest(raw)
      guard let info else { return request.reply(errno: EINVAL) }
      if info.pointee.flags & O_ACCMODE != O_RDONLY { return request.reply(.readOnly) }
      do throws(FileTreeError) {
        let file = try request.tree.open(InodeNumber(inode))
        if file.maySeedPageCache {
          request.bridge.kernel.store(file)
          request.tree.pageCacheSeeded(file)
        }
        request.reply(open: file, info)
      } catch {
        request.reply(error)
      }
    }
    operations.read = { raw, _, size, offset, info in
      let request = FuseRequest(raw)
      guard let file = Callbacks.handle(info, OpenFile.self)?.takeUnretainedValue() else {
        return request.reply(errno: EBADF)
      }
      Callbacks.answer(request, file, offset, size)
    }
    operations.release = { raw, _, info in
      let request = FuseRequest(raw)
      if let file = Callbacks.handle(info, OpenFile.self) {
        request.tree.release(file.takeUnretainedValue())
        file.release()
      }
      request.reply()
    }
  }

  private static func answer(_ request: consuming FuseRequest, _ file: OpenFile, _ offset: off_t, _ size: Int) {
    var request: FuseRequest? = request
    file.read(from: Int(offset), count: size) { bytes in
      bytes.withUnsafeBytes { bytes in request.take()?.reply(bytes: bytes) }
    }
  }

  // MARK: extended attributes

  private static func addExtendedAttributes(_ operations: inout fuse_lowlevel_ops) {
    operations.getxattr = { raw, inode, name, size in
      let request = FuseRequest(raw)
      do throws(FileTreeError) {
        let name = String(decoding: Callbacks.bytes(name), as: UTF8.self)
        let value = try request.tree.extendedAttribute(InodeNumber(inode), name)
        request.reply(value: Array(value.utf8), capacity: size)
      } catch {
        request.reply(error)
      }
    }
    operations.listxattr = { raw, inode, size in
      let request = FuseRequest(raw)
      do throws(FileTreeError) {
        let names = try request.tree.extendedAttributeNames(InodeNumber(inode))
        request.reply(value: names.flatMap { Array($0.utf8) + [0] }, capacity: size)
      } catch {
        request.reply(error)
      }
    }
  }

  // MARK: what would change something

  /// The kernel refuses most of these itself, because the mount is read-only.
  private static func addRefusals(_ operations: inout fuse_lowlevel_ops) {
    operations.setattr = { raw, _, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.mknod = { raw, _, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.mkdir = { raw, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.unlink = { raw, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.rmdir = { raw, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.symlink = { raw, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.rename = { raw, _, _, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.link = { raw, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.create = { raw, _, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.write = { raw, _, _, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.setxattr = { raw, _, _, _, _, _ in FuseRequest(raw).reply(.readOnly) }
    operations.removexattr = { raw, _, _ in FuseRequest(raw).reply(.readOnly) }
  }

  // MARK: arguments

  /// The bytes of a C string, without its end.
  private static func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8] {
    guard let text else { return [] }
    return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// The handle that `open` or `opendir` gave. The kernel passes it back as it is, until release.
  private static func handle<T: AnyObject>(_ info: UnsafeMutablePointer<fuse_file_info>?, _: T.Type) -> Unmanaged<T>? {
    guard let info, let pointer = UnsafeRawPointer(bitPattern: UInt(info.pointee.fh)) else { return nil }
    return Unmanaged<T>.fromOpaque(pointer)
  }
}
