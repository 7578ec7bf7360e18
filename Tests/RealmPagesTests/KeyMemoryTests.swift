// Where the key of an encrypted realm is in memory: locked while the realm is open, nowhere when it is closed.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite struct KeyMemoryTests {
  /// Random bytes, masked so that looking for them does not find this copy.
  private struct Masked {
    private let bytes: [UInt8]
    static let mask: UInt8 = 0x5A

    init(count: Int) { bytes = (0..<count).map { _ in .random(in: 0...255) } }

    var count: Int { bytes.count }
    func byte(_ index: Int) -> UInt8 { bytes[index] ^ Self.mask }

    /// The key, made of bytes that are wiped again.
    func key() -> EncryptionKey? {
      var plain = [UInt8](repeating: 0, count: bytes.count)
      defer { plain.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) } }
      for index in 0..<bytes.count { plain[index] = byte(index) }
      return EncryptionKey(plain)
    }
  }

  private struct Region {
    let start: UInt
    let end: UInt
    let isLocked: Bool
  }

  /// The writable private memory of this process.
  private func regions() throws -> [Region] {
    var regions: [Region] = [], current: (start: UInt, end: UInt)?
    let text = try #require(Foundation.FileHandle(forReadingAtPath: "/proc/self/smaps")?.readDataToEndOfFile())
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count > 4, words[0].contains("-"), !words[0].hasSuffix(":") {
        let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        let isOurs = words[1].hasPrefix("rw-p") && !line.hasSuffix("[vvar]")
        current = isOurs && ends.count == 2 ? (ends[0], ends[1]) : nil
      } else if words.first == "Locked:", let known = current {
        regions.append(Region(start: known.start, end: known.end, isLocked: words[1] != "0"))
        current = nil
      }
    }
    return regions
  }

  /// How often the bytes `range` of a secret are in memory; in locked memory, and elsewhere.
  private func occurrences(of secret: Masked, _ range: Range<Int>) throws -> (locked: Int, elsewhere: Int) {
    let memory = open("/proc/self/mem", O_RDONLY)
    defer { close(memory) }
    let size = 1 << 20
    let buffer = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
    let start = try #require(buffer.flatMap { $0 == MAP_FAILED ? nil : $0 })
    defer { munmap(start, size) }
    let first = Int32(secret.byte(range.lowerBound))
    var found = (locked: 0, elsewhere: 0)
    let regions = try regions()
    #expect(regions.count > 3)
    for region in regions {
      var offset = region.start
      while offset < region.end {
        let count = pread(memory, start, min(size, Int(region.end - offset)), off_t(offset))
        if count <= 0 { break }
        var place = 0
        while let hit = memchr(start + place, first, count - place) {
          place = hit - UnsafeMutableRawPointer(start)
          if place + range.count <= count,
            range.allSatisfy({
              start.load(fromByteOffset: place + $0 - range.lowerBound, as: UInt8.self) == secret.byte($0)
            })
          {
            if region.isLocked { found.locked += 1 } else { found.elsewhere += 1 }
          }
          place += 1
        }
        memset(start, 0, count)
        // A key across the border is found in the next piece.
        offset += UInt(count == size ? count - 64 : count)
      }
    }
    return found
  }

  @Test("a key is in locked memory while its realm is open, and nowhere afterwards")
  func wiped() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let secret = Masked(count: EncryptionKey.size)
    do {
      let key = try #require(secret.key())
      let configuration = Configuration(path: folder.path("a.realm"), encryptionKey: key)
      let writer = try RealmWriter(configuration, create: true)
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_A")
      _ = try transaction.commit()
      #expect(try writer.realm.latest().tableKeys().count == 1)
      let found = try occurrences(of: secret, 0..<64)
      #expect(found.locked == 1, "\(found)")
    }
    for half in [0..<32, 32..<64] {
      let left = try occurrences(of: secret, half)
      #expect(left.locked == 0 && left.elsewhere == 0)
    }
  }
}
