// Recognizes the format of a key: 64 raw bytes, 128 hexadecimal digits, base64, or an array of numbers as in source
// code. Errors describe the format that was found, never the bytes.
import CLinux
import RealmPages

/// The format in which a key was written.
enum KeyForm: String {
  case raw = "64 raw bytes"
  case rawWithNewline = "64 raw bytes and a newline"
  case hexadecimal = "128 hexadecimal digits"
  case base64 = "base64"
  case numbers = "64 numbers"
}

/// The reason why bytes are not a key; `description` follows the name of their source.
struct KeyFormError: Error, CustomStringConvertible {
  let description: String

  /// 32 bytes in hexadecimal, which are as long as 64 raw bytes.
  static let halfKey = KeyFormError(
    reason: "64 hexadecimal digits are 32 bytes; a Realm key has 64. If the app uses these 64 characters themselves as "
      + "the bytes of its key, write them in base64"
  )

  private init(reason: String) { description = reason }

  init(_ found: String) {
    description =
      "\(found) found, but a key is 64 raw bytes, 128 hexadecimal digits, or those 64 bytes in base64 or as [1, 2, ...]"
  }
}

extension KeyForm {
  /// Returns the key in `secret` and its format. `isUniform` is true if all bytes of the key are equal.
  static func key(
    in secret: borrowing SecretBuffer
  ) throws(KeyFormError) -> (key: EncryptionKey, form: KeyForm, isUniform: Bool) {
    if secret.overflowed { throw KeyFormError("more than \(SecretBuffer.capacity) bytes") }
    // These digits would also be accepted as 64 raw bytes.
    if hasHexadecimalDigits(secret, 64) { throw .halfKey }
    var key = [UInt8]()
    key.reserveCapacity(64)
    // The array stays within its reserved capacity, so it was never reallocated and this buffer is the only copy.
    defer { unsafe key.withUnsafeMutableBytes { unsafe clinux_wipe($0.baseAddress, $0.count) } }
    guard let form = decode(secret, into: &key) else { throw KeyFormError(found(secret)) }
    guard let result = EncryptionKey(key) else { throw KeyFormError("\(key.count) bytes") }
    return (result, form, key.allSatisfy { $0 == key[0] })
  }

  private static func decode(_ secret: borrowing SecretBuffer, into key: inout [UInt8]) -> KeyForm? {
    if secret.count == 64 {
      for index in 0..<64 { key.append(secret[index]) }
      return .raw
    }
    let start = textStart(secret)
    if decodeDigits(secret, from: prefixEnd(secret, start), bits: 4, into: &key, value: hexadecimalValue) {
      return .hexadecimal
    }
    if decodeDigits(secret, from: start, bits: 6, into: &key, value: base64Value) { return .base64 }
    if decodeNumbers(secret, from: start, into: &key) { return .numbers }
    guard secret.count == 65, secret[64] == UInt8(ascii: "\n") else { return nil }
    key.removeAll(keepingCapacity: true)
    for index in 0..<64 { key.append(secret[index]) }
    return .rawWithNewline
  }

  /// Decodes digits of `bits` bits, ignoring white space and `=` at the end. True if the result is 64 bytes.
  private static func decodeDigits(
    _ secret: borrowing SecretBuffer,
    from start: Int,
    bits: Int,
    into key: inout [UInt8],
    value: (UInt8) -> UInt32?
  ) -> Bool {
    key.removeAll(keepingCapacity: true)
    var pending: UInt32 = 0
    var pendingBits = 0
    var digits = 0
    var padding = 0
    for index in start..<secret.count {
      let byte = secret[index]
      if isWhiteSpace(byte) { continue }
      if byte == UInt8(ascii: "="), bits == 6 {
        padding += 1
        continue
      }
      guard padding == 0, let digit = value(byte) else { return false }
      digits += 1
      pending = pending << UInt32(bits) | digit
      pendingBits += bits
      if pendingBits < 8 { continue }
      if key.count == 64 { return false }
      pendingBits -= 8
      key.append(UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)))
    }
    return key.count == 64 && digits == (512 + bits - 1) / bits && (padding == 0 || padding == 2)
  }

  /// Returns the offset of a key's text, after the byte order mark that editors and shells on Windows write.
  ///
  /// In UTF-16, every second byte of a digit is 0, which is treated as white space.
  private static func textStart(_ secret: borrowing SecretBuffer) -> Int {
    if secret.count > 2, secret[0] == 0xEF, secret[1] == 0xBB, secret[2] == 0xBF { return 3 }
    guard secret.count > 1 else { return 0 }
    let isUTF16 = secret[0] == 0xFF && secret[1] == 0xFE || secret[0] == 0xFE && secret[1] == 0xFF
    return isUTF16 ? 2 : 0
  }

  /// Returns the offset of the hexadecimal digits, after `0x` if they begin with it.
  private static func prefixEnd(_ secret: borrowing SecretBuffer, _ start: Int) -> Int {
    var index = start
    while index < secret.count, isWhiteSpace(secret[index]) { index += 1 }
    guard index < secret.count, secret[index] == UInt8(ascii: "0") else { return start }
    index += 1
    while index < secret.count, secret[index] == 0 { index += 1 }
    return index < secret.count && secret[index] | 0x20 == 0x78 ? index + 1 : start
  }

  /// Decodes `[1, 2, 255]`, with numbers from -128 (a Java byte is signed) to 255. True if the result is 64 bytes.
  private static func decodeNumbers(
    _ secret: borrowing SecretBuffer,
    from start: Int,
    into key: inout [UInt8]
  ) -> Bool {
    key.removeAll(keepingCapacity: true)
    var isOpen = false, isClosed = false, isNegative = false, mayEnd = false
    /// The number formed by the digits since the last comma; nil if there are none.
    var number: Int?
    for index in start..<secret.count {
      let byte = secret[index]
      if byte == 0 { continue }
      if isWhiteSpace(byte) {
        mayEnd = number != nil || isNegative
        continue
      }
      guard !isClosed, isOpen == (byte != UInt8(ascii: "[")) else { return false }
      switch byte {
      case UInt8(ascii: "["): isOpen = true
      case UInt8(ascii: "-"):
        if isNegative || number != nil { return false }
        isNegative = true
      case 0x30...0x39:
        // A space within a number, or after its sign, is invalid.
        if mayEnd { return false }
        number = (number ?? 0) * 10 + Int(byte - 0x30)
        if number ?? 0 > 255 { return false }
      case UInt8(ascii: ","), UInt8(ascii: "]"):
        guard let value = number, !isNegative || value <= 128, key.count < 64 else { return false }
        key.append(UInt8(truncatingIfNeeded: isNegative ? -value : value))
        (number, isNegative, mayEnd) = (nil, false, false)
        isClosed = byte == UInt8(ascii: "]")
      default: return false
      }
    }
    return isClosed && key.count == 64
  }

  /// True if the text has `wanted` hexadecimal digits and nothing else apart from white space and `0x`.
  private static func hasHexadecimalDigits(_ secret: borrowing SecretBuffer, _ wanted: Int) -> Bool {
    var digits = 0
    for index in prefixEnd(secret, textStart(secret))..<secret.count where !isWhiteSpace(secret[index]) {
      if hexadecimalValue(secret[index]) == nil { return false }
      digits += 1
    }
    return digits == wanted
  }

  /// Describes the content found instead of a key, without showing it.
  private static func found(_ secret: borrowing SecretBuffer) -> String {
    var digits = 0
    var others = 0
    for index in textStart(secret)..<secret.count where !isWhiteSpace(secret[index]) {
      if hexadecimalValue(secret[index]) == nil { others += 1 } else { digits += 1 }
    }
    if secret.count == 0 { return "nothing" }
    return others == 0 ? "\(digits) hexadecimal digits" : "\(secret.count) bytes"
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0 || (byte >= 0x09 && byte <= 0x0D)
  }

  private static func hexadecimalValue(_ byte: UInt8) -> UInt32? { hexadecimalDigit(byte).map(UInt32.init) }

  /// Decodes a digit of either base64 alphabet.
  private static func base64Value(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: base64Digit(byte).map(UInt32.init)
    }
  }
}
