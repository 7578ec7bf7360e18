// The operations table: each callback turns a request into a call to the tree. For operations that are missing here,
// libfuse replies ENOSYS, and the kernel does not request them again: access, lseek, copy_file_range and, for a
// read-only tree, flush and fsync.
//
// The closures must be created outside of the main actor, otherwise they trap on libfuse's threads.

import CFuse
import FileTree
import Glibc

/// The callbacks of a mount.
enum Callbacks {
  /// FALLOC_FL_KEEP_SIZE of fallocate(2).
  private static let keepSize: Int32 = 1

  static func table(isWritable: Bool, isFrozen: Bool) -> fuse_lowlevel_ops {
    var operations = fuse_lowlevel_ops()
    if isFrozen {
      unsafe operations.`init` = { _, connection in
        guard let connection = unsafe connection else { return }
        unsafe Callbacks.configureFrozen(&connection.pointee)
      }
    } else {
      unsafe operations.`init` = { _, connection in
        guard let connection = unsafe connection else { return }
        unsafe Callbacks.configure(&connection.pointee)
      }
    }
    addLookups(&operations)
    addDirectories(&operations)
    addFiles(&operations)
    addExtendedAttributes(&operations)
    addFixedRefusals(&operations)
    // After this reply, the kernel opens and closes files without requests and keeps their cached contents. Without the
    // handler, libfuse would reply that the file is open.
    if isFrozen { unsafe operations.open = { raw, _, _ in unsafe FuseRequest(raw).reply(errno: ENOSYS) } }
    if isWritable { addChanges(&operations) } else { addRefusals(&operations) }
    return operations
  }

  /// Negotiates the protocol with the kernel.
  private static func configure(_ connection: inout fuse_conn_info) {
    // Without FUSE_CAP_ATOMIC_O_TRUNC: with it, a program that opens a file to rewrite it would clear the page cache
    // and the size that the kernel has cached for all programs. Without it, opening with O_TRUNC arrives as an open and
    // a change of size.
    let wanted =
      FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS
      | FUSE_CAP_EXPORT_SUPPORT
    // No FUSE_CAP_AUTO_INVAL_DATA: modification times do not show whether cached data is valid. The tree decides that
    // at open, and notifies the kernel of changes.
    connection.want = connection.capable & UInt32(wanted)
    connection.time_gran = 1
  }

  /// Like `configure`, but for a frozen tree, whose files are not opened. It makes the kernel request the parts of a
  /// long text one after another, because texts that are generated while they are read must be generated in order.
  private static func configureFrozen(_ connection: inout fuse_conn_info) {
    configure(&connection)
    connection.want &= ~UInt32(FUSE_CAP_ASYNC_READ)
  }

  // MARK: names

  private static func addLookups(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.lookup = { raw, parent, name in
      let request = unsafe FuseRequest(raw)
      do throws(FileTreeError) {
        let name = unsafe Callbacks.bytes(name)
        let entry = try request.tree.lookup(InodeNumber(parent), name, user: request.caller.user)
        request.reply(entry: entry)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.forget = { raw, inode, lookups in
      let request = unsafe FuseRequest(raw)
      request.tree.forget(InodeNumber(inode), lookups: lookups)
      request.replyNothing()
    }
    unsafe operations.forget_multi = { raw, count, forgets in
      let request = unsafe FuseRequest(raw)
      unsafe UnsafeBufferPointer(start: forgets, count: count).forEach {
        request.tree.forget(InodeNumber($0.ino), lookups: $0.nlookup)
      }
      request.replyNothing()
    }
    unsafe operations.getattr = { raw, inode, info in
      let request = unsafe FuseRequest(raw)
      let file = unsafe Callbacks.handle(info, OpenFile.self)?.takeUnretainedValue()
      do throws(FileTreeError) {
        let inode = InodeNumber(inode), caller = request.caller
        let attributes = try request.tree.attributes(inode, with: file, for: caller.process, user: caller.user)
        // The kernel does not cache a reply that arrives during an invalidation, but still passes it to the program.
        if attributes.kernelSize != attributes.size { request.bridge.kernel.forgetAttributes(inode) }
        request.reply(attributes: attributes)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.readlink = { raw, inode in
      let request = unsafe FuseRequest(raw)
      do throws(FileTreeError) {
        let destination = try request.tree.destination(InodeNumber(inode))
        request.reply(destination: destination)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.statfs = { raw, _ in
      let request = unsafe FuseRequest(raw)
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
    unsafe operations.opendir = { raw, inode, info in
      let request = unsafe FuseRequest(raw)
      guard let info = unsafe info else { return request.reply(errno: EINVAL) }
      do throws(FileTreeError) {
        let stream = try request.tree.openDirectory(InodeNumber(inode))
        unsafe request.reply(open: stream, info)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.readdir = { raw, _, size, offset, info in
      unsafe Callbacks.list(raw, size, offset, info, withAttributes: false)
    }
    unsafe operations.readdirplus = { raw, _, size, offset, info in
      unsafe Callbacks.list(raw, size, offset, info, withAttributes: true)
    }
    unsafe operations.releasedir = { raw, _, info in
      let request = unsafe FuseRequest(raw)
      unsafe Callbacks.handle(info, DirectoryStream.self)?.release()
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
    let request = unsafe FuseRequest(raw)
    guard let stream = unsafe Callbacks.handle(info, DirectoryStream.self)?.takeUnretainedValue() else {
      return request.reply(errno: EBADF)
    }
    let tree = request.tree
    request.reply(capacity: size, withAttributes: withAttributes) { buffer throws(FileTreeError) in
      try tree.readDirectory(stream, from: UInt64(bitPattern: Int64(offset)), attributes: withAttributes, into: &buffer)
    }
    if withAttributes { tree.prepareListing(stream) }
  }

  // MARK: files

  private static func addFiles(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.open = { raw, inode, info in
      let request = unsafe FuseRequest(raw)
      guard let info = unsafe info else { return request.reply(errno: EINVAL) }
      do throws(FileTreeError) {
        let file = try unsafe request.tree.open(
          InodeNumber(inode),
          OpenAccess(flags: info.pointee.flags),
          by: request.caller
        )
        if file.maySeedPageCache {
          request.bridge.kernel.store(file)
          request.tree.pageCacheSeeded(file)
        }
        if file.hasNewSize { request.bridge.kernel.forgetAttributes(InodeNumber(inode)) }
        unsafe request.reply(open: file, info)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.read = { raw, inode, size, offset, info in
      let request = unsafe FuseRequest(raw)
      guard let file = unsafe Callbacks.handle(info, OpenFile.self)?.takeUnretainedValue() else {
        return Callbacks.answer(request, InodeNumber(inode), offset, size)
      }
      Callbacks.answer(request, file, offset, size)
    }
    unsafe operations.release = { raw, _, info in
      let request = unsafe FuseRequest(raw)
      if let file = unsafe Callbacks.handle(info, OpenFile.self) {
        unsafe request.tree.release(file.takeUnretainedValue())
        unsafe file.release()
      }
      request.reply()
    }
  }

  /// Reads a file that was not opened.
  private static func answer(_ request: consuming FuseRequest, _ inode: InodeNumber, _ offset: off_t, _ size: Int) {
    let bridge = request.bridge
    guard bridge.tree.isFrozen else { return request.reply(errno: EBADF) }
    var request: FuseRequest? = request, whole: [UInt8]?
    do {
      try bridge.tree.read(inode, from: Int(offset), count: size) { bytes in
        unsafe bytes.withUnsafeBytes { bytes in
          // A text read in one piece may be that of an object.
          if offset == 0, bytes.count < size, bridge.textsAhead != nil { return whole = unsafe Array(bytes) }
          unsafe request.take()?.reply(bytes: bytes)
        }
      }
    } catch { request.take()?.reply(error) }
    guard let whole, let request = request.take() else { return }
    bridge.answer(ParkedRequest(request), with: whole, of: inode)
  }

  private static func answer(_ request: consuming FuseRequest, _ file: OpenFile, _ offset: off_t, _ size: Int) {
    if let stream = file.stream {
      do {
        let bytes = try stream.read(from: Int(offset), count: size)
        request.reply(bytes: bytes)
        return stream.readAhead(from: Int(offset) + bytes.count)
      } catch {
        return request.reply(error)
      }
    }
    var request: FuseRequest? = request
    do {
      try file.read(from: Int(offset), count: size) { bytes in
        unsafe bytes.withUnsafeBytes { bytes in unsafe request.take()?.reply(bytes: bytes) }
      }
    } catch { request.take()?.reply(error) }
  }

  // MARK: extended attributes

  private static func addExtendedAttributes(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.getxattr = { raw, inode, name, size in
      let request = unsafe FuseRequest(raw)
      do throws(FileTreeError) {
        let name = unsafe String(decoding: Callbacks.bytes(name), as: UTF8.self)
        let value = try request.tree.extendedAttribute(InodeNumber(inode), name, by: request.caller)
        request.reply(value: Array(value.utf8), capacity: size)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.listxattr = { raw, inode, size in
      // No attributes are listed; see FileTree+ExtendedAttributes.swift.
      unsafe FuseRequest(raw).reply(value: [], capacity: size)
    }
  }

  // MARK: changes

  private static func addChanges(_ operations: inout fuse_lowlevel_ops) {
    addWriting(&operations)
    addNames(&operations)
    unsafe operations.setattr = { raw, inode, values, which, info in
      let request = unsafe FuseRequest(raw)
      guard let values = unsafe values else { return request.reply(errno: EINVAL) }
      let file = unsafe Callbacks.handle(info, OpenFile.self)?.takeUnretainedValue()
      do throws(FileTreeError) {
        let change = unsafe MetadataChange(values.pointee, which)
        let attributes = try request.tree.change(InodeNumber(inode), file, change, by: request.caller)
        request.reply(changed: attributes)
      } catch {
        request.reply(error)
      }
    }
    // Files have only computed extended attributes.
    unsafe operations.setxattr = { raw, _, _, _, _, _ in unsafe FuseRequest(raw).reply(errno: EOPNOTSUPP) }
    unsafe operations.removexattr = { raw, _, _ in unsafe FuseRequest(raw).reply(errno: EOPNOTSUPP) }
  }

  private static func addWriting(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.create = { raw, parent, name, mode, info in
      let request = unsafe FuseRequest(raw)
      guard let info = unsafe info else { return request.reply(errno: EINVAL) }
      do throws(FileTreeError) {
        let created = try unsafe request.tree.create(
          InodeNumber(parent),
          Callbacks.bytes(name),
          permissions: mode & 0o7777,
          OpenAccess(flags: info.pointee.flags),
          isExclusive: info.pointee.flags & O_EXCL != 0,
          by: request.caller
        )
        unsafe request.reply(created: created, info)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.mknod = { raw, parent, name, mode, _ in
      let request = unsafe FuseRequest(raw)
      guard mode & S_IFMT == S_IFREG else {
        let error = unsafe request.tree.refuse(.special, InodeNumber(parent), Callbacks.bytes(name))
        return request.reply(error)
      }
      do throws(FileTreeError) {
        let attributes = try unsafe request.tree.makeNode(
          InodeNumber(parent),
          Callbacks.bytes(name),
          permissions: mode & 0o7777,
          by: request.caller
        )
        request.reply(entry: attributes)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.write = { raw, _, bytes, count, offset, info in
      let request = unsafe FuseRequest(raw)
      guard let file = unsafe Callbacks.handle(info, OpenFile.self)?.takeUnretainedValue() else {
        return request.reply(errno: EBADF)
      }
      do throws(FileTreeError) {
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
        try request.tree.write(file, bytes, at: Int(offset), by: request.caller)
        request.reply(written: count)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.flush = { raw, _, info in
      guard let raw = unsafe raw, let file = unsafe Callbacks.handle(info, OpenFile.self)?.takeUnretainedValue() else {
        return unsafe FuseRequest(raw).reply(errno: EBADF)
      }
      let bridge = unsafe Bridge.of(raw).takeUnretainedValue()
      unsafe Callbacks.onHandle(raw, info) { tree, file, caller throws(FileTreeError) in
        try tree.flush(file, by: caller)
      }
      bridge.tree.prepareNext(after: file)
    }
    unsafe operations.fsync = { raw, _, _, info in
      unsafe Callbacks.onHandle(raw, info) { tree, file, caller throws(FileTreeError) in
        try tree.synchronize(file, by: caller)
      }
    }
    unsafe operations.fsyncdir = { raw, _, _, _ in
      unsafe Callbacks.answer(raw) { tree throws(FileTreeError) in try tree.synchronize() }
    }
    unsafe operations.fallocate = { raw, _, mode, offset, count, info in
      // Punching holes and shifting ranges are not supported.
      if mode & ~Callbacks.keepSize != 0 { return unsafe FuseRequest(raw).reply(errno: EOPNOTSUPP) }
      unsafe Callbacks.onHandle(raw, info) { tree, file, _ throws(FileTreeError) in
        try tree.allocate(file, offset: Int(offset), count: Int(count), growing: mode & Callbacks.keepSize == 0)
      }
    }
  }

  private static func addNames(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.unlink = { raw, parent, name in
      let caller = unsafe Caller(raw)
      unsafe Callbacks.answer(raw) { tree throws(FileTreeError) in
        try unsafe tree.unlink(InodeNumber(parent), Callbacks.bytes(name), by: caller)
      }
    }
    unsafe operations.rename = { raw, parent, name, newParent, newName, flags in
      guard let rule = RenameRule(flags: flags) else { return unsafe FuseRequest(raw).reply(errno: EINVAL) }
      let request = unsafe FuseRequest(raw)
      do throws(FileTreeError) {
        try unsafe request.tree.rename(
          InodeNumber(parent),
          Callbacks.bytes(name),
          to: InodeNumber(newParent),
          Callbacks.bytes(newName),
          rule,
          by: request.caller
        )
        request.reply()
      } catch {
        // mv(1) reports EINVAL from rename(2) as an attempt to move a directory into itself.
        request.reply(errno: error.errno == EINVAL ? EBADMSG : error.errno)
      }
    }
    unsafe operations.mkdir = { raw, parent, name, mode in
      let request = unsafe FuseRequest(raw)
      do throws(FileTreeError) {
        let attributes = try unsafe request.tree.makeDirectory(
          InodeNumber(parent),
          Callbacks.bytes(name),
          permissions: mode & 0o777,
          by: request.caller
        )
        request.reply(entry: attributes)
      } catch {
        request.reply(error)
      }
    }
    unsafe operations.rmdir = { raw, parent, name in
      let caller = unsafe Caller(raw)
      unsafe Callbacks.answer(raw) { tree throws(FileTreeError) in
        try unsafe tree.removeDirectory(InodeNumber(parent), Callbacks.bytes(name), by: caller)
      }
    }
  }

  /// Runs an operation without a result and replies.
  private static func answer(_ raw: fuse_req_t?, _ body: (FileTree) throws(FileTreeError) -> Void) {
    let request = unsafe FuseRequest(raw)
    do {
      try body(request.tree)
      request.reply()
    } catch {
      request.reply(error)
    }
  }

  private static func onHandle(
    _ raw: fuse_req_t?,
    _ info: UnsafeMutablePointer<fuse_file_info>?,
    _ body: (FileTree, OpenFile, Caller) throws(FileTreeError) -> Void
  ) {
    guard let file = unsafe handle(info, OpenFile.self)?.takeUnretainedValue() else {
      return unsafe FuseRequest(raw).reply(errno: EBADF)
    }
    let caller = unsafe Caller(raw)
    unsafe answer(raw) { tree throws(FileTreeError) in try body(tree, file, caller) }
  }

  // MARK: refused operations

  /// Operations that every tree refuses.
  private static func addFixedRefusals(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.symlink = { raw, _, parent, name in unsafe Callbacks.refuse(raw, .symbolicLink, parent, name) }
    unsafe operations.link = { raw, _, parent, name in unsafe Callbacks.refuse(raw, .hardLink, parent, name) }
  }

  private static func refuse(
    _ raw: fuse_req_t?,
    _ kind: UnsupportedKind,
    _ parent: fuse_ino_t,
    _ name: UnsafePointer<CChar>?
  ) {
    let request = unsafe FuseRequest(raw)
    let error = unsafe request.tree.refuse(kind, InodeNumber(parent), bytes(name))
    request.reply(error)
  }

  /// Refuses changes in a read-only tree. Most never get here, because the kernel knows that the mount is read-only.
  private static func addRefusals(_ operations: inout fuse_lowlevel_ops) {
    unsafe operations.setattr = { raw, _, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.mknod = { raw, _, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.mkdir = { raw, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.unlink = { raw, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.rmdir = { raw, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.rename = { raw, _, _, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.create = { raw, _, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.write = { raw, _, _, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.setxattr = { raw, _, _, _, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
    unsafe operations.removexattr = { raw, _, _ in unsafe FuseRequest(raw).reply(.readOnly) }
  }

  // MARK: arguments

  /// The bytes of a C string, without the terminating zero.
  private static func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8] {
    guard let text = unsafe text else { return [] }
    return unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// The handle that `open` or `opendir` returned. The kernel passes it back unchanged until release.
  private static func handle<T: AnyObject>(_ info: UnsafeMutablePointer<fuse_file_info>?, _: T.Type) -> Unmanaged<T>? {
    guard let info = unsafe info, let pointer = unsafe UnsafeRawPointer(bitPattern: UInt(info.pointee.fh)) else {
      return nil
    }
    return unsafe Unmanaged<T>.fromOpaque(pointer)
  }
}

extension OpenAccess {
  /// Creates the access mode for flags of open(2).
  fileprivate init(flags: Int32) {
    self.init()
    writes = flags & O_ACCMODE != O_RDONLY
    reads = flags & O_ACCMODE != O_WRONLY
    truncates = flags & O_TRUNC != 0
    appends = flags & O_APPEND != 0
  }
}

extension RenameRule {
  /// Creates the rule for flags of renameat2(2); nil for unsupported flags.
  fileprivate init?(flags: UInt32) {
    switch flags {
    case 0: self = .replace
    case 1: self = .keep
    case 2: self = .exchange
    default: return nil
    }
  }
}

extension MetadataChange {
  /// Creates a change from the values selected by `which`.
  fileprivate init(_ values: stat, _ which: Int32) {
    self.init()
    if which & FUSE_SET_ATTR_MODE != 0 { permissions = values.st_mode & 0o7777 }
    if which & FUSE_SET_ATTR_UID != 0 { owner = values.st_uid }
    if which & FUSE_SET_ATTR_GID != 0 { group = values.st_gid }
    if which & FUSE_SET_ATTR_SIZE != 0 { size = Int(values.st_size) }
    if which & FUSE_SET_ATTR_MTIME_NOW != 0 {
      modified = .now
    } else if which & FUSE_SET_ATTR_MTIME != 0 {
      modified = .at(seconds: Int64(values.st_mtim.tv_sec), nanoseconds: Int32(values.st_mtim.tv_nsec))
    }
  }
}
