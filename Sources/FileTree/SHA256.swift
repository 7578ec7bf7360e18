// SHA-256 (FIPS 180-4) of one piece of memory. It tells long file names apart; nothing secret depends on it.

/// SHA-256 of a whole text.
enum SHA256 {
  /// The first eight bytes of the digest, big-endian.
  static func prefix(of text: RawSpan) -> UInt64 {
    let state = digest(of: text)
    return UInt64(state[0]) << 32 | UInt64(state[1])
  }

  /// The digest as eight big-endian words.
  static func digest(of text: RawSpan) -> [8 of UInt32] {
    var state: [8 of UInt32] = [
      0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    let length = text.byteCount
    // The text, one bit, zeros, and the length in bits, in blocks of 64 bytes.
    let blockCount = (length + 8) / 64 + 1
    for block in 0..<blockCount {
      var schedule = [64 of UInt32](repeating: 0)
      for index in 0..<16 {
        let offset = block * 64 + index * 4
        schedule[index] =
          offset + 4 <= length
          ? text.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian
          : tailWord(text, offset, isLengthField: block == blockCount - 1 && index >= 14)
      }
      compress(&state, &schedule)
    }
    return state
  }

  /// The word at `offset`, at least one byte of which lies beyond the text.
  private static func tailWord(_ text: RawSpan, _ offset: Int, isLengthField: Bool) -> UInt32 {
    if isLengthField {
      let bits = UInt64(text.byteCount) * 8
      return UInt32(truncatingIfNeeded: offset % 64 == 56 ? bits >> 32 : bits)
    }
    var word: UInt32 = 0
    for index in offset..<offset + 4 {
      let byte: UInt8 =
        if index < text.byteCount {
          text.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        } else {
          index == text.byteCount ? 0x80 : 0
        }
      word = word << 8 | UInt32(byte)
    }
    return word
  }

  private static func compress(_ state: inout [8 of UInt32], _ w: inout [64 of UInt32]) {
    for i in 16..<64 {
      let small0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3
      let small1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10
      w[i] = w[i - 16] &+ small0 &+ w[i - 7] &+ small1
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for i in 0..<64 {
      let big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let first = h &+ big1 &+ (e & f ^ ~e & g) &+ constants[i] &+ w[i]
      let big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      let second = big0 &+ (a & b ^ a & c ^ b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
    state[5] &+= f
    state[6] &+= g
    state[7] &+= h
  }

  private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 {
    value >> count | value << (32 - count)
  }

  private static let constants: [64 of UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
