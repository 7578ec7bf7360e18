// AES-256-CBC and HMAC-SHA-224 over one page.
// Source: docs/format/4-encryption.md 4.1.

import CLinux
import COpenSSL
import Glibc

/// A 64-byte key: 32 bytes for AES-256, 32 for HMAC-SHA-224. Kept in locked memory and wiped with its last reference.
/// Source: docs/format/4-encryption.md 4.1.
@safe public final class EncryptionKey: @unchecked Sendable {
  // Unchecked: the memory is written in init only.
  // Safe: owns the `size` bytes at `memory`, and exposes them in this file only.
  private let memory: UnsafeMutableRawPointer

  /// The number of bytes of a key.
  public static let size = 64

  /// Copies 64 bytes; nil if there are not exactly 64, or no memory is available.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size, let memory = unsafe clinux_secret_alloc(Self.size) else { return nil }
    unsafe self.memory = memory
    unsafe bytes.withUnsafeBytes {
      unsafe memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: Self.size)
    }
  }

  deinit { unsafe clinux_secret_free(memory, Self.size) }

  /// Writes the bytes of the key to a descriptor, such as a pipe to another program. Returns 0 or an errno. Leaves no
  /// copy in this process.
  public func write(to descriptor: Int32) -> Int32 {
    var done = 0
    while done < Self.size {
      let count = unsafe Glibc.write(descriptor, memory + done, Self.size - done)
      if count < 0 && errno != EINTR { return errno }
      done += max(count, 0)
    }
    return 0
  }

  fileprivate var cipherKey: UnsafePointer<UInt8> { unsafe UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)) }
  fileprivate var macKey: UnsafeRawPointer { unsafe UnsafeRawPointer(memory) + 32 }
}

/// Encrypts, decrypts and authenticates single pages. Not thread-safe.
@safe final class PageCipher {
  // Safe: owns both contexts and the states, which only libcrypto changes.
  /// The unit of encryption in bytes, independent of the system's page size.
  static let pageSize = 4096
  /// The number of bytes of a MAC.
  static let macSize = 28

  private let key: EncryptionKey
  /// The key is set once; each page sets only the initialisation vector.
  private let encryption: OpaquePointer
  private let decryption: OpaquePointer
  /// The inner and outer HMAC states, which depend on the key: in locked memory, as they are as sensitive as the key.
  private let states: UnsafeMutablePointer<SHA256_CTX>

  private static let statesSize = 2 * MemoryLayout<SHA256_CTX>.stride

  /// True if libcrypto stores the round keys, which are as sensitive as the key, in the vault. False if another part of
  /// the program used libcrypto first: the round keys are then in ordinary memory. Also makes libcrypto allocate the
  /// objects that ciphers share.
  static let hasVault: Bool = {
    let isHeeded = unsafe realmfs_allocate_by(clinux_vault_malloc, clinux_vault_realloc, clinux_vault_free) == 1
    let context = unsafe EVP_CIPHER_CTX_new()
    unsafe EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), nil, nil, nil)
    unsafe EVP_DecryptInit_ex(context, EVP_aes_256_cbc(), nil, nil, nil)
    unsafe EVP_CIPHER_CTX_free(context)
    return isHeeded
  }()

  /// Nil if libcrypto is out of memory.
  init?(_ key: EncryptionKey) {
    guard let memory = unsafe clinux_secret_alloc(Self.statesSize) else { return nil }
    let isInVault = Self.hasVault && clinux_vault_open()
    defer { if isInVault { clinux_vault_close() } }
    let encryption = unsafe EVP_CIPHER_CTX_new(), decryption = unsafe EVP_CIPHER_CTX_new()
    guard let encryption = unsafe encryption, let decryption = unsafe decryption,
      unsafe EVP_EncryptInit_ex(encryption, EVP_aes_256_cbc(), nil, key.cipherKey, nil) == 1,
      unsafe EVP_DecryptInit_ex(decryption, EVP_aes_256_cbc(), nil, key.cipherKey, nil) == 1,
      unsafe EVP_CIPHER_CTX_set_padding(encryption, 0) == 1, unsafe EVP_CIPHER_CTX_set_padding(decryption, 0) == 1
    else {
      unsafe EVP_CIPHER_CTX_free(encryption)
      unsafe EVP_CIPHER_CTX_free(decryption)
      unsafe clinux_secret_free(memory, Self.statesSize)
      return nil
    }
    self.key = key
    unsafe self.encryption = encryption
    unsafe self.decryption = decryption
    unsafe states = memory.bindMemory(to: SHA256_CTX.self, capacity: 2)
    unsafe realmfs_hmac_prepare(key.macKey.assumingMemoryBound(to: UInt8.self), states, states + 1)
  }

  deinit {
    unsafe EVP_CIPHER_CTX_free(encryption)
    unsafe EVP_CIPHER_CTX_free(decryption)
    unsafe clinux_secret_free(states, Self.statesSize)
  }

  /// True if `mac` authenticates the 4096 bytes of cipher text.
  func authenticates(_ cipherText: UnsafeRawPointer, mac: UnsafeRawPointer) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: Self.macSize, alignment: 8) { digest in
      guard let digest = digest.baseAddress else { return false }
      unsafe computeMAC(cipherText, into: digest)
      return unsafe CRYPTO_memcmp(digest, mac, Self.macSize) == 0
    }
  }

  /// The MAC of the 4096 bytes of cipher text.
  func mac(of cipherText: UnsafeRawPointer) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: Self.macSize)
    unsafe mac.withUnsafeMutableBytes { if let base = $0.baseAddress { unsafe computeMAC(cipherText, into: base) } }
    return mac
  }

  private func computeMAC(_ cipherText: UnsafeRawPointer, into mac: UnsafeMutableRawPointer) {
    unsafe realmfs_hmac(states, states + 1, cipherText, Self.pageSize, mac.assumingMemoryBound(to: UInt8.self))
  }

  /// Calls `body` with the initialisation vector of a page.
  private func withVector<R>(_ counter: UInt32, _ pageOffset: Int, _ body: (UnsafePointer<UInt8>) -> R) -> R {
    let vector = (UInt64(counter) | UInt64(UInt32(truncatingIfNeeded: pageOffset)) << 32, UInt64(pageOffset) >> 32)
    return unsafe withUnsafeBytes(of: (vector.0.littleEndian, vector.1.littleEndian)) { bytes in
      // Sixteen bytes, so the base address is never nil.
      unsafe body((bytes.baseAddress ?? key.macKey).assumingMemoryBound(to: UInt8.self))
    }
  }

  /// Decrypts one page; false if libcrypto fails.
  func decrypt(
    _ cipherText: UnsafeRawPointer,
    into plainText: UnsafeMutableRawPointer,
    counter: UInt32,
    pageOffset: Int
  ) -> Bool {
    var count: Int32 = 0
    let source = unsafe cipherText.assumingMemoryBound(to: UInt8.self), size = Int32(Self.pageSize)
    return unsafe withVector(counter, pageOffset) { unsafe EVP_DecryptInit_ex(decryption, nil, nil, nil, $0) } == 1
      && EVP_DecryptUpdate(decryption, plainText.assumingMemoryBound(to: UInt8.self), &count, source, size) == 1
      && count == size
  }

  /// Decrypts a page with its metadata slot. Returns the offset in the slot of the half that fits, 0 or 32; nil if
  /// neither fits.
  func open(data: [UInt8], slot: [UInt8], page: Int, into plain: inout [UInt8]) -> Int? {
    unsafe data.withUnsafeBytes { data in
      unsafe slot.withUnsafeBytes { slot in
        unsafe plain.withUnsafeMutableBytes { plain in
          guard let data = data.baseAddress, let slot = slot.baseAddress, let plain = plain.baseAddress else {
            return nil
          }
          for half in [0, 32] {
            let counter = unsafe UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: half, as: UInt32.self))
            if counter == 0 { return nil }
            if unsafe authenticates(data, mac: slot + half + 4) {
              return unsafe decrypt(data, into: plain, counter: counter, pageOffset: page * Self.pageSize) ? half : nil
            }
          }
          return nil
        }
      }
    }
  }

  /// Encrypts a page with the next counter and updates its slot; nil if libcrypto fails.
  func seal(_ plain: [UInt8], slot: inout [UInt8], page: Int) -> [UInt8]? {
    var cipherText = [UInt8](repeating: 0, count: Self.pageSize)
    let isSealed = unsafe plain.withUnsafeBytes { plain in
      unsafe slot.withUnsafeMutableBytes { slot in
        unsafe cipherText.withUnsafeMutableBytes { cipherText in
          guard let plain = plain.baseAddress, let slot = slot.baseAddress, let target = cipherText.baseAddress else {
            return false
          }
          return unsafe seal(plain, into: target, slot: slot, page: page)
        }
      }
    }
    return isSealed ? cipherText : nil
  }

  /// Encrypts the 4096 bytes at `plain` with the next counter, and updates the 64 bytes of its slot; false if libcrypto
  /// fails. Source: docs/format/4-encryption.md 4.4.
  func seal(
    _ plain: UnsafeRawPointer,
    into cipherText: UnsafeMutableRawPointer,
    slot: UnsafeMutableRawPointer,
    page: Int
  ) -> Bool {
    var counter = unsafe UInt32(littleEndian: slot.loadUnaligned(as: UInt32.self))
    unsafe (slot + 32).copyMemory(from: slot, byteCount: 32)
    repeat {
      counter = counter == .max ? 1 : counter + 1
      if unsafe !encrypt(plain, into: cipherText, counter: counter, pageOffset: page * Self.pageSize) { return false }
      unsafe computeMAC(cipherText, into: slot + 4)
      // With equal MACs in both halves, a reader could not tell which half fits.
    } while unsafe CRYPTO_memcmp(slot + 4, slot + 36, Self.macSize) == 0
    unsafe slot.storeBytes(of: counter.littleEndian, as: UInt32.self)
    return true
  }

  private func encrypt(
    _ plain: UnsafeRawPointer,
    into cipherText: UnsafeMutableRawPointer,
    counter: UInt32,
    pageOffset: Int
  ) -> Bool {
    var count: Int32 = 0
    let source = unsafe plain.assumingMemoryBound(to: UInt8.self), size = Int32(Self.pageSize)
    return unsafe withVector(counter, pageOffset) { unsafe EVP_EncryptInit_ex(encryption, nil, nil, nil, $0) } == 1
      && EVP_EncryptUpdate(encryption, cipherText.assumingMemoryBound(to: UInt8.self), &count, source, size) == 1
      && count == size
  }
}
