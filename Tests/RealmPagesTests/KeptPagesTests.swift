// Copies of the pages of a file that later writes do not reach.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Kept pages")
struct KeptPagesTests {
  private static let page = Int(getpagesize())

  /// Writes one byte all over a range of a file.
  private static func fill(_ path: String, _ range: Range<Int>, _ byte: UInt8) throws {
    let file = try Foundation.FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(range.lowerBound))
    try file.write(contentsOf: [UInt8](repeating: byte, count: range.count))
    try file.close()
  }

  @Test("a mapping shows kept ranges as they were and all others as they are, also after its pages were dropped")
  func mapping() throws {
    try withTemporaryPath { path in
      let size = 200 * Self.page + 100
      #expect(FileManager.default.createFile(atPath: path, contents: Data(repeating: 1, count: size)))
      let file = try RealmPages.FileHandle(path: path)
      let space = try MappedFile(file, size: size)
      let kept = [150 * Self.page + 8..<150 * Self.page + 16, 10..<11, 200 * Self.page + 50..<Int.max]
      let copy = try space.copy(keeping: kept)
      try Self.fill(path, 0..<size, 2)
      for _ in 0..<2 {
        for range in kept {
          #expect(copy.byte(at: range.lowerBound) == 1)
          #expect(space.byte(at: range.lowerBound) == 2)
        }
        #expect(copy.byte(at: 100 * Self.page) == 2 && copy.byte(at: 199 * Self.page) == 2)
        copy.dropPages()
      }
      #expect(copy.isOfSameFile(as: space) && copy.size == space.size)
    }
  }

  @Test("the copy of a file that was cut short reads zeros, and says so")
  func cut() throws {
    try withTemporaryPath { path in
      let size = 40 * Self.page
      #expect(FileManager.default.createFile(atPath: path, contents: Data(repeating: 1, count: size)))
      let space = try MappedFile(try RealmPages.FileHandle(path: path), size: size)
      let copy = try space.copy(keeping: [0..<8])
      let file = try Foundation.FileHandle(forUpdating: URL(fileURLWithPath: path))
      try file.truncate(atOffset: 0)
      try file.close()
      #expect(copy.byte(at: 0) == 1)
      #expect(!copy.isSpent)
      #expect(copy.byte(at: 30 * Self.page) == 0)
      #expect(copy.isSpent)
    }
  }

  @Test("the copy of an encrypted file keeps the content of its pages when the file is written to")
  func encrypted() throws {
    let key = try #require(EncryptionKey([UInt8](repeating: 7, count: 64)))
    try withTemporaryPath { path in
      let configuration = Configuration(path: path, encryptionKey: key, mode: .exclusive)
      let writer = try RealmWriter(configuration, create: true)
      let first = try writer.begin()
      _ = try first.addTable("class_A")
      _ = try first.commit()
      let space = try writer.realm.latest().arena.space
      let copy = try space.copy(keeping: [0..<space.size])
      let before = (0..<space.size / 8).map { copy.word(at: 8 * $0) }
      for name in ["B", "C", "D"] {
        let transaction = try writer.begin()
        _ = try transaction.addTable("class_\(name)")
        _ = try transaction.commit()
      }
      copy.dropPages()
      try copy.require(0, copy.size)
      #expect((0..<space.size / 8).map { copy.word(at: 8 * $0) } == before)
      let other = try space.copy(keeping: [])
      try other.require(0, 8)
      #expect((0..<2).map { other.word(at: 8 * $0) } != Array(before.prefix(2)))
    }
  }
}
