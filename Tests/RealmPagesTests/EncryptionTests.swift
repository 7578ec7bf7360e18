// Encrypted files: the positions of pages, and the distinction between a wrong key, a plain file and damage.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Encryption")
struct EncryptionTests {
  private static let page = 4096

  private func key() throws -> [UInt8] {
    let hex = try String(
      contentsOf: Fixture.package.appendingPathComponent("Tests/Fixtures/encrypted.key.hex"),
      encoding: .utf8
    )
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  private func encrypted() throws -> [UInt8] { try Fixture.named("people-encrypted").bytes() }

  /// Why the bytes do not open; nil if they do.
  private func reason(_ bytes: [UInt8], _ key: [UInt8]?) throws -> EngineError.Reason? {
    try withTemporaryFile(bytes) { path in
      do throws(EngineError) {
        _ = try Realm(Configuration(path: path, encryptionKey: key.flatMap { EncryptionKey($0) }))
        return nil
      } catch {
        return error.reason
      }
    }
  }

  @Test(
    "one page of metadata stands before each 64 pages",
    arguments: [(1, 2), (18, 19), (288, 293), (928, 943), (64, 65), (65, 67), (63, 64)] as [(Int, Int)]
  )
  func geometry(logical: Int, physical: Int) {
    #expect(EncryptedLayout.logicalSize(physical * Self.page) == logical * Self.page)
    // The last page ends the file.
    #expect(EncryptedLayout.dataOffset(logical - 1) == (physical - 1) * Self.page)
  }

  @Test("pages and slots are at the offsets that the format description states")
  func offsets() {
    #expect(EncryptedLayout.dataOffset(0) == 0x1000 && EncryptedLayout.slotOffset(0) == 0)
    #expect(EncryptedLayout.dataOffset(9) == 0xa000 && EncryptedLayout.slotOffset(9) == 0x240)
    #expect(EncryptedLayout.dataOffset(64) == 66 * Self.page && EncryptedLayout.slotOffset(64) == 65 * Self.page)
    #expect(EncryptedLayout.logicalSize(66 * Self.page) == 64 * Self.page)
    #expect(EncryptedLayout.logicalSize(0) == 0 && EncryptedLayout.logicalSize(Self.page) == 0)
  }

  @Test("the right key opens the file, with the same content as its unencrypted twin")
  func opens() throws {
    #expect(try reason(encrypted(), key()) == nil)
    var plain = ObjectWalk(), secret = ObjectWalk()
    plain.run(try Fixture.named("people").snapshot())
    secret.run(try Fixture.named("people-encrypted").snapshot())
    #expect(secret.errors == 0 && secret.objects == plain.objects && secret.values == plain.values)
  }

  @Test("a key has 64 bytes")
  func keySize() throws {
    #expect(EncryptionKey([UInt8](repeating: 1, count: 63)) == nil)
    #expect(EncryptionKey([UInt8](repeating: 1, count: 65)) == nil)
    #expect(EncryptionKey([]) == nil)
  }

  @Test("a missing key, a wrong half of a key, and a key for an unencrypted file are distinguished")
  func keys() throws {
    #expect(try reason(encrypted(), nil) == .keyNeeded)
    var wrongMac = try key(), wrongCipher = try key()
    wrongMac[40] ^= 1
    wrongCipher[3] ^= 1
    #expect(try reason(encrypted(), wrongMac) == .wrongKey)
    #expect(try reason(encrypted(), wrongCipher) == .wrongKey)
    #expect(try reason(Fixture.named("people").bytes(), key()) == .notEncrypted)
  }

  @Test("a damaged first page is damage when another page still verifies")
  func damagedFirstPage() throws {
    var bytes = try encrypted()
    bytes[Self.page + 100] ^= 1
    #expect(try reason(bytes, key()) == .damaged)
    bytes = try encrypted()
    bytes.replaceSubrange(0..<4, with: [0, 0, 0, 0])
    #expect(try reason(bytes, key()) == .damaged)
  }

  @Test("a size that is too small or not a multiple of the page size is damage")
  func sizes() throws {
    let bytes = try encrypted()
    #expect(try reason(Array(bytes.dropLast(8)), key()) == .damaged)
    #expect(try reason(Array(bytes.prefix(Self.page)), key()) == .damaged)
  }

  @Test("damage after the first page leaves the rest readable, and the verifier reports it")
  func damagedPage() throws {
    var bytes = try encrypted()
    bytes[2 * Self.page + 100] ^= 1
    let key = EncryptionKey(try key())
    try withTemporaryFile(bytes) { path in
      do {
        let snapshot = try Realm(Configuration(path: path, encryptionKey: key)).latest()
        #expect(Verifier(snapshot).problems().contains { $0.text.contains("HMAC") })
      } catch let error as EngineError {
        // The top array may be there.
        #expect(error.reason == .damaged)
      }
    }
  }

  @Test("a write interrupted between metadata and data leaves the page's previous content")
  func previousContent() throws {
    var bytes = try encrypted()
    for slot in [0, 64] {
      bytes.replaceSubrange(slot + 32..<slot + 64, with: bytes[slot..<slot + 32])
      bytes[slot] &+= 1
      bytes[slot + 4] ^= 1
    }
    let key = EncryptionKey(try key())
    try withTemporaryFile(bytes) { path in
      let snapshot = try Realm(Configuration(path: path, encryptionKey: key)).latest()
      #expect(Verifier(snapshot).problems().isEmpty)
    }
  }

  @Test("a slot differs before and after its page is written")
  func slotsSettle() throws {
    let key = EncryptionKey(try key())
    try withTemporaryFile(try encrypted()) { path in
      for mode in [Configuration.Mode.shared, .exclusive] {
        let writer = try RealmWriter(Configuration(path: path, encryptionKey: key, mode: mode))
        for _ in 0..<3 { _ = try writer.begin().commit() }
        let slot = try Data(contentsOf: URL(fileURLWithPath: path)).prefix(EncryptedLayout.slotSize)
        // A program that kept the former page with the slot that announced the new one must see a different slot.
        #expect(slot.prefix(32) == slot.suffix(32), "\(mode)")
        #expect(Verifier(try writer.realm.latest()).problems(limit: 3) == [])
      }
    }
  }

  @Test("a newer version reuses only the unchanged decrypted pages of the previous one")
  func unchangedPages() throws {
    let bytes = try encrypted(), key = try #require(EncryptionKey(try key()))
    try withTemporaryFile(bytes) { path in
      let file = try FileHandle(path: path, forWriting: true)
      let former = try DecryptedPages(file, key: key, physicalSize: bytes.count)
      #expect(former.fill(0) == .good && former.fill(1) == .good)
      // One page changes. The other one is damaged, which only a reader of its bytes can detect.
      let storage = try #require(EncryptedStorage(FileStorage(file), key: key))
      try storage.write([1, 2, 3], at: Self.page + 100)
      try storage.sync()
      try FileStorage(file).write([0xFF, 0, 0xFF, 0], at: EncryptedLayout.dataOffset(0) + 10)
      let later = try DecryptedPages(file, key: key, physicalSize: bytes.count, after: former)
      #expect(later.fill(0) == .good && later.fill(1) == .good)
      #expect(memcmp(later.base, former.base, Self.page) == 0)
      #expect(ByteView(base: later.base + Self.page + 100, count: 3).bytes == [1, 2, 3])
      let alone = try DecryptedPages(file, key: key, physicalSize: bytes.count)
      #expect(alone.fill(0) == .bad || alone.fill(0) == .interrupted)
    }
  }
}
