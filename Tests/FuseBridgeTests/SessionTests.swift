// Sessions without a kernel: the replies that the device receives to each request.

import Foundation
import Testing

@testable import FileTree
@testable import FuseBridge

@Suite("sessions at a device", .serialized)
struct SessionTests {
  @Test("each request is answered once, and FORGET is not answered", arguments: [1, 4])
  func answeredOnce(threads: Int) throws {
    let device = try FakeDevice(threads: threads)
    var sent: Set<UInt64> = []
    for round in 0..<50 {
      sent.insert(try device.send(.lookup, 1, FakeDevice.name(round % 2 == 0 ? "Person" : "Nobody")))
      sent.insert(try device.send(.getattr, 1, [UInt8](repeating: 0, count: 16)))
      sent.insert(try device.send(.none, 1))
      try device.send(.forget, 1, FakeDevice.bytes(UInt64(1)))
    }
    device.stop(Int32(SHUT_WR))
    var answered: [UInt64] = []
    while let reply = try device.next() { answered.append(reply.unique) }
    #expect(answered.count == sent.count && Set(answered) == sent)
    #expect(try device.finish() == 0)
  }

  @Test("errors of the tree are returned as errno")
  func errors() throws {
    let device = try FakeDevice()
    #expect(try device.request(.lookup, 1, FakeDevice.name("Nobody")).error == -ENOENT)
    let long = String(repeating: "a", count: 300)
    #expect(try device.request(.lookup, 1, FakeDevice.name(long)).error == -ENAMETOOLONG)
    #expect(try device.request(.getattr, 999_999, [UInt8](repeating: 0, count: 16)).error == -ESTALE)
    let file = try device.inode("Person/4.json"), directory = try device.inode("Person")
    #expect(try device.request(.lookup, file, FakeDevice.name("x")).error == -ENOTDIR)
    #expect(try device.request(.open, directory, FakeDevice.bytes(UInt32(O_RDONLY), 0)).error == -EISDIR)
    #expect(try device.request(.unlink, directory, FakeDevice.name("4.json")).error == -EROFS)
    #expect(try device.request(.none, 1).error == -ENOSYS)
    device.stop(Int32(SHUT_WR))
    #expect(try device.finish() == 0)
  }

  @Test("an interrupted request is answered once")
  func interrupted() throws {
    let device = try FakeDevice()
    let unique: UInt64 = 5001
    try device.send(.interrupt, 0, FakeDevice.bytes(unique))
    try device.send(.lookup, 1, FakeDevice.name("Person"), unique: unique)
    device.stop(Int32(SHUT_WR))
    var answered: [UInt64] = []
    while let reply = try device.next() { answered.append(reply.unique) }
    #expect(answered == [unique])
    #expect(try device.finish() == 0)
  }

  @Test("a file is read, and RELEASE frees its handle")
  func reading() throws {
    let device = try FakeDevice()
    let file = try device.inode("Person/4.json")
    let handle = try device.request(.open, file, FakeDevice.bytes(UInt32(O_RDONLY), 0)).number(at: 0)
    let place = FakeDevice.bytes(handle) + FakeDevice.bytes(UInt64(0))
    let text = try device.request(.read, file, place + FakeDevice.bytes(4096, 0) + [UInt8](repeating: 0, count: 16))
    #expect(try device.tree.text("Person/4.json") == String(decoding: text.body, as: UTF8.self))
    #expect(!device.tree.tree.handles.openFiles.inodes.isEmpty)
    let end = FakeDevice.bytes(handle) + FakeDevice.bytes(UInt32(O_RDONLY), 0) + FakeDevice.bytes(UInt64(0))
    #expect(try device.request(.release, file, end).error == 0)
    #expect(device.tree.tree.handles.openFiles.inodes.isEmpty)
  }

  @Test("a file is closed again if the reply to its open fails")
  func replyFails() throws {
    let device = try FakeDevice(writable: true)
    let file = try device.inode("Person/4.json")
    device.stop(Int32(SHUT_RD))
    for flags in [O_RDONLY, O_RDWR] { try device.send(.open, file, FakeDevice.bytes(UInt32(flags), 0)) }
    device.stop(Int32(SHUT_WR))
    #expect(try device.finish() == 0)
    #expect(device.tree.tree.handles.openFiles.inodes.isEmpty)
  }

  @Test("the loop can be ended while it waits, and the device is closed")
  func ended() throws {
    let device = try FakeDevice()
    _ = try device.inode("Person")
    device.session.loop.end()
    #expect(try device.finish() == 0)
    #expect(try device.next() == nil)
  }
}

extension FileTree {
  /// The text of an object.
  fileprivate func text(_ path: String) throws -> String {
    var inode = InodeNumber.root
    for part in path.split(separator: "/") { inode = try lookup(inode, Array(part.utf8)).inode }
    let file = try open(inode)
    if file.maySeedPageCache { pageCacheSeeded(file) }
    defer { release(file) }
    return try file.read(from: 0, count: file.size) { bytes in
      String(
        decoding: (0..<bytes.byteCount).map { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) },
        as: UTF8.self
      )
    }
  }
}
