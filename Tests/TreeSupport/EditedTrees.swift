// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Trees for random edits: the library's, below FUSE, and a mounted one.

import FileTree
import Foundation
public import RealmPages
public import TestSupport

/// The tree of a realm, called as the kernel would call it.
public final class LibraryTree: EditedTree {
  private let tree: FileTree
  /// The directory that paths begin in.
  public var root = ""
  private let caller = Caller(user: getuid(), group: getgid())

  public init(_ writer: RealmWriter) throws {
    var options = TreeOptions()
    options.createsClasses = true
    tree = try FileTree(writer, options: options)
  }

  /// Ends the tree as an unmount does.
  public func finish() { tree.finish() }

  private func find(_ path: String) throws -> InodeNumber {
    var inode = InodeNumber.root
    // By bytes: a name that begins with a combining mark is one character with the slash before it.
    for name in (root + "/" + path).utf8.split(separator: UInt8(ascii: "/")) {
      inode = try tree.lookup(inode, Array(name)).inode
    }
    return inode
  }

  /// The directory of a path and the last name of it.
  private func split(_ path: String) throws -> (parent: InodeNumber, name: [UInt8]) {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"))
    let parent = parts.dropLast().map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    return (try find(parent), Array(parts.last ?? "".utf8[...]))
  }

  private struct Names: DirectorySink {
    var names: [String] = []
    var next: UInt64 = 0

    mutating func add(_ name: RawSpan, _: InodeNumber, _: NodeKind, _: FileAttributes?, next: UInt64) -> Bool {
      names.append(name.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      self.next = next
      return true
    }

    mutating func reset() { names = [] }
  }

  public func names(in directory: String) throws -> [String] {
    let stream = try tree.openDirectory(find(directory))
    var names: [String] = [], next: UInt64 = 0
    while true {
      var batch = Names()
      try tree.readDirectory(stream, from: next, attributes: false, into: &batch)
      if batch.names.isEmpty { return names.filter { $0 != "." && $0 != ".." } }
      names += batch.names
      next = batch.next
    }
  }

  public func text(of path: String) throws -> [UInt8] {
    let file = try tree.open(find(path))
    defer { tree.release(file) }
    if file.maySeedPageCache { tree.pageCacheSeeded(file) }
    return try file.read(from: 0, count: .max) { span in span.withUnsafeBytes { [UInt8]($0) } }
  }

  public func save(_ bytes: [UInt8], to path: String) throws {
    let (parent, name) = try split(path)
    var access = OpenAccess()
    (access.writes, access.truncates) = (true, true)
    let created = try tree.create(parent, name, permissions: 0o644, access, isExclusive: false, by: caller)
    defer { tree.release(created.file) }
    // In pieces, as programs write.
    for start in stride(from: 0, to: bytes.count, by: 4096) {
      try tree.write(created.file, Array(bytes[start..<min(start + 4096, bytes.count)]), at: start)
    }
    try tree.flush(created.file)
  }

  public func rename(_ path: String, to other: String) throws {
    let (from, name) = try split(path), (to, newName) = try split(other)
    try tree.rename(from, name, to: to, newName, .replace, by: caller)
  }

  public func remove(_ path: String) throws {
    let (parent, name) = try split(path)
    do throws(FileTreeError) { try tree.unlink(parent, name, by: caller) } catch {
      // The first removal after a refusal fails.
      guard case .refused(.forbidden, _) = error else { throw error }
      try tree.unlink(parent, name, by: caller)
    }
  }

  public func makeDirectory(_ path: String) throws {
    let (parent, name) = try split(path)
    _ = try tree.makeDirectory(parent, name, by: caller)
  }

  public func removeDirectory(_ path: String) throws {
    let (parent, name) = try split(path)
    try tree.removeDirectory(parent, name)
  }
}

/// A mounted tree, through system calls.
public struct MountedTree: EditedTree {
  private let root: String

  public init(_ root: String) { self.root = root }

  private func check(_ result: Int32, _ call: String, _ path: String) throws {
    if result < 0 { throw TreeModel.Disagreement("\(call) \(path): \(String(cString: strerror(errno)))") }
  }

  public func names(in directory: String) throws -> [String] {
    guard let stream = opendir(root + "/" + directory) else {
      throw TreeModel.Disagreement("opendir \(directory): \(String(cString: strerror(errno)))")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  public func text(of path: String) throws -> [UInt8] {
    let descriptor = open(root + "/" + path, O_RDONLY)
    try check(descriptor, "open", path)
    defer { close(descriptor) }
    var text: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      try check(Int32(clamping: count), "read", path)
      if count == 0 { return text }
      text += buffer[..<count]
    }
  }

  public func save(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(root + "/" + path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    try check(descriptor, "open for writing", path)
    for start in stride(from: 0, to: bytes.count, by: 65536) {
      let piece = Array(bytes[start..<min(start + 65536, bytes.count)])
      if write(descriptor, piece, piece.count) != piece.count {
        let code = errno
        close(descriptor)
        throw TreeModel.Disagreement("write \(path): \(String(cString: strerror(code)))")
      }
    }
    try check(close(descriptor), "close", path)
  }

  public func rename(_ path: String, to other: String) throws {
    try check(Foundation.rename(root + "/" + path, root + "/" + other), "rename", path)
  }

  public func remove(_ path: String) throws {
    // The first removal after a refusal fails.
    if unlink(root + "/" + path) != 0, errno != EPERM || unlink(root + "/" + path) != 0 {
      try check(-1, "unlink", path)
    }
  }
  public func makeDirectory(_ path: String) throws { try check(mkdir(root + "/" + path, 0o755), "mkdir", path) }
  public func removeDirectory(_ path: String) throws { try check(rmdir(root + "/" + path), "rmdir", path) }
}
