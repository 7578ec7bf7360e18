// A device of the FUSE protocol without a kernel: one end of a socket, with a session at the other.

import Foundation
import RealmPages
import Synchronization

@testable import FileTree
@testable import FuseBridge

/// A session over a copy of a fixture, and the kernel's side of its device.
final class FakeDevice: @unchecked Sendable {
  // Unchecked: used by one thread, except for `result`, which the session's thread sets before it signals `end`.
  let tree: FileTree
  let session: FuseSession
  private let folder: URL
  private let socket: Int32
  private let end = DispatchSemaphore(value: 0)
  private var result: Int32 = -1
  private var unique: UInt64 = 0

  /// Opcodes of <linux/fuse.h>.
  enum Opcode: UInt32 {
    case lookup = 1, forget = 2, getattr = 3, unlink = 10, open = 14, read = 15, release = 18, initialize = 26
    case interrupt = 36, none = 4095
  }

  struct Reply: Equatable {
    let unique: UInt64
    /// -errno; 0 for success.
    let error: Int32
    let body: [UInt8]

    /// The number at an offset of the body.
    func number(at offset: Int) -> UInt64 {
      body[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  struct Failure: Error {
    let what: String
  }

  /// Starts a session and negotiates the protocol.
  init(writable: Bool = false, threads: Int = 4) throws {
    // The session writes to a socket whose other end may be closed.
    signal(SIGPIPE, SIG_IGN)
    folder = FileManager.default.temporaryDirectory.appending(component: "fuse-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let fixture = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures/people.realm")
    let file = folder.appending(component: "people.realm")
    try FileManager.default.copyItem(at: fixture, to: file)
    if writable {
      tree = try FileTree(RealmWriter(Configuration(path: file.path)), options: TreeOptions())
    } else {
      tree = try FileTree(Realm(Configuration(path: file.path)), options: TreeOptions())
    }
    var settings = FuseSettings(mountPoint: folder.path)
    settings.threads = threads
    session = try FuseSession(tree, settings)
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else { throw Failure(what: "socketpair") }
    socket = ends[0]
    var pollTime = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &pollTime, socklen_t(MemoryLayout<timeval>.size))
    try session.attach(to: ends[1])
    let thread = Foundation.Thread { [self] in
      result = session.run()
      end.signal()
    }
    thread.start()
    // Version 7.38, with room for the fields of newer kernels.
    let reply = try request(.initialize, 0, Self.bytes(UInt32(7), 38, 131_072, 0) + [UInt8](repeating: 0, count: 48))
    if reply.error != 0 { throw Failure(what: "INIT: \(reply.error)") }
  }

  deinit {
    close(socket)
    try? FileManager.default.removeItem(at: folder)  // a leftover in the temporary folder harms nothing
  }

  static func bytes(_ numbers: UInt32...) -> [UInt8] {
    numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
  }

  static func bytes(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }

  /// A name as the protocol passes it.
  static func name(_ name: String) -> [UInt8] { Array(name.utf8) + [0] }

  /// Sends a request, and returns its number.
  @discardableResult
  func send(_ opcode: Opcode, _ node: UInt64, _ body: [UInt8] = [], unique: UInt64? = nil) throws -> UInt64 {
    self.unique += 2
    let unique = unique ?? self.unique
    let header =
      Self.bytes(UInt32(40 + body.count), opcode.rawValue) + Self.bytes(unique) + Self.bytes(node)
      + Self.bytes(getuid(), getgid(), UInt32(getpid()), 0)
    let frame = header + body
    guard Glibc.send(socket, frame, frame.count, Int32(MSG_NOSIGNAL)) == frame.count else {
      throw Failure(what: "send: \(errno)")
    }
    return unique
  }

  /// Returns the next reply; nil at the end. Notifications are left out.
  func next() throws -> Reply? {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = recv(socket, &buffer, buffer.count, 0)
      if count == 0 { return nil }
      if count < 16 { throw Failure(what: "no reply: \(errno)") }
      let whole = Reply(unique: 0, error: 0, body: Array(buffer[..<count]))
      let unique = whole.number(at: 8), error = Int32(truncatingIfNeeded: whole.number(at: 0) >> 32)
      if unique != 0 { return Reply(unique: unique, error: error, body: Array(buffer[16..<count])) }
    }
  }

  /// Sends a request, and returns its reply.
  func request(_ opcode: Opcode, _ node: UInt64, _ body: [UInt8] = []) throws -> Reply {
    let unique = try send(opcode, node, body)
    guard let reply = try next() else { throw Failure(what: "the session ended") }
    if reply.unique != unique { throw Failure(what: "reply to \(reply.unique), not to \(unique)") }
    return reply
  }

  /// Returns the inode number of a path.
  func inode(_ path: String) throws -> UInt64 {
    var inode: UInt64 = 1
    for part in path.split(separator: "/") {
      let reply = try request(.lookup, inode, Self.name(String(part)))
      if reply.error != 0 { throw Failure(what: "\(part): \(reply.error)") }
      inode = reply.number(at: 0)
    }
    return inode
  }

  /// Refuses all further replies, or ends the requests.
  func stop(_ direction: Int32) { shutdown(socket, direction) }

  /// Returns the result of the session after its end.
  func finish() throws -> Int32 {
    guard end.wait(timeout: .now() + 60) == .success else { throw Failure(what: "the session did not end") }
    return result
  }
}
