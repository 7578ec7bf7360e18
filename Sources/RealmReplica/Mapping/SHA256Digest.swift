// SHA-256, which the server can also compute: keys and rows are compared by its first eight bytes.

import COpenSSL
import Glibc

enum SHA256Digest {
  /// Returns the 32 bytes of the digest.
  static func of(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe SHA256(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &digest)
    return digest
  }

  /// Returns the first eight bytes as a number.
  static func word(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &digest) { digest in
      _ = unsafe SHA256(
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
        bytes.count,
        digest.baseAddress?.assumingMemoryBound(to: UInt8.self)
      )
    }
    return UInt64(bigEndian: digest.0)
  }

  static func word(of bytes: [UInt8]) -> UInt64 { unsafe bytes.withUnsafeBytes { unsafe word(of: $0) } }

  /// Returns the SQL expression for `word(of:)`, a bigint, of an expression of type bytea.
  static func sql(_ expression: String) -> String {
    "('x' || encode(substr(sha256(\(expression)), 1, 8), 'hex'))::bit(64)::bigint"
  }
}
