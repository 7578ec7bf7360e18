// The files of large writes beside a realm: bytes can be read back, space is reused, and the content is encrypted.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Unnamed temporary files")
struct SpoolTests {
  /// The files that this process has open in a folder and that have no name there.
  private static func unnamed(in folder: String) -> [String] {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return descriptors.map { "/proc/self/fd/\($0)" }.filter { descriptor in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: descriptor)
      return target.map { $0.hasPrefix(folder + "/") && $0.hasSuffix("(deleted)") } ?? false  // closed meanwhile
    }
  }

  @Test("pieces are returned unchanged, their space is reused, and the disk holds no plaintext")
  func pieces() throws {
    try withTemporaryPath { path in
      let folder = (path as NSString).deletingLastPathComponent + "/spool"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let spool = SpoolFile(besideRealm: folder + "/a.realm")
      let mark = Array("in plain text for everybody ".utf8)
      var pieces: [(piece: SpoolFile.Piece, bytes: [UInt8])] = []
      var random = SplitMix64(seed: 7)
      for round in 0..<200 {
        if round % 3 == 2 { pieces.remove(at: random.below(pieces.count)) }
        let size = [0, 1, 4096, SpoolFile.pieceSize][random.below(4)]
        let bytes = (0..<size).map { mark[($0 + round) % mark.count] }
        pieces.append((try #require(try spool.store(bytes)), bytes))
      }
      for (piece, bytes) in pieces { #expect(try piece.bytes() == bytes) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      let file = try #require(Self.unnamed(in: folder).first)
      let stored = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(stored.count > SpoolFile.pieceSize && stored.count <= 140 * SpoolFile.pieceSize)
      #expect(stored.range(of: Data("plain".utf8)) == nil)
      // Equal bytes are never stored as equal bytes.
      let one = try spool.store(mark), other = try spool.store(mark)
      #expect(try one?.bytes() == other?.bytes())
    }
  }

  @Test("in a read-only folder there is no spool file, which is not an error")
  func noFolder() throws {
    #expect(try SpoolFile(besideRealm: "/nowhere/at/all.realm").store([1]) == nil)
    #expect(SpillMemory(besideRealm: "/nowhere/at/all.realm") == nil)
  }

  @Test("blocks of spilled memory do not overlap, keep their content, and are reused")
  func blocks() throws {
    try withTemporaryPath { path in
      let memory = try #require(SpillMemory(besideRealm: path))
      var random = SplitMix64(seed: 3), blocks: [(UnsafeMutableRawPointer, Int, UInt8)] = []
      var most = 0
      for round in 0..<4000 {
        if round % 2 == 1 {
          let (block, size, value) = blocks.remove(at: random.below(blocks.count))
          #expect((0..<size).allSatisfy { block.load(fromByteOffset: $0, as: UInt8.self) == value })
          memory.release(block, size: size)
        }
        let wanted = 1 + random.below(random.below(10) == 0 ? 100_000 : 600)
        let (block, size) = try #require(memory.allocate(wanted))
        #expect(size >= wanted && size <= max(32, wanted * 9 / 8 + 32) && Int(bitPattern: block) % 16 == 0)
        #expect(SpillMemory.sizeClass(size) == SpillMemory.sizeClass(wanted))
        let value = UInt8(truncatingIfNeeded: round)
        memset(block, Int32(value), size)
        blocks.append((block, size, value))
        most = max(most, blocks.count)
        if round % 500 == 0 { memory.dropPages() }
      }
      let spans = blocks.map { (Int(bitPattern: $0.0), $0.1) }.sorted { $0.0 < $1.0 }
      for (span, next) in zip(spans, spans.dropFirst()) { #expect(span.0 + span.1 <= next.0) }
      #expect(!memory.isLost)
      #expect(
        try !FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
          .contains { $0.hasSuffix(".spool") }
      )
    }
  }
}
