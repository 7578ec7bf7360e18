// AES-256-CBC and HMAC-SHA-224 over one page: the only user of libcrypto's ciphers. Source: format/4-encryption.md 4.1.

import CLinux
import COpenSSL
import Glibc

/// A 64-byte key: 32 bytes for AES-256, 32 for HMAC-SHA-224. Kept in locked memory and wiped when the last user lets
/// go. Source: format/4-encryption.md 4.1.
public final class EncryptionKey: @unchecked Sendable {
  // Unchecked: the memory is written in init only.
  private let memory: UnsafeMutableRawPointer

  /// The number of bytes of a key.
  public static let size = 64

  /// Copies 64 bytes; nil if there are not exactly 64, or no memory.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size, let memory = clinux_secret_alloc(Self.size) else { return nil }
    self.memory = memory
    bytes.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: Self.size) }
  }

  deinit { clinux_secret_free(memory, Self.size) }

  /// Writes the bytes of the key to a descriptor, such as a pipe to another program; 0, or an errno. No copy is left
  /// here.
  public func write(to descriptor: Int32) -> Int32 {
    var done = 0
    while done < Self.size {
      let count = Glibc.write(descriptor, memory + done, Self.size - done)
      if count < 0 && errno != EINTR { return errno }
      done += max(count, 0)
    }
    return 0
  }

  fileprivate var cipherKey: UnsafePointer<UInt8> { UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)) }
  fileprivate var macKey: UnsafeRawPointer { UnsafeRawPointer(memory) + 32 }
}

/// Decrypts and authenticates single pages. Not for several threads at once.
final class PageCipher {
  /// The unit of encryption in bytes, whatever the page size of the system.
  static let pageSize = 4096
  /// The bytes of a MAC.
  static let macSize = 28

  private let key: EncryptionKey
  private let context: OpaquePointer

  /// Nil if libcrypto has no memory.
  init?(_ key: EncryptionKey) {
    guard let context = EVP_CIPHER_CTX_new() else { return nil }
    self.key = key
    self.context = context
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Whether `mac` authenticates the 4096 bytes of cipher text.
  func authenticates(_ cipherText: UnsafeRawPointer, mac: UnsafeRawPointer) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: Self.macSize, alignment: 8) { digest in
      var count: UInt32 = 0
      let result = HMAC(
        EVP_sha224(),
        key.macKey,
        32,
        cipherText.assumingMemoryBound(to: UInt8.self),
        Self.pageSize,
        digest.baseAddress?.assumingMemoryBound(to: UInt8.self),
        &count
      )
      return result != nil && CRYPTO_memcmp(digest.baseAddress, mac, Self.macSize) == 0
    }
  }

  /// Decrypts one page; false if libcrypto refuses.
  func decrypt(
    _ cipherText: UnsafeRawPointer,
    into plainText: UnsafeMutableRawPointer,
    counter: UInt32,
    pageOffset: Int
  ) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { iv in
      iv.storeBytes(of: counter.littleEndian, toByteOffset: 0, as: UInt32.self)
      iv.storeBytes(of: UInt32(truncatingIfNeeded: pageOffset).littleEndian, toByteOffset: 4, as: UInt32.self)
      iv.storeBytes(of: UInt32(truncatingIfNeeded: pageOffset >> 32).littleEndian, toByteOffset: 8, as: UInt32.self)
      iv.storeBytes(of: 0, toByteOffset: 12, as: UInt32.self)
      var count: Int32 = 0
      return EVP_DecryptInit_ex(
        context,
        EVP_aes_256_cbc(),
        nil,
        key.cipherKey,
        iv.baseAddress?.assumingMemoryBound(to: UInt8.self)
      ) == 1
        && EVP_CIPHER_CTX_set_padding(context, 0) == 1
        && EVP_DecryptUpdate(
          context,
          plainText.assumingMemoryBound(to: UInt8.self),
          &count,
          cipherText.assumingMemoryBound(to: UInt8.self),
          Int32(Self.pageSize)
        ) == 1
        && count == Int32(Self.pageSize)
    }
  }

  /// Decrypts a page with its metadata slot. The offset in the slot of the half that fits, 0 or 32; nil if neither
  /// does.
  func open(data: [UInt8], slot: [UInt8], page: Int, into plain: inout [UInt8]) -> Int? {
    data.withUnsafeBytes { data in
      slot.withUnsafeBytes { slot in
        plain.withUnsafeMutableBytes { plain in
          guard let data = data.baseAddress, let slot = slot.baseAddress, let plain = plain.baseAddress else {
            return nil
          }
          for half in [0, 32] {
            let counter = UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: half, as: UInt32.self))
            if counter == 0 { return nil }
            if authenticates(data, mac: slot + half + 4) {
              return decrypt(data, into: plain, counter: counter, pageOffset: page * Self.pageSize) ? half : nil
            }
          }
          return nil
        }
      }
    }
  }

  /// Encrypts a page with the next counter and moves its slot on; nil if libcrypto refuses. Source:
  /// format/4-encryption.md 4.4.
  func seal(_ plain: [UInt8], slot: inout [UInt8], page: Int) -> [UInt8]? {
    var cipherText = [UInt8](repeating: 0, count: Self.pageSize), mac = [UInt8](repeating: 0, count: Self.macSize)
    var counter = slot.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
    let previous = Array(slot[0..<32])
    repeat {
      counter = counter == .max ? 1 : counter + 1
      guard encrypt(plain, into: &cipherText, counter: counter, pageOffset: page * Self.pageSize, mac: &mac) else {
        return nil
      }
    } while mac == Array(previous[4..<32])
    slot.replaceSubrange(32..<64, with: previous)
    slot.replaceSubrange(0..<4, with: withUnsafeBytes(of: counter.littleEndian) { Array($0) })
    slot.replaceSubrange(4..<32, with: mac)
    return cipherText
  }

  private func encrypt(
    _ plain: [UInt8],
    into cipherText: inout [UInt8],
    counter: UInt32,
    pageOffset: Int,
    mac: inout [UInt8]
  ) -> Bool {
    var iv = [UInt8](repeating: 0, count: 16)
    withUnsafeBytes(of: counter.littleEndian) { iv.replaceSubrange(0..<4, with: $0) }
    withUnsafeBytes(of: UInt64(pageOffset).littleEndian) { iv.replaceSubrange(4..<12, with: $0) }
    var count: Int32 = 0, macCount: UInt32 = 0
    guard EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), nil, key.cipherKey, iv) == 1,
      EVP_CIPHER_CTX_set_padding(context, 0) == 1,
      EVP_EncryptUpdate(context, &cipherText, &count, plain, Int32(Self.pageSize)) == 1
    else { return false }
    return HMAC(EVP_sha224(), key.macKey, 32, cipherText, Self.pageSize, &mac, &macCount) != nil
  }
}
